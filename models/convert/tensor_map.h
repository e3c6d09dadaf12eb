// Another code's tensors against ours: names, layouts, and what must hold where one side has no counterpart.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/model_config.h"
#include "models/sequence_head.h"

namespace skipless {

using Tensors = std::map<std::string, at::Tensor>;

enum class Layout {
  same,
  transposed,  // theirs [in, out] (Conv1D), ours [out, in]
  per_head,    // theirs [1, H, 1, 1] or [H], ours [H, 1, 1]
};

/// One of our tensors, or some rows of it, inside one of theirs: begin .. begin + length - 1 of `dimension` of theirs.
struct TensorPiece {
  std::string ours{};
  Layout layout = Layout::same;
  int64_t begin = 0;
  int64_t length = 0;
  /// Rows rows_begin .. of ours, as many as the piece has; -1: all of them.
  int64_t rows_begin = -1;
};

struct TheirTensor {
  std::string name{};
  std::vector<int64_t> shape{};
  /// Empty where only they have it.
  std::vector<TensorPiece> pieces{};
  int64_t dimension = -1;  // along which the pieces lie
  /// What every element must be, because our model has it as a constant: a frozen bias, a gain fixed at 0 or 1.
  std::optional<double> required{};
  /// What is written where only they have it.
  double fill = 0;
  /// False: a constant of theirs that is no parameter.
  bool is_parameter = true;
};
using TensorMap = std::vector<TheirTensor>;

/// The names of the files that an import reads, for messages.
struct ImportSource {
  std::string weights;
  std::string settings;
};

/// A whole model in our form.
struct ImportedModel {
  ModelConfig config;
  Tensors tensors;  // every parameter and buffer of make_model(config)
  /// Of a file whose model classifies, or has the pooler that a classifier would read; `tensors` has nothing of it.
  std::optional<SequenceHead> head;
  TensorMap map;  // how all of them stand in the file
  /// Settings of the file that only matter before or during training, and were left out. For the user to read.
  std::vector<std::string> notes;
};

/// A whole model in theirs.
struct ExportedModel {
  std::string settings;  // the text of their config.json
  Tensors tensors;
  /// What differs on their side and does not change what is computed. For the user to read.
  std::vector<std::string> notes;
};

/// Our tensors from theirs. `source` names the file in messages. UserError naming the tensor when one is missing,
/// unknown, of another shape, or not what `required` asks for.
Tensors our_tensors(const TensorMap& map, const Tensors& theirs, const std::string& source);

/// One of theirs from ours (weights or gradients), in their shape; undefined if a piece of it is missing or undefined,
/// or if only they have it.
at::Tensor their_tensor(const TheirTensor& entry, const Tensors& ours);

/// All of theirs from ours; those that only they have are filled. Rows of our embedding beyond the vocabulary
/// (vocab_multiple) are left out.
Tensors their_tensors(const TensorMap& map, const Tensors& ours);

/// All parameters and buffers of `model` with the values of `ours`; buffers that `ours` lacks keep theirs. A tensor of
/// `ours` that the model lacks, or the reverse, is a mistake of the map.
Tensors complete_state(const torch::nn::Module& model, const Tensors& ours);

/// Puts the tensors of a head for sequences into `imported.head` and the complete state of the model into
/// `imported.tensors`.
void take_imported(ImportedModel& imported, const Tensors& ours);

/// UserError, naming the setting `key`, for more layers than the file has tensors: a map of them all would be built
/// before the first one is missed.
void require_layers(int64_t n_layer, const Tensors& theirs, std::string_view key, const ImportSource& source);

/// A tied head may be written under either name or under both: leaves it under `embedding` alone. UserError if both are
/// there and differ.
void merge_tied_head(Tensors& theirs, const std::string& embedding, const std::string& head, const std::string& source);

/// `source` for messages about tensors that go by other names than in the file: those with `prefix` before them.
ImportSource with_prefix(ImportSource source, std::string_view prefix);

std::string shape_text(at::IntArrayRef shape);

}  // namespace skipless
