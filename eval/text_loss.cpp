#include "eval/text_loss.h"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <algorithm>

namespace skipless {

TextLoss::TextLoss(Gpt& model, at::Device device, const TextWindows& windows)
    : model_(model),
      device_(device),
      windows_(windows),
      sum_(at::zeros({}, at::TensorOptions().dtype(at::kDouble).device(device))),
      count_(at::zeros({}, at::TensorOptions().dtype(at::kLong).device(device))) {
  TORCH_CHECK(windows.length >= 2 && windows.length <= *model->config().n_positions && windows.batch_size >= 1,
              "windows of ", windows.length, " tokens");
  TORCH_CHECK(windows.stride >= 1 && windows.stride < windows.length, "a stride of ", windows.stride, " tokens");
}

void TextLoss::append(std::span<const int32_t> ids) {
  for (const int32_t id : ids) {
    pending_.push_back(id);
    if (static_cast<int64_t>(pending_.size()) == windows_.length) {
      add_window();
      pending_.erase(pending_.begin(), pending_.begin() + windows_.stride);
      known_ = windows_.length - windows_.stride;
    }
  }
}

void TextLoss::end_document() {
  if (static_cast<int64_t>(pending_.size()) > known_) add_window();
  pending_.clear();
  known_ = 1;
}

LossResult TextLoss::result() {
  evaluate_windows();
  return {.sum = sum_.item<double>(), .tokens = count_.item<int64_t>()};
}

void TextLoss::add_window() {
  batch_.push_back({.ids = pending_, .known = known_});
  if (static_cast<int64_t>(batch_.size()) == windows_.batch_size) evaluate_windows();
}

void TextLoss::evaluate_windows() {
  if (batch_.empty()) return;
  size_t longest = 0;
  for (const auto& window : batch_) longest = std::max(longest, window.ids.size());
  const auto rows = static_cast<int64_t>(batch_.size()), columns = static_cast<int64_t>(longest);
  // What fills a shorter row stands behind its tokens, which do not see it.
  auto ids = at::zeros({rows, columns}, at::kLong), labels = at::full({rows, columns}, kIgnoredTarget, at::kLong);
  for (int64_t row = 0; row < rows; ++row) {
    const auto& window = batch_[static_cast<size_t>(row)];
    std::copy(window.ids.begin(), window.ids.end(), ids[row].data_ptr<int64_t>());
    std::copy(window.ids.begin() + window.known, window.ids.end(), labels[row].data_ptr<int64_t>() + window.known);
  }
  batch_.clear();
  const c10::NoGradGuard no_grad;
  const TokenLoss loss = model_->loss({.ids = ids.to(device_), .labels = labels.to(device_)});
  sum_ += loss.sum;
  count_ += loss.count;
}

}  // namespace skipless
