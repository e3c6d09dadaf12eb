// Blocks as graphs: for every row of the table of block variants, and for a block that the table does not have.
#include "eval/graph/block_graph.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "configs/config_file.h"
#include "configs/error.h"
#include "eval/graph/dot.h"
#include "models/block_variants.h"
#include "tests/eval/graph/run_graph.h"
#include "tests/models/small_model.h"
// Catch2 comes last: its CHECK clashes with LibTorch's.
#include <catch2/catch.hpp>

namespace skipless {

namespace {

using Kind = BlockGraph::Kind;
using Names = std::multiset<std::string>;

constexpr int64_t kLayer = 1;

/// Of gpt and bert, gains random.
Transformer model_of(const ModelConfig& config) {
  return test::random_model(test::resolved(config));
}

BlockGraph graph_of(const Transformer& model, int64_t layer = kLayer) {
  return block_graph(*model->blocks()[layer], model->config().d_model, model->attention_mask({}));
}

/// What it is called in the lists below; nothing for input and output.
std::string called(const BlockGraph::Part& part) {
  switch (part.kind) {
    case Kind::norm:
    case Kind::matrix:
      return part.name;
    case Kind::attention:
      return part.formula;
    case Kind::gain:
      return "gain " + (part.name.empty() ? std::to_string(part.gains.at(0).smallest) : part.name);
    case Kind::sum:
      return "+";
    case Kind::operation:
      return part.formula;
    default:
      return "";
  }
}

Names names_of(const BlockGraph& graph) {
  Names names;
  for (const auto& part : graph.parts) names.insert(called(part));
  names.erase("");
  return names;
}

int64_t n_trained(torch::nn::Module& module) {
  int64_t sum = 0;
  for (const auto& parameter : module.parameters()) sum += parameter.numel();
  return sum;
}

/// What the graph says against what the block computes, both in float64.
void check_run(BlockImpl& block, const BlockGraph& graph, int64_t d_model, int64_t n_head, const AttentionMask& mask) {
  const c10::NoGradGuard no_grad;
  block.eval();
  const auto x = at::randn({2, 5, d_model}, at::kDouble);
  const auto wanted = block.forward(x, mask), got = test::GraphRun(graph, block, n_head, mask)(x);
  CHECK((got - wanted).abs().max().item<double>() < 1e-12 * wanted.abs().max().item<double>());
}

/// y = u + g*W tanh(u), u = 2x - 0.5*n_2(attention(n_1(x)) * tanh(M n_1(x))), and a parameter that nothing reads.
class SandwichImpl : public BlockImpl {
 public:
  explicit SandwichImpl(const TransformerConfig& config) {
    AttentionConfig attention;
    attention.shape.resolve_ordinary();
    attention.resolve(/*gains_trainable=*/false);
    norm_1_ = register_module("before", make_block_norm(config));
    norm_2_ = register_module("after", make_block_norm(config));
    attention_ = register_module("mixer", Attention(attention, config, 0));
    w_gate_ = register_parameter("w_gate", torch::randn({config.d_model, config.d_model}));
    w_out_ = register_parameter("w_out", torch::randn({config.d_model, config.d_model}));
    g_ = register_parameter("g", torch::full({1}, 0.3));
    register_parameter("forgotten", torch::zeros({4}));
  }

  torch::Tensor forward(const torch::Tensor& x, const AttentionMask& mask) override {
    const auto n = norm_1_->forward(x);
    const auto gate = at::linear(n, w_gate_).tanh();
    const auto u = 2 * x - 0.5 * norm_2_->forward(attention_->forward(n, mask) * gate);
    return u + g_ * at::linear(u.tanh(), w_out_);
  }
  Attention attention() const override { return attention_; }

 private:
  Norm norm_1_, norm_2_;
  Attention attention_{nullptr};
  torch::Tensor w_gate_, w_out_, g_;
};

/// y = [a + W b, b] of the halves a, b of x.
class HalvesImpl : public BlockImpl {
 public:
  explicit HalvesImpl(int64_t d) { w_ = register_parameter("w", torch::randn({d / 2, d / 2})); }

  torch::Tensor forward(const torch::Tensor& x, const AttentionMask&) override {
    const auto halves = x.chunk(2, -1);
    return at::cat({halves[0] + at::linear(halves[1], w_), halves[1]}, -1);
  }
  Attention attention() const override { return nullptr; }

