// Runs the built program from a shell, as a user would, in a folder of the test's own.
#pragma once

#include <fmt/format.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "tests/temporary_folder.h"

namespace skipless::test {

struct Result {
  int code = -1;  // as the shell reports it: 128 + n after signal n
  std::string out;
  std::string err;
};

inline std::string read_text(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline void write_text(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

/// Runs `script` with bash in `folder`; $skipless is the program. Names with blanks and letters beyond ASCII are the
/// normal case here.
inline Result shell(const std::filesystem::path& folder, const std::string& script) {
  const TemporaryFolder capture;
  const auto in_capture = [&](const char* name) { return (capture.path() / name).string(); };
  write_text(capture.path() / "script", fmt::format("cd '{}'\nskipless='{}'\nexport OMP_NUM_THREADS=1\n{}\n",
                                                    folder.string(), SKIPLESS_PROGRAM, script));
  const int status = std::system(
      fmt::format("bash '{}' > '{}' 2> '{}'", in_capture("script"), in_capture("out"), in_capture("err")).c_str());
  return {.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          .out = read_text(capture.path() / "out"),
          .err = read_text(capture.path() / "err")};
}

/// A folder with prepared data ("data") and a config ("small.yaml") of a run that takes a fraction of a second.
class Workplace {
 public:
  Workplace() : path_(temporary_.path() / "a b ü") {
    std::filesystem::create_directories(path_ / "source");
    for (int document = 0; document < 12; ++document) {
      std::string text;
      for (int i = 0; i < 60; ++i) {
        text += fmt::format("def f_{}(x, y):\n    if x > {}:\n        return y * {}\n    return x + y - {}\n\n",
                            i * 7 % 13, document + i, i * i % 31, document * i % 17);
      }
      write_text(path_ / "source" / fmt::format("part_{}.py", document), text);
    }
    write_text(
        path_ / "small.yaml",
        "model: {block: sas, n_layer: 2, d_model: 16, n_head: 2, d_ff: 24, vocab_size: 4096, context_length: 16}\n"
        "data: {folder: data}\n"
        "train: {steps: 20, batch_size: 8, micro_batch: 3, warmup_steps: 15, eval_every: 10, eval_tokens: 512,\n"
        "  save_every: 10, keep_checkpoints: 5, log_every: 3, threads: 1}\n");
    prepared_ = shell(path_, fmt::format("\"$skipless\" prepare source --glob '*.py' --validation-fraction 0.25 "
                                         "--tokenizer '{}/data/tokenizers/python_4096' --out data",
                                         SKIPLESS_SOURCE_DIR));
  }

  /// One in which `script` has run; std::runtime_error with what it said if it failed.
  explicit Workplace(const std::string& script) : Workplace() {
    const Result done = run(script);
    if (done.code != 0) throw std::runtime_error(done.err);
  }

  const std::filesystem::path& path() const { return path_; }
  const Result& prepared() const { return prepared_; }
  Result run(const std::string& script) const { return shell(path_, script); }
  bool exists(const std::string& name) const { return std::filesystem::exists(path_ / name); }
  std::string text(const std::string& name) const { return read_text(path_ / name); }

 private:
  TemporaryFolder temporary_;
  std::filesystem::path path_;
  Result prepared_;
};

}  // namespace skipless::test
