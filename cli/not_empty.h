// A check of the value of an option or an argument.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace skipless {

/// Refuses "", which would pass for an option that was not given, and as a file would leave a gap in messages.
inline CLI::Validator not_empty() {
  return CLI::Validator([](std::string& value) { return std::string(value.empty() ? "is empty" : ""); }, "");
}

}  // namespace skipless
