// Who works on a row: on a GPU the threads of a warp or of a block, in the tests one worker of a CPU. Kernel bodies are
// written for any of them, and are the same source everywhere.
#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#define SKIPLESS_DEVICE __device__ __forceinline__
#else
#define SKIPLESS_DEVICE inline
#endif

namespace skipless::kernels {

/// One worker that does all of a row.
struct OneLane {
  int lane() const { return 0; }
  int lanes() const { return 1; }
  float sum(float x) const { return x; }
  float largest(float x) const { return x; }
};

#if defined(__CUDACC__)
struct Sum {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct Largest {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

/// The threads of a warp, all of which call sum() and largest(). Neither orders what they read and write in memory.
struct Warp {
  static constexpr int kLanes = 32;

  __device__ int lane() const { return static_cast<int>(threadIdx.x) % kLanes; }
  __device__ int lanes() const { return kLanes; }
  __device__ float sum(float x) const { return merged(x, Sum()); }
  __device__ float largest(float x) const { return merged(x, Largest()); }

  template <class Merge>
  __device__ float merged(float x, const Merge& merge) const {
    for (int step = kLanes / 2; step > 0; step /= 2) x = merge(x, __shfl_xor_sync(0xFFFFFFFFU, x, step));
    return x;
  }
};

/// The threads of a block, whose number is a multiple of 32. All of them call sum() and largest(), which are barriers:
/// what was read before them may be written behind them.
struct Block {
  __device__ int lane() const { return static_cast<int>(threadIdx.x); }
  __device__ int lanes() const { return static_cast<int>(blockDim.x); }
  __device__ float sum(float x) const { return merged(x, Sum()); }
  __device__ float largest(float x) const { return merged(x, Largest()); }

 private:
  template <class Merge>
  __device__ float merged(float x, const Merge& merge) const {
    __shared__ float of_warps[1024 / Warp::kLanes];
    x = Warp().merged(x, merge);
    if (Warp().lane() == 0) of_warps[lane() / Warp::kLanes] = x;
    __syncthreads();
    float of_all = of_warps[0];
    for (int warp = 1; warp < lanes() / Warp::kLanes; ++warp) of_all = merge(of_all, of_warps[warp]);
    __syncthreads();  // the next call writes there
    return of_all;
  }
};
#endif

}  // namespace skipless::kernels
