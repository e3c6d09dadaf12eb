#include "models/gain.h"

namespace skipless {

namespace {

/// What float32 holds, with room for a product.
constexpr Range<double> kInitRange{.low = -1e30, .high = 1e30};

}  // namespace

void GainConfig::keys(Schema& s) {
  s.key("init", init, kInitRange, "value at the start; empty: the block's own default");
  s.key("trainable", trainable, "learned (never decayed) or fixed; empty: the block's own default");
}

void GainConfig::resolve(double default_init, bool default_trainable) {
  if (!init) init = default_init;
  if (!trainable) trainable = default_trainable;
}

void HeadGainConfig::keys(Schema& s) {
  GainConfig::keys(s);
  s.key("per_head", per_head, "one value per head, or one shared by all heads");
}

GainImpl::GainImpl(const GainConfig& config, int64_t n_head, bool changes)
    : is_zero_(!changes && config.fixed_at(0)), is_one_(!changes && config.fixed_at(1)) {
  const auto init = n_head > 0 ? torch::full({n_head, 1, 1}, *config.init) : torch::full({1}, *config.init);
  value_ = *config.trainable ? register_parameter("value", init) : register_buffer("value", init);
}

}  // namespace skipless
