// How work is spread over a device, and over the types of values. Where there is no CUDA compiler, one worker of the
// CPU does it all: so the tests run what a GPU runs, but for the spreading.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "models/kernels/cuda/calls.h"
#include "models/kernels/device/lanes.h"

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#define SKIPLESS_WORK __device__
#else
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#define SKIPLESS_WORK
#endif

namespace skipless::kernels::SKIPLESS_PLACE {

#if defined(__CUDACC__)

using Half = __half;
using BFloat16 = __nv_bfloat16;
using OfRow = Warp;
using OfLongRow = Block;

constexpr int kThreads = 256;
constexpr int kLongRowThreads = 512;
constexpr int64_t kMostBlocks = 65'535;

inline unsigned blocks_for(int64_t n, int64_t of_block) {
  return static_cast<unsigned>(std::min(kMostBlocks, (n + of_block - 1) / of_block));
}

inline void check_launch() {
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) throw std::runtime_error(std::string("CUDA kernel: ") + cudaGetErrorString(error));
}

template <class Work>
__global__ void __launch_bounds__(kThreads) rows_kernel(int64_t rows, Work work) {
  constexpr int kWarps = kThreads / Warp::kLanes;
  for (int64_t row = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / Warp::kLanes; row < rows;
       row += static_cast<int64_t>(gridDim.x) * kWarps) {
    work(Warp(), row);
  }
}

template <class Work>
__global__ void __launch_bounds__(kLongRowThreads) long_rows_kernel(int64_t rows, Work work) {
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) work(Block(), row);
}

template <class Work>
__global__ void __launch_bounds__(kThreads) items_kernel(int64_t n, Work work) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < n;
       i += static_cast<int64_t>(gridDim.x) * kThreads) {
    work(i);
  }
}

/// work(lanes, row) for every row, a warp to each.
template <class Work>
void for_rows(int64_t rows, void* stream, const Work& work) {
  if (rows == 0) return;
  const auto blocks = blocks_for(rows, kThreads / Warp::kLanes);
  rows_kernel<<<blocks, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(rows, work);
  check_launch();
}

/// The same, a block to each.
template <class Work>
void for_long_rows(int64_t rows, void* stream, const Work& work) {
  if (rows == 0) return;
  long_rows_kernel<<<blocks_for(rows, 1), kLongRowThreads, 0, static_cast<cudaStream_t>(stream)>>>(rows, work);
  check_launch();
}

/// work(i) for i = 0..n-1, a thread to each.
template <class Work>
void for_items(int64_t n, void* stream, const Work& work) {
  if (n == 0) return;
  items_kernel<<<blocks_for(n, kThreads), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(n, work);
  check_launch();
}

#else

using Half = c10::Half;
using BFloat16 = c10::BFloat16;
using OfRow = OneLane;
using OfLongRow = OneLane;

template <class Work>
void for_rows(int64_t rows, void*, const Work& work) {
  for (int64_t row = 0; row < rows; ++row) work(OneLane(), row);
}

template <class Work>
void for_long_rows(int64_t rows, void* stream, const Work& work) {
  for_rows(rows, stream, work);
}

template <class Work>
void for_items(int64_t n, void*, const Work& work) {
  for (int64_t i = 0; i < n; ++i) work(i);
}

#endif

/// visit(pointer to the first value, of its own type); float32 where there is none.
template <class Where, class Visit>
void visit_values(const Where& where, const Visit& visit) {
  switch (where.element) {
    case Element::float32:
      return visit(static_cast<float*>(where.data));
    case Element::bfloat16:
      return visit(static_cast<BFloat16*>(where.data));
    case Element::float16:
      return visit(static_cast<Half*>(where.data));
  }
}

/// The same of two, visit(first of a, first of b). Two 16-bit types never meet, and no code is made for them.
template <class Where, class Visit>
void visit_pairs(const Where& a, const Where& b, const Visit& visit) {
  visit_values(a, [&](auto* of_a) {
    visit_values(b, [&](auto* of_b) {
      if constexpr (std::is_same_v<decltype(of_a), decltype(of_b)> || std::is_same_v<decltype(of_a), float*> ||
                    std::is_same_v<decltype(of_b), float*>) {
        visit(of_a, of_b);
      } else {
        throw std::invalid_argument("a kernel was asked to mix float16 with bfloat16");
      }
    });
  });
}

}  // namespace skipless::kernels::SKIPLESS_PLACE
