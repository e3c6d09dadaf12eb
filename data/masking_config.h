// The settings of masked language modelling, whose rules data/masking.h explains.
#pragma once

#include <span>

#include "configs/schema.h"

namespace skipless {

enum class MaskingRule { exact, bernoulli };
std::span<const EnumName<MaskingRule>> enum_names(MaskingRule);

struct MaskingConfig {
  double rate = 0.25;
  MaskingRule rule = MaskingRule::exact;
  bool exclude_special = false;

  void keys(Schema& s);
};

}  // namespace skipless