 private:
  torch::Tensor w_;
};

/// Its output knows nothing of its input.
class ConstantImpl : public BlockImpl {
 public:
  torch::Tensor forward(const torch::Tensor& x, const AttentionMask&) override { return torch::ones_like(x); }
  Attention attention() const override { return nullptr; }
};

}  // namespace

TEST_CASE("every block is drawn with its own parts, gains, sums and skips", "[graph]") {
  const Names common{"attention.w_qk[0:12]", "attention.w_qk[12:24]", "feed_forward.w_1", "Relu", "feed_forward.w_2"};
  const Names values{"attention.value", "attention.projection"};
  const auto with = [&](std::initializer_list<Names> lists) {
    Names all = common;
    for (const auto& list : lists) all.insert(list.begin(), list.end());
    return all;
  };
  const Names shaped{"αI + βA - γC", "gain beta_sa", "gain beta_ff", "+"};
  struct Expected {
    const char* block;
    Names names;
    int64_t skips;
  };
  for (const auto& expected : std::vector<Expected>{
           {"pre_ln", with({values, {"norm_1", "norm_2", "A", "+", "+"}}), 2},
           {"post_ln", with({values, {"norm_1", "norm_2", "A", "+", "+"}}), 2},
           {"op",
            with({values, {"attention.q_norm", "attention.k_norm", "A", "gain beta_sa", "gain beta_ff", "+", "+"}}), 2},
           {"parallel", with({values, {"norm", "A", "+"}}), 1},
           {"v_skipinit", with({values, shaped, {"norm_1", "norm_2", "gain alpha_ff"}}), 1},
           {"sas", with({shaped, {"norm_1", "norm_2", "gain alpha_ff"}}), 1},
           {"sas_p", with({shaped, {"norm"}}), 0}}) {
    INFO(expected.block);
    const auto graph = graph_of(model_of(test::small_config(expected.block)));
    CHECK(names_of(graph) == expected.names);
    CHECK(graph.n_skips() == expected.skips);
  }
}

TEST_CASE("what a graph says is what the block computes, with all of its parameters, for every block, norm and kind",
          "[graph]") {
  for (const auto kind : {ModelKind::gpt, ModelKind::bert}) {
    for (const auto& variant : block_variants()) {
      for (const auto norm : {NormKind::rms_norm, NormKind::layer_norm, NormKind::none}) {
        auto config = test::small_config(std::string(variant.name), norm);
        config.kind = kind;
        const auto model = model_of(config);
        for (const int64_t layer : {0, 1}) {
          INFO(name_of(kind) << ", " << variant.name << ", " << name_of(norm) << ", layer " << layer);
          auto& block = *model->blocks()[layer];
          const auto graph = graph_of(model, layer);
          CHECK(graph.n_parameters() == n_trained(block));
          CHECK(graph.n_parameters() == model->config().block_config().n_parameters(model->config(), layer));
          CHECK(graph.unused.empty());
          check_run(block, graph, 12, 3, model->attention_mask({}));
        }
      }
    }
  }
}

TEST_CASE("a graph has what the shared settings add: biases, gated units, soft caps, norms of queries, a late start",
          "[graph]") {
  for (const auto& variant : block_variants()) {
    INFO(variant.name);
    auto config = test::small_config(std::string(variant.name));
    config.bias = {.query_key = false, .value = true, .projection = false, .feed_forward = true};
    config.activation = Activation::geglu;
    config.soft_cap = 5;
    config.qk_norm = true;
    config.identity_start.schedule = IdentitySchedule::linear;
    const auto model = model_of(config);
    const auto graph = graph_of(model);
    const auto names = names_of(graph);
    for (const char* name : {"feed_forward.w_1[0:10]", "feed_forward.w_1[10:20]", "Gelu", "Mul", "attention.k_norm"}) {
      CHECK(names.count(name) == 1);
    }
    const auto is_attention = [](const auto& part) { return part.kind == Kind::attention; };
    REQUIRE(std::count_if(graph.parts.begin(), graph.parts.end(), is_attention) == 1);
    const auto attention = std::find_if(graph.parts.begin(), graph.parts.end(), is_attention);
    CHECK_THAT(attention->formula, Catch::StartsWith("λI + (1 - λ)("));
    CHECK(attention->gains.back().name == "lambda");
    CHECK(attention->gains.back().largest == 1);
    CHECK(attention->heads == 3);
    CHECK(graph.n_parameters() == n_trained(*model->blocks()[kLayer]));
    check_run(*model->blocks()[kLayer], graph, 12, 3, model->attention_mask({}));
  }
}

TEST_CASE("block 0 of SAS has a value matrix, whose gains are told with it", "[graph]") {
  const auto graph = graph_of(model_of(test::small_config("sas")), 0);
  for (const auto& part : graph.parts) {
    if (part.name != "attention.value") continue;
    CHECK(part.parameters == 12 * 12 + 2);
    REQUIRE(part.gains.size() == 2);
    CHECK(part.gains[0].name == "alpha");
    CHECK(part.gains[0].state == "trained");
  }
  CHECK(names_of(graph).count("attention.value") == 1);
}

TEST_CASE("gains are told with their values, and whether they are trained, fixed or follow their branch", "[graph]") {
  const auto state_of = [&](const std::string& settings) {
    const auto parsed = parse_config<ModelConfig>(
        "{block: sas, n_layer: 2, d_model: 12, n_head: 3, sas: {beta_sa: {init: 0.25, " + settings + "}}}", "test");
    const auto block = parsed.block_config().build(parsed, kLayer);
    block->to(at::kDouble);
    for (const auto& part : block_graph(*block, 12, {}).parts) {
      if (part.name != "beta_sa") continue;
      CHECK(part.gains[0].smallest == 0.25);
      CHECK(part.gains[0].largest == 0.25);
      return part.gains[0].state;
    }
    return std::string("none");
  };
  CHECK(state_of("trainable: true") == "trained");
  CHECK(state_of("trainable: false") == "fixed");
  CHECK(state_of("feedback: {power: 0.5}") == "by feedback");
}

TEST_CASE("a block of one's own is drawn without a line for it, and what it forgot is named", "[graph]") {
  torch::manual_seed(5);
  const auto config = test::resolved(test::small_config("pre_ln"));
  const auto built = std::make_shared<SandwichImpl>(config);
  SandwichImpl& block = *built;
  block.to(at::kDouble);
  test::randomise(block);
  const AttentionMask mask;
  const auto graph = block_graph(block, 12, mask);
  CHECK(names_of(graph) == Names{"before", "after", "mixer.w_qk[0:12]", "mixer.w_qk[12:24]", "mixer.value",
                                 "mixer.projection", "A", "w_gate", "w_out", "Tanh", "Tanh", "Mul", "+", "+",
                                 "gain 2.000000", "gain 0.500000", "gain g"});
  CHECK(graph.n_skips() == 2);
  CHECK(graph.unused == std::vector<std::string>{"forgotten"});
  CHECK(graph.n_parameters() == n_trained(block) - 4);
  check_run(block, graph, 12, 3, mask);
}

TEST_CASE("a part of a value is told by its columns", "[graph]") {
  const auto block = std::make_shared<HalvesImpl>(12);
  block->to(at::kDouble);
  const auto graph = block_graph(*block, 12, {});
  CHECK(names_of(graph) == Names{"w", "+", "Cat"});
  std::multiset<std::string> labels;
  for (const auto& part : graph.parts) {
    for (const auto& link : part.inputs) labels.insert(link.label);
  }
  CHECK(labels == std::multiset<std::string>{"[0:6]", "[6:12]", "[6:12]", "", "", ""});
}

TEST_CASE("a block whose output does not depend on its input cannot be drawn", "[graph]") {
  const auto block = std::make_shared<ConstantImpl>();
  CHECK_THROWS_AS(block_graph(*block, 12, {}), RunError);
}

TEST_CASE("drawing leaves a block and the generators as they were", "[graph]") {
  const auto model = model_of(test::small_config("op"));
  auto& block = *model->blocks()[kLayer];
  block.train();
  torch::manual_seed(6);
  const auto wanted = at::randn({3});
  torch::manual_seed(6);
  graph_of(model);
  CHECK(at::equal(at::randn({3}), wanted));
  CHECK(block.is_training());
  for (const auto& parameter : block.parameters()) {
    CHECK(parameter.requires_grad());
    CHECK_FALSE(parameter.grad().defined());
  }
  for (const auto& buffer : block.buffers()) CHECK_FALSE(buffer.requires_grad());
}

TEST_CASE("the drawing has a node for each part, an edge for each link, and says which are skips", "[graph]") {
  const auto graph = graph_of(model_of(test::small_config("pre_ln")));
  const std::string dot = dot_of(graph, "a \"name\"");
  const auto occurrences = [&](const std::string& text) {
    size_t n = 0;
    for (auto at = dot.find(text); at != std::string::npos; at = dot.find(text, at + 1)) ++n;
    return n;
  };
  size_t links = 0;
  for (const auto& part : graph.parts) links += part.inputs.size();
  CHECK(occurrences(" kind=") == graph.parts.size());
  CHECK(occurrences(" -> ") == links);
  CHECK(occurrences("skip=1") == 2);
  CHECK_THAT(dot, Catch::StartsWith("digraph \"a \\\"name\\\"\" {\n") && Catch::EndsWith("}\n"));
  CHECK_THAT(dot, Catch::Contains("skips=2") && Catch::Contains("norms=2") && Catch::Contains("label=\"q\""));
}

}  // namespace skipless
