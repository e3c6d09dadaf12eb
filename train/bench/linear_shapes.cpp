#include "train/bench/linear_shapes.h"

#include <string_view>

namespace skipless {

namespace {

int64_t n_predicted(const TransformerImpl& model, const Batch& batch) {
  if (model.config().kind == ModelKind::gpt) return batch.sequences() * (batch.ids.size(1) - 1);
  return batch.labels.numel();
}

}  // namespace

std::vector<LinearShape> linear_shapes(const TransformerImpl& model, const Batch& batch) {
  std::vector<LinearShape> shapes;
  for (const auto& item : model.named_parameters()) {
    const std::string_view name = item.key();
    const auto& matrix = item.value();
    if (matrix.dim() != 2) continue;
    const bool of_block = name.starts_with("block_");
    const bool is_table = name.starts_with("embedding.") && !(name == "embedding.tokens" && model.config().tied_head);
    if (is_table) continue;
    shapes.push_back({.rows = of_block ? batch.ids.numel() : n_predicted(model, batch),
                      .in = matrix.size(1),
                      .out = matrix.size(0)});
  }
  return shapes;
}

}  // namespace skipless
