// How many dimensions a matrix uses, as numbers that need not be whole. Both are 1 for a matrix of rank one and n for a
// multiple of an orthogonal n x n matrix; a factor on the matrix changes neither. NaN for a matrix of zeros.
#pragma once

#include <ATen/core/Tensor.h>

namespace skipless {

/// Singular values s [.., n] -> [..]: sum_i s_i^2 / max_i s_i^2, which is ||M||_F^2 / ||M||_2^2.
/// (Rudelson & Vershynin, "Sampling from large matrices", 2007.)
at::Tensor stable_rank(const at::Tensor& s);

/// Singular values s [.., n] -> [..]: exp(-sum_i p_i ln p_i), p_i = s_i / sum_j s_j, 0 ln 0 = 0.
/// (Roy & Vetterli, "The effective rank", 2007.)
at::Tensor effective_rank(const at::Tensor& s);

}  // namespace skipless
