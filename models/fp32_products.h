// Which library multiplies float32 matrices on a CPU: LibTorch has two.
#pragma once

#include <string_view>

namespace skipless {

enum class Fp32Products { mkl, onednn };
std::string_view name_of(Fp32Products products);

/// oneDNN on processors with AVX-512 that Intel did not make: there MKL takes its AVX2 kernels. MKL elsewhere, and
/// wherever there is AMX, with which LibTorch's switch would also lower the precision. A rule and no measurement, so
/// that the same machine always computes the same.
Fp32Products best_fp32_products();

/// For all products of the process that at::mm, at::addmm and at::linear make from now on.
void set_fp32_products(Fp32Products products);

}  // namespace skipless
