// LibTorch's autocast, for a scope.
#pragma once

#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>

#include "train/precision.h"

namespace skipless {

/// While it lives, matrix products on `device` run in `precision`; in fp32 nothing is changed. At its end all is as
/// before and the copies of the weights are forgotten: a weight that the optimizer changes must not be remembered.
class Autocast {
 public:
  Autocast(at::DeviceType device, Precision precision);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  at::DeviceType device_;
  bool is_used_;
  bool was_enabled_ = false;
  at::ScalarType old_dtype_ = at::kFloat;
};

}  // namespace skipless
