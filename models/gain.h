// The scalar gains of the paper: one number, or one per head, fixed or trainable.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <optional>

#include "configs/schema.h"
#include "models/full_precision.h"

namespace skipless {

/// `init` and `trainable` may be left empty where a block's `resolve()` fills them in.
struct GainConfig {
  std::optional<double> init;
  std::optional<bool> trainable;

  void keys(Schema& s);
  /// Fills what the user left empty.
  void resolve(double default_init, bool default_trainable);
  bool fixed_at(double value) const { return !*trainable && *init == value; }
};

/// A gain of the attention matrix, which may differ from head to head.
struct HeadGainConfig : GainConfig {
  bool per_head = true;

  void keys(Schema& s);
};

/// g, of shape [1] or, per head, [n_head, 1, 1], so that it multiplies [B, H, T, dh]. Trainable: a parameter `value`.
/// Fixed: a buffer of that name, because an imported value need not be the config's to the last bit. A gain fixed at 1
/// multiplies nothing; one fixed at 0 is not there at all: `is_zero()` tells its owner to leave the whole term out.
class GainImpl : public torch::nn::Module {
 public:
  /// `changes`: by other means than training, so that it is there whatever it starts at.
  explicit GainImpl(const GainConfig& config, int64_t n_head = 0, bool changes = false);

  /// g * x; under autocast in float32, so that what gains add up is float32
  torch::Tensor forward(const torch::Tensor& x) const { return is_one_ ? full_precision(x) : value_ * x; }
  const torch::Tensor& value() const { return value_; }
  bool is_zero() const { return is_zero_; }
  bool is_one() const { return is_one_; }
  /// Whether its owner measures what forward() lets through.
  virtual bool is_measured() const { return false; }

 private:
  torch::Tensor value_;
  bool is_zero_;
  bool is_one_;
};
TORCH_MODULE(Gain);

}  // namespace skipless
