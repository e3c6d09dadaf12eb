// Losses and gradients of every block under every norm, causal and not, against float64 on the CPU: by LibTorch's
// operations in every precision, and by this project's kernels.
#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn_like.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "models/block_variants.h"
#include "models/device_kernels.h"
#include "models/make_model.h"
#include "sections.h"
#include "tests/parity/bounds.h"
#include "train/autocast.h"
#include "train/device.h"

namespace skipless::device {

namespace {

// Norm-wise, of each parameter's gradient, in units of the whole gradient's norm; of the loss, of itself. On the CPU at
// most 1.5e-6 in float32, 2.2e-3 in float16 and 3.3e-2 in bfloat16, which is what rounding a product's operands (2^-11,
// 2^-8) leaves behind two blocks and back. Three to four times that, for a device that sums in another order.
constexpr double kFloat32 = 6e-6;
constexpr double kFloat16 = 8e-3;
constexpr double kBFloat16 = 1e-1;

struct Values {
  double loss = 0;
  std::map<std::string, at::Tensor> gradients;  // float64, on the CPU
};

struct ModelCase {
  std::string name;
  ModelConfig config;
  Batch batch;
};

ModelConfig config_of(ModelKind kind, std::string_view block, NormKind norm, bool small) {
  ModelConfig config;
  config.kind = kind;
  config.block = block;
  config.norm = norm;
  config.n_layer = 2;
  config.d_model = small ? 24 : 96;
  config.n_head = 3;
  config.vocab_size = 61;
  config.context_length = small ? 11 : 65;
  config.activation = Activation::gelu;  // near the kink of ReLU rounding decides between two derivatives
  config.resolve();
  return config;
}

/// Next tokens, or with padding in the second half of a sequence those that stood where token 0 is now.
Batch batch_of(const ModelConfig& config) {
  const int64_t t = config.context_length;
  const auto ids = at::randint(1, config.vocab_size, {3, t}, at::kLong);
  if (config.kind == ModelKind::gpt) return {.ids = ids};
  Batch batch{.ids = ids.clone(), .labels = at::full_like(ids, kIgnoredTarget), .kept = at::ones({3, t}, at::kBool)};
  batch.kept[1].slice(0, t / 2) = false;
  for (int64_t i = 1; i < t / 2; i += 3) {
    batch.labels.select(1, i).copy_(ids.select(1, i));
    batch.ids.select(1, i).zero_();
  }
  return batch;
}

/// A model with every parameter randomised: at their start too many gradients are exactly zero.
Transformer model_of(const ModelCase& of) {
  seed_generators(at::kCPU, 1);
  auto model = make_model(of.config);
  const at::NoGradGuard no_grad;
  for (auto& parameter : model->parameters()) {
    // By the fan-in, so that what passes through stays of order 1 in any width.
    const double std = parameter.dim() == 2 ? 1 / std::sqrt(static_cast<double>(parameter.size(1))) : 0.3;
    parameter.add_(at::randn_like(parameter), std);
  }
  return model;
}

Values values_of(const ModelCase& of, at::Device device, at::ScalarType type, Precision precision) {
  const auto model = model_of(of);
  model->to(device, type);
  const auto loss = [&] {
    const Autocast autocast(device.type(), precision);
    return model->loss(of.batch.to(device));
  }();
  const auto mean = loss.sum / loss.count;
  // As under a loss scaler, or float16 would lose small gradients; a power of two changes nothing else.
  const double scale = precision == Precision::fp16 ? 1024 : 1;
  (mean * scale).backward();
  Values values{.loss = mean.item<double>(), .gradients = {}};
  for (const auto& item : model->named_parameters()) {
    const auto& gradient = item.value().grad();
    if (gradient.defined()) values.gradients[item.key()] = gradient.to(at::kCPU, at::kDouble) / scale;
  }
  return values;
}

std::vector<ModelCase> cases_of(bool small) {
  std::vector<ModelCase> cases;
  seed_generators(at::kCPU, 2);
  for (const auto kind : {ModelKind::gpt, ModelKind::bert}) {
    for (const auto& variant : block_variants()) {
      for (const auto norm : {NormKind::rms_norm, NormKind::layer_norm, NormKind::none}) {
        const auto config = config_of(kind, variant.name, norm, small);
        cases.push_back({.name = fmt::format("{} {} {}", name_of(kind), variant.name, name_of(norm)),
                         .config = config,
                         .batch = batch_of(config)});
      }
    }
  }
  return cases;
}

void compare(const std::string& kind, const Values& ours, const Values& exact, double bound, const std::string& name,
             parity::Comparison& result) {
  double scale = 0;
  for (const auto& [parameter, gradient] : exact.gradients) scale = std::hypot(scale, parity::euclidean(gradient));
  result.add(kind + " loss", name, at::full({}, ours.loss, at::kDouble), at::full({}, exact.loss, at::kDouble),
             exact.loss, bound);
  if (ours.gradients.size() != exact.gradients.size()) result.fail(name + ": other parameters have a gradient");
  for (const auto& [parameter, gradient] : exact.gradients) {
    const auto found = ours.gradients.find(parameter);
    if (found == ours.gradients.end()) {
      result.fail(fmt::format("{}: no gradient of {}", name, parameter));
    } else {
      result.add(kind + " gradients", name + " " + parameter, found->second, gradient, scale, bound, parity::euclidean);
    }
  }
}

struct Kind {
  const char* name;
  at::ScalarType type;
  Precision precision;
  double bound;
};

std::vector<Kind> kinds_for(const Options& options) {
  std::vector<Kind> kinds = {{"fp32", at::kFloat, Precision::fp32, kFloat32},
                             {"fp16", at::kFloat, Precision::fp16, kFloat16}};
  const auto traits = traits_of(options.device);
  if (!traits.is_cuda || traits.major >= 8) kinds.push_back({"bf16", at::kFloat, Precision::bf16, kBFloat16});
  return kinds;
}

bool is_equal(const Values& a, const Values& b) {
  return a.loss == b.loss && std::all_of(a.gradients.begin(), a.gradients.end(), [&](const auto& item) {
           return item.second.equal(b.gradients.at(item.first));
         });
}

}  // namespace

Outcome check_gradients(const Options& options, Report& report) {
  report.line(
      "Every block under every norm, as GPT and as an encoder with padding; fp16 and bf16 under autocast. Differences "
      "to "
      "float64 on the CPU, norm-wise, in units of the whole gradient's norm.");
  parity::Comparison result;
  for (const auto& of : cases_of(options.small)) {
    const auto exact = values_of(of, at::kCPU, at::kDouble, Precision::fp32);
    compare("float64", values_of(of, options.device, at::kDouble, Precision::fp32), exact, parity::kFloat64, of.name,
            result);
    for (const auto& kind : kinds_for(options)) {
      compare(kind.name, values_of(of, options.device, kind.type, kind.precision), exact, kind.bound, of.name, result);
    }
  }
  report.table();
  report.compared("all blocks", result);
  return Outcome::done;
}

Outcome check_kernels(const Options& options, Report& report) {
  if (!has_device_kernels()) {
    report.line("Skipped: this build has no CUDA kernels.");
    return Outcome::skipped;
  }
  if (!options.device.is_cuda()) {
    report.line("Skipped: the CUDA kernels run on no CPU.");
    return Outcome::skipped;
  }
  parity::Comparison result;
  int64_t differing = 0, n_values = 0;
  for (const auto& of : cases_of(options.small)) {
    const auto exact = values_of(of, at::kCPU, at::kDouble, Precision::fp32);
    for (const auto& kind : kinds_for(options)) {
      const auto theirs = values_of(of, options.device, kind.type, kind.precision);
      use_device_kernels(true);
      const auto ours = values_of(of, options.device, kind.type, kind.precision);
      use_device_kernels(false);
      compare(kind.name, ours, exact, kind.bound, of.name, result);
      ++n_values;
      if (!is_equal(ours, theirs)) ++differing;
    }
  }
  report.line("As section gradients, by this project's kernels.");
  report.table();
  report.compared("all blocks", result);
  // Another order of sums: the same bits everywhere mean that no kernel ran.
  report.require(
      differing > n_values / 2,
      fmt::format("the kernels took part: {} of {} cases differ from LibTorch's in some bit", differing, n_values));
  return Outcome::done;
}

}  // namespace skipless::device
