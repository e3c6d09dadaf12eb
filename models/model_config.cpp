#include "models/model_config.h"

#include <fmt/format.h>

#include <array>

#include "models/block_variants.h"

namespace skipless {

std::span<const EnumName<ModelKind>> enum_names(ModelKind) {
  static constexpr std::array<EnumName<ModelKind>, 2> kNames{{{ModelKind::gpt, "gpt"}, {ModelKind::bert, "bert"}}};
  return kNames;
}

std::span<const EnumName<PositionKind>> enum_names(PositionKind) {
  static constexpr std::array<EnumName<PositionKind>, 3> kNames{
      {{PositionKind::learned, "learned"},
       {PositionKind::sinusoidal, "sinusoidal"},
       {PositionKind::scaled_sinusoidal, "scaled_sinusoidal"}}};
  return kNames;
}

std::span<const EnumName<CentringOver>> enum_names(CentringOver) {
  static constexpr std::array<EnumName<CentringOver>, 2> kNames{
      {{CentringOver::kept, "kept"}, {CentringOver::all, "all"}}};
  return kNames;
}

void MlmHeadConfig::keys(Schema& s) {
  s.key("transform", transform, "linear map, activation (of geglu: gelu) and LayerNorm before the output matrix");
  s.key("bias", bias, "bias of the logits");
}

BlockConfigs::BlockConfigs() {
  for (const auto& variant : block_variants()) configs_.emplace(variant.name, variant.make_config());
}

BlockConfigs::BlockConfigs(const BlockConfigs& other) {
  *this = other;
}

BlockConfigs& BlockConfigs::operator=(const BlockConfigs& other) {
  if (this == &other) return *this;
  configs_.clear();
  for (const auto& [name, config] : other.configs_) configs_.emplace(name, config->clone());
  return *this;
}

void ModelConfig::keys(Schema& s) {
  std::vector<std::string> names;
  for (const auto& variant : block_variants()) names.emplace_back(variant.name);
  s.key("kind", kind, "gpt: a causal language model; bert: an encoder, trained as a masked language model");
  s.key("block", block, names, "the block variant");
  TransformerConfig::keys(s);
  const auto size = Range<int64_t>::between(1, 100'000'000);
  s.key("vocab_size", vocab_size, size, "token ids 0 .. vocab_size - 1");
  s.key("vocab_multiple", vocab_multiple, Range<int64_t>::between(1, 65'536),
        "embedding rows are rounded up to a multiple; the rows beyond vocab_size are never predicted");
  s.key("context_length", context_length, Range<int64_t>::between(2, 10'000'000), "tokens of a training sequence");
  s.key("n_positions", n_positions, size, "longest sequence; empty: context_length");
  s.key("positions", positions,
        "position embedding, added to the token embedding; scaled_sinusoidal: times a trained number");
  s.key("n_token_types", n_token_types, Range<int64_t>::between(0, 1000),
        "bert: embeddings of which text of a pair a token is of; 0: none");
  s.key("padding_id", padding_id, Range<int64_t>::between(0, 99'999'999),
        "token whose embedding the lookup does not train; empty: none");
  s.key("embedding_norm", embedding_norm, "norm of the embedding sum");
  s.key("embedding_norm_eps", embedding_norm_eps, Range<double>::between(0, 1), "its eps");
  s.key("tied_head", tied_head, "the output matrix is the token embedding");
  s.section("mlm_head", mlm_head, "bert: what the masked language model has beside its output matrix");
  s.key("centring_over", centring_over, "bert: C is uniform over the keys that are not padding, or over all");
  s.key("final_norm", final_norm, "norm after the last block");
  s.key("final_norm_eps", final_norm_eps, Range<double>::between(0, 1), "its eps");
  for (const auto& variant : block_variants()) {
    const std::string name(variant.name);
    s.section(name, blocks[name], variant.source, /*written=*/name == block);
  }
}

void ModelConfig::resolve() {
  TransformerConfig::resolve();
  if (!n_positions) n_positions = context_length;
  for (const auto& variant : block_variants()) blocks[std::string(variant.name)].resolve(*this);
}

void ModelConfig::check(Problems& problems) const {
  TransformerConfig::check(problems);
  if (*n_positions < context_length) {
    problems.add("n_positions",
                 fmt::format("{} positions are fewer than context_length {}", *n_positions, context_length));
  }
  if (padding_id && *padding_id >= vocab_size) {
    problems.add("padding_id", fmt::format("{} is not below vocab_size {}", *padding_id, vocab_size));
  }
  if (kind == ModelKind::gpt) {
    const auto of_bert = [&](bool set, std::string_view key) {
      if (set) problems.add(key, "is of 'kind: bert', and this is a gpt");
    };
    of_bert(n_token_types > 0, "n_token_types");
    of_bert(mlm_head.transform, "mlm_head.transform");
    of_bert(mlm_head.bias, "mlm_head.bias");
    of_bert(centring_over == CentringOver::all, "centring_over");
  }
  if (init.depth_scaled && block_config().attention_config().tie_init != TieInit::none) {
    problems.add("init.depth_scaled", fmt::format("scales W_P, but {}.tie_init makes it undo W_V", block));
  }
  for (const auto& variant : block_variants()) {
    problems.within(variant.name, [&](Problems& p) { blocks[std::string(variant.name)].check(p); });
  }
}

}  // namespace skipless
