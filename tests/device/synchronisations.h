// Where the host waits for a CUDA device, as LibTorch sees it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace skipless::device {

/// What LibTorch warns of while `work` runs with its warnings of synchronisation on. Nothing where this was built
/// without the toolkit's headers.
std::optional<std::vector<std::string>> synchronisations_of(const std::function<void()>& work);

}  // namespace skipless::device
