// The loss of a language model on texts of any length, cut into windows so that each token is predicted once.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <span>
#include <vector>

#include "eval/loss.h"
#include "models/gpt.h"

namespace skipless {

struct TextWindows {
  int64_t length = 0;      // tokens that the model sees at once, 2 to n_positions
  int64_t stride = 0;      // tokens from a window's start to the next one's, 1 to length - 1
  int64_t batch_size = 1;  // windows of one forward pass
};

/// Windows begin at tokens 0, stride, 2*stride, ... of a document, are `length` tokens long, and the last one ends with
/// the document. Each predicts those of its tokens that no window before it did: the first one all but the document's
/// first token, which nothing comes before; each other one its last `stride` tokens. With the stride length - 1,
/// windows share one token, and no work is done twice; a smaller one gives each token more context. Documents are never
/// joined.
class TextLoss {
 public:
  /// The model lies on `device`, in evaluation mode.
  TextLoss(Gpt& model, at::Device device, const TextWindows& windows);

  /// The next ids of a document, of any number.
  void append(std::span<const int32_t> ids);
  void end_document();

  /// Of all documents that have ended.
  LossResult result();

 private:
  struct Window {
    std::vector<int64_t> ids;
    int64_t known = 0;  // tokens at its start that are not predicted
  };

  void add_window();
  void evaluate_windows();

  Gpt& model_;
  at::Device device_;
  TextWindows windows_;
  std::vector<int64_t> pending_;  // tokens from the next window's start
  int64_t known_ = 1;             // of them, how many are not to be predicted
  std::vector<Window> batch_;
  at::Tensor sum_;    // double scalar on the device
  at::Tensor count_;  // int64 scalar on the device
};

}  // namespace skipless
