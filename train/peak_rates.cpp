#include "train/peak_rates.h"

#include "models/block_variants.h"

namespace skipless {

PeakRates::PeakRates() {
  for (const auto& variant : block_variants()) of_block_.emplace(variant.name, std::nullopt);
}

void PeakRates::keys(Schema& s) {
  const auto rate = Range<double>::between(0, 1000);
  for (const auto& variant : block_variants()) {
    s.key(variant.name, of_block_.at(std::string(variant.name)), rate, "with this block");
  }
  s.key("no_norm", no_norm_, rate, "with model.norm none, whatever the block");
}

double PeakRates::of(const ModelConfig& model) const {
  constexpr double kRate = 1e-3;
  const auto of_block = of_block_.at(model.block);
  return (model.norm == NormKind::none ? no_norm_ : std::nullopt).value_or(of_block.value_or(kRate));
}

}  // namespace skipless
