// A check of an option's value.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace skipless {

/// Refuses `--device ""`, which would pass for an option that was not given.
inline CLI::Validator not_empty() {
  return CLI::Validator([](std::string& value) { return std::string(value.empty() ? "is empty" : ""); }, "");
}

}  // namespace skipless
