// One batch forward and backward, in float64 and, where the case has it, in float32: GPT models, encoders, and
// encoders with a head for sequences.
#include <ATen/TensorOperators.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "configs/error.h"
#include "family.h"
#include "models/convert/bert.h"
#include "models/convert/cramming.h"
#include "models/convert/gpt2.h"
#include "models/convert/official.h"
#include "models/make_model.h"
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

/// How a case differs from the others.
struct BatchCase {
  bool every_hidden_state = true;      // else the last one, if any
  bool layers_end_with_norms = false;  // their hidden states are taken behind a layer's last norm
  bool sparse = false;                 // the loss is that of the head on the labelled positions alone
  double query_factor = 1;             // of theirs in float64 over 1/sqrt(dh)
};

struct Result {
  at::Tensor logits, loss;
  std::vector<at::Tensor> hidden;
  Tensors gradients;  // by our names; undefined where there is none
};

/// The trunk and head that the file has; where it has no classifier, those of a language model.
Transformer model_of(const ImportedModel& imported, const std::string& source) {
  if (!imported.head || imported.head->tensors.count("head_w_2") == 0) {
    auto model = make_model(imported.config);
    load_module_state(*model, imported.tensors, source);
    return model;
  }
  auto model = make_classifier(imported.config, imported.head->config);
  auto tensors = imported.head->tensors;
  tensors.insert(imported.tensors.begin(), imported.tensors.end());
  load_module_state(*model, tensors, source);
  return model;
}

/// What our blocks have between the layers of Hugging Face's BERT: the norm that ends their layer begins our next
/// block.
void end_with_norms(const TransformerImpl& model, std::vector<at::Tensor>& states) {
  for (size_t layer = 1; layer < model.blocks().size(); ++layer) {
    const auto norm = model.blocks()[layer]->named_modules()["norm_1"];
    states[layer] = std::dynamic_pointer_cast<NormImpl>(norm)->forward(states[layer]);
  }
}

/// Multiplies the queries' rows of every map of queries and keys, or of its gradient.
void scale_queries(const TransformerImpl& model, double factor, bool gradients) {
  const at::NoGradGuard no_grad;
  for (const auto& item : model.named_parameters()) {
    const auto& name = item.key();
    if (!name.ends_with("attention.w_qk") && !name.ends_with("attention.b_qk")) continue;
    const auto& tensor = gradients ? item.value().grad() : item.value();
    tensor.slice(0, 0, tensor.size(0) / 2).mul_(factor);
  }
}

/// The batch with its labels as the columns of those that count, of which every row has as many.
Batch with_positions(Batch batch) {
  const auto counted = batch.labels.ne(kIgnoredTarget);
  const auto rows = batch.labels.size(0);
  batch.positions = counted.nonzero().select(1, 1).reshape({rows, -1});
  batch.labels = batch.labels.masked_select(counted).reshape({rows, -1});
  return batch;
}

Result run(const ImportedModel& imported, const Case& parity_case, const Tensors& inputs, at::ScalarType type,
           const BatchCase& form) {
  const auto model = model_of(imported, parity_case.weights_file());
  model->to(type);
  const double factor = type == at::kDouble ? form.query_factor : 1;
  scale_queries(*model, factor, /*gradients=*/false);
  const auto optional = [&](const char* name) {
    const auto found = inputs.find(name);
    return found == inputs.end() ? at::Tensor() : found->second;
  };
  const auto mask = optional("attention_mask");
  Batch batch{.ids = inputs.at("input_ids"),
              .labels = inputs.at("labels").is_floating_point() ? inputs.at("labels").flatten() : inputs.at("labels"),
              .kept = mask.defined() ? mask.to(at::kBool) : mask,
              .token_types = optional("token_type_ids")};

  Result result;
  result.hidden = model->hidden_states(batch);
  result.logits = model->logits(result.hidden.back(), batch).detach();
  if (form.layers_end_with_norms) end_with_norms(*model, result.hidden);
  const auto loss = model->loss(form.sparse ? with_positions(batch) : batch);
  const auto mean = loss.sum / loss.count;
  mean.backward();
  scale_queries(*model, factor, /*gradients=*/true);
  result.loss = mean.detach();
  for (const auto& item : model->named_parameters()) result.gradients[item.key()] = item.value().grad();
  return result;
}

