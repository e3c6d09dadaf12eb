// One parity case on the disk: X.json and its tensors. parity/README.md's format; who wrote the numbers is in the JSON.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "models/convert/tensor_map.h"

namespace skipless::parity {

struct Case {
  std::string name;  // for printing alone: what a case is stands in its JSON
  std::filesystem::path stem;
  nlohmann::json settings;

  std::string weights_file() const { return stem.string() + ".weights.safetensors"; }
  std::string reference_file(const std::string& precision) const {
    return stem.string() + "." + precision + ".safetensors";
  }
  Tensors weights() const;
  Tensors reference() const;  // float64
  /// The same inputs in float32, which not every case has.
  std::optional<Tensors> float32_reference() const;

  /// Names listed in the JSON; UserError when the list is missing or is none.
  std::vector<std::string> names(const std::string& key) const;
};

/// The cases in `folder` or its `cases` folder, by name; UserError when there is none.
std::vector<Case> find_cases(const std::filesystem::path& folder);

}  // namespace skipless::parity
