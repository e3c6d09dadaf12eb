// Temperature, top-k and top-p at their ends and in between, against probabilities by hand.
#include "eval/sampler.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <map>

#include "configs/error.h"

namespace skipless {

namespace {

using Catch::Contains;

const std::vector<double> kLogits{0.0, std::log(4.0), std::log(2.0), std::log(3.0), 0.0};  // weights 1 4 2 3 1
const std::vector<bool> kAll(5, true);

int64_t draw(const SamplingConfig& config, std::mt19937_64& generator, const std::vector<double>& logits = kLogits,
             const std::vector<bool>& allowed = kAll) {
  return sample_token(logits, allowed, config, generator);
}

/// Shares of the ids in many draws.
std::map<int64_t, double> shares(const SamplingConfig& config, const std::vector<bool>& allowed = kAll) {
  constexpr int kDraws = 20'000;
  std::mt19937_64 generator(11);
  std::map<int64_t, double> result;
  for (int i = 0; i < kDraws; ++i) result[draw(config, generator, kLogits, allowed)] += 1.0 / kDraws;
  return result;
}

/// Four standard deviations of a share of 20,000 draws are at most 0.015.
constexpr double kTolerance = 0.015;

void check_shares(const std::map<int64_t, double>& actual, const std::map<int64_t, double>& weights) {
  double sum = 0;
  for (const auto& [id, weight] : weights) sum += weight;
  REQUIRE(actual.size() == weights.size());
  for (const auto& [id, weight] : weights) {
    INFO("id " << id);
    REQUIRE(actual.count(id) == 1);
    CHECK(actual.at(id) == Approx(weight / sum).margin(kTolerance));
  }
}

}  // namespace

TEST_CASE("ids are drawn by their probability, and top-k and top-p cut the improbable ones", "[sampler]") {
  const std::map<int64_t, double> all{{0, 1}, {1, 4}, {2, 2}, {3, 3}, {4, 1}};
  check_shares(shares({}), all);
  check_shares(shares({.top_k = 0}), all);
  check_shares(shares({.top_k = 5}), all);
  check_shares(shares({.top_k = 6}), all);
  check_shares(shares({.top_k = std::numeric_limits<int64_t>::max()}), all);
  check_shares(shares({.top_k = 3}), {{1, 4}, {2, 2}, {3, 3}});
  check_shares(shares({.top_k = 1}), {{1, 1}});
  check_shares(shares({.top_p = 1}), all);
  check_shares(shares({.top_p = 0}), {{1, 1}});
  check_shares(shares({.top_p = 4.0 / 11}), {{1, 1}});
  check_shares(shares({.top_p = 0.5}), {{1, 4}, {3, 3}});
  check_shares(shares({.top_p = 0.9}), {{0, 1}, {1, 4}, {2, 2}, {3, 3}});
  // top_p is of what top_k has left: 4 of 7 are more than a half.
  check_shares(shares({.top_k = 2, .top_p = 0.5}), {{1, 1}});
  check_shares(shares({.temperature = 0.5}), {{0, 1}, {1, 16}, {2, 4}, {3, 9}, {4, 1}});
  check_shares(shares({.temperature = 1e6}), {{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}});
  check_shares(shares({.temperature = 1e-300}), {{1, 1}});
  // Of equals, the lower id is the more probable one.
  check_shares(shares({.top_k = 4}), {{0, 1}, {1, 4}, {2, 2}, {3, 3}});
}

TEST_CASE("temperature 0 takes the largest logit, and of equals the first", "[sampler]") {
  std::mt19937_64 generator(1);
  const std::mt19937_64 untouched = generator;
  CHECK(draw({.temperature = 0}, generator) == 1);
  CHECK(draw({.temperature = 0, .top_k = 3, .top_p = 0.5}, generator) == 1);
  CHECK(draw({.temperature = 0}, generator, {2, 7, 7, 1, 7}) == 1);
  CHECK(draw({.temperature = 0}, generator, {-1e300, -1e300, 1e300, 0, 0}) == 2);
  CHECK(generator == untouched);
}

TEST_CASE("an id that is not allowed is never drawn, however probable", "[sampler]") {
  const std::vector<bool> allowed{true, false, true, false, true};
  check_shares(shares({}, allowed), {{0, 1}, {2, 2}, {4, 1}});
  check_shares(shares({.temperature = 0}, allowed), {{2, 1}});
  check_shares(shares({.top_k = 1}, allowed), {{2, 1}});
  check_shares(shares({.top_p = 0}, allowed), {{2, 1}});
  check_shares(shares({.temperature = 1e6}, {false, false, false, true, false}), {{3, 1}});
}

TEST_CASE("the same seed draws the same ids, and another seed others", "[sampler]") {
  const auto ids = [](uint64_t seed) {
    std::mt19937_64 generator(seed);
    std::vector<int64_t> result;
    for (int i = 0; i < 40; ++i) result.push_back(draw({}, generator));
    return result;
  };
  CHECK(ids(0) == ids(0));
  CHECK(ids(0) != ids(1));
  // Of a generator and of arithmetic that the language fixes, so that they hold everywhere.
  const std::vector<int64_t> first = ids(0);
  CHECK(std::vector<int64_t>(first.begin(), first.begin() + 8) == std::vector<int64_t>{1, 4, 0, 2, 2, 0, 2, 1});
}

TEST_CASE("logits that are not finite end the generation, and -infinity is only never drawn", "[sampler]") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::mt19937_64 generator(1);
  for (const double temperature : {0.0, 1.0}) {
    const SamplingConfig config{.temperature = temperature};
    CHECK_THROWS_WITH(draw(config, generator, {0, 1, std::nan(""), 1, 1}), Contains("token 2 is nan"));
    CHECK_THROWS_WITH(draw(config, generator, {0, 1, 1, 1, kInfinity}), Contains("token 4 is inf"));
    CHECK_THROWS_AS(draw(config, generator, {0, std::nan(""), 1, 1, 1}, {true, false, true, true, true}), RunError);
    CHECK(draw(config, generator, {-kInfinity, -kInfinity, -kInfinity, -5, -kInfinity}) == 3);
    CHECK_THROWS_AS(draw(config, generator, std::vector<double>(5, -kInfinity)), RunError);
  }
  CHECK_NOTHROW(require_probabilities(std::vector<double>{-kInfinity, 3}));
  CHECK_THROWS_WITH(require_probabilities(std::vector<double>{1, std::nan("")}), Contains("token 1 is nan"));
  CHECK_THROWS_AS(require_probabilities(std::vector<double>{-kInfinity}), RunError);
}

TEST_CASE("settings outside their range are refused by name", "[sampler]") {
  const auto refusal = [](const SamplingConfig& config) -> std::string {
    try {
      check_sampling(config);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  CHECK_THAT(refusal({.temperature = -0.1}), Contains("temperature is -0.1"));
  CHECK_THAT(refusal({.temperature = std::nan("")}), Contains("temperature is nan"));
  CHECK_THAT(refusal({.temperature = std::numeric_limits<double>::infinity()}), Contains("temperature is inf"));
  CHECK_THAT(refusal({.top_k = -1}), Contains("top-k is -1") && Contains("0 (off)"));
  CHECK_THAT(refusal({.top_p = -0.1}), Contains("top-p is -0.1"));
  CHECK_THAT(refusal({.top_p = 1.1}), Contains("top-p is 1.1"));
  CHECK(refusal({.temperature = 0, .top_k = 0, .top_p = 0}).empty());
}

}  // namespace skipless
