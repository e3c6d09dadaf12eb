#include "train/bench/product_floor.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <c10/core/GradMode.h>

#include <array>
#include <map>

namespace skipless {

ProductFloor::ProductFloor(const std::vector<LinearShape>& shapes, at::TensorOptions options) {
  std::map<std::array<int64_t, 3>, size_t> known;
  for (const auto& [rows, in, out] : shapes) {
    const auto [at, is_new] = known.try_emplace({rows, in, out}, activations_.size());
    if (is_new) {
      activations_.push_back({.x = at::randn({rows, in}, options),
                              .y = at::empty({rows, out}, options),
                              .dx = at::empty({rows, in}, options),
                              .dy = at::randn({rows, out}, options)});
    }
    layers_.push_back(
        {.activations = at->second, .w = at::randn({out, in}, options), .dw = at::empty({out, in}, options)});
  }
}

void ProductFloor::run() const {
  const c10::NoGradGuard no_grad;
  for (const auto& layer : layers_) {
    auto [x, y, dx, dy] = activations_[layer.activations];
    auto dw = layer.dw;
    at::mm_out(y, x, layer.w.t());
    at::mm_out(dx, dy, layer.w);
    at::mm_out(dw, dy.t(), x);
  }
}

}  // namespace skipless
