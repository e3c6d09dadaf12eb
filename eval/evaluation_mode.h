// A model in evaluation mode for a while.
#pragma once

#include <torch/nn/module.h>

namespace skipless {

/// As long as it lives; then the model is in the mode in which it was.
class EvaluationMode {
 public:
  explicit EvaluationMode(torch::nn::Module& model) : model_(model), was_training_(model.is_training()) {
    model_.eval();
  }
  ~EvaluationMode() { model_.train(was_training_); }
  EvaluationMode(const EvaluationMode&) = delete;
  EvaluationMode& operator=(const EvaluationMode&) = delete;

 private:
  torch::nn::Module& model_;
  bool was_training_;
};

}  // namespace skipless
