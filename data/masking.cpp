#include "data/masking.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <string_view>
#include <utility>

#include "configs/error.h"
#include "data/permutation.h"

namespace skipless {
namespace {

constexpr double kMaskShare = 0.8;
constexpr double kMaskOrRandomShare = 0.9;
constexpr std::array<std::string_view, 2> kMaskNames = {"[MASK]", "<mask>"};

/// Half to even.
std::size_t rounded(double share, std::size_t count) {
  const double value = share * static_cast<double>(count);
  const double below = std::floor(value);
  const double rest = value - below;
  const bool up = rest > 0.5 || (rest == 0.5 && std::fmod(below, 2) != 0);
  return static_cast<std::size_t>(below) + (up ? 1 : 0);
}

}  // namespace

/// The random numbers of one row, by a counter: no state of a library's generator, no distribution of one.
class TokenMasker::Draws {
 public:
  Draws(std::uint64_t seed, std::uint64_t item) : key_(mix(seed, item)) {}

  /// 0 .. limit - 1, all equally probable: numbers at the end that are no whole multiple of `limit` are passed over.
  std::uint64_t below(std::uint64_t limit) {
    const std::uint64_t rest = (std::uint64_t{0} - limit) % limit;  // 2^64 mod limit
    std::uint64_t value = next();
    while (value < rest) value = next();
    return value % limit;
  }

  /// 0 <= value < 1, in steps of 2^-53.
  double uniform() { return std::ldexp(static_cast<double>(next() >> 11), -53); }

 private:
  std::uint64_t next() { return mix(key_, counter_++); }

  std::uint64_t key_;
  std::uint64_t counter_ = 0;
};

MaskToken mask_token(const Tokenizer& tokenizer) {
  for (const std::string_view name : kMaskNames) {
    if (const auto id = tokenizer.special_token_id(name)) return {.name = name, .id = *id};
  }
  throw UserError(
      fmt::format("masked language modelling needs a tokenizer with a special token {} or {}; {} ({}) "
                  "has none",
                  kMaskNames[0], kMaskNames[1], tokenizer.hash(), tokenizer.kind()));
}

TokenMasker::TokenMasker(const MaskingConfig& config, const Tokenizer& tokenizer, std::uint64_t seed)
    : config_(config),
      seed_(seed),
      mask_id_(mask_token(tokenizer).id),
      special_(static_cast<std::size_t>(tokenizer.vocab_size())) {
  for (std::int64_t i = 0; i < tokenizer.vocab_size(); ++i) {
    const auto id = static_cast<std::int32_t>(i);
    special_[static_cast<std::size_t>(i)] = tokenizer.is_special(id);
    if (tokenizer.has_id(id) && !tokenizer.is_special(id)) ordinary_.push_back(id);
  }
  if (ordinary_.empty()) throw UserError(fmt::format("the tokenizer {} has only special tokens", tokenizer.hash()));
}

std::vector<std::uint32_t> TokenMasker::candidates(std::span<const std::int64_t> ids, std::int64_t length) const {
  std::vector<std::uint32_t> places;
  places.reserve(static_cast<std::size_t>(length));
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(length); ++i) {
    if (!config_.exclude_special || !special_.at(static_cast<std::size_t>(ids[i]))) places.push_back(i);
  }
  return places;
}

std::int64_t TokenMasker::random_token(Draws& draws) const {
  return ordinary_[static_cast<std::size_t>(draws.below(ordinary_.size()))];
}

std::int64_t TokenMasker::mask(std::span<const std::int64_t> ids, std::int64_t length, std::uint64_t item,
                               std::span<std::int64_t> inputs, std::span<std::int64_t> labels) const {
  assert(inputs.size() == ids.size() && labels.size() == ids.size());
  assert(length >= 0 && static_cast<std::size_t>(length) <= ids.size());
  auto places = candidates(ids, length);
  if (inputs.data() != ids.data()) std::copy(ids.begin(), ids.end(), inputs.begin());
  std::fill(labels.begin(), labels.end(), kNoLabel);
  Draws draws(seed_, item);

  if (config_.rule == MaskingRule::bernoulli) {
    std::int64_t masked = 0;
    for (const std::uint32_t place : places) {
      if (draws.uniform() >= config_.rate) continue;
      ++masked;
      labels[place] = inputs[place];
      const double share = draws.uniform();
      if (share < kMaskShare) {
        inputs[place] = mask_id_;
      } else if (share < kMaskOrRandomShare) {
        inputs[place] = random_token(draws);
      }
    }
    return masked;
  }

  // The first n of a random order of the candidates: a shuffle that stops after n.
  const std::size_t n = rounded(config_.rate, places.size());
  const std::size_t masks = rounded(kMaskShare, n), masks_and_random = rounded(kMaskOrRandomShare, n);
  for (std::size_t i = 0; i < n; ++i) {
    std::swap(places[i], places[i + static_cast<std::size_t>(draws.below(places.size() - i))]);
    const std::uint32_t place = places[i];
    labels[place] = inputs[place];
    if (i < masks) {
      inputs[place] = mask_id_;
    } else if (i < masks_and_random) {
      inputs[place] = random_token(draws);
    }
  }
  return static_cast<std::int64_t>(n);
}

MaskedPositions masked_positions(std::span<const std::int64_t> labels, std::int64_t rows) {
  assert(rows > 0 && labels.size() % static_cast<std::size_t>(rows) == 0);
  const std::size_t length = labels.size() / static_cast<std::size_t>(rows);
  MaskedPositions result{.rows = rows, .most = 0, .positions = {}, .labels = {}};
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
    const auto of_row = labels.subspan(row * length, length);
    result.most = std::max(
        result.most, static_cast<std::int64_t>(of_row.size()) - std::count(of_row.begin(), of_row.end(), kNoLabel));
  }
  const auto most = static_cast<std::size_t>(result.most);
  result.positions.assign(static_cast<std::size_t>(rows) * most, 0);
  result.labels.assign(static_cast<std::size_t>(rows) * most, kNoLabel);
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
    std::size_t out = row * most;
    for (std::size_t i = 0; i < length; ++i) {
      const std::int64_t label = labels[row * length + i];
      if (label == kNoLabel) continue;
      result.positions[out] = static_cast<std::int64_t>(i);
      result.labels[out++] = label;
    }
  }
  return result;
}

}  // namespace skipless
