// The table of other codes' formats: the one place where the word of --from and --to meets what reads and writes it.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string_view>

#include "models/convert/tensor_map.h"

namespace skipless {

struct ForeignFormat {
  std::string_view name;   // the word of --from and --to
  std::string_view what;   // for messages
  std::string_view marks;  // by what its settings are known
  bool (*is)(const nlohmann::json& settings);
  ImportedModel (*import)(const nlohmann::json& settings, Tensors theirs, const ImportSource& source);
  /// `end_of_text`: the tokenizer's, for the formats that name it.
  ExportedModel (*export_model)(const ModelConfig& config, const Tensors& ours, std::optional<int64_t> end_of_text);
};

/// The first row whose settings they are is meant.
std::span<const ForeignFormat> foreign_formats();

}  // namespace skipless
