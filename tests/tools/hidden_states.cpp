// What a run's encoder makes of the lines of a text, for a comparison with other code:
//   hidden_states RUN TEXT OUT.safetensors
// Tensor N of OUT: the final hidden states [T, D] of line N (from 0) as [CLS] line [SEP], which was one of a padded
// batch.
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "data/sequence_builder.h"
#include "models/safetensors.h"
#include "train/load_run.h"
#include "train/run_tokenizer.h"

namespace {

using namespace skipless;

constexpr size_t kBatchSize = 8;

Batch padded(const std::vector<Sequence>& sequences) {
  size_t longest = 0;
  for (const Sequence& sequence : sequences) longest = std::max(longest, sequence.ids.size());
  const auto rows = static_cast<int64_t>(sequences.size()), tokens = static_cast<int64_t>(longest);
  Batch batch{.ids = at::zeros({rows, tokens}, at::kLong), .kept = at::zeros({rows, tokens}, at::kBool)};
  for (int64_t row = 0; row < rows; ++row) {
    const auto& ids = sequences[static_cast<size_t>(row)].ids;
    std::copy(ids.begin(), ids.end(), batch.ids[row].data_ptr<int64_t>());
    batch.kept[row].narrow(0, 0, static_cast<int64_t>(ids.size())).fill_(true);
  }
  return batch;
}

void write_hidden_states(const std::filesystem::path& run_folder, const std::string& text, const std::string& out) {
  LoadedRun run = load_run(run_folder, "last", "cpu");
  const auto tokenizer = run_tokenizer(run, run_folder, "");
  SequenceBuilder builder(*tokenizer, *run.config.model.n_positions);
  std::vector<Sequence> sequences;
  std::ifstream file(text);
  for (std::string line; std::getline(file, line);) sequences.push_back(builder.single(line));

  const c10::NoGradGuard no_grad;
  TensorFile content;
  for (size_t first = 0; first < sequences.size(); first += kBatchSize) {
    const size_t end = std::min(first + kBatchSize, sequences.size());
    const auto hidden = run.model->hidden_states(
        padded({sequences.begin() + static_cast<ptrdiff_t>(first), sequences.begin() + static_cast<ptrdiff_t>(end)}));
    for (size_t i = first; i < end; ++i) {
      const auto tokens = static_cast<int64_t>(sequences[i].ids.size());
      content.tensors[fmt::format("{}", i)] =
          hidden.back()[static_cast<int64_t>(i - first)].narrow(0, 0, tokens).contiguous();
    }
  }
  write_safetensors(out, content);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "hidden_states RUN TEXT OUT.safetensors\n";
    return 2;
  }
  try {
    write_hidden_states(argv[1], argv[2], argv[3]);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
