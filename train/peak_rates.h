// The peak learning rate of every block, so that a recipe's block stays one word.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "configs/schema.h"
#include "models/model_config.h"

namespace skipless {

/// The section `train.lr_of`: one key per name of block_variants(), and no_norm.
class PeakRates {
 public:
  PeakRates();

  void keys(Schema& s);
  /// That of the model's block; for model.norm none that of no_norm, if it is given. 1e-3 where there is none.
  double of(const ModelConfig& model) const;

 private:
  std::map<std::string, std::optional<double>> of_block_;
  std::optional<double> no_norm_;
};

}  // namespace skipless
