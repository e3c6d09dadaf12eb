#include "eval/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "configs/error.h"

namespace skipless {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr const char* kNoToken = "no token can be chosen: the logits of all of them are -infinity";

struct Candidate {
  int64_t id = 0;
  double logit = 0;
};

bool more_probable(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

std::vector<Candidate> candidates_of(std::span<const double> logits, const std::vector<bool>& allowed) {
  assert(logits.size() == allowed.size());
  require_probabilities(logits);
  std::vector<Candidate> candidates;
  for (size_t id = 0; id < logits.size(); ++id) {
    if (allowed[id] && logits[id] != -kInfinity) candidates.push_back({static_cast<int64_t>(id), logits[id]});
  }
  if (candidates.empty()) throw RunError(kNoToken);
  return candidates;
}

/// How many of the sorted `weights` hold the share `top_p` of their sum.
size_t nucleus(const std::vector<double>& weights, double top_p) {
  double sum = 0, reached = 0;
  for (const double weight : weights) sum += weight;
  for (size_t i = 0; i < weights.size(); ++i) {
    reached += weights[i];
    if (reached >= top_p * sum) return i + 1;
  }
  return weights.size();
}

/// In [0, 1), the same on every machine.
double uniform(std::mt19937_64& generator) {
  return std::ldexp(static_cast<double>(generator() >> 11), -53);
}

}  // namespace

void check_sampling(const SamplingConfig& config) {
  if (!(config.temperature >= 0) || !std::isfinite(config.temperature)) {
    throw UserError(
        fmt::format("temperature is {}; allowed: a number from 0 (the most probable token) on", config.temperature));
  }
  if (config.top_k < 0) throw UserError(fmt::format("top-k is {}; allowed: 0 (off) and above", config.top_k));
  if (!(config.top_p >= 0 && config.top_p <= 1)) {
    throw UserError(fmt::format("top-p is {}; allowed: a number from 0 to 1 (off)", config.top_p));
  }
}

void require_probabilities(std::span<const double> logits) {
  bool any = false;
  for (size_t id = 0; id < logits.size(); ++id) {
    if (std::isnan(logits[id]) || logits[id] == kInfinity) {
      throw RunError(fmt::format("the logit of token {} is {}: the model's numbers are not finite", id, logits[id]));
    }
    any = any || logits[id] != -kInfinity;
  }
  if (!any) throw RunError(kNoToken);
}

int64_t sample_token(std::span<const double> logits, const std::vector<bool>& allowed, const SamplingConfig& config,
                     std::mt19937_64& generator) {
  auto candidates = candidates_of(logits, allowed);
  const auto best = *std::min_element(candidates.begin(), candidates.end(), more_probable);
  if (config.temperature == 0) return best.id;
  if (config.top_k > 0 && config.top_k < static_cast<int64_t>(candidates.size())) {
    const auto end = candidates.begin() + config.top_k;
    std::nth_element(candidates.begin(), end, candidates.end(), more_probable);
    candidates.erase(end, candidates.end());
  }
  if (config.top_k > 0 || config.top_p < 1) std::sort(candidates.begin(), candidates.end(), more_probable);
  std::vector<double> weights;
  double sum = 0;
  // Against the largest: a temperature near 0 must not make infinities of two different logits.
  for (const auto& candidate : candidates) {
    weights.push_back(std::exp((candidate.logit - best.logit) / config.temperature));
  }
  if (config.top_p < 1) weights.resize(nucleus(weights, config.top_p));
  for (const double weight : weights) sum += weight;
  double left = uniform(generator) * sum;
  size_t last = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    last = i;
    left -= weights[i];
    if (left < 0) break;
  }
  return candidates[last].id;
}

}  // namespace skipless
