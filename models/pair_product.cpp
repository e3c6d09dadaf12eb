#include "models/pair_product.h"

#include <ATen/native/CPUBlas.h>

namespace skipless {

namespace {

void multiply(int64_t m, int64_t n, int64_t k, const uint16_t* a, int64_t a_stride, const uint32_t* b, int64_t b_stride,
              float* c, int64_t c_stride, bool add) {
  at::native::cpublas::brgemm(m, n, k, a_stride, b_stride, c_stride, add, reinterpret_cast<const at::BFloat16*>(a),
                              reinterpret_cast<const at::BFloat16*>(b), c, /*is_vnni=*/true);
}

bool processor_multiplies_bfloat16() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bf16") != 0;
#else
  return false;
#endif
}

}  // namespace

kernels::PairProduct pair_product() {
  static const bool is_here = processor_multiplies_bfloat16();
  return is_here ? multiply : nullptr;
}

}  // namespace skipless
