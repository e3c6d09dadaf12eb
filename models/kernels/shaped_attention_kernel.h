// Shaped attention on a CPU without a T x T matrix in memory, forward and backward, for one head of one sequence at a
// time.
//
//   S = Q K^T / sqrt(dh)     A = softmax(S) over the keys that a row may see     P = alpha*I + beta*A - gamma*C
//   O = P V
//   dV = P^T dO              dP = dO V^T
//   dalpha = sum_i dP_ii     dbeta = sum_ij dP_ij A_ij     dgamma = -sum_ij dP_ij C_ij
//   dS_ij = beta * A_ij * (dP_ij - sum_k dP_ik A_ik)
//   dQ = dS K / sqrt(dh)     dK = dS^T Q / sqrt(dh)
//
// Dropout of A: A_ij becomes M_ij A_ij in P, M_ij being 0 with probability p and else 1/(1 - p). Then dP_ij is M_ij
// dP_ij in dbeta and dS. M is a pure function of a seed, i and j, and is made again on the way back.
//
// C_ij is 1/(number of keys that row i centres over) at those keys, else 0: with a causal mask keys 0..i; without one
// the kept keys, or all T of them. beta*A_ij - gamma*C_ij is taken element by element, so that it is exactly 0 where A
// is C. A block of rows of S, A, P and their gradients stands in cache; memory grows linearly with T.
#pragma once

#include <cstdint>

#include "models/kernels/rows.h"

namespace skipless::kernels {

/// One head of one sequence.
struct HeadShape {
  int64_t length;     // T
  int64_t head_size;  // dh
  bool causal;
  const bool* kept;      // [T], the keys that may be seen; null: all
  bool centre_over_all;  // without a causal mask: C is 1/T even where keys are not kept
  double dropout = 0;    // p
  uint64_t seed = 0;     // of M
};

struct HeadGains {
  float alpha, beta, gamma;
};

struct HeadGainGradients {
  double alpha = 0, beta = 0, gamma = 0;
};

/// All arithmetic is float32. Writes O, and of every row log(sum(exp(S))), 0 where it sees no key, to log_sum [T].
void shaped_attention_forward(const HeadShape& shape, const HeadGains& gains, const Rows& q, const Rows& k,
                              const Rows& v, const Rows& out, float* log_sum);

/// Writes dQ, dK and dV; returns the gradients of the gains.
HeadGainGradients shaped_attention_backward(const HeadShape& shape, const HeadGains& gains, const Rows& q,
                                            const Rows& k, const Rows& v, const float* log_sum, const Rows& grad_out,
                                            const Rows& grad_q, const Rows& grad_k, const Rows& grad_v);

}  // namespace skipless::kernels
