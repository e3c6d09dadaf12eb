// Masked language modelling: which tokens of a row are hidden, what stands in their place, and what is to be predicted.
//
// Of the masked positions 80 % become the mask token, 10 % a random token and 10 % stay as they are; the loss is over
// all of them. Two rules say how many are masked (PAPER.md section 3 has the first one):
//
//   exact      n = round(rate * candidates) positions of each row, all sets of n equally probable; of them
//              round(0.8 n) become the mask token and round(0.9 n) - round(0.8 n) a random one (Cramming's code)
//   bernoulli  each candidate for itself with probability `rate`, what stands in its place drawn for itself too (BERT)
//
// round() is Python's: half to even, of the product in float64. Candidates are the row's real tokens, without special
// tokens if asked for, never its padding. A random token is any ordinary one of the vocabulary with equal probability:
// no special token, no id that no token has.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "data/masking_config.h"
#include "data/tokenizer.h"

namespace skipless {

/// What stands in `labels` where nothing is to be predicted.
inline constexpr std::int64_t kNoLabel = -100;

/// The special token that hides others.
struct MaskToken {
  std::string_view name;
  std::int32_t id = 0;
};

/// [MASK], or <mask>. UserError where the tokenizer has neither.
MaskToken mask_token(const Tokenizer& tokenizer);

/// Immutable: any number of threads may share one.
class TokenMasker {
 public:
  /// `seed`: another one masks otherwise. UserError where the tokenizer has no mask token, or no ordinary token.
  TokenMasker(const MaskingConfig& config, const Tokenizer& tokenizer, std::uint64_t seed);

  /// One row: `ids`, `inputs` and `labels` are [T], the row's real tokens are the first `length`. Returns how many
  /// positions are masked: where there are labels. A pure function of seed, `item` (the row's number in the stream of
  /// training rows) and the row, the same on every machine. `inputs` may be `ids`.
  std::int64_t mask(std::span<const std::int64_t> ids, std::int64_t length, std::uint64_t item,
                    std::span<std::int64_t> inputs, std::span<std::int64_t> labels) const;

 private:
  class Draws;

  std::vector<std::uint32_t> candidates(std::span<const std::int64_t> ids, std::int64_t length) const;
  std::int64_t random_token(Draws& draws) const;

  MaskingConfig config_;
  std::uint64_t seed_;
  std::int64_t mask_id_ = 0;
  std::vector<bool> special_;           // by id
  std::vector<std::int32_t> ordinary_;  // ids
};

/// The masked positions of a batch of rows, for a head that runs on them alone.
struct MaskedPositions {
  std::int64_t rows = 0;
  std::int64_t most = 0;                // M: masked positions of the row that has most; 0: nothing is masked
  std::vector<std::int64_t> positions;  // [rows, M], ascending in each row, then 0
  std::vector<std::int64_t> labels;     // [rows, M], then kNoLabel
};

/// `labels`: [rows, T].
MaskedPositions masked_positions(std::span<const std::int64_t> labels, std::int64_t rows);

}  // namespace skipless
