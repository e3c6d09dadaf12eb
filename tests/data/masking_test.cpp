#include "data/masking.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

#include "tests/data/messages.h"
#include "tests/data/small_tokenizer.h"

using namespace skipless;
using Catch::Contains;
using test::user_error_of;
using Row = std::vector<std::int64_t>;

namespace {

constexpr std::int64_t kMaskId = 300, kSeparator = 301;  // 262 .. 299: ids that no token has

BpeTokenizer tokenizer_with_mask() {
  BpeContent content = test::small_content();
  content.specials.emplace_back("[MASK]", kMaskId);
  content.specials.emplace_back("[SEP]", kSeparator);
  return BpeTokenizer(content);
}

/// Text without special tokens.
Row text_of(std::size_t length, std::uint64_t seed = 1) {
  test::Numbers numbers(seed);
  Row row(length);
  for (auto& id : row) id = static_cast<std::int64_t>(numbers.below(256));
  return row;
}

struct Masked {
  Row inputs, labels;
  std::int64_t count = 0;
};

Masked mask(const TokenMasker& masker, const Row& ids, std::uint64_t item, std::size_t length) {
  Masked result{.inputs = Row(ids.size()), .labels = Row(ids.size())};
  result.count = masker.mask(ids, static_cast<std::int64_t>(length), item, result.inputs, result.labels);
  return result;
}

Masked mask(const TokenMasker& masker, const Row& ids, std::uint64_t item) {
  return mask(masker, ids, item, ids.size());
}

std::int64_t labels_in(const Masked& row) {
  return static_cast<std::int64_t>(row.labels.size()) - std::count(row.labels.begin(), row.labels.end(), kNoLabel);
}

}  // namespace

TEST_CASE("the exact rule masks round(rate * T) tokens of each row, half to even", "[masking]") {
  const BpeTokenizer tokenizer = tokenizer_with_mask();
  struct Case {
    double rate;
    std::size_t length;
    std::int64_t masked, masks, random;  // as Python's round() gives them
  };
  const Case cases[] = {{0.25, 128, 32, 26, 3}, {0.25, 1, 0, 0, 0},  {0.25, 2, 0, 0, 0},    {0.25, 6, 2, 2, 0},
                        {0.25, 10, 2, 2, 0},    {0.25, 14, 4, 3, 1}, {0.25, 18, 4, 3, 1},   {0.25, 22, 6, 5, 0},
                        {0.15, 10, 2, 2, 0},    {0.15, 30, 4, 3, 1}, {0.15, 50, 8, 6, 1},   {0.15, 128, 19, 15, 2},
                        {0.15, 512, 77, 62, 7}, {0.25, 20, 5, 4, 0}, {0.25, 60, 15, 12, 2}, {1, 25, 25, 20, 2},
                        {0.15, 3, 0, 0, 0},     {0.5, 5, 2, 2, 0},   {0.5, 7, 4, 3, 1},     {0.5, 512, 256, 205, 25}};
  for (const Case& c : cases) {
    CAPTURE(c.rate, c.length);
    const TokenMasker masker({.rate = c.rate}, tokenizer, 5);
    const Row ids = text_of(c.length);
    for (std::uint64_t item = 0; item < 20; ++item) {
      const Masked row = mask(masker, ids, item);
      CHECK(row.count == c.masked);
      CHECK(labels_in(row) == c.masked);
      std::int64_t masks = 0, changed = 0;
      for (std::size_t i = 0; i < ids.size(); ++i) {
        if (row.labels[i] == kNoLabel) {
          CHECK(row.inputs[i] == ids[i]);
          continue;
        }
        CHECK(row.labels[i] == ids[i]);
        masks += row.inputs[i] == kMaskId ? 1 : 0;
        changed += row.inputs[i] != ids[i] && row.inputs[i] != kMaskId ? 1 : 0;
      }
      CHECK(masks == c.masks);
      CHECK(changed <= c.random);  // a random token may be the one that stood there
    }
  }
}

