#include "data/sequence_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "configs/error.h"

namespace skipless {
namespace {

constexpr std::size_t kOfSingle = 2;  // [CLS] and [SEP]
constexpr std::size_t kOfPair = 3;

std::int64_t required_special(const Tokenizer& tokenizer, std::string_view name) {
  if (const auto id = tokenizer.special_token_id(name)) return *id;
  throw UserError(fmt::format("an encoder's sequences need a tokenizer with the special token {}; {} ({}) has none",
                              name, tokenizer.hash(), tokenizer.kind()));
}

/// How many tokens of two texts stay, where `room` is all there is.
std::pair<std::size_t, std::size_t> longest_first(std::size_t a, std::size_t b, std::size_t room) {
  if (a + b <= room) return {a, b};
  const std::size_t half = room / 2, other_half = room - half;
  if (std::min(a, b) <= half) return a > b ? std::pair(room - b, b) : std::pair(a, room - a);
  return a > b ? std::pair(other_half, half) : std::pair(half, other_half);
}

}  // namespace

SequenceBuilder::SequenceBuilder(const Tokenizer& tokenizer, std::int64_t max_length)
    : encoder_(tokenizer.make_encoder()), max_length_(static_cast<std::size_t>(std::max<std::int64_t>(max_length, 0))) {
  begin_ = required_special(tokenizer, "[CLS]");
  end_ = required_special(tokenizer, "[SEP]");
  if (max_length_ < kOfPair) {
    throw UserError(fmt::format("sequences of {} tokens have no room for [CLS], [SEP] and [SEP]", max_length));
  }
}

void SequenceBuilder::append(Sequence& sequence, const std::vector<std::int32_t>& ids, std::size_t count,
                             std::int64_t type) const {
  sequence.ids.insert(sequence.ids.end(), ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count));
  sequence.special.resize(sequence.ids.size(), false);
  sequence.ids.push_back(end_);
  sequence.special.push_back(true);
  sequence.token_types.resize(sequence.ids.size(), type);
  sequence.cut += static_cast<std::int64_t>(ids.size() - count);
}

Sequence SequenceBuilder::single(std::string_view a) {
  a_.clear();
  encoder_->encode(a, a_);
  Sequence sequence{.ids = {begin_}, .token_types = {0}, .special = {true}};
  append(sequence, a_, std::min(a_.size(), max_length_ - kOfSingle), 0);
  return sequence;
}

Sequence SequenceBuilder::pair(std::string_view a, std::string_view b) {
  a_.clear();
  b_.clear();
  encoder_->encode(a, a_);
  encoder_->encode(b, b_);
  const auto [of_a, of_b] = longest_first(a_.size(), b_.size(), max_length_ - kOfPair);
  Sequence sequence{.ids = {begin_}, .token_types = {0}, .special = {true}};
  append(sequence, a_, of_a, 0);
  append(sequence, b_, of_b, 1);
  return sequence;
}

}  // namespace skipless