/// Some cases have all positions in one dimension.
at::Tensor in_shape_of(const at::Tensor& theirs, const at::Tensor& ours) {
  return ours.numel() == theirs.numel() ? ours.reshape(theirs.sizes()) : ours;
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

void compare_float64(const Case& parity_case, const ImportedModel& imported, const BatchCase& form,
                     Comparison& result) {
  const auto reference = parity_case.reference();
  const auto ours = run(imported, parity_case, reference, at::kDouble, form);
  const auto add = [&](const std::string& kind, const std::string& name, const at::Tensor& a, const at::Tensor& b) {
    result.add(kind, name, a, b, largest(b), kFloat64);
  };
  add("logits", "logits", in_shape_of(reference.at("logits"), ours.logits), reference.at("logits"));
  add("loss", "loss", ours.loss.reshape({1}), reference.at("loss"));
  if (form.every_hidden_state) {
    for (size_t i = 0; i < ours.hidden.size(); ++i) {
      const auto name = fmt::format("hidden.{}", i);
      const auto found = reference.find(name);
      if (found == reference.end()) {
        result.fail("the case has no " + name);
      } else {
        add("hidden", name, ours.hidden[i].detach(), found->second);
      }
    }
  } else if (const auto found = reference.find("final_hidden"); found != reference.end()) {
    add("hidden", "final_hidden", ours.hidden.back().detach(), found->second);
  }
  const double floor = kSmallestGradientScale * largest_gradient(reference);
  check_trainable(parity_case, imported, ours.gradients, reference, result);
  compare_gradients(imported, ours.gradients, reference, result,
                    [&](const std::string& name, const at::Tensor& a, const at::Tensor& b) {
                      result.add("gradients", name, a, b, std::max(largest(b), floor), kFloat64);
                    });
}

void compare_float32(const Case& parity_case, const ImportedModel& imported, const BatchCase& form,
                     Comparison& result) {
  const auto reference = parity_case.float32_reference();
  if (!reference) return;
  const auto ours = run(imported, parity_case, *reference, at::kFloat, form);
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

void check_count(const Case& parity_case, int64_t count, Comparison& result) {
  const auto stated = parity_case.settings.value("n_params", int64_t{-1});
  if (stated != count) result.fail(fmt::format("they count {} parameters, we count {} of theirs", stated, count));
}

int64_t n_parameters(const TensorMap& map) {
  int64_t count = 0;
  for (const auto& entry : map) count += c10::multiply_integers(entry.shape);
  return count;
}

void compare(const Case& parity_case, const ImportedModel& imported, int64_t count, const BatchCase& form,
             Comparison& result) {
  check_count(parity_case, count, result);
  compare_float64(parity_case, imported, form, result);
  compare_float32(parity_case, imported, form, result);
}

ImportSource source_of(const Case& parity_case) {
  return {.weights = parity_case.stem.string(), .settings = parity_case.stem.string()};
}

/// And not by formulas, which derived cases and those of this repository are from.
bool made_by_their_code(const Case& parity_case) {
  return parity_case.settings.at("family").get<std::string>().starts_with("cramming");
}

}  // namespace

void run_official(const Case& parity_case, Comparison& result) {
  const auto imported = import_official(parity_case.settings, parity_case.weights(), source_of(parity_case));
  compare(parity_case, imported, official_parameter_count(imported.config), {}, result);
}

void run_hugging_face_gpt2(const Case& parity_case, Comparison& result) {
  const auto imported = import_gpt2(parity_case.settings["config"], parity_case.weights(), source_of(parity_case));
  compare(parity_case, imported, n_parameters(imported.map), {}, result);
}

void run_hugging_face_bert(const Case& parity_case, Comparison& result) {
  const auto imported = import_bert(parity_case.settings["config"], parity_case.weights(), source_of(parity_case));
  compare(parity_case, imported, n_parameters(imported.map), {.layers_end_with_norms = true}, result);
}

void run_cramming(const Case& parity_case, Comparison& result) {
  const auto imported = import_cramming(parity_case.settings, parity_case.weights(), source_of(parity_case));
  const auto& sparse = parity_case.settings["arch"]["sparse_prediction"];
  BatchCase form{.every_hidden_state = false, .sparse = sparse.is_number() && !imported.head};
  // Their own attention keeps 1/sqrt(dh) as a float32 number, also in a model that was made float64 later.
  if (made_by_their_code(parity_case)) {
    const double root = std::sqrt(static_cast<double>(imported.config.head_size()));
    form.query_factor = static_cast<double>(1 / static_cast<float>(root)) * root;
  }
  compare(parity_case, imported, n_parameters(imported.map), form, result);
}

}  // namespace skipless::parity
