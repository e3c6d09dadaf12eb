#include "cli/config_arguments.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "configs/error.h"

namespace skipless {

namespace {

bool is_override(const std::string& argument) {
  return argument.find('=') != std::string::npos;
}

bool is_file(const std::string& argument) {
  std::error_code ignored;
  const auto status = std::filesystem::status(argument, ignored);
  return std::filesystem::exists(status) && !std::filesystem::is_directory(status);
}

}  // namespace

ConfigArguments split_config_arguments(const std::vector<std::string>& arguments) {
  ConfigArguments split;
  for (const auto& argument : arguments) {
    if (split.file.empty() && (!is_override(argument) || is_file(argument))) {
      split.file = argument;
    } else if (is_override(argument)) {
      split.overrides.push_back(argument);
    } else {
      throw UserError(fmt::format("'{}' is neither key=value nor the config, which is '{}'", argument, split.file));
    }
  }
  return split;
}

}  // namespace skipless
