// Names that other programs' configs have for the same things: what a key that is not known may have meant.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skipless {

/// The one of `keys` whose name, or whose name elsewhere, is nearest to `name` (nearest_name): "learning_rte" is near
/// to learning_rate, which is the key lr here.
std::optional<std::string> nearest_key(std::string_view name, const std::vector<std::string>& keys);

}  // namespace skipless
