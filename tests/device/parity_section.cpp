// Reference values of other code, by the same bounds as scripts/parity.sh.
#include <fmt/format.h>

#include "sections.h"
#include "tests/parity/plain_case.h"

namespace skipless::device {

Outcome check_parity(const Options& options, Report& report) {
  const auto cases = parity::read_plain_cases(options.cases);
  report.line(fmt::format("{} cases of {}, whose bounds are those of scripts/parity.sh.", cases.size(), options.cases));
  report.table();
  for (const auto& plain : cases) {
    parity::Comparison comparison;
    compare(plain, options.device, comparison);
    report.compared(plain.name, comparison);
  }
  return Outcome::done;
}

}  // namespace skipless::device
