#include "models/identity_start.h"

#include <array>
#include <cmath>

namespace skipless {

std::span<const EnumName<IdentitySchedule>> enum_names(IdentitySchedule) {
  static constexpr std::array<EnumName<IdentitySchedule>, 3> kNames{
      {{IdentitySchedule::off, "off"}, {IdentitySchedule::linear, "linear"}, {IdentitySchedule::cosine, "cosine"}}};
  return kNames;
}

void IdentityStartConfig::keys(Schema& s) {
  s.key("schedule", schedule, "how lambda falls from 1 to 0 in the attention matrix lambda*I + (1 - lambda)*P");
  s.key("steps", steps, Range<int64_t>::between(1, 1'000'000'000), "optimizer steps after which lambda is 0");
}

double IdentityStartConfig::lambda(int64_t t) const {
  if (schedule == IdentitySchedule::off || t >= steps) return 0;
  const double progress = static_cast<double>(t) / static_cast<double>(steps);
  return schedule == IdentitySchedule::linear ? 1 - progress : (1 + std::cos(M_PI * progress)) / 2;
}

}  // namespace skipless
