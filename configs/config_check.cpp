// The Schema that reads each value back from what the writer would make of it.
#include "configs/config_check.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "configs/key_value.h"
#include "configs/problem_report.h"
#include "configs/yaml_node.h"

namespace skipless {
namespace {

class ValueChecker : public Schema {
 public:
  explicit ValueChecker(Problems& problems) : problems_(problems) {}

 protected:
  void value(std::string_view name, KeyValue& value, std::string_view) override {
    ProblemReport report("");
    const auto written = parse_yaml(fmt::format("{}: {}\n", name, value.text()), report);
    const std::string problem = value.read(written.value().entries.at(0).value);
    if (!problem.empty()) problems_.add(fmt::format("{}{}", prefixes_.back(), name), problem);
  }

  bool begin_section(std::string_view name, std::string_view, bool written) override {
    if (written) prefixes_.push_back(fmt::format("{}{}.", prefixes_.back(), name));
    return written;
  }

  void end_section() override { prefixes_.pop_back(); }

 private:
  Problems& problems_;
  std::vector<std::string> prefixes_{""};
};

}  // namespace

void check_values(const std::function<void(Schema&)>& keys, Problems& problems) {
  ValueChecker checker(problems);
  keys(checker);
}

}  // namespace skipless
