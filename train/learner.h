// What training changes, a model and its optimizer, and how: one optimizer step.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/transformer.h"
#include "train/adamw.h"
#include "train/loss_scaler.h"
#include "train/precision.h"
#include "train/run_config.h"

namespace skipless {

class Learner {
 public:
  /// Builds the model from the config and its seed, on the CPU, and moves it to `device`. Its matrix products run in
  /// `precision`, which is not automatic.
  Learner(const RunConfig& config, at::Device device, Precision precision = Precision::fp32);
  /// Takes a model that lies on its device.
  Learner(Transformer model, const TrainConfig& config, Precision precision);

  struct Step {
    TokenLoss loss;            // sum over the step's tokens, and their number
    at::Tensor gradient_norm;  // of the gradient of the mean over tokens, before clipping
  };

  /// Step `index` (from 0) at the learning rate `lr` on `batch`, which lies on the device:
  /// micro-batches, the last one possibly smaller, gradient of the mean over all their tokens, clipping, update. The
  /// host waits for nothing; the results are scalars on the device.
  /// A step without a counted token changes nothing. A step whose loss or gradient is not finite changes nothing
  /// either, and neither do those after it, so that its cause can still be looked for. In fp16 the loss is scaled
  /// (loss_scaler.h), and such a step is only skipped, its loss not counted, until the scale has collapsed.
  Step step(int64_t index, double lr, const Batch& batch);

  /// The first step that was not finite, or in fp16 the one at which the scale collapsed; or -1. Waits for the device.
  int64_t failed_step() const { return failed_step_.item<int64_t>(); }
  /// What is not finite in a step on `batch` (non_finite.h).
  std::string first_non_finite(const Batch& batch);

  TransformerImpl& model() { return *model_; }
  AdamW& optimizer() { return optimizer_; }
  Precision precision() const { return precision_; }
  /// Null unless in fp16.
  LossScaler* scaler() { return scaler_ ? &*scaler_ : nullptr; }

 private:
  /// What the sum of the losses of `batch` is multiplied with before its gradient is taken; undefined: 1.
  at::Tensor loss_factor(const Batch& batch) const;

  TrainConfig config_;
  Precision precision_;
  Transformer model_;
  AdamW optimizer_;
  std::vector<at::Tensor> parameters_;
  at::Tensor failed_step_;  // int64 scalar
  std::optional<LossScaler> scaler_;
};

}  // namespace skipless
