// The problems of a Config whose values came from elsewhere than a config file.
#pragma once

#include <functional>

#include "configs/schema.h"

namespace skipless {

/// Reports each value that its key does not allow, as reading it from a file would. Sections that would not be written
/// are left out.
void check_values(const std::function<void(Schema&)>& keys, Problems& problems);

/// What parse_config would refuse of `config`, were it written to a file: values that their keys do not allow; if there
/// are none, `config` is resolved, and what that filled in is checked too, together with the contradictions.
template <class Config>
Problems problems_of(Config& config) {
  const auto keys = [&](Schema& s) { config.keys(s); };
  Problems problems;
  check_values(keys, problems);
  if (!problems.empty()) return problems;
  config.resolve();
  check_values(keys, problems);
  config.check(problems);
  return problems;
}

}  // namespace skipless
