#include "train/cards.h"

#include <algorithm>
#include <array>

namespace skipless {

namespace {

struct Card {
  std::string_view name;    // as the driver has it, without "NVIDIA "
  double fp32, fp16, bf16;  // TFLOP/s; 0: none
};

// Dense figures: where a source states those with sparsity, half of them. GeForce cards add fp16 products up in float32
// at half the rate at which they add them up in fp16; what LibTorch asks for is float32.
constexpr std::array kCards{
    // NVIDIA Turing GPU Architecture whitepaper (2018), reference boost clocks; TITAN RTX: its product page
    Card{"GeForce RTX 2070", 7.5, 29.9, 0},
    Card{"GeForce RTX 2080", 10.1, 40.3, 0},
    Card{"GeForce RTX 2080 Ti", 13.4, 53.8, 0},
    Card{"TITAN RTX", 16.3, 130.5, 0},
    Card{"Quadro RTX 6000", 16.3, 130.5, 0},
    // NVIDIA T4 datasheet (2019)
    Card{"Tesla T4", 8.1, 65, 0},
    // NVIDIA V100 datasheet (2020)
    Card{"Tesla V100-SXM2-16GB", 15.7, 125, 0},
    Card{"Tesla V100-SXM2-32GB", 15.7, 125, 0},
    Card{"Tesla V100-PCIE-16GB", 14, 112, 0},
    Card{"Tesla V100-PCIE-32GB", 14, 112, 0},
    // NVIDIA Ampere GA102 GPU Architecture whitepaper (2020/21), tables of GeForce and of A6000
    Card{"GeForce RTX 3080", 29.8, 59.5, 59.5},
    Card{"GeForce RTX 3090", 35.6, 71, 71},
    Card{"RTX A6000", 38.7, 154.8, 154.8},
    // NVIDIA A100 datasheet (2021)
    Card{"A100-SXM4-40GB", 19.5, 312, 312},
    Card{"A100-SXM4-80GB", 19.5, 312, 312},
    Card{"A100-PCIE-40GB", 19.5, 312, 312},
    Card{"A100 80GB PCIe", 19.5, 312, 312},
    // NVIDIA A10 datasheet (2021)
    Card{"A10", 31.2, 125, 125},
    // NVIDIA Ada GPU Architecture whitepaper (2022/23), GeForce tables; L4 and L40S datasheets (2023)
    Card{"GeForce RTX 4080", 48.7, 97.5, 97.5},
    Card{"GeForce RTX 4090", 82.6, 165.2, 165.2},
    Card{"L4", 30.3, 121, 121},
    Card{"L40S", 91.6, 362, 362},
    // NVIDIA H100 datasheet (2023), H200 datasheet (2024)
    Card{"H100 PCIe", 51, 756, 756},
    Card{"H100 80GB HBM3", 67, 989, 989},
    Card{"H200", 67, 989, 989},
};

}  // namespace

std::optional<double> peak_flops(std::string_view card, std::string_view precision) {
  constexpr std::string_view kMaker = "NVIDIA ";
  if (card.starts_with(kMaker)) card.remove_prefix(kMaker.size());
  const auto* const found =
      std::find_if(kCards.begin(), kCards.end(), [&](const Card& row) { return row.name == card; });
  if (found == kCards.end()) return std::nullopt;
  const double teraflops = precision == "fp32"   ? found->fp32
                           : precision == "fp16" ? found->fp16
                           : precision == "bf16" ? found->bf16
                                                 : 0;
  return teraflops > 0 ? std::optional(1e12 * teraflops) : std::nullopt;
}

}  // namespace skipless
