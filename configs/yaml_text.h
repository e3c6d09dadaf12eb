// Values as YAML text on one line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace skipless {

/// Plain where every reader of YAML would take it as text, in double quotes elsewhere ("no", "1e3", "", "null").
/// Throws UserError on text that YAML cannot hold: invalid UTF-8 or a NUL.
std::string yaml_text(std::string_view text);

/// "[a, b]"
std::string yaml_list(const std::vector<std::string>& texts);

}  // namespace skipless
