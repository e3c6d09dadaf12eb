#include "models/convert/tensor_map.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "configs/error.h"
#include "models/make_model.h"

namespace skipless {

namespace {

at::Tensor to_our_layout(const TheirTensor& entry, const TensorPiece& piece, const at::Tensor& theirs) {
  const auto part = theirs.slice(entry.dimension, piece.begin, piece.begin + piece.length);
  switch (piece.layout) {
    case Layout::same:
      return part.contiguous();
    case Layout::transposed:
      return part.t().contiguous();
    case Layout::per_head:
      return theirs.reshape({theirs.numel(), 1, 1});
  }
  TORCH_CHECK(false, "a layout outside the enum");
}

at::Tensor to_their_layout(const TensorPiece& piece, const at::Tensor& whole, at::IntArrayRef shape) {
  const auto ours = piece.rows_begin < 0 ? whole : whole.slice(0, piece.rows_begin, piece.rows_begin + piece.length);
  switch (piece.layout) {
    case Layout::same:
      return ours.slice(0, 0, shape[0]);
    case Layout::transposed:
      return ours.t();
    case Layout::per_head:
      // A gain that all heads share is written once for each.
      return ours.numel() == 1 ? ours.reshape({1}).expand({shape.size() == 1 ? shape[0] : shape[1]}).reshape(shape)
                               : ours.reshape(shape);
  }
  TORCH_CHECK(false, "a layout outside the enum");
}

void require_value(const TheirTensor& entry, const at::Tensor& tensor, const std::string& source) {
  if (!entry.required || tensor.eq(*entry.required).all().item<bool>()) return;
  const auto off = (tensor.to(at::kDouble) - *entry.required).abs().flatten();
  const double value = tensor.flatten()[off.argmax()].item<double>();
  throw UserError(fmt::format("{}: tensor '{}' holds {}, but by the config it is fixed at {}", source, entry.name,
                              value, *entry.required));
}

}  // namespace

std::string shape_text(at::IntArrayRef shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

Tensors our_tensors(const TensorMap& map, const Tensors& theirs, const std::string& source) {
  std::map<std::string, std::map<int64_t, at::Tensor>> pieces;  // of ours, by the row that they begin at
  std::set<std::string> known;
  for (const auto& entry : map) {
    known.insert(entry.name);
    const auto found = theirs.find(entry.name);
    if (found == theirs.end()) {
      throw UserError(fmt::format("{}: no tensor '{}', of shape {}", source, entry.name, shape_text(entry.shape)));
    }
    const auto& tensor = found->second;
    if (tensor.sizes() != at::IntArrayRef(entry.shape)) {
      throw UserError(fmt::format("{}: tensor '{}' has the shape {}, not {}", source, entry.name,
                                  shape_text(tensor.sizes()), shape_text(entry.shape)));
    }
    if (!tensor.is_floating_point()) {
      throw UserError(fmt::format("{}: tensor '{}' holds {} values, not floating-point ones", source, entry.name,
                                  c10::toString(tensor.scalar_type())));
    }
    require_value(entry, tensor, source);
    for (const auto& piece : entry.pieces) {
      pieces[piece.ours].emplace(piece.rows_begin, to_our_layout(entry, piece, tensor));
    }
  }
  for (const auto& [name, tensor] : theirs) {
    if (known.count(name) == 0) {
      throw UserError(fmt::format("{}: tensor '{}' of shape {} has no place in the model that its config describes",
                                  source, name, shape_text(tensor.sizes())));
    }
  }
  Tensors ours;
  for (const auto& [name, rows] : pieces) {
    std::vector<at::Tensor> parts;
    for (const auto& [begin, part] : rows) parts.push_back(part);
    ours.emplace(name, parts.size() == 1 ? parts.front() : at::cat(parts, 0));
  }
  return ours;
}

at::Tensor their_tensor(const TheirTensor& entry, const Tensors& ours) {
  std::vector<at::Tensor> parts;
  for (const auto& piece : entry.pieces) {
    const auto found = ours.find(piece.ours);
    if (found == ours.end() || !found->second.defined()) return {};
    parts.push_back(to_their_layout(piece, found->second, entry.shape));
  }
  if (parts.empty()) return {};
  return parts.size() == 1 ? parts.front().contiguous() : at::cat(parts, entry.dimension);
}

Tensors their_tensors(const TensorMap& map, const Tensors& ours) {
  Tensors theirs;
  for (const auto& entry : map) {
    auto tensor = their_tensor(entry, ours);
    TORCH_CHECK(tensor.defined() || entry.pieces.empty(), "no tensor for ", entry.name);
    if (!tensor.defined()) tensor = at::full(entry.shape, entry.fill, ours.begin()->second.options());
    theirs.emplace(entry.name, tensor);
  }
  return theirs;
}

Tensors complete_state(const torch::nn::Module& model, const Tensors& ours) {
  Tensors state;
  size_t used = 0;
  const auto take = [&](const std::string& name, const at::Tensor& tensor, bool may_be_absent) {
    const auto found = ours.find(name);
    TORCH_CHECK(found != ours.end() || may_be_absent, "the map has no tensor for ", name);
    if (found == ours.end()) {
      state.emplace(name, tensor);
      return;
    }
    TORCH_CHECK(found->second.sizes() == tensor.sizes(), "the map gives ", name, " another shape");
    state.emplace(name, found->second);
    ++used;
  };
  for (const auto& item : model.named_parameters()) take(item.key(), item.value().detach(), false);
  for (const auto& item : model.named_buffers()) take(item.key(), item.value(), true);
  TORCH_CHECK(used == ours.size(), "the map gives tensors that the model lacks");
  return state;
}

ImportSource with_prefix(ImportSource source, std::string_view prefix) {
  source.weights = fmt::format("{} (its names with '{}' before them)", source.weights, prefix);
  return source;
}

void take_imported(ImportedModel& imported, const Tensors& ours) {
  Tensors model;
  for (const auto& [name, tensor] : ours) {
    const bool of_head = imported.head && (name.starts_with("head_w_") || name.starts_with("head_b_"));
    (of_head ? imported.head->tensors : model).emplace(name, tensor);
  }
  imported.tensors = complete_state(*make_model(imported.config), model);
}

void require_layers(int64_t n_layer, const Tensors& theirs, std::string_view key, const ImportSource& source) {
  if (n_layer <= static_cast<int64_t>(theirs.size())) return;
  throw UserError(fmt::format("{}: {} is {}, but {} holds {} tensors", source.settings, key, n_layer, source.weights,
                              theirs.size()));
}

void merge_tied_head(Tensors& theirs, const std::string& embedding, const std::string& head,
                     const std::string& source) {
  auto found = theirs.extract(head);
  if (found.empty()) return;
  const auto other = theirs.find(embedding);
  if (other == theirs.end()) {
    theirs.emplace(embedding, found.mapped());
  } else if (!at::equal(found.mapped(), other->second)) {
    throw UserError(fmt::format("{}: '{}' differs from '{}', although the config ties them", source, head, embedding));
  }
}

}  // namespace skipless
