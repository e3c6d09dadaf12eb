// GPT models: one batch forward and backward, in float64 and, where the case has it, in float32.
#include <ATen/TensorOperators.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "configs/error.h"
#include "family.h"
#include "models/convert/gpt2.h"
#include "models/convert/official.h"
#include "models/gpt.h"
#include "train/module_state.h"

namespace skipless::parity {

namespace {

/// Float64, per tensor: 1e-10 of its own largest value; a gradient counts as at least a thousandth of the case's
/// largest, because what cancels to almost nothing carries the rounding of what it was made of.
constexpr double kFloat64 = 1e-10;
constexpr double kSmallestGradientScale = 1e-3;

/// Float32, against their float32. parity/README.md measured how far theirs is from their float64: logits 2e-6, matrix
/// gradients 1e-6 norm-wise; its advice for gains, whose terms cancel, is an absolute scale. In units of the case's
/// largest gradient, theirs are off by up to 8e-7 for gains and 6e-7 for norms and biases, and their losses by 6e-7.
/// Each bound is about four times what was measured: both sides round, and another processor sums in another order.
constexpr double kFloat32Logits = 8e-6;
constexpr double kFloat32Loss = 3e-6;
constexpr double kFloat32Matrix = 4e-6;
constexpr double kFloat32NormOrBias = 3e-6;
constexpr double kFloat32Gain = 3e-6;

struct Result {
  at::Tensor logits, loss;
  std::vector<at::Tensor> hidden;
  Tensors gradients;  // by our names; undefined where there is none
};

Result run(const ImportedModel& imported, const std::string& source, const Tensors& inputs, at::ScalarType type) {
  Gpt model(imported.config);
  model->to(type);
  load_module_state(*model, imported.tensors, source);
  const auto& ids = inputs.at("input_ids");
  const auto& labels = inputs.at("labels");
  const auto mask = inputs.find("attention_mask");
  const auto kept = mask == inputs.end() ? at::Tensor() : mask->second.to(at::kBool);

  Result result;
  result.hidden = model->hidden_states({.ids = ids, .kept = kept});
  result.logits = model->logits(result.hidden.back()).detach();
  const auto loss = model->loss({.ids = ids, .labels = labels, .kept = kept});
  const auto mean = loss.sum / loss.count;
  mean.backward();
  result.loss = mean.detach();
  for (const auto& item : model->named_parameters()) result.gradients[item.key()] = item.value().grad();
  return result;
}

std::set<std::string> as_set(const std::vector<std::string>& names) {
  return {names.begin(), names.end()};
}

constexpr std::string_view kGradient = "grad.";

double largest_gradient(const Tensors& reference) {
  double size = 0;
  for (const auto& [name, tensor] : reference) {
    if (name.rfind(kGradient, 0) == 0) size = std::max(size, largest(tensor));
  }
  return size;
}

/// What is trained there is trained here, and the reverse; what has no gradient there has none here.
void check_trainable(const Case& parity_case, const ImportedModel& imported, const Tensors& gradients,
                     const Tensors& reference, Comparison& result) {
  const auto trainable = as_set(parity_case.names("trainable")), frozen = as_set(parity_case.names("frozen"));
  const auto unused = as_set(parity_case.names("trainable_without_gradient"));
  for (const auto& entry : imported.map) {
    const bool has_gradient = reference.count(std::string(kGradient) + entry.name) > 0;
    if (entry.is_parameter && trainable.count(entry.name) + frozen.count(entry.name) != 1) {
      result.fail(entry.name + " is not among their parameters");
    }
    if (has_gradient != (trainable.count(entry.name) > 0 && unused.count(entry.name) == 0)) {
      result.fail(entry.name + ": the case's lists and its gradients disagree");
    }
    for (const auto& piece : entry.pieces) {
      const bool ours = gradients.count(piece.ours) > 0;
      if (ours != (trainable.count(entry.name) > 0)) {
        result.fail(fmt::format("{} is trained {}, but {} is not", ours ? piece.ours : entry.name,
                                ours ? "here" : "there", ours ? entry.name : piece.ours));
      }
      if (ours && unused.count(entry.name) > 0 && gradients.at(piece.ours).defined()) {
        result.fail(fmt::format("{} has a gradient, but {} is never used", piece.ours, entry.name));
      }
    }
  }
}

/// Every gradient of the case against ours, and every trained tensor of ours against one of theirs.
template <class Bound>
void compare_gradients(const ImportedModel& imported, const Tensors& gradients, const Tensors& reference,
                       Comparison& result, const Bound& bound) {
  size_t in_map = 0;
  std::set<std::string> compared;
  for (const auto& entry : imported.map) {
    const auto found = reference.find(std::string(kGradient) + entry.name);
    if (found == reference.end()) continue;
    ++in_map;
    const auto ours = their_tensor(entry, gradients);
    if (!ours.defined()) {
      result.fail("no gradient here for " + entry.name);
      continue;
    }
    bound(entry.name, ours, found->second);
    for (const auto& piece : entry.pieces) compared.insert(piece.ours);
  }
  const auto in_file = std::count_if(reference.begin(), reference.end(),
                                     [](const auto& item) { return item.first.rfind(kGradient, 0) == 0; });
  if (static_cast<size_t>(in_file) != in_map) {
    result.fail(fmt::format("the case has {} gradients, of which {} have a place here", in_file, in_map));
  }
  for (const auto& [name, gradient] : gradients) {
    if (compared.count(name) == 0 && gradient.defined()) result.fail("no gradient there for " + name);
  }
}

void compare_float64(const Case& parity_case, const ImportedModel& imported, Comparison& result) {
  const auto reference = parity_case.reference();
  const auto ours = run(imported, parity_case.weights_file(), reference, at::kDouble);
  const auto add = [&](const std::string& kind, const std::string& name, const at::Tensor& a, const at::Tensor& b) {
    result.add(kind, name, a, b, largest(b), kFloat64);
  };
  add("logits", "logits", ours.logits, reference.at("logits"));
  add("loss", "loss", ours.loss.reshape({1}), reference.at("loss"));
  for (size_t i = 0; i < ours.hidden.size(); ++i) {
    const auto name = fmt::format("hidden.{}", i);
    const auto found = reference.find(name);
    if (found == reference.end()) {
      result.fail("the case has no " + name);
    } else {
      add("hidden", name, ours.hidden[i].detach(), found->second);
    }
  }
  const double floor = kSmallestGradientScale * largest_gradient(reference);
  check_trainable(parity_case, imported, ours.gradients, reference, result);
  compare_gradients(imported, ours.gradients, reference, result,
                    [&](const std::string& name, const at::Tensor& a, const at::Tensor& b) {
                      result.add("gradients", name, a, b, std::max(largest(b), floor), kFloat64);
                    });
}

void compare_float32(const Case& parity_case, const ImportedModel& imported, Comparison& result) {
  const auto reference = parity_case.float32_reference();
  if (!reference) return;
  const auto ours = run(imported, parity_case.weights_file(), *reference, at::kFloat);
  result.add("f32 logits", "logits", ours.logits, reference->at("logits"), 1, kFloat32Logits);
  result.add("f32 loss", "loss", ours.loss.reshape({1}), reference->at("loss"), 1, kFloat32Loss);
  const double scale = largest_gradient(*reference);
  compare_gradients(imported, ours.gradients, *reference, result,
                    [&](const std::string& name, const at::Tensor& a, const at::Tensor& b) {
                      if (name.ends_with("gain")) {
                        result.add("f32 gains", name, a, b, scale, kFloat32Gain);
                      } else if (b.dim() == 2) {
                        result.add("f32 matrices", name, a, b, euclidean(b), kFloat32Matrix, euclidean);
                      } else {
                        result.add("f32 norms, biases", name, a, b, scale, kFloat32NormOrBias);
                      }
                    });
}

void check_count(const Case& parity_case, int64_t count, Comparison& result) {
  const auto stated = parity_case.settings.value("n_params", int64_t{-1});
  if (stated != count) result.fail(fmt::format("they count {} parameters, we count {} of theirs", stated, count));
}

void compare(const Case& parity_case, const ImportedModel& imported, Comparison& result) {
  compare_float64(parity_case, imported, result);
  compare_float32(parity_case, imported, result);
}

ImportSource source_of(const Case& parity_case) {
  return {.weights = parity_case.stem.string(), .settings = parity_case.stem.string()};
}

}  // namespace

void run_official_gpt(const Case& parity_case, Comparison& result) {
  const auto imported = import_official(parity_case.settings, parity_case.weights(), source_of(parity_case));
  check_count(parity_case, official_parameter_count(imported.config), result);
  compare(parity_case, imported, result);
}

void run_hugging_face_gpt2(const Case& parity_case, Comparison& result) {
  const auto imported = import_gpt2(parity_case.settings["config"], parity_case.weights(), source_of(parity_case));
  int64_t count = 0;
  for (const auto& entry : imported.map) count += c10::multiply_integers(entry.shape);
  check_count(parity_case, count, result);
  compare(parity_case, imported, result);
}

}  // namespace skipless::parity
