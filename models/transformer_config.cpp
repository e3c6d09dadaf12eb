#include "models/transformer_config.h"

#include <fmt/format.h>

namespace skipless {

void BiasConfig::keys(Schema& s) {
  s.key("query_key", query_key, "bias of the query and key projections");
  s.key("value", value, "bias of the value projection");
  s.key("projection", projection, "bias of the output projection");
  s.key("feed_forward", feed_forward, "biases of the feed-forward's two maps");
}

void TransformerConfig::keys(Schema& s) {
  const auto count = Range<int64_t>::between(1, 1'000'000);
  s.key("n_layer", n_layer, Range<int64_t>::between(1, 10'000), "number of blocks");
  s.key("d_model", d_model, count, "width");
  s.key("n_head", n_head, count, "attention heads; divides d_model");
  s.key("d_ff", d_ff, count, "width of the feed-forward; empty: 4 * d_model");
  s.key("norm", norm, "norm of the blocks; with none, block 0 still begins with a LayerNorm");
  s.key("norm_eps", norm_eps, Range<double>::between(0, 1),
        "eps of the blocks' norms; rms_norm adds it outside the root");
  s.key("activation", activation, "of the feed-forward; geglu: first half * gelu(second half)");
  s.key("leaky_slope", leaky_slope, Range<double>::between(0, 1), "negative slope of leaky_relu");
  s.section("bias", bias, "which linear maps have a bias");
  s.key("qk_norm", qk_norm, "RMSNorm of every query and key, one scale of the head's size each");
  s.key("soft_cap", soft_cap, Range<double>::between(0, 1e6), "c: attention logits S become c*tanh(S/c); 0: off");
  s.key("init_std", init_std, Range<double>::between(0, 10), "standard deviation of the normal initialisation");
  s.section("init", init, "start of the matrices that all variants have, where it is not N(0, init_std^2)");
  s.section("dropout", dropout, "probabilities of dropout while training");
  s.section("identity_start", identity_start, "attention begins as the identity, A(X) = V, and fades in");
}

void TransformerConfig::resolve() {
  if (!d_ff) d_ff = 4 * d_model;
}

void TransformerConfig::check(Problems& problems) const {
  problems.within("init", [&](Problems& p) { init.check(p); });
  if (d_model % n_head != 0) {
    problems.add("n_head", fmt::format("d_model {} is not divisible by n_head {}", d_model, n_head));
  }
  if (activation == Activation::geglu && *d_ff % 2 != 0) {
    problems.add("d_ff", fmt::format("geglu splits d_ff in two halves, and {} is odd", *d_ff));
  }
}

}  // namespace skipless
