#include "train/imported_head.h"

#include <ATen/ops/index_select.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace skipless {
namespace {

/// For each class of the task, its row in the head; nothing where the classes are not the same.
std::optional<std::vector<int64_t>> rows_of(const SequenceHead& head, const GlueTask& task) {
  if (task.is_regression()) return head.config.n_labels == 1 ? std::optional(std::vector<int64_t>{0}) : std::nullopt;
  if (head.labels.size() != task.labels.size()) return std::nullopt;
  std::vector<int64_t> rows;
  for (const auto label : task.labels) {
    const auto found = std::find(head.labels.begin(), head.labels.end(), label);
    if (found == head.labels.end()) return std::nullopt;
    rows.push_back(found - head.labels.begin());
  }
  return rows;
}

}  // namespace

void add_imported_head(const SequenceHead& head, const GlueTask& task, std::map<std::string, at::Tensor>& tensors) {
  const auto rows = rows_of(head, task);
  for (const auto& [name, tensor] : head.tensors) {
    if (name == "head_w_1" || name == "head_b_1") {
      tensors.insert_or_assign(name, tensor);
    } else if (rows) {
      tensors.insert_or_assign(name, at::index_select(tensor, 0, at::tensor(*rows)));
    }
  }
}

}  // namespace skipless
