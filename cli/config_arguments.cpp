#include "cli/config_arguments.h"

#include <fmt/format.h>

#include "configs/error.h"

namespace skipless {

ConfigArguments split_config_arguments(const std::vector<std::string>& arguments) {
  ConfigArguments split;
  for (const auto& argument : arguments) {
    if (argument.find('=') != std::string::npos) {
      split.overrides.push_back(argument);
    } else if (split.file.empty()) {
      split.file = argument;
    } else {
      throw UserError(fmt::format("'{}' is neither key=value nor the config, which is '{}'", argument, split.file));
    }
  }
  return split;
}

}  // namespace skipless
