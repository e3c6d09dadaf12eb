// The floor of a training step: the time of its matrix products alone.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "train/bench/linear_shapes.h"

namespace skipless {

/// All products of the shapes, each forward and both ways back, on tensors of one dtype that stay where they are.
/// Activations are shared between layers of one shape and so lie in cache more often than those of a real step; each
/// layer has its own matrix. Nothing is kept from one product to the next but the buffers.
class ProductFloor {
 public:
  ProductFloor(const std::vector<LinearShape>& shapes, at::TensorOptions options);

  void run() const;

 private:
  struct Activations {
    at::Tensor x, y;    // [rows, in], [rows, out]
    at::Tensor dx, dy;  // as x and y
  };
  struct Layer {
    size_t activations;  // which of them
    at::Tensor w, dw;    // [out, in]
  };

  std::vector<Activations> activations_;  // one for each shape that differs
  std::vector<Layer> layers_;
};

}  // namespace skipless
