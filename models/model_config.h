// The `model:` section: everything that decides a model's tensors.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "models/block.h"
#include "models/transformer_config.h"

namespace skipless {

enum class ModelKind { gpt, bert };
std::span<const EnumName<ModelKind>> enum_names(ModelKind);

enum class PositionKind { learned, sinusoidal, scaled_sinusoidal };
std::span<const EnumName<PositionKind>> enum_names(PositionKind);

/// The keys over which C of an encoder is uniform: those that are kept, as A is at zero query-key product, or all.
enum class CentringOver { kept, all };
std::span<const EnumName<CentringOver>> enum_names(CentringOver);

/// What a masked language model has before and beside its output matrix. Crammed: neither. Hugging Face BERT: both.
struct MlmHeadConfig {
  bool transform = false;  // LayerNorm(act(W h + b))
  bool bias = false;       // of the logits, one per token

  void keys(Schema& s);
};

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
  int64_t n_token_types = 0;          // of BERT; 0: none
  std::optional<int64_t> padding_id;  // its embedding is trained as an output only
  NormKind embedding_norm = NormKind::none;
  double embedding_norm_eps = 1e-12;
  bool tied_head = true;
  MlmHeadConfig mlm_head;                           // of BERT
  CentringOver centring_over = CentringOver::kept;  // of BERT
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
