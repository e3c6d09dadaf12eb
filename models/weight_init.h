// How the matrices of a model start.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <span>
#include <string_view>

#include "configs/schema.h"

namespace skipless {

enum class WeightInit { identity, orthogonal, normal };
std::span<const EnumName<WeightInit>> enum_names(WeightInit);

struct InitConfig {
  WeightInit kind = WeightInit::normal;
  std::optional<double> std{};  // of normal; empty: the part's own, which is init_std where nothing else is said

  void keys(Schema& s);
  /// `section`: its key, for messages.
  void check(Problems& problems, std::string_view section) const;
};

/// [rows, columns]: N(0, std^2); orthonormal rows or columns, whichever are fewer, uniformly drawn (QR of a normal
/// matrix); or ones on the diagonal. Then times `scale`.
at::Tensor initial_matrix(const InitConfig& init, int64_t rows, int64_t columns, double default_std, double scale = 1);

/// The matrices that all variants have. Queries, values and output projections start as the variant says.
struct InitConfigs {
  InitConfig embedding, key, feed_forward_in, feed_forward_out;
  /// The matrices that end a sub-block, W_P and W_2, are multiplied with 1/sqrt(2*n_layer), as in GPT-2: the variance
  /// that 2*n_layer branches add to the stream does not grow with the depth.
  bool depth_scaled = false;

  void keys(Schema& s);
  void check(Problems& problems) const;
  /// 1/sqrt(2*n_layer) or 1.
  double output_scale(int64_t n_layer) const;
};

}  // namespace skipless
