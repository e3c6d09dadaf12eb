#include "configs/synonyms.h"

#include <algorithm>
#include <cstddef>

#include "configs/nearest.h"

namespace skipless {
namespace {

struct Synonym {
  std::string_view elsewhere;
  std::string_view key;
};

// Only names that nearest_name does not find by itself. One that has no key in a Config is passed over.
constexpr Synonym kSynonyms[] = {
    {"learning_rate", "lr"},
    {"max_lr", "lr"},
    {"min_lr", "lr_end"},
    {"lr_schedule", "schedule"},
    {"lr_scheduler", "schedule"},
    {"max_steps", "steps"},
    {"num_steps", "steps"},
    {"train_steps", "steps"},
    {"total_steps", "steps"},
    {"max_iters", "steps"},
    {"iterations", "steps"},
    {"warmup_ratio", "warmup_fraction"},
    {"warmup_iters", "warmup_steps"},
    {"train_batch_size", "batch_size"},
    {"micro_batch_size", "micro_batch"},
    {"grad_clip", "clip_norm"},
    {"max_grad_norm", "clip_norm"},
    {"adam_beta1", "beta1"},
    {"adam_beta2", "beta2"},
    {"adam_epsilon", "eps"},
    {"random_seed", "seed"},
    {"num_threads", "threads"},
    {"eval_interval", "eval_every"},
    {"eval_steps", "eval_every"},
    {"save_interval", "save_every"},
    {"save_steps", "save_every"},
    {"checkpoint_every", "save_every"},
    {"log_interval", "log_every"},
    {"logging_steps", "log_every"},
    {"num_layers", "n_layer"},
    {"num_hidden_layers", "n_layer"},
    {"depth", "n_layer"},
    {"num_heads", "n_head"},
    {"num_attention_heads", "n_head"},
    {"hidden_size", "d_model"},
    {"embed_dim", "d_model"},
    {"n_embd", "d_model"},
    {"width", "d_model"},
    {"intermediate_size", "d_ff"},
    {"ffn_dim", "d_ff"},
    {"n_inner", "d_ff"},
    {"norm_type", "norm"},
    {"layer_norm_eps", "norm_eps"},
    {"hidden_act", "activation"},
    {"initializer_range", "init_std"},
    {"tie_word_embeddings", "tied_head"},
    {"tie_embeddings", "tied_head"},
    {"block_size", "context_length"},
    {"seq_len", "context_length"},
    {"sequence_length", "context_length"},
    {"n_ctx", "context_length"},
    {"max_position_embeddings", "n_positions"},
    {"block_type", "block"},
};

}  // namespace

std::optional<std::string> nearest_key(std::string_view name, const std::vector<std::string>& keys) {
  std::vector<std::string> names = keys;
  std::vector<std::string> meant = keys;
  for (const Synonym& synonym : kSynonyms) {
    if (std::find(keys.begin(), keys.end(), synonym.key) == keys.end()) continue;
    names.emplace_back(synonym.elsewhere);
    meant.emplace_back(synonym.key);
  }
  const std::optional<std::string> nearest = nearest_name(name, names);
  if (!nearest) return std::nullopt;
  return meant[static_cast<std::size_t>(std::find(names.begin(), names.end(), *nearest) - names.begin())];
}

}  // namespace skipless
