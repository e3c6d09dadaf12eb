#include "eval/analysis/analyze.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/linalg_matrix_norm.h>
#include <ATen/ops/linalg_svdvals.h>
#include <ATen/ops/matmul.h>
#include <c10/core/GradMode.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "configs/config_file.h"
#include "configs/error.h"
#include "eval/analysis/sequences.h"
#include "models/block_variants.h"
#include "tests/models/small_model.h"
// Catch2 comes last: its CHECK clashes with LibTorch's.
#include <catch2/catch.hpp>

namespace skipless {

namespace {

using Json = nlohmann::ordered_json;

auto near(double value) {
  return Approx(value).epsilon(1e-11).margin(1e-12);  // float64 throughout, a few layers deep
}

/// A and P of every layer, [B, H, T, T], as the observer sees them.
struct Matrices {
  std::vector<at::Tensor> a, p;
};

/// Runs the blocks one by one under an observer. `last`: the output of the last one.
Matrices matrices_of(TransformerImpl& model, const at::Tensor& ids, at::Tensor* last = nullptr) {
  Matrices matrices;
  AttentionMask mask = model.attention_mask({.ids = ids});
  const AttentionObserver observer = [&](ShapedAttentionImpl& attention, const at::Tensor& q, const at::Tensor& k) {
    matrices.a.push_back(attention.softmax_matrix(q, k, mask));
    matrices.p.push_back(attention.matrix(q, k, mask));
  };
  mask.observer = &observer;
  auto x = model.hidden_states({.ids = ids}).front();
  for (const auto& block : model.blocks()) x = block->forward(x, mask);
  if (last != nullptr) *last = x;
  return matrices;
}

double stable_rank_of(const at::Tensor& m) {
  return std::pow((m.norm() / at::linalg_matrix_norm(m, 2)).item<double>(), 2);
}

/// At its start, in float64.
Transformer fresh(const ModelConfig& config) {
  torch::manual_seed(1);
  auto model = make_model(test::resolved(config));
  model->to(at::kDouble);
  return model;
}

}  // namespace

TEST_CASE("every block of both kinds is analyzed, each number once a layer and head", "[analysis]") {
  for (const auto kind : {ModelKind::gpt, ModelKind::bert}) {
    for (const auto& variant : block_variants()) {
      INFO(name_of(kind) << ", " << variant.name);
      auto config = test::small_config(std::string(variant.name));
      config.kind = kind;
      config = test::resolved(config);
      const auto model = test::random_model(config);
      const auto json = analyze(*model, test::random_ids(config));
      REQUIRE(json.at("layers").size() == 2);
      REQUIRE(json.at("states").size() == 3);
      for (const auto& state : json.at("states")) {
        for (const auto& [name, value] : state.items()) CHECK(std::isfinite(value.get<double>()));
        CHECK(state.size() == 6);
      }
      for (const auto& layer : json.at("layers")) {
        for (const char* matrix : {"a", "p", "p_without_c"}) {
          for (const char* rank : {"stable_rank", "effective_rank"}) {
            REQUIRE(layer.at(matrix).at(rank).size() == 3);
            for (const auto& of_head : layer.at(matrix).at(rank)) {
              CHECK(of_head.get<double>() >= 1 - 1e-12);
              CHECK(of_head.get<double>() <= 7 + 1e-12);
            }
          }
          CHECK(layer.at(matrix).at("distance_from_identity").size() == 3);
          CHECK(layer.at(matrix).at("singular_values").size() == 3);
          CHECK(layer.at(matrix).at("singular_values")[2].size() == 7);
          CHECK(layer.at(matrix).at("eigenvalue_moduli")[2].size() == 7);
          CHECK(layer.at(matrix).at("eigenvalues").at("imaginary")[2].size() == 7);
        }
        CHECK(layer.at("a").at("entropy").size() == 3);
        CHECK(layer.at("gains").at("attention.shape.beta").size() > 0);
      }
      CHECK_NOTHROW(json.dump());
    }
  }
}

TEST_CASE("rows of A sum to 1, and those of P to alpha + beta - gamma", "[analysis]") {
  const c10::NoGradGuard no_grad;
  for (const auto kind : {ModelKind::gpt, ModelKind::bert}) {
    auto config = test::small_config("sas");
    config.kind = kind;
    config = test::resolved(config);
    const auto model = test::random_model(config);
    const auto ids = test::random_ids(config);
    const auto matrices = matrices_of(*model, ids);
    const auto json = analyze(*model, ids);
    for (size_t layer = 0; layer < 2; ++layer) {
      CHECK((matrices.a[layer].sum(-1) - 1).abs().max().item<double>() < 1e-14);
      const auto& gains = json.at("layers")[layer].at("gains");
      for (int64_t head = 0; head < 3; ++head) {
        const auto gain = [&](const std::string& name) {
          return gains.at("attention.shape." + name)[static_cast<size_t>(head)].get<double>();
        };
        const auto sums = matrices.p[layer].select(1, head).sum(-1);
        CHECK((sums - (gain("alpha") + gain("beta") - gain("gamma"))).abs().max().item<double>() < 1e-14);
      }
    }
  }
}

TEST_CASE("numbers are means over sequences, eigenvalues those of the first one", "[analysis]") {
  const auto config = test::resolved(test::small_config("sas"));
  const auto model = test::random_model(config);
  const auto ids = test::random_ids(config, 2);
  const auto both = analyze(*model, ids), first = analyze(*model, ids.slice(0, 0, 1)),
             second = analyze(*model, ids.slice(0, 1));
  const auto mean_at = [&](const char* path) {
    const Json::json_pointer at(path);
    INFO(path);
    REQUIRE(first.at(at).get<double>() != Approx(second.at(at).get<double>()).epsilon(1e-6));
    CHECK(both.at(at).get<double>() == near((first.at(at).get<double>() + second.at(at).get<double>()) / 2));
  };
  for (const char* matrix : {"a", "p", "p_without_c"}) {
    for (const char* number : {"stable_rank/1", "effective_rank/1", "singular_values/1/2", "eigenvalue_moduli/1/2",
                               "distance_from_identity/2"}) {
      mean_at((std::string("/layers/1/") + matrix + "/" + number).c_str());
    }
  }
  for (const char* path : {"/layers/0/a/entropy/2", "/layers/0/a/entropy_share/2", "/layers/1/products/a/stable_rank",
                           "/layers/1/products/p/effective_rank", "/states/2/token_similarity",
                           "/states/2/token_covariance", "/states/1/stable_rank", "/states/1/effective_rank"}) {
    mean_at(path);
  }
  const Json::json_pointer eigenvalues("/layers/1/p/eigenvalues/real/0/3");
  CHECK(both.at(eigenvalues).get<double>() == near(first.at(eigenvalues).get<double>()));
  CHECK(first.at(eigenvalues).get<double>() != Approx(second.at(eigenvalues).get<double>()).epsilon(1e-6));
  // The root of the mean, not the mean of roots.
  const auto rms = [](const Json& json) { return json.at("states")[2].at("rms").get<double>(); };
  CHECK(rms(both) == near(std::sqrt((rms(first) * rms(first) + rms(second) * rms(second)) / 2)));
}

TEST_CASE("products multiply each layer's mean over heads from the left", "[analysis]") {
  const c10::NoGradGuard no_grad;
  const auto config = test::resolved(test::small_config("v_skipinit"));
  const auto model = test::random_model(config);
  const auto ids = test::random_ids(config, 1);
  const auto matrices = matrices_of(*model, ids);
  const auto json = analyze(*model, ids);
  const auto ranks = [&](size_t layer, const char* of) {
    return json.at("layers")[layer].at("products").at(of).at("stable_rank").get<double>();
  };
  const auto mean = [](const at::Tensor& m) { return m[0].mean(0); };
  CHECK(ranks(0, "a") == near(stable_rank_of(mean(matrices.a[0]))));
  CHECK(ranks(0, "p") == near(stable_rank_of(mean(matrices.p[0]))));
  CHECK(ranks(1, "a") == near(stable_rank_of(at::matmul(mean(matrices.a[1]), mean(matrices.a[0])))));
  CHECK(ranks(1, "p") == near(stable_rank_of(at::matmul(mean(matrices.p[1]), mean(matrices.p[0])))));
  CHECK(ranks(1, "p") != Approx(stable_rank_of(at::matmul(mean(matrices.p[0]), mean(matrices.p[1])))).epsilon(1e-6));
}

TEST_CASE("at its start an SAS model has P = I, A = C and no value matrix but the identity of block 0", "[analysis]") {
  const auto config = test::small_config("sas");
  const auto json = analyze(*fresh(config), test::random_ids(config));
  double harmonic = 0, logs = 0, from_identity = 0;
  for (int i = 1; i <= 7; ++i) {
    harmonic += 1.0 / i;
    logs += std::log(i) / 7;
    from_identity += 1 - 1.0 / i;  // row i of C - I, squared: (i - 1)/i^2 + (1 - 1/i)^2
  }
  for (const auto& layer : json.at("layers")) {
    for (int head = 0; head < 3; ++head) {
      CHECK(layer.at("p").at("stable_rank")[head].get<double>() == near(7));
      CHECK(layer.at("p").at("effective_rank")[head].get<double>() == near(7));
      CHECK(layer.at("a").at("entropy")[head].get<double>() == near(logs));
      CHECK(layer.at("a").at("entropy_share")[head].get<double>() == near(1));
      const auto distance = [&](const char* matrix) {
        return layer.at(matrix).at("distance_from_identity")[head].get<double>();
      };
      CHECK(distance("p") == 0);
      CHECK(distance("a") == near(std::sqrt(from_identity / 7)));
      CHECK(distance("p_without_c") == near(std::sqrt(harmonic / 7)));  // that of C from 0
      double trace = 0, trace_without_c = 0;
      for (int i = 0; i < 7; ++i) {
        trace += layer.at("a").at("eigenvalues").at("real")[head][i].get<double>();
        trace_without_c += layer.at("p_without_c").at("eigenvalues").at("real")[head][i].get<double>();
      }
      CHECK(trace == near(harmonic));
      CHECK(trace_without_c == near(7 + harmonic));
    }
    CHECK(layer.at("products").at("p").at("stable_rank").get<double>() == near(7));
    CHECK(layer.at("products").at("a").at("stable_rank").get<double>() < 3);
    CHECK(layer.at("projection").is_null());
  }
  CHECK(json.at("layers")[1].at("value").is_null());
  const auto& value = json.at("layers")[0].at("value");
  CHECK(value.at("distance_from_init").get<double>() == near(0));
  CHECK(value.at("singular_values").size() == 12);
  CHECK(value.at("singular_values")[11].get<double>() == near(1));
}

TEST_CASE("distances are those of the matrix in force, relative to its start and to I", "[analysis]") {
  const auto config = test::small_config("sas");
  const auto model = fresh(config);
  {
    const c10::NoGradGuard no_grad;
    // 1 * I + 1 * W with W = 3 e_0 e_1^T.
    model->named_parameters()["block_0.attention.value.weight"][0][1] = 3;
  }
  auto value = analyze(*model, test::random_ids(config)).at("layers")[0].at("value");
  CHECK(value.at("distance_from_init").get<double>() == near(3 / std::sqrt(12)));
  CHECK(value.at("distance_from_identity").get<double>() == near(3 / std::sqrt(12)));
  CHECK(value.at("stable_rank").get<double>() < 4);
  // A plain matrix does not know its start.
  const auto plain = fresh(test::small_config("pre_ln"));
  const auto w = plain->named_parameters()["block_1.attention.projection.weight"];
  value = analyze(*plain, test::random_ids(config)).at("layers")[1].at("projection");
  CHECK_FALSE(value.contains("distance_from_init"));
  CHECK(value.at("distance_from_identity").get<double>() ==
        near((w - at::eye(12, w.options())).norm().item<double>() / std::sqrt(12)));
  CHECK(value.at("singular_values")[0].get<double>() == near(at::linalg_svdvals(w)[0].item<double>()));
}

TEST_CASE("observing changes no bit of what a model computes, and analyzing leaves it as it was", "[analysis]") {
  for (const auto& variant : block_variants()) {
    INFO(variant.name);
    const auto config = test::resolved(test::small_config(std::string(variant.name)));
    const auto ids = test::random_ids(config);
    auto model = test::random_gpt(config);
    for (const auto type : {at::kFloat, at::kDouble}) {
      model->to(type);
      at::Tensor seen;
      const c10::NoGradGuard no_grad;
      matrices_of(*model, ids, &seen);
      auto x = model->hidden_states({.ids = ids}).front();
      for (const auto& block : model->blocks()) x = block->forward(x, model->attention_mask({.ids = ids}));
      CHECK(at::equal(seen, x));
    }
    model->train();
    const auto before = model->forward(ids);
    analyze(*model, ids);
    CHECK(at::equal(model->forward(ids), before));
    CHECK(model->is_training());
    for (const auto& parameter : model->parameters()) CHECK_FALSE(parameter.grad().defined());
  }
}

TEST_CASE("without its attention skip Pre-LN collapses to one direction at the start, and SAS-P does not",
          "[analysis]") {
  // Tokens mix in every layer, and only what all have in common is left; SAS-P begins with P = I and mixes none.
  const auto states_of = [](const std::string& settings) {
    const std::string sizes =
        "{n_layer: 12, d_model: 64, n_head: 4, d_ff: 256, vocab_size: 256, context_length: 32, init_std: 0.1, ";
    const auto config = parse_config<ModelConfig>(sizes + settings + "}", "test");
    return analyze(*fresh(config), random_sequences(256, 4, 32, 1)).at("states");
  };
  const auto similarity = [](const Json& states, size_t depth) {
    return states[depth].at("token_similarity").get<double>();
  };
  const auto collapsing = states_of("block: pre_ln, pre_ln: {alpha_sa: {init: 0}}");
  const auto ordinary = states_of("block: pre_ln"), sas_p = states_of("block: sas_p");
  CHECK(similarity(collapsing, 0) < 0.05);
  CHECK(similarity(collapsing, 6) > similarity(collapsing, 2) + 0.1);
  CHECK(similarity(collapsing, 12) > 0.999);
  CHECK(collapsing[12].at("stable_rank").get<double>() < 1.01);
  CHECK(similarity(ordinary, 12) < 0.85);  // the skip keeps what the tokens began with
  CHECK(similarity(sas_p, 12) < 0.1);
  CHECK(sas_p[12].at("stable_rank").get<double>() > 5);
}

TEST_CASE("a number that is not finite is said to be so, with its block", "[analysis]") {
  const auto config = test::resolved(test::small_config("pre_ln"));
  auto model = test::random_gpt(config);
  {
    const c10::NoGradGuard no_grad;
    model->named_parameters()["block_1.feed_forward.w_1"].fill_(std::numeric_limits<double>::infinity());
  }
  CHECK_THROWS_AS(analyze(*model, test::random_ids(config)), RunError);
  CHECK_THROWS_WITH(analyze(*model, test::random_ids(config)), Catch::Contains("block_1"));
}

}  // namespace skipless
