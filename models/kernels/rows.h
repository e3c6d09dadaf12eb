// Where the rows that a kernel reads and writes lie in memory.
#pragma once

#include <cstdint>

namespace skipless::kernels {

/// float16 is for devices alone: no kernel of a CPU reads it.
enum class Element { float32, bfloat16, float16 };

/// Rows of values: value (t, d) is element t * stride + d of `data`.
struct Rows {
  void* data;
  Element element;
  int64_t stride;
};

}  // namespace skipless::kernels
