// Differences between our tensors and a case's, each against a bound that is fixed by the kind of tensor.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace skipless::parity {

/// All tensors of one kind ("hidden", "gradients"): how many, and the one that came closest to its bound, or went
/// furthest beyond it.
struct Measure {
  std::string kind;
  int compared = 0;
  double difference = 0;  // of the worst tensor, in units of its scale
  double bound = 0;       // in the same units
  std::string worst{};

  bool within() const { return difference <= bound; }
};

/// max|x|, 0 for an empty tensor.
double largest(const at::Tensor& x);
/// The Euclidean norm.
double euclidean(const at::Tensor& x);

class Comparison {
 public:
  /// size(ours - theirs) <= bound * scale. A different shape or a value that is not finite is beyond every bound.
  void add(const std::string& kind, const std::string& name, const at::Tensor& ours, const at::Tensor& theirs,
           double scale, double bound, double (*size)(const at::Tensor&) = largest);
  /// Something that no tolerance covers: a tensor that one side lacks.
  void fail(const std::string& problem) { problems_.push_back(problem); }

  const std::vector<Measure>& measures() const { return measures_; }
  const std::vector<std::string>& problems() const { return problems_; }
  bool passed() const;

 private:
  std::vector<Measure> measures_;
  std::vector<std::string> problems_;
};

}  // namespace skipless::parity
