#include "data/masking_config.h"

#include <array>

namespace skipless {

std::span<const EnumName<MaskingRule>> enum_names(MaskingRule) {
  static constexpr std::array<EnumName<MaskingRule>, 2> kNames{
      {{MaskingRule::exact, "exact"}, {MaskingRule::bernoulli, "bernoulli"}}};
  return kNames;
}

void MaskingConfig::keys(Schema& s) {
  s.key("rate", rate, {.low = 0, .high = 1, .low_open = true}, "share of the tokens that are masked");
  s.key("rule", rule,
        "exact: round(rate * T) tokens of each row (as the paper); bernoulli: each token for itself (as BERT)");
  s.key("exclude_special", exclude_special, "special tokens are never masked");
}

}  // namespace skipless
