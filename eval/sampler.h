// One token from the logits of a language model: temperature, top-k, top-p. A pure function of logits and generator.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace skipless {

struct SamplingConfig {
  double temperature = 1;  // logits are divided by it; 0: always the most probable token
  int64_t top_k = 0;       // only the k most probable tokens; 0: off
  double top_p = 1;        // then only the most probable ones that hold this share together; 1: off, 0: the first alone
};

/// UserError, naming the option, for a temperature that is negative or not finite, a negative top_k, and a top_p
/// outside 0 .. 1.
void check_sampling(const SamplingConfig& config);

/// RunError for logits of which no probabilities can be made: one that is NaN or +infinity, by its token, or none that
/// is more than -infinity.
void require_probabilities(std::span<const double> logits);

/// An id that `allowed` marks (at least one), with probability proportional to exp(logit / temperature) among those
/// that are left: in this order temperature, top_k, top_p. Of equal logits, the lower id counts as the more probable.
/// top_p keeps the token with which the sum of probabilities reaches it, so that one is always left. `logits` has one
/// value for each id of `allowed`.
///
/// Takes one number of the generator, or none at temperature 0: the same logits and seed give the same id on every
/// machine. RunError as require_probabilities(), and when every allowed logit is -infinity.
int64_t sample_token(std::span<const double> logits, const std::vector<bool>& allowed, const SamplingConfig& config,
                     std::mt19937_64& generator);

}  // namespace skipless
