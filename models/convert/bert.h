// BERT as Hugging Face transformers writes it: config.json and tensors, read and written as post_ln with biases.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "models/convert/tensor_map.h"

namespace skipless {

/// Whether this is the config.json of a BERT.
bool is_bert_config(const nlohmann::json& settings);

/// A masked language model, a classifier of sequences, or an encoder alone, whose names may lack the prefix "bert.".
/// The norm that ends each of their layers is the first norm of our next block, or the final norm. Where the file has
/// no head of a masked language model, ours is the tied embedding alone. A pooler and a classifier go to
/// ImportedModel::head. Settings that change what is computed and that this code lacks are refused by name (UserError,
/// the file at fault first); the head for next sentences is left out with a note.
ImportedModel import_bert(const nlohmann::json& settings, Tensors theirs, const ImportSource& source);

/// Our model (`ours`: its parameters and buffers) as BertForMaskedLM reads it, or, without mlm_head's transform and
/// bias, as BertModel does. UserError, by key, for a model that is no BERT.
ExportedModel export_bert(const ModelConfig& config, const Tensors& ours);

}  // namespace skipless
