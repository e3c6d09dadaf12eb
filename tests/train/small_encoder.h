// A tiny encoder's run at step 0, its tokenizer, and small GLUE tasks that it can learn.
#pragma once

#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "configs/atomic_file.h"
#include "configs/config_file.h"
#include "data/bpe_tokenizer.h"
#include "data/byte_alphabet.h"
#include "models/make_model.h"
#include "tests/temporary_folder.h"
#include "train/checkpoint.h"
#include "train/device.h"
#include "train/finetune.h"
#include "train/module_state.h"
#include "train/run_config.h"
#include "train/run_folder.h"

namespace skipless::test {

/// Every byte, then [PAD], [CLS], [SEP], and `more` tokens that are never met.
inline BpeTokenizer byte_tokenizer(int more = 0) {
  BpeContent content;
  content.source = "bytes";
  for (int byte = 0; byte < 256; ++byte) {
    content.vocab.emplace_back(alphabet_character(static_cast<std::uint8_t>(byte)), byte);
  }
  int64_t id = 256;
  std::vector<std::string> specials{"[PAD]", "[CLS]", "[SEP]"};
  for (int i = 0; i < more; ++i) specials.push_back(fmt::format("[more{}]", i));
  for (const auto& special : specials) {
    content.vocab.emplace_back(special, id);
    content.specials.emplace_back(special, id++);
  }
  return BpeTokenizer(content);
}

/// A run folder as conversion makes it: a checkpoint of step 0, the tokenizer, no data. `more`: keys of the model;
/// `change` its values.
inline std::filesystem::path write_encoder(const std::filesystem::path& folder, const std::string& kind = "bert",
                                           const std::string& more = "",
                                           const std::function<void(std::map<std::string, at::Tensor>&)>& change = {}) {
  const auto config = parse_config<RunConfig>(
      fmt::format("model: {{kind: {}, block: sas_p, n_layer: 2, d_model: 16, n_head: 2, d_ff: 32, vocab_size: 259, "
                  "context_length: 32{}}}\ndata: {{folder: none}}\ntrain: {{threads: 1}}\n",
                  kind, more),
      "encoder");
  std::filesystem::remove_all(folder);
  make_folder(folder);
  const RunPaths paths{folder};
  write_file(paths.config(), write_config(config));
  write_file(paths.tokenizer(), byte_tokenizer().to_json());
  make_folder(paths.checkpoints());
  seed_generators(at::kCPU, 1);
  Checkpoint checkpoint;
  checkpoint.state.tokenizer = byte_tokenizer().hash();
  checkpoint.model = {.tensors = module_state(*make_model(config.model)),
                      .metadata = {{"config", write_config(config)}}};
  const c10::NoGradGuard no_grad;
  if (change) change(checkpoint.model.tensors);
  CheckpointFolder(paths.checkpoints()).save(checkpoint, /*keep=*/1);
  return folder;
}

/// Tasks whose label is the first letter of the first sentence, in two sizes of files.
inline void write_tasks(const TemporaryFolder& folder, int rows = 40) {
  const auto lines = [](const std::string& header, int n, const auto& line) {
    std::string text = header.empty() ? "" : header + "\n";
    for (int i = 0; i < n; ++i) text += line(i) + "\n";
    return text;
  };
  const auto sst2 = [](int i) { return fmt::format("{} {}\t{}", i % 2 == 1 ? "good" : "bad", i % 7, i % 2); };
  folder.write("glue/SST-2/train.tsv", lines("sentence\tlabel", rows, sst2));
  folder.write("glue/SST-2/dev.tsv", lines("sentence\tlabel", rows / 2 - 1, sst2));
  folder.write("glue/SST-2/test.tsv", lines("index\tsentence", 3, [](int i) { return fmt::format("{}\tgood", i); }));
  const auto rte = [](int i) {
    return fmt::format("{}\t{}\tthis is a sentence of some length\t{}", i, i % 2 == 1 ? "yes" : "no",
                       i % 2 == 1 ? "entailment" : "not_entailment");
  };
  folder.write("glue/RTE/train.tsv", lines("index\tsentence1\tsentence2\tlabel", rows, rte));
  folder.write("glue/RTE/dev.tsv", lines("index\tsentence1\tsentence2\tlabel", rows / 2 - 1, rte));
  folder.write("glue/RTE/test.tsv",
               lines("index\tsentence1\tsentence2", 2, [](int i) { return fmt::format("{}\tyes\tx", i); }));
  const auto stsb = [](int i) {
    return fmt::format("{}\t{}\tb\t{}.5", i, std::string(1, static_cast<char>('a' + i % 5)), i % 5);
  };
  folder.write("glue/STS-B/train.tsv", lines("index\tsentence1\tsentence2\tscore", rows, stsb));
  folder.write("glue/STS-B/dev.tsv", lines("index\tsentence1\tsentence2\tscore", rows / 2 - 1, stsb));
  folder.write("glue/STS-B/test.tsv",
               lines("index\tsentence1\tsentence2", 2, [](int i) { return fmt::format("{}\ta\tb", i); }));
  const auto mnli = [](int i) {
    const char* const names[] = {"entailment", "neutral", "contradiction"};
    return fmt::format("{}\t{}\tb\tneutral\t{}", i, std::string(1, static_cast<char>('x' + i % 3)), names[i % 3]);
  };
  const std::string header = "index\tsentence1\tsentence2\tlabel1\tgold_label";
  folder.write("glue/MNLI/train.tsv", lines(header, rows, mnli));
  folder.write("glue/MNLI/dev_matched.tsv", lines(header, 9, mnli));
  folder.write("glue/MNLI/dev_mismatched.tsv", lines(header, 8, mnli));
  for (const char* name : {"MNLI/test_matched", "MNLI/test_mismatched", "AX/diagnostic"}) {
    folder.write(fmt::format("glue/{}.tsv", name),
                 lines("index\tsentence1\tsentence2", 2, [](int i) { return fmt::format("{}\tz\tb", i + 5); }));
  }
}

}  // namespace skipless::test
