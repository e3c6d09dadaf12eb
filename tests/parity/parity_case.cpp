#include "parity_case.h"

#include <algorithm>

#include "configs/error.h"
#include "models/convert/json_file.h"
#include "models/safetensors.h"

namespace skipless::parity {

Tensors Case::weights() const {
  return read_safetensors(weights_file()).tensors;
}

Tensors Case::reference() const {
  return read_safetensors(reference_file("f64")).tensors;
}

std::optional<Tensors> Case::float32_reference() const {
  const auto file = reference_file("f32");
  if (!std::filesystem::exists(file)) return std::nullopt;
  return read_safetensors(file).tensors;
}

std::vector<std::string> Case::names(const std::string& key) const {
  if (!settings.contains(key) || !settings[key].is_array()) {
    throw UserError(stem.string() + ".json: no list '" + key + "'");
  }
  return settings[key].get<std::vector<std::string>>();
}

std::vector<Case> find_cases(const std::filesystem::path& folder) {
  const auto inner = folder / "cases";
  const auto& place = std::filesystem::is_directory(inner) ? inner : folder;
  if (!std::filesystem::is_directory(place)) throw UserError(place.string() + ": no such folder");
  std::vector<Case> cases;
  for (const auto& entry : std::filesystem::directory_iterator(place)) {
    if (entry.path().extension() != ".json") continue;
    cases.push_back({.name = entry.path().stem().string(),
                     .stem = entry.path().parent_path() / entry.path().stem(),
                     .settings = read_json_file(entry.path())});
  }
  if (cases.empty()) throw UserError(place.string() + ": no parity case (X.json) in it");
  std::sort(cases.begin(), cases.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return cases;
}

}  // namespace skipless::parity
