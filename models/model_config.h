// The `model:` section: everything that decides a model's tensors.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "models/block.h"
#include "models/transformer_config.h"

namespace skipless {

enum class ModelKind { gpt };
std::span<const EnumName<ModelKind>> enum_names(ModelKind);

enum class PositionKind { learned, sinusoidal };
std::span<const EnumName<PositionKind>> enum_names(PositionKind);

/// The Config of every variant, by name. A value: copying it copies them all.
class BlockConfigs {
 public:
  BlockConfigs();
  BlockConfigs(const BlockConfigs& other);
  BlockConfigs& operator=(const BlockConfigs& other);

  BlockConfig& operator[](const std::string& variant) { return *configs_.at(variant); }
  const BlockConfig& operator[](const std::string& variant) const { return *configs_.at(variant); }

 private:
  std::map<std::string, std::unique_ptr<BlockConfig>> configs_;
};

struct ModelConfig : TransformerConfig {
  ModelKind kind = ModelKind::gpt;
  std::string block = "pre_ln";  // a name of block_variants()
  BlockConfigs blocks;
  int64_t vocab_size = 50'000;
  int64_t vocab_multiple = 1;
  int64_t context_length = 128;
  std::optional<int64_t> n_positions;  // default context_length
  PositionKind positions = PositionKind::learned;
  bool tied_head = true;
  NormKind final_norm = NormKind::layer_norm;
  double final_norm_eps = 1e-5;

  const BlockConfig& block_config() const { return blocks[block]; }
  /// Rows of the embedding: vocab_size rounded up to vocab_multiple.
  int64_t n_embedding() const { return (vocab_size + vocab_multiple - 1) / vocab_multiple * vocab_multiple; }

  void keys(Schema& s);
  void resolve();
  void check(Problems& problems) const;
};

}  // namespace skipless
