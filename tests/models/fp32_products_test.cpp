// Either library of float32 products gives float32 products.
#include "models/fp32_products.h"

#include <ATen/ops/addmm.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <torch/utils.h>
// After torch: Catch's CHECK must win over torch's.
#include <catch2/catch.hpp>

using namespace skipless;

TEST_CASE("Both libraries of products round as float32 does, whatever way the factors lie", "[products]") {
  torch::manual_seed(51);
  // Sums of 300 terms: bfloat16 factors would be off by 1e-2.
  constexpr double kFloat32 = 1e-5;
  for (const auto products : {Fp32Products::mkl, Fp32Products::onednn}) {
    INFO(name_of(products));
    set_fp32_products(products);
    for (const bool turned : {false, true}) {
      const auto a = turned ? at::randn({300, 70}).t() : at::randn({70, 300});
      const auto b = turned ? at::randn({50, 300}).t() : at::randn({300, 50});
      const auto exact = at::mm(a.to(at::kDouble), b.to(at::kDouble));
      const auto size = exact.abs().max().item<double>();
      CHECK((at::mm(a, b) - exact).abs().max().item<double>() < kFloat32 * size);
      const auto sum = at::randn({70, 50});
      const auto exact_sum = exact + sum;
      CHECK((at::addmm(sum, a, b) - exact_sum).abs().max().item<double>() < kFloat32 * size);
    }
  }
  // As LibTorch begins: oneDNN takes its own memory from an allocator that other tests here replace.
  set_fp32_products(Fp32Products::mkl);
}
