#include "models/model_config.h"

#include <fmt/format.h>

#include <array>

#include "models/block_variants.h"

namespace skipless {

std::span<const EnumName<ModelKind>> enum_names(ModelKind) {
  static constexpr std::array<EnumName<ModelKind>, 1> kNames{{{ModelKind::gpt, "gpt"}}};
  return kNames;
}

std::span<const EnumName<PositionKind>> enum_names(PositionKind) {
  static constexpr std::array<EnumName<PositionKind>, 2> kNames{
      {{PositionKind::learned, "learned"}, {PositionKind::sinusoidal, "sinusoidal"}}};
  return kNames;
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
  s.key("kind", kind, "gpt: a causal language model");
  s.key("block", block, names, "the block variant");
  TransformerConfig::keys(s);
  const auto size = Range<int64_t>::between(1, 100'000'000);
  s.key("vocab_size", vocab_size, size, "token ids 0 .. vocab_size - 1");
  s.key("vocab_multiple", vocab_multiple, Range<int64_t>::between(1, 65'536),
        "embedding rows are rounded up to a multiple; the rows beyond vocab_size are never predicted");
  s.key("context_length", context_length, Range<int64_t>::between(2, 10'000'000), "tokens of a training sequence");
  s.key("n_positions", n_positions, size, "longest sequence; empty: context_length");
  s.key("positions", positions, "position embedding, added to the token embedding");
  s.key("tied_head", tied_head, "the output matrix is the token embedding");
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
  if (init.depth_scaled && block_config().attention_config().tie_init != TieInit::none) {
    problems.add("init.depth_scaled", fmt::format("scales W_P, but {}.tie_init makes it undo W_V", block));
  }
  for (const auto& variant : block_variants()) {
    problems.within(variant.name, [&](Problems& p) { blocks[std::string(variant.name)].check(p); });
  }
}

}  // namespace skipless
