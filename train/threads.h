// The CPU threads of a run.
#pragma once

#include <cstdint>
#include <string>

namespace skipless {

/// 0: as many as LibTorch takes by itself. More than the machine runs at once only get in each other's way: then as
/// many as it runs are taken, and what is returned says so. "" otherwise.
std::string set_threads(int64_t threads);

}  // namespace skipless
