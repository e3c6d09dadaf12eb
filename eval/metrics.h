// How well predictions agree with labels: accuracy, F1, Matthews' and the two correlations, as scikit-learn and SciPy
// define them.
#pragma once

#include <cstdint>
#include <span>

namespace skipless {

/// All of these are of a whole set at once, and NaN for an empty one. The two spans are of the same size.

/// The share of equal ones.
double accuracy(std::span<const int64_t> predicted, std::span<const int64_t> labels);

/// Of class 1: 2*TP / (2*TP + FP + FN), and 0 where it is neither predicted nor a label.
double f1_score(std::span<const int64_t> predicted, std::span<const int64_t> labels);

/// Matthews' correlation of any number of classes: with c the number of equal ones of n, and p_k and t_k the numbers of
/// predictions and labels of class k,
///   (c*n - sum p_k*t_k) / sqrt((n^2 - sum p_k^2) * (n^2 - sum t_k^2)),
/// for two classes (TP*TN - FP*FN) / sqrt((TP+FP)(TP+FN)(TN+FP)(TN+FN)). 0 where only one class is predicted, or is a
/// label. Classes are from 0.
double matthews_correlation(std::span<const int64_t> predicted, std::span<const int64_t> labels);

/// sum (x-mean x)(y-mean y) / sqrt(sum (x-mean x)^2 * sum (y-mean y)^2). NaN where all of x or all of y are the same,
/// which has no correlation with anything, and where a value is not finite.
double pearson_correlation(std::span<const double> x, std::span<const double> y);

/// Pearson's of the ranks, equal values having the mean of theirs.
double spearman_correlation(std::span<const double> x, std::span<const double> y);

}  // namespace skipless
