// One text or two -> what an encoder reads: [CLS] a [SEP] or [CLS] a [SEP] b [SEP], cut to a length.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "data/tokenizer.h"

namespace skipless {

/// Not padded: all vectors have as many entries as there are tokens.
struct Sequence {
  std::vector<std::int64_t> ids;
  std::vector<std::int64_t> token_types;  // 0 up to the first [SEP], itself included, then 1
  std::vector<bool> special;              // [CLS] and [SEP]
  std::int64_t cut = 0;                   // tokens of the texts that found no room
};

/// For one thread at a time; the tokenizer must outlive it.
class SequenceBuilder {
 public:
  /// No sequence is longer than `max_length` tokens, [CLS] and [SEP] included. UserError where the tokenizer has no
  /// special tokens [CLS] and [SEP], and for a max_length below 3.
  SequenceBuilder(const Tokenizer& tokenizer, std::int64_t max_length);

  /// UserError for what the tokenizer refuses (TextEncoder). Too long texts lose tokens at their ends; of a pair, the
  /// longer one loses tokens until both fit or both are as long, and if they then differ by one, the one that was
  /// longer keeps the odd token, b where they were equally long. That is `longest_first` of the `tokenizers` package.
  Sequence single(std::string_view a);
  Sequence pair(std::string_view a, std::string_view b);

 private:
  void append(Sequence& sequence, const std::vector<std::int32_t>& ids, std::size_t count, std::int64_t type) const;

  std::unique_ptr<TextEncoder> encoder_;
  std::size_t max_length_;
  std::int64_t begin_ = 0;  // [CLS]
  std::int64_t end_ = 0;    // [SEP]
  std::vector<std::int32_t> a_;
  std::vector<std::int32_t> b_;
};

}  // namespace skipless
