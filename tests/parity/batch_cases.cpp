#include "batch_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "bounds.h"
#include "models/convert/bert.h"
#include "models/convert/cramming.h"
#include "models/convert/gpt2.h"
#include "models/convert/official.h"

namespace skipless::parity {

namespace {

/// What runs of an imported file: its classifier where it has a whole one, else its language model.
BatchModel model_of(const ImportedModel& imported, const std::string& source) {
  BatchModel model{.config = imported.config, .head = {}, .tensors = imported.tensors, .source = source};
  if (imported.head && imported.head->tensors.count("head_w_2") > 0) {
    model.head = imported.head->config;
    model.tensors.insert(imported.head->tensors.begin(), imported.head->tensors.end());
  }
  return model;
}

BatchResult run(const BatchCase& of, const Tensors& inputs, at::ScalarType type) {
  return run_batch(model_of(of.imported, of.parity_case.weights_file()), inputs, of.form, type, at::kCPU);
}

std::set<std::string> as_set(const std::vector<std::string>& names) {
  return {names.begin(), names.end()};
}

constexpr std::string_view kGradient = "grad.";

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

void compare_float64(const BatchCase& of, Comparison& result) {
  const auto& imported = of.imported;
  const auto reference = of.parity_case.reference();
  const auto ours = run(of, reference, at::kDouble);
  const auto add = [&](const std::string& kind, const std::string& name, const at::Tensor& a, const at::Tensor& b) {
    result.add(kind, name, a, b, largest(b), kFloat64);
  };
  add("logits", "logits", in_shape_of(reference.at("logits"), ours.logits), reference.at("logits"));
  add("loss", "loss", ours.loss.reshape({1}), reference.at("loss"));
  if (of.form.every_hidden_state) {
    for (size_t i = 0; i < ours.hidden.size(); ++i) {
      const auto name = fmt::format("hidden.{}", i);
      const auto found = reference.find(name);
      if (found == reference.end()) {
        result.fail("the case has no " + name);
      } else {
        add("hidden", name, ours.hidden[i], found->second);
      }
    }
  } else if (const auto found = reference.find("final_hidden"); found != reference.end()) {
    add("hidden", "final_hidden", ours.hidden.back(), found->second);
  }
  const double floor = kSmallestGradientScale * largest_gradient(reference);
  check_trainable(of.parity_case, imported, ours.gradients, reference, result);
  compare_gradients(imported, ours.gradients, reference, result,
                    [&](const std::string& name, const at::Tensor& a, const at::Tensor& b) {
                      result.add("gradients", name, a, b, std::max(largest(b), floor), kFloat64);
                    });
}

void compare_float32(const BatchCase& of, Comparison& result) {
  const auto& imported = of.imported;
  const auto reference = of.parity_case.float32_reference();
  if (!reference) return;
  const auto ours = run(of, *reference, at::kFloat);
  const auto& logits = reference->at("logits");
  result.add("f32 logits", "logits", in_shape_of(logits, ours.logits), logits, 1, kFloat32Logits);
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

void check_count(const BatchCase& of, Comparison& result) {
  const auto stated = of.parity_case.settings.value("n_params", int64_t{-1});
  if (stated != of.count) result.fail(fmt::format("they count {} parameters, we count {} of theirs", stated, of.count));
}

int64_t n_parameters(const TensorMap& map) {
  int64_t count = 0;
  for (const auto& entry : map) count += c10::multiply_integers(entry.shape);
  return count;
}

ImportSource source_of(const Case& parity_case) {
  return {.weights = parity_case.stem.string(), .settings = parity_case.stem.string()};
}

/// And not by formulas, which derived cases and those of this repository are from.
bool made_by_their_code(const Case& parity_case) {
  return parity_case.settings.at("family").get<std::string>().starts_with("cramming");
}

/// The gradients of a case by our names, all other tensors by theirs.
Tensors with_our_gradients(const TensorMap& map, const Tensors& reference) {
  Tensors gradients, plain;
  for (const auto& [name, tensor] : reference) {
    if (name.starts_with(kGradient)) {
      gradients.emplace(name.substr(kGradient.size()), tensor);
    } else {
      plain.emplace(name, tensor);
    }
  }
  TensorMap with_gradient;
  for (auto entry : map) {
    entry.required.reset();  // of the weights
    if (gradients.count(entry.name) > 0) with_gradient.push_back(std::move(entry));
  }
  for (const auto& [name, tensor] : our_tensors(with_gradient, gradients, "gradients")) {
    plain.emplace(std::string(kGradient) + name, tensor);
  }
  return plain;
}

}  // namespace

BatchCase official_case(const Case& parity_case) {
  auto imported = import_official(parity_case.settings, parity_case.weights(), source_of(parity_case));
  const auto count = official_parameter_count(imported.config);
  return {.parity_case = parity_case, .imported = std::move(imported), .count = count};
}

BatchCase hugging_face_gpt2_case(const Case& parity_case) {
  auto imported = import_gpt2(parity_case.settings["config"], parity_case.weights(), source_of(parity_case));
  const auto count = n_parameters(imported.map);
  return {.parity_case = parity_case, .imported = std::move(imported), .count = count};
}

BatchCase hugging_face_bert_case(const Case& parity_case) {
  auto imported = import_bert(parity_case.settings["config"], parity_case.weights(), source_of(parity_case));
  const auto count = n_parameters(imported.map);
  return {.parity_case = parity_case,
          .imported = std::move(imported),
          .count = count,
          .form = {.layers_end_with_norms = true}};
}

BatchCase cramming_case(const Case& parity_case) {
  auto imported = import_cramming(parity_case.settings, parity_case.weights(), source_of(parity_case));
  const auto& sparse = parity_case.settings["arch"]["sparse_prediction"];
  BatchForm form{.every_hidden_state = false, .sparse = sparse.is_number() && !imported.head};
  // Their own attention keeps 1/sqrt(dh) as a float32 number, also in a model that was made float64 later.
  if (made_by_their_code(parity_case)) {
    const double root = std::sqrt(static_cast<double>(imported.config.head_size()));
    form.query_factor = static_cast<double>(1 / static_cast<float>(root)) * root;
  }
  const auto count = n_parameters(imported.map);
  return {.parity_case = parity_case, .imported = std::move(imported), .count = count, .form = form};
}

void compare(const BatchCase& of, Comparison& result) {
  check_count(of, result);
  compare_float64(of, result);
  compare_float32(of, result);
}

PlainCase plain_case(const BatchCase& of) {
  const auto& map = of.imported.map;
  PlainCase plain{.name = of.parity_case.name,
                  .model = model_of(of.imported, of.parity_case.weights_file()),
                  .form = of.form,
                  .float64 = with_our_gradients(map, of.parity_case.reference()),
                  .float32 = {}};
  if (const auto reference = of.parity_case.float32_reference()) plain.float32 = with_our_gradients(map, *reference);
  return plain;
}

}  // namespace skipless::parity
