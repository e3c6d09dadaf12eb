#include "models/fp32_products.h"

#include <ATen/Context.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace skipless {

std::string_view name_of(Fp32Products products) {
  return products == Fp32Products::mkl ? "MKL" : "oneDNN";
}

namespace {

#if defined(__x86_64__)
bool has_amx() {
  constexpr unsigned kFeatures = 7, kAmxTile = 24;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(kFeatures, 0, &a, &b, &c, &d) != 0 && (d >> kAmxTile & 1U) != 0;
}
#endif

}  // namespace

Fp32Products best_fp32_products() {
#if defined(__x86_64__)
  const bool has_avx512 = __builtin_cpu_supports("avx512f") != 0;
  if (has_avx512 && !has_amx() && __builtin_cpu_is("intel") == 0) return Fp32Products::onednn;
#endif
  return Fp32Products::mkl;
}

void set_fp32_products(Fp32Products products) {
  // The switch is called BF16: it lets oneDNN round its factors, which it does with AMX and nowhere else.
  at::globalContext().setFloat32Precision(
      at::Float32Backend::MKLDNN, at::Float32Op::MATMUL,
      products == Fp32Products::onednn ? at::Float32Precision::BF16 : at::Float32Precision::IEEE);
}

}  // namespace skipless
