// The positional arguments of commands that read a config: one file, and any number of overrides.
#pragma once

#include <string>
#include <vector>

namespace skipless {

struct ConfigArguments {
  std::string file;                    // empty: none was given
  std::vector<std::string> overrides;  // "key.path=value"
};

/// What holds '=' is an override, unless no config came before it and it is the name of a file. UserError for a second
/// file.
ConfigArguments split_config_arguments(const std::vector<std::string>& arguments);

}  // namespace skipless
