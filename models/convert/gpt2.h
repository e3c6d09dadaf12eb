// GPT-2 as Hugging Face transformers writes it: config.json and tensors, read and written as pre_ln with biases.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "models/convert/tensor_map.h"

namespace skipless {

/// Whether this is the config.json of a GPT-2.
bool is_gpt2_config(const nlohmann::json& settings);

/// Names may lack the prefix "transformer."; lm_head.weight may stand beside the embedding that it is tied to, or in
/// its place; mask buffers are left out. Settings that change what is computed and that this code lacks are refused by
/// name (UserError, the file at fault first).
ImportedModel import_gpt2(const nlohmann::json& settings, Tensors theirs, const ImportSource& source);

/// Our model (`ours`: its parameters and buffers) as GPT2LMHeadModel reads it; the tied head is written once.
/// `end_of_text`: the tokenizer's token that ends a text and, as GPT-2's own, begins one; null is written without.
/// UserError, by key, for a model that is no GPT-2.
ExportedModel export_gpt2(const ModelConfig& config, const Tensors& ours, std::optional<int64_t> end_of_text = {});

/// The tensors of a model that is a GPT-2 (export_gpt2 tells), with the prefix.
TensorMap gpt2_map(const ModelConfig& config);

}  // namespace skipless
