// A JSON file of another code's making.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

namespace skipless {

/// UserError when the file is missing, larger than 16 MiB, not JSON, or nested deeper than 64 levels.
nlohmann::json read_json_file(const std::filesystem::path& path);

}  // namespace skipless