TEST_CASE("every position is masked equally often, and every ordinary token takes its place equally often",
          "[masking]") {
  const BpeTokenizer tokenizer = tokenizer_with_mask();
  const TokenMasker masker({.rate = 0.25}, tokenizer, 7);
  constexpr std::size_t kLength = 40, kRows = 20000;  // 10 masked, of them 8 [MASK], 1 random, 1 kept
  const Row ids(kLength, 261);
  std::vector<double> masked(kLength), random(kLength);
  std::vector<double> tokens(262);
  for (std::uint64_t item = 0; item < kRows; ++item) {
    const Masked row = mask(masker, ids, item);
    for (std::size_t i = 0; i < kLength; ++i) {
      if (row.labels[i] == kNoLabel) continue;
      ++masked[i];
      if (row.inputs[i] == kMaskId || row.inputs[i] == 261) continue;
      ++random[i];
      REQUIRE(row.inputs[i] != 256);  // <|endoftext|>
      REQUIRE(row.inputs[i] < 262);
      ++tokens[static_cast<std::size_t>(row.inputs[i])];
    }
  }
  const auto chi_square = [](const std::vector<double>& counts, double expected) {
    return std::accumulate(counts.begin(), counts.end(), 0.0, [&](double sum, double count) {
      return sum + (count - expected) * (count - expected) / expected;
    });
  };
  // The seed is fixed; a fair draw stays below the 99.9 % quantiles (39 and 259 degrees of freedom).
  CHECK(chi_square(masked, kRows * 0.25) < 72.1);
  const double drawn = std::accumulate(random.begin(), random.end(), 0.0);
  CHECK(std::abs(drawn - kRows * 260.0 / 261.0) < 4 * std::sqrt(kRows / 261.0));
  CHECK(chi_square(random, drawn / kLength) < 72.1);
  tokens.erase(tokens.begin() + 261);
  tokens.erase(tokens.begin() + 256);
  CHECK(chi_square(tokens, drawn / 260.0) < 334.2);
}

TEST_CASE("the bernoulli rule masks each token with the rate, and splits 80/10/10", "[masking]") {
  const BpeTokenizer tokenizer = tokenizer_with_mask();
  const TokenMasker masker({.rate = 0.15, .rule = MaskingRule::bernoulli}, tokenizer, 3);
  constexpr std::size_t kLength = 128, kRows = 4000;
  const Row ids(kLength, 261);
  double masked = 0, masks = 0, kept = 0, squares = 0;
  for (std::uint64_t item = 0; item < kRows; ++item) {
    const Masked row = mask(masker, ids, item);
    CHECK(row.count == labels_in(row));
    masked += static_cast<double>(row.count);
    squares += static_cast<double>(row.count * row.count);
    for (std::size_t i = 0; i < kLength; ++i) {
      if (row.labels[i] == kNoLabel) continue;
      masks += row.inputs[i] == kMaskId ? 1 : 0;
      kept += row.inputs[i] == 261 ? 1 : 0;
    }
  }
  const auto near = [](double got, double of, double probability) {
    return std::abs(got - of * probability) < 4 * std::sqrt(of * probability * (1 - probability));
  };
  CHECK(near(masked, kLength * kRows, 0.15));
  CHECK(near(masks, masked, 0.8));
  CHECK(near(kept, masked, 0.1 + 0.1 / 261));
  // The number of a row is binomial, not fixed: variance 128 * .15 * .85 = 16.3; over 4,000 rows its relative standard
  // deviation is 2.2 %.
  const double mean = masked / kRows, variance = squares / kRows - mean * mean;
  CHECK(variance == Approx(16.32).epsilon(0.09));
}

TEST_CASE("a row is masked by its seed, number and tokens alone", "[masking]") {
  const BpeTokenizer tokenizer = tokenizer_with_mask();
  for (const MaskingRule rule : {MaskingRule::exact, MaskingRule::bernoulli}) {
    const TokenMasker masker({.rate = 0.25, .rule = rule}, tokenizer, 11);
    const TokenMasker again({.rate = 0.25, .rule = rule}, tokenizer, 11);
    const TokenMasker other({.rate = 0.25, .rule = rule}, tokenizer, 12);
    const Row ids = text_of(128);
    std::set<Row> seen;
    for (std::uint64_t item = 50; item-- > 0;) {  // backwards: not what came before decides
      const Masked row = mask(masker, ids, item);
      CHECK(mask(again, ids, item).inputs == row.inputs);
      CHECK(mask(again, ids, item).labels == row.labels);
      CHECK(mask(other, ids, item).labels != row.labels);
      seen.insert(row.labels);
    }
    CHECK(seen.size() == 50);
    Row in_place = ids, labels(ids.size());
    masker.mask(in_place, 128, 7, in_place, labels);
    CHECK(in_place == mask(masker, ids, 7).inputs);
    CHECK(labels == mask(masker, ids, 7).labels);
    const Masked far = mask(masker, ids, std::uint64_t{1} << 40);
    CHECK(far.count > 0);
  }
}

