// The settings of the authors' models: their defaults, hydra overrides, and what they mean here.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/model_config.h"

namespace skipless {

/// What the tensors themselves say.
struct OfficialSizes {
  int64_t n_layer = 0;
  int64_t d_model = 0;
  int64_t n_head = 0;
  int64_t d_ff = 0;
  int64_t vocab_size = 0;
  int64_t n_positions = 0;
};

/// A model's settings, all of them: defaults of the chosen `model=` group, then the `overrides`, then what `model_cfg`
/// (or the top level) says. UserError, `source` first, for names and values that are not theirs.
nlohmann::json compose_official_settings(const nlohmann::json& file, const std::string& source);

/// Whether the top level of `file` holds their settings.
bool has_official_settings(const nlohmann::json& file);

/// Our config of composed settings. Settings that only concern what this code does not keep go to `notes`.
ModelConfig official_model_config(const nlohmann::json& settings, const OfficialSizes& sizes, double layer_norm_eps,
                                  const std::string& source, std::vector<std::string>& notes);

/// The reverse, as the top level of the config.json that their run saves. What they cannot say is left as it is by
/// their default: the caller reads it back and compares.
nlohmann::ordered_json official_file_settings(const ModelConfig& config);

}  // namespace skipless
