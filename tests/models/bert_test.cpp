// The encoder and its masked language model: dense and sparse losses, padding, embeddings, head, settings.
#include "models/bert.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <torch/nn/module.h>
#include <torch/utils.h>

#include <cmath>

#include "configs/config_file.h"
#include "models/block_variants.h"
#include "tests/models/small_model.h"
// After torch: Catch's CHECK must win over torch's.
#include <catch2/catch.hpp>

using namespace skipless;
using namespace skipless::test;

namespace {

// Sums of float64 terms of order 1, taken in another order.
constexpr double kRounding = 1e-12;

ModelConfig small_bert(const std::string& block) {
  auto config = small_config(block, NormKind::layer_norm);
  config.kind = ModelKind::bert;
  return resolved(config);
}

Bert random_bert(const ModelConfig& config, uint64_t seed = 1) {
  return Bert(std::dynamic_pointer_cast<BertImpl>(random_model(config, seed)));
}

double largest(const torch::Tensor& x) {
  return x.abs().max().item<double>();
}

const torch::Tensor& parameter(Bert& bert, const std::string& name) {
  return *bert->named_parameters().find(name);
}

/// Lengths 4, 7 and 5 of 7.
torch::Tensor padded_to_seven() {
  auto kept = torch::ones({3, 7}, torch::kBool);
  kept[0].slice(0, 4) = false;
  kept[2].slice(0, 5) = false;
  return kept;
}

std::string complaint(std::vector<std::string> overrides) {
  try {
    parse_config<ModelConfig>("n_layer: 2\n", "model.yaml", overrides);
  } catch (const UserError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("A masked language model's loss is the sum of -log softmax of the tokens asked for, and no other", "[bert]") {
  const auto config = small_bert("sas");
  auto bert = random_bert(config);
  const torch::NoGradGuard no_grad;
  const auto batch = random_batch(config);
  const auto probabilities = bert->forward({.ids = batch.ids}).softmax(-1);  // [3, 7, 17]
  double expected = 0;
  int64_t count = 0;
  for (int64_t b = 0; b < 3; ++b) {
    for (int64_t t = 0; t < 7; ++t) {
      const auto label = batch.labels[b][t].item<int64_t>();
      if (label == kIgnoredTarget) continue;
      expected -= std::log(probabilities[b][t][label].item<double>());
      ++count;
    }
  }
  const auto loss = bert->loss(batch);
  CHECK(count == 6);
  CHECK(loss.count.item<int64_t>() == count);
  CHECK(loss.sum.item<double>() == Approx(expected).epsilon(kRounding));
}

TEST_CASE("The head on the masked positions alone gives the dense loss and gradients, rows filled up or not",
          "[bert]") {
  for (const bool whole_head : {false, true}) {
    INFO("transform and bias " << whole_head);
    auto config = small_bert("sas_p");
    config.mlm_head = {.transform = whole_head, .bias = whole_head};
    config.vocab_multiple = 8;
    auto bert = random_bert(config);
    const auto ids = random_ids(config, 2);
    Batch dense{.ids = ids, .labels = torch::full_like(ids, kIgnoredTarget)};
    dense.labels[0][1] = 3;
    dense.labels[0][6] = 16;
    dense.labels[1][4] = 0;
    Batch sparse{.ids = ids,
                 .labels = torch::tensor({{16, 3}, {0, static_cast<int>(kIgnoredTarget)}}, torch::kInt64),
                 .positions = torch::tensor({{6, 1}, {4, 0}}, torch::kInt64)};
    const auto results = [&](const Batch& batch) {
      bert->zero_grad();
      const auto loss = bert->loss(batch);
      loss.sum.backward();
      CHECK(loss.count.item<int64_t>() == 3);
      std::vector<torch::Tensor> list{loss.sum.detach()};
      for (const auto& p : bert->parameters()) list.push_back(p.grad().clone());
      return list;
    };
    const auto expected = results(dense), ours = results(sparse);
    REQUIRE(ours.size() == expected.size());
    for (size_t i = 0; i < ours.size(); ++i) CHECK(largest(ours[i] - expected[i]) < kRounding * 10);
    const torch::NoGradGuard no_grad;
    const auto at_positions = bert->forward(sparse), everywhere = bert->forward(dense);
    CHECK(at_positions.sizes() == at::IntArrayRef({2, 2, 17}));
    CHECK(largest(at_positions[0][0] - everywhere[0][6]) < kRounding);
    CHECK(largest(at_positions[1][0] - everywhere[1][4]) < kRounding);
  }
}

TEST_CASE("A batch in which nothing is masked has loss 0, count 0 and zero gradients", "[bert][V08]") {
  const auto config = small_bert("sas");
  auto bert = random_bert(config);
  const auto ids = random_ids(config, 2);
  const auto none = torch::full({2, 0}, kIgnoredTarget, torch::kInt64);
  for (const Batch& batch : {Batch{.ids = ids, .labels = torch::full_like(ids, kIgnoredTarget)},
                             Batch{.ids = ids, .labels = none, .positions = none}}) {
    bert->zero_grad();
    const auto loss = bert->loss(batch);
    loss.sum.backward();
    CHECK(loss.count.item<int64_t>() == 0);
    CHECK(loss.sum.item<double>() == 0);
    for (const auto& p : bert->parameters()) {
      if (p.grad().defined()) CHECK(largest(p.grad()) == 0);
    }
  }
}

TEST_CASE("Labels and positions of another shape, or a position outside the sequence, are refused", "[bert]") {
  const auto config = small_bert("pre_ln");
  auto bert = random_bert(config);
  const auto ids = random_ids(config, 2);
  const auto positions = torch::tensor({{6, 1}, {4, 7}}, torch::kInt64);
  CHECK_THROWS(bert->loss({.ids = ids, .labels = ids.slice(1, 1)}));
  CHECK_THROWS(bert->loss({.ids = ids, .labels = ids, .positions = positions.clamp_max(6)}));
  CHECK_THROWS(bert->loss({.ids = ids, .labels = ids.slice(1, 0, 2), .positions = positions}));
}

TEST_CASE("A padded batch gives each sequence the logits that it gets alone, in every block", "[bert][V11]") {
  for (const auto& variant : block_variants()) {
    INFO(variant.name);
    for (const double soft_cap : {0.0, 4.0}) {
      auto config = small_bert(std::string(variant.name));
      config.soft_cap = soft_cap;
      auto bert = random_bert(config);
      const torch::NoGradGuard no_grad;
      const auto ids = random_ids(config), kept = padded_to_seven();
      const auto together = bert->forward({.ids = ids, .kept = kept});
      for (int64_t b = 0; b < 3; ++b) {
        const int64_t length = kept[b].sum().item<int64_t>();
        const auto alone = bert->forward({.ids = ids.slice(0, b, b + 1).slice(1, 0, length)});
        CHECK(largest(together[b].slice(0, 0, length) - alone[0]) < kRounding);
      }
    }
  }
}

TEST_CASE("With centring_over all, C is 1/T also under padding, which shaped attention notices", "[bert]") {
  for (const std::string block : {"pre_ln", "sas", "sas_p", "v_skipinit"}) {
    INFO(block);
    auto config = small_bert(block);
    auto kept_only = random_bert(config);
    config.centring_over = CentringOver::all;
    auto over_all = random_bert(config);
    const torch::NoGradGuard no_grad;
    const auto ids = random_ids(config), kept = padded_to_seven();
    const auto a = kept_only->forward({.ids = ids, .kept = kept}), b = over_all->forward({.ids = ids, .kept = kept});
    CHECK((largest(a[0].slice(0, 0, 4) - b[0].slice(0, 0, 4)) > 1e-3) == (block != "pre_ln"));
    CHECK(largest(a[1] - b[1]) < kRounding);
    CHECK(kept_only->forward({.ids = ids}).equal(over_all->forward({.ids = ids})));
  }
}

TEST_CASE("A sequence of padding alone is finite and leaves the others and all gradients alone", "[bert][V10]") {
  for (const auto& variant : block_variants()) {
    for (const auto over : {CentringOver::kept, CentringOver::all}) {
      for (const auto dtype : {at::kDouble, at::kFloat}) {
        INFO(variant.name << ", centring over " << name_of(over) << ", " << dtype);
        auto config = small_bert(std::string(variant.name));
        config.centring_over = over;
        auto bert = random_bert(config);
        bert->to(dtype);
        auto batch = random_batch(config);
        batch.kept = torch::ones({3, 7}, torch::kBool);
        batch.kept[1] = false;
        batch.labels[1].fill_(kIgnoredTarget);
        CHECK(bert->forward(batch).isfinite().all().item<bool>());
        const auto loss = bert->loss(batch).sum;
        loss.backward();
        std::vector<torch::Tensor> with;
        for (const auto& p : bert->parameters()) {
          with.push_back(p.grad().clone());
          CHECK(with.back().isfinite().all().item<bool>());
        }
        bert->zero_grad();
        const auto rows = torch::tensor({0, 2}, torch::kInt64);
        const auto others =
            bert->loss({.ids = batch.ids.index_select(0, rows), .labels = batch.labels.index_select(0, rows)}).sum;
        others.backward();
        // float32 rounds sums of order 10 to 1e-6.
        const double tolerance = dtype == at::kDouble ? kRounding * 100 : 1e-3;
        CHECK(std::abs((loss - others).item<double>()) < tolerance);
        for (size_t i = 0; i < with.size(); ++i) {
          CHECK(largest(with[i] - bert->parameters()[i].grad()) < tolerance * std::max(1.0, largest(with[i])));
        }
      }
    }
  }
}

TEST_CASE("Scaled sinusoidal positions are a trained number, 1/sqrt(D) at first, times the sinusoids", "[bert]") {
  auto config = small_bert("pre_ln");
  config.positions = PositionKind::scaled_sinusoidal;
  torch::manual_seed(4);
  Bert bert(config);
  CHECK(parameter(bert, "embedding.position_scale").item<double>() == Approx(1 / std::sqrt(12.0)).epsilon(1e-7));
  bert->to(torch::kFloat64);
  randomise(*bert);
  const auto ids = random_ids(config);
  const auto table = *bert->named_buffers().find("embedding.positions");
  const auto& tokens = parameter(bert, "embedding.tokens");
  const auto expected =
      tokens.index_select(0, ids.flatten()).view({3, 7, 12}) + parameter(bert, "embedding.position_scale") * table;
  CHECK(largest(bert->hidden_states({.ids = ids}).front() - expected) < kRounding);
  bert->loss({.ids = ids, .labels = ids}).sum.backward();
  CHECK(largest(parameter(bert, "embedding.position_scale").grad()) > 1e-6);
}

TEST_CASE("The embedding norm takes tokens, positions and token types together, and dropout follows it", "[bert]") {
  auto config = small_bert("pre_ln");
  config.embedding_norm = NormKind::layer_norm;
  config.embedding_norm_eps = 1e-3;
  config.n_token_types = 2;
  config.dropout.embedding = 0.5;
  auto bert = random_bert(config);
  bert->eval();
  const torch::NoGradGuard no_grad;
  const auto ids = random_ids(config);
  const auto types = torch::tensor({0, 0, 0, 0, 1, 1, 1}, torch::kInt64).expand({3, 7});
  const auto rows = [&](const char* name, const torch::Tensor& index) {
    return parameter(bert, name).index_select(0, index.flatten()).view({-1, 7, 12});
  };
  const auto sum = rows("embedding.tokens", ids) + parameter(bert, "embedding.positions");
  const auto normed = [&](const torch::Tensor& x) {
    return at::layer_norm(x, {12}, parameter(bert, "embedding.norm.weight"), parameter(bert, "embedding.norm.bias"),
                          1e-3);
  };
  const auto ours = [&](const torch::Tensor& token_types) {
    return bert->hidden_states({.ids = ids, .token_types = token_types}).front();
  };
  const auto expected = normed(sum + rows("embedding.token_types", types));
  CHECK(largest(ours(types) - expected) < kRounding);
  CHECK(largest(ours({}) - normed(sum + parameter(bert, "embedding.token_types")[0])) < kRounding);
  CHECK(ours({}).equal(ours(torch::zeros_like(types))));
  bert->train();
  const auto dropped = ours(types);
  const auto zero = dropped == 0;
  CHECK(zero.any().item<bool>());
  CHECK(largest(dropped - (2 * expected).masked_fill(zero, 0)) < kRounding);
}

TEST_CASE("The lookup gives the padding token no gradient, and the tied output matrix does", "[bert]") {
  auto config = small_bert("sas");
  auto every = random_bert(config);
  config.padding_id = 5;
  auto but_one = random_bert(config);
  config.tied_head = false;
  auto untied = random_bert(config);
  auto ids = random_ids(config);
  ids.select(1, 2).fill_(5);
  const auto gradient = [&](Bert& bert) {
    const auto loss = bert->loss({.ids = ids, .labels = ids}).sum;
    loss.backward();
    return std::pair{loss.detach(), parameter(bert, "embedding.tokens").grad()};
  };
  const auto [loss_a, a] = gradient(every);
  const auto [loss_b, b] = gradient(but_one);
  CHECK(loss_a.equal(loss_b));
  CHECK(largest(a[5] - b[5]) > 1e-3);
  CHECK(largest(b[5]) > 1e-3);
  const auto others = torch::cat({(a - b).slice(0, 0, 5), (a - b).slice(0, 6)});
  CHECK(largest(others) < kRounding);
  CHECK(largest(gradient(untied).second[5]) == 0);
}

TEST_CASE("The head's transform is LayerNorm(act(W h + b)), and its bias is one number per token", "[bert]") {
  auto config = small_bert("post_ln");
  config.activation = Activation::geglu;
  config.mlm_head = {.transform = true, .bias = true};
  config.final_norm_eps = 1e-3;
  config.tied_head = false;
  auto bert = random_bert(config);
  const torch::NoGradGuard no_grad;
  const Batch batch{.ids = random_ids(config)};
  const auto h = bert->hidden_states(batch).back();
  const auto p = [&](const char* name) { return parameter(bert, name); };
  const auto activated = at::gelu(torch::matmul(h, p("mlm_transform.w").t()) + p("mlm_transform.b"));
  const auto normed =
      at::layer_norm(activated, {12}, p("mlm_transform.norm.weight"), p("mlm_transform.norm.bias"), 1e-3);
  const auto expected = torch::matmul(normed, p("head").t()) + p("head_bias");
  CHECK(largest(bert->forward(batch) - expected) < kRounding);
}

TEST_CASE("post_ln without its first norm begins with the embeddings as they are", "[bert]") {
  auto config = small_bert("post_ln");
  auto own = random_bert(config);
  config =
      parse_config<ModelConfig>(write_config(config), "test",
                                {"post_ln.first_norm=false", "embedding_norm=layer_norm", "embedding_norm_eps=1e-5"});
  auto before = random_bert(config);
  CHECK(own->parameters().size() == before->parameters().size());
  const torch::NoGradGuard no_grad;
  for (auto& item : before->named_parameters()) {
    std::string name = item.key();
    if (name.starts_with("embedding.norm.")) name = "block_0.norm_1." + name.substr(15);
    item.value().copy_(parameter(own, name));
  }
  const auto ids = random_ids(config);
  CHECK(largest(own->forward({.ids = ids}) - before->forward({.ids = ids})) < kRounding);
}

TEST_CASE("Settings of an encoder are refused for a causal model, by name", "[bert][config]") {
  using Catch::Matchers::Contains;
  for (const std::string key :
       {"n_token_types=2", "mlm_head.transform=true", "mlm_head.bias=true", "centring_over=all"}) {
    CHECK_THAT(complaint({key}), Contains(key.substr(0, key.find('='))) && Contains("kind: bert"));
    CHECK(complaint({key, "kind=bert"}) == "accepted");
  }
  CHECK_THAT(complaint({"padding_id=50000"}), Contains("padding_id") && Contains("vocab_size 50000"));
  CHECK_THAT(complaint({"kind=bart"}), Contains("kind") && Contains("bert"));
}