TEST_CASE("masking is the same on every machine", "[masking]") {
  // Written down once: a generator or rounding that depends on the library would give other ones.
  const BpeTokenizer tokenizer = tokenizer_with_mask();
  const Row ids = {10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25};
  const Masked exact = mask(TokenMasker({.rate = 0.5}, tokenizer, 1), ids, 0);
  const Masked bernoulli = mask(TokenMasker({.rate = 0.5, .rule = MaskingRule::bernoulli}, tokenizer, 1), ids, 0);
  CHECK(exact.inputs == Row{300, 11, 300, 300, 14, 300, 300, 17, 18, 19, 20, 129, 22, 300, 24, 25});
  CHECK(bernoulli.inputs == Row{10, 226, 12, 13, 300, 15, 16, 300, 300, 300, 20, 21, 300, 300, 24, 300});
}

TEST_CASE("special tokens are masked unless they are excluded, padding never", "[masking]") {
  const BpeTokenizer tokenizer = tokenizer_with_mask();
  Row ids = text_of(60);
  for (std::size_t i = 0; i < 60; i += 3) ids[i] = kSeparator;
  ids.resize(64, 256);
  for (const MaskingRule rule : {MaskingRule::exact, MaskingRule::bernoulli}) {
    const TokenMasker all({.rate = 0.25, .rule = rule}, tokenizer, 1);
    const TokenMasker ordinary({.rate = 0.25, .rule = rule, .exclude_special = true}, tokenizer, 1);
    std::int64_t special = 0;
    for (std::uint64_t item = 0; item < 100; ++item) {
      const Masked row = mask(all, ids, item, 60), without = mask(ordinary, ids, item, 60);
      special += std::count(row.labels.begin(), row.labels.end(), kSeparator);
      CHECK(std::count(without.labels.begin(), without.labels.end(), kSeparator) == 0);
      for (std::size_t i = 60; i < 64; ++i) {
        CHECK(row.labels[i] == kNoLabel);
        CHECK(row.inputs[i] == 256);
      }
      if (rule == MaskingRule::exact) {
        CHECK(row.count == 15);      // of 60
        CHECK(without.count == 10);  // of 40
      }
    }
    CHECK(special > 300);  // 500 expected
  }
}

TEST_CASE("a row with nothing to mask has no labels", "[masking]") {
  const BpeTokenizer tokenizer = tokenizer_with_mask();
  for (const MaskingRule rule : {MaskingRule::exact, MaskingRule::bernoulli}) {
    const TokenMasker masker({.rate = 0.15, .rule = rule, .exclude_special = true}, tokenizer, 1);
    const Row specials(16, kSeparator);
    for (const auto& [ids, length] : {std::pair(specials, 16), std::pair(text_of(16), 0), std::pair(Row{}, 0)}) {
      const Masked row = mask(masker, ids, 0, static_cast<std::size_t>(length));
      CHECK(row.count == 0);
      CHECK(row.inputs == ids);
      CHECK(row.labels == Row(ids.size(), kNoLabel));
    }
  }
  // Three tokens under the exact rule: round(0.45) = 0.
  CHECK(mask(TokenMasker({.rate = 0.15}, tokenizer, 1), {1, 2, 3}, 0).count == 0);
}

TEST_CASE("masked positions of a batch are padded to the row that has most", "[masking]") {
  constexpr std::int64_t n = kNoLabel;
  const MaskedPositions sparse = masked_positions(Row{n, 7, n, 9, 4, n, n, n, n, n, n, n}, 3);
  CHECK(sparse.rows == 3);
  CHECK(sparse.most == 2);
  CHECK(sparse.positions == Row{1, 3, 0, 0, 0, 0});
  CHECK(sparse.labels == Row{7, 9, 4, n, n, n});
  const MaskedPositions none = masked_positions(Row(8, n), 2);
  CHECK(none.most == 0);
  CHECK(none.positions.empty());
  CHECK(none.labels.empty());
}

TEST_CASE("a tokenizer without a mask token is refused", "[masking]") {
  CHECK_THAT(user_error_of([] { TokenMasker({}, test::small_tokenizer(), 1); }),
             Contains("special token [MASK] or <mask>"));
}
