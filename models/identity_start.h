// Identity start and its interpolation: the whole attention matrix P becomes lambda*I + (1 - lambda)*P, and lambda
// falls from 1 to 0.
#pragma once

#include <cstdint>
#include <span>

#include "configs/schema.h"

namespace skipless {

enum class IdentitySchedule { off, linear, cosine };
std::span<const EnumName<IdentitySchedule>> enum_names(IdentitySchedule);

/// A(X, t) = lambda(t)*A_init(X) + (1 - lambda(t))*A_train(X), where A_init returns the values: its matrix is I.
///   linear: lambda(t) = 1 - t/steps;  cosine: (1 + cos(pi*t/steps)) / 2;  0 for t >= steps.
struct IdentityStartConfig {
  IdentitySchedule schedule = IdentitySchedule::off;
  int64_t steps = 1000;  // N, optimizer steps

  void keys(Schema& s);
  /// At optimizer step t, from 0. 0 when off.
  double lambda(int64_t t) const;
};

}  // namespace skipless
