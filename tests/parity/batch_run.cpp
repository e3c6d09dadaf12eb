#include "batch_run.h"

#include <ATen/TensorOperators.h>

#include <algorithm>

#include "comparison.h"
#include "models/make_model.h"
#include "train/module_state.h"

namespace skipless::parity {

namespace {

Transformer model_of(const BatchModel& of) {
  Transformer model = of.head ? Transformer(make_classifier(of.config, *of.head)) : make_model(of.config);
  load_module_state(*model, of.tensors, of.source);
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

Batch batch_of(const Tensors& inputs) {
  const auto optional = [&](const char* name) {
    const auto found = inputs.find(name);
    return found == inputs.end() ? at::Tensor() : found->second;
  };
  const auto mask = optional("attention_mask");
  const auto& labels = inputs.at("labels");
  return {.ids = inputs.at("input_ids"),
          .labels = labels.is_floating_point() ? labels.flatten() : labels,
          .kept = mask.defined() ? mask.to(at::kBool) : mask,
          .token_types = optional("token_type_ids")};
}

}  // namespace

BatchResult run_batch(const BatchModel& of, const Tensors& inputs, const BatchForm& form, at::ScalarType type,
                      at::Device device) {
  const auto model = model_of(of);
  model->to(device, type);
  const double factor = type == at::kDouble ? form.query_factor : 1;
  scale_queries(*model, factor, /*gradients=*/false);
  const Batch batch = batch_of(inputs).to(device);

  BatchResult result;
  auto hidden = model->hidden_states(batch);
  result.logits = model->logits(hidden.back(), batch).detach().cpu();
  if (form.layers_end_with_norms) end_with_norms(*model, hidden);
  for (const auto& state : hidden) result.hidden.push_back(state.detach().cpu());
  const auto loss = model->loss(form.sparse ? with_positions(batch) : batch);
  const auto mean = loss.sum / loss.count;
  mean.backward();
  scale_queries(*model, factor, /*gradients=*/true);
  result.loss = mean.detach().cpu();
  for (const auto& item : model->named_parameters()) {
    const auto& gradient = item.value().grad();
    result.gradients[item.key()] = gradient.defined() ? gradient.cpu() : gradient;
  }
  return result;
}

double largest_gradient(const Tensors& reference) {
  double size = 0;
  for (const auto& [name, tensor] : reference) {
    if (name.starts_with("grad.")) size = std::max(size, largest(tensor));
  }
  return size;
}

at::Tensor in_shape_of(const at::Tensor& theirs, const at::Tensor& ours) {
  return ours.numel() == theirs.numel() ? ours.reshape(theirs.sizes()) : ours;
}

}  // namespace skipless::parity
