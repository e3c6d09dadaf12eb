#include "eval/metrics.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

namespace skipless {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

void require_same_size(size_t a, size_t b) {
  TORCH_CHECK(a == b, "metrics need as many predictions as labels, got ", a, " and ", b);
}

int64_t n_equal(std::span<const int64_t> a, std::span<const int64_t> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), int64_t{0}, std::plus<>(), std::equal_to<>());
}

std::vector<double> counts_of(std::span<const int64_t> classes, size_t n_classes) {
  std::vector<double> counts(n_classes);
  for (const int64_t k : classes) ++counts[static_cast<size_t>(k)];
  return counts;
}

double dot(std::span<const double> a, std::span<const double> b) {
  long double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += static_cast<long double>(a[i]) * b[i];
  return static_cast<double>(sum);
}

/// x - mean, divided by the largest of it, so that squares neither overflow nor vanish. Empty where x is constant.
std::vector<double> centred(std::span<const double> x) {
  if (x.empty()) return {};
  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  if (*low == *high) return {};
  long double sum = 0;
  for (const double value : x) sum += value;
  const long double mean = sum / static_cast<long double>(x.size());
  const long double largest = std::max(*high - mean, mean - *low);
  std::vector<double> out;
  out.reserve(x.size());
  for (const double value : x) out.push_back(static_cast<double>((value - mean) / largest));
  return out;
}

std::vector<double> ranks_of(std::span<const double> x) {
  std::vector<size_t> order(x.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return x[a] < x[b]; });
  std::vector<double> ranks(x.size());
  for (size_t first = 0, end = 0; first < order.size(); first = end) {
    while (end < order.size() && x[order[end]] == x[order[first]]) ++end;
    const double rank = (static_cast<double>(first) + static_cast<double>(end - 1)) / 2;
    for (size_t i = first; i < end; ++i) ranks[order[i]] = rank;
  }
  return ranks;
}

bool all_finite(std::span<const double> x) {
  return std::all_of(x.begin(), x.end(), [](double value) { return std::isfinite(value); });
}

}  // namespace

double accuracy(std::span<const int64_t> predicted, std::span<const int64_t> labels) {
  require_same_size(predicted.size(), labels.size());
  if (labels.empty()) return kNan;
  return static_cast<double>(n_equal(predicted, labels)) / static_cast<double>(labels.size());
}

double f1_score(std::span<const int64_t> predicted, std::span<const int64_t> labels) {
  require_same_size(predicted.size(), labels.size());
  if (labels.empty()) return kNan;
  int64_t both = 0;
  int64_t either = 0;  // 2*TP + FP + FN
  for (size_t i = 0; i < labels.size(); ++i) {
    both += predicted[i] == 1 && labels[i] == 1 ? 1 : 0;
    either += (predicted[i] == 1 ? 1 : 0) + (labels[i] == 1 ? 1 : 0);
  }
  return either == 0 ? 0 : 2 * static_cast<double>(both) / static_cast<double>(either);
}

double matthews_correlation(std::span<const int64_t> predicted, std::span<const int64_t> labels) {
  require_same_size(predicted.size(), labels.size());
  if (labels.empty()) return kNan;
  const auto largest =
      std::max(*std::max_element(predicted.begin(), predicted.end()), *std::max_element(labels.begin(), labels.end()));
  const auto n_classes = static_cast<size_t>(largest) + 1;
  const auto p = counts_of(predicted, n_classes);
  const auto t = counts_of(labels, n_classes);
  const auto n = static_cast<double>(labels.size());
  const double right = static_cast<double>(n_equal(predicted, labels));
  const double p_spread = n * n - dot(p, p);
  const double t_spread = n * n - dot(t, t);
  if (p_spread == 0 || t_spread == 0) return 0;
  return (right * n - dot(p, t)) / (std::sqrt(p_spread) * std::sqrt(t_spread));
}

double pearson_correlation(std::span<const double> x, std::span<const double> y) {
  require_same_size(x.size(), y.size());
  if (!all_finite(x) || !all_finite(y)) return kNan;
  const auto a = centred(x);
  const auto b = centred(y);
  if (a.empty() || b.empty()) return kNan;
  return std::clamp(dot(a, b) / std::sqrt(dot(a, a)) / std::sqrt(dot(b, b)), -1.0, 1.0);
}

double spearman_correlation(std::span<const double> x, std::span<const double> y) {
  require_same_size(x.size(), y.size());
  if (!all_finite(x) || !all_finite(y)) return kNan;
  return pearson_correlation(ranks_of(x), ranks_of(y));
}

}  // namespace skipless
