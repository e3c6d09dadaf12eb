#include "train/autocast.h"

#include <ATen/autocast_mode.h>

namespace skipless {

Autocast::Autocast(at::DeviceType device, Precision precision)
    : device_(device), is_used_(precision == Precision::fp16 || precision == Precision::bf16) {
  if (!is_used_) return;
  was_enabled_ = at::autocast::is_autocast_enabled(device_);
  old_dtype_ = at::autocast::get_autocast_dtype(device_);
  at::autocast::set_autocast_dtype(device_, precision == Precision::fp16 ? at::kHalf : at::kBFloat16);
  at::autocast::set_autocast_enabled(device_, true);
  at::autocast::increment_nesting();
}

Autocast::~Autocast() {
  if (!is_used_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, was_enabled_);
  at::autocast::set_autocast_dtype(device_, old_dtype_);
}

}  // namespace skipless
