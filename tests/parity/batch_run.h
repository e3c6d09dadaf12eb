// One batch of a case through a model of ours, forward and backward, on any device. Nothing of JSON is in here, so that
// the device program (tests/device) can be built where LibTorch is all there is.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/classifier.h"
#include "models/model_config.h"

namespace skipless::parity {

using Tensors = std::map<std::string, at::Tensor>;

/// How a case differs from the others.
struct BatchForm {
  bool every_hidden_state = true;      // else the last one, if any
  bool layers_end_with_norms = false;  // their hidden states are taken behind a layer's last norm
  bool sparse = false;                 // the loss is that of the head on the labelled positions alone
  double query_factor = 1;             // of theirs in float64 over 1/sqrt(dh)
};

/// The trunk and the head that a case has; without a classifier, those of a language model.
struct BatchModel {
  ModelConfig config;
  std::optional<ClassifierConfig> head;
  Tensors tensors;     // by our names
  std::string source;  // for messages
};

/// All on the CPU.
struct BatchResult {
  at::Tensor logits, loss;
  std::vector<at::Tensor> hidden;
  Tensors gradients;  // by our names; undefined where there is none
};

/// `inputs`: input_ids, labels and, where the case has them, attention_mask and token_type_ids.
BatchResult run_batch(const BatchModel& of, const Tensors& inputs, const BatchForm& form, at::ScalarType type,
                      at::Device device);

/// max|x| of the gradients, whose names begin with "grad.".
double largest_gradient(const Tensors& reference);

/// Some cases have all positions in one dimension.
at::Tensor in_shape_of(const at::Tensor& theirs, const at::Tensor& ours);

}  // namespace skipless::parity
