// "did you mean": the known name that was probably meant by an unknown one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skipless {

/// The one of `names` with the fewest inserted, dropped, changed or swapped letters; capitals and '-' for '_' cost
/// nothing. Nothing when even that one is too far away to be what was meant.
std::optional<std::string> nearest_name(std::string_view name, const std::vector<std::string>& names);

/// " (did you mean 'x'?)", or "" when no name is near.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& names);

}  // namespace skipless
