// A prepared data folder and a tiny run config, made once per test program.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "configs/config_file.h"
#include "data/prepare.h"
#include "tests/temporary_folder.h"
#include "train/run_config.h"

namespace skipless::test {

inline constexpr int64_t kSmallVocabulary = 4096;  // data/tokenizers/python_4096

inline std::string read_bytes(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline void write_bytes(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

inline std::filesystem::path small_tokenizer() {
  return std::filesystem::path(SKIPLESS_SOURCE_DIR) / "data/tokenizers/python_4096";
}

/// Twelve documents of invented Python, about 9,000 tokens. `variant` gives other text.
inline void prepare_small_data(const std::filesystem::path& folder, int variant = 0,
                               const std::filesystem::path& tokenizer = small_tokenizer()) {
  const TemporaryFolder source;
  for (int document = 0; document < 12; ++document) {
    std::string text;
    for (int i = 0; i < 60; ++i) {
      text += fmt::format("def f_{}(x, y):\n    if x > {}:\n        return y * {}\n    return x + y - {}\n\n",
                          i * 7 % 13 + variant, document + i, i * i % 31, document * i % 17);
    }
    write_bytes(source.path() / fmt::format("part_{}.py", document), text);
  }
  PrepareOptions options;
  options.tokenizer = tokenizer;
  options.out = folder;
  options.paths = {source.path().string()};
  options.globs = {"*.py"};
  options.validation_fraction = 0.25;
  prepare(options);
}

inline const std::filesystem::path& small_data() {
  static const TemporaryFolder folder;
  static const std::filesystem::path data = [] {
    const auto path = folder.path() / "data";
    prepare_small_data(path);
    return path;
  }();
  return data;
}

/// A SAS model of 10^5 parameters; `overrides` as on the command line.
inline RunConfig small_run_config(std::vector<std::string> overrides = {}) {
  const std::string yaml = fmt::format(
      "model: {{block: sas, n_layer: 2, d_model: 16, n_head: 2, d_ff: 24, vocab_size: {}, context_length: 16}}\n"
      "data: {{folder: \"{}\"}}\n"
      "train: {{steps: 20, batch_size: 8, micro_batch: 3, warmup_steps: 15, eval_every: 10, eval_tokens: 512, "
      "save_every: 10, keep_checkpoints: 5, log_every: 3, threads: 1}}\n",
      kSmallVocabulary, small_data().string());
  return parse_config<RunConfig>(yaml, "small", overrides);
}

}  // namespace skipless::test
