// Where messages of the program go: to the terminal, warnings and errors on standard error.
#pragma once

#include <string>
#include <vector>

namespace skipless {

/// Names for --log-level.
const std::vector<std::string>& log_levels();

/// Sets up spdlog's default logger. `level`, one of log_levels(), is the least that the console shows; a run's own
/// train.log does not depend on it.
void set_up_logging(const std::string& level);

}  // namespace skipless
