// Whether another code's settings say all that our config of a model says.
#pragma once

#include <string>
#include <vector>

#include "models/convert/tensor_map.h"
#include "models/model_config.h"

namespace skipless {

/// The config without an identity start that is over: where lambda is 0 in every layer of `ours`.
ModelConfig as_computed_now(ModelConfig config, const Tensors& ours);

/// `read`: the config as which the settings that were written for `config` are read. UserError, naming each key with
/// both values, where the two differ in what is computed or trained. Differences that only matter for a model that is
/// made anew, or how the weights are laid out, are returned as notes.
std::vector<std::string> require_expressed(const ModelConfig& config, const ModelConfig& read,
                                           const std::string& format);

}  // namespace skipless
