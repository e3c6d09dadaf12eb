// B sequences of T tokens, H heads, D the width.
#include "eval/analysis/analyze.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/full.h>
#include <ATen/ops/imag.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/real.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "configs/error.h"
#include "eval/analysis/attention_entropy.h"
#include "eval/analysis/distance.h"
#include "eval/analysis/gains.h"
#include "eval/analysis/outlier_kurtosis.h"
#include "eval/analysis/ranks.h"
#include "eval/analysis/spectra.h"
#include "eval/analysis/token_similarity.h"
#include "eval/evaluation_mode.h"

namespace skipless {

namespace {

using Json = nlohmann::ordered_json;

/// A number, or lists within lists.
Json numbers(const at::Tensor& values) {
  if (values.dim() == 0) return values.item<double>();
  Json list = Json::array();
  for (int64_t i = 0; i < values.size(0); ++i) list.push_back(numbers(values[i]));
  return list;
}

/// Of the order of square matrices m [.., N, N].
at::Tensor identity_like(const at::Tensor& m) {
  return at::eye(m.size(-1), m.options());
}

Json ranks_json(const at::Tensor& singular) {
  return {{"stable_rank", numbers(stable_rank(singular).mean(0))},
          {"effective_rank", numbers(effective_rank(singular).mean(0))}};
}

/// m [B, H, T, T]
Json spectra_json(const at::Tensor& m) {
  const auto singular = singular_values(m);
  const auto eigen = eigenvalues(m);
  Json json = ranks_json(singular);
  json["singular_values"] = numbers(singular.mean(0));
  json["eigenvalue_moduli"] = numbers(eigen.abs().mean(0));
  json["eigenvalues"] = {{"real", numbers(at::real(eigen[0]))}, {"imaginary", numbers(at::imag(eigen[0]))}};
  json["distance_from_identity"] = numbers(relative_distance(m, identity_like(m)).mean(0));
  return json;
}

/// [T]: how many keys each row of A sees.
at::Tensor visible_keys(const AttentionMask& mask, int64_t t) {
  return mask.causal ? at::arange(1, t + 1, at::kLong) : at::full({t}, t, at::kLong);
}

/// a [B, H, T, T]
Json softmax_json(const at::Tensor& a, const AttentionMask& mask) {
  Json json = spectra_json(a);
  const auto entropy = row_entropy(a).mean(0);  // [H, T]
  json["entropy"] = numbers(entropy.mean(-1));
  json["entropy_share"] = numbers(entropy_share(entropy, visible_keys(mask, a.size(-1))));
  return json;
}

/// The product of the attention matrices so far, [B, T, T], each the mean over its heads, the last one on the left.
class Product {
 public:
  /// m [B, H, T, T]
  Json with(const at::Tensor& m) {
    const auto mean = m.mean(1);
    product_ = product_.defined() ? at::matmul(mean, product_) : mean;
    return ranks_json(singular_values(product_));
  }

 private:
  at::Tensor product_;
};

/// null for the identity, which is no matrix.
Json projection_json(GainedLinearImpl& projection) {
  if (!projection.has_matrix()) return nullptr;
  const auto w = projection.matrix();
  const auto singular = singular_values(w);
  Json json = {{"stable_rank", numbers(stable_rank(singular))},
               {"effective_rank", numbers(effective_rank(singular))},
               {"singular_values", numbers(singular)},
               {"distance_from_identity", numbers(relative_distance(w, identity_like(w)))}};
  if (projection.w_init().defined()) json["distance_from_init"] = numbers(relative_distance(w, projection.w_init()));
  return json;
}

Json gains_json(const BlockImpl& block) {
  Json json = Json::object();
  for (const auto& [name, value] : gains_of(block)) {
    json[name] = numbers(value.numel() == 1 ? value.squeeze() : value.flatten());
  }
  return json;
}

/// x [B, T, D]
Json state_json(const at::Tensor& x) {
  Json json = {{"rms", numbers(x.square().mean().sqrt())},
               {"token_covariance", numbers(token_covariance(x).mean())},
               {"token_similarity", numbers(token_similarity(x).mean())}};
  json.update(ranks_json(singular_values(x)));
  json["outlier_kurtosis"] = numbers(outlier_kurtosis(x));
  return json;
}

void require_finite(const at::Tensor& x, const std::string& name) {
  if (!at::isfinite(x).all().item<bool>()) throw RunError(name + ": the output is not finite");
}

}  // namespace

nlohmann::ordered_json analyze(TransformerImpl& model, const at::Tensor& ids) {
  const c10::NoGradGuard no_grad;
  const EvaluationMode evaluation(model);
  const Batch batch{.ids = ids};
  AttentionMask mask = model.attention_mask(batch);
  Json layer;
  Product of_a, of_p;
  const AttentionObserver observer = [&](ShapedAttentionImpl& attention, const at::Tensor& q, const at::Tensor& k) {
    const auto a = attention.softmax_matrix(q, k, mask), p = attention.matrix(q, k, mask);
    layer["a"] = softmax_json(a, mask);
    layer["p"] = spectra_json(p);
    layer["p_without_c"] = spectra_json(attention.matrix(q, k, mask, /*centred=*/false));
    layer["products"] = {{"a", of_a.with(a)}, {"p", of_p.with(p)}};
  };
  mask.observer = &observer;

  auto x = model.hidden_states(batch).front();
  require_finite(x, "embedding");
  Json states = Json::array({state_json(x)}), layers = Json::array();
  for (const auto& block : model.blocks()) {
    layer = {{"gains", gains_json(*block)}};
    x = block->forward(x, mask);
    require_finite(x, fmt::format("block_{}", layers.size()));
    layer["value"] = projection_json(*block->attention()->value());
    layer["projection"] = projection_json(*block->attention()->projection());
    layers.push_back(layer);
    states.push_back(state_json(x));
  }
  return {{"states", states}, {"layers", layers}};
}

}  // namespace skipless
