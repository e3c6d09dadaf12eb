// The format of the paper's authors (bobby-he/simplified_transformers): settings, names and layouts, read and written.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "models/convert/tensor_map.h"

namespace skipless {

/// Whether these settings are the authors': they hold a `model_cfg`, a list of `overrides`, or the settings themselves
/// at the top, as the config.json that their run saves.
bool is_official_config(const nlohmann::json& settings);

/// Their settings and weights in our form. Sizes are those of the tensors; a setting that contradicts them, or that
/// this code cannot honour, is refused by name (UserError, the file at fault first). `const/<module>.id` is the fixed
/// W_init of a gained projection, which their state_dict lacks; it may be absent where it is the identity.
ImportedModel import_official(const nlohmann::json& settings, Tensors theirs, const ImportSource& source);

/// Our model (`ours`: its parameters and buffers) as a checkpoint that their code loads, and their settings of it. The
/// tied head is written once. A fixed W_init is left out where it is the identity, which their code makes itself, and
/// else is written as `const/<module>.id`, for which their state_dict has no place. UserError, by key, for a model that
/// they cannot express.
ExportedModel export_official(const ModelConfig& config, const Tensors& ours);

/// What their checkpoint of this model holds: parameters, trained or not, and the `const/` tensors. UserError if their
/// code cannot express the model.
TensorMap official_map(const ModelConfig& config);

/// Parameters as their run prints them: all that they register, trained or not, the tied head once. Their frozen zero
/// biases, gains and second norms count. What they cannot express counts as its nearest relative of theirs would.
int64_t official_parameter_count(const ModelConfig& config);

}  // namespace skipless
