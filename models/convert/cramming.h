// Crammed BERT as the Cramming code writes it: settings under `arch`, and tensors.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "models/convert/tensor_map.h"

namespace skipless {

/// Whether these settings are those of the Cramming code.
bool is_cramming_config(const nlohmann::json& settings);

/// A masked language model, or a classifier of sequences, whose pooler and last map go to ImportedModel::head. The
/// fused map of queries, keys and values holds [q_h k_h v_h] head by head. Their layers are pre_ln; layers with gains,
/// which their code does not have, are read as sas, or as sas_p where there is no gain of a feed-forward skip.
/// Sinusoids are those that their code computes, in float32. Settings that change what is computed and that this code
/// lacks are refused by name (UserError, the file at fault first).
ImportedModel import_cramming(const nlohmann::json& settings, Tensors theirs, const ImportSource& source);

/// Our model (`ours`: its parameters and buffers) as their masked language model. UserError, by key, for a model that
/// their code cannot express.
ExportedModel export_cramming(const ModelConfig& config, const Tensors& ours);

}  // namespace skipless
