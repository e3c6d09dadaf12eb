// The folder of a run: config.yaml, tokenizer.json, version.json, metrics.jsonl, train.log, checkpoints/,
// head.safetensors.
#pragma once

#include <filesystem>
#include <string>

namespace skipless {

struct RunPaths {
  std::filesystem::path folder;

  std::filesystem::path config() const { return folder / "config.yaml"; }
  std::filesystem::path tokenizer() const { return folder / "tokenizer.json"; }
  /// Of an imported classifier or pooler (models/sequence_head.h).
  std::filesystem::path head() const { return folder / "head.safetensors"; }
  std::filesystem::path version() const { return folder / "version.json"; }
  std::filesystem::path metrics() const { return folder / "metrics.jsonl"; }
  std::filesystem::path log() const { return folder / "train.log"; }
  std::filesystem::path checkpoints() const { return folder / "checkpoints"; }
  std::filesystem::path lock() const { return folder / "lock"; }
};

/// Whether the folder holds a run that can be continued or evaluated.
bool is_run(const std::filesystem::path& folder);

/// The config.yaml of a run. UserError when the folder is missing, a file, or not a run.
std::string run_config_text(const std::filesystem::path& folder);

/// A run folder that is being written: created if needed, and locked against a second process for as long as this
/// lives.
class RunFolder {
 public:
  /// UserError when a file is in the way, when the folder cannot be written, when it holds something else than a run,
  /// or when another process is writing it.
  explicit RunFolder(const std::filesystem::path& folder);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  const RunPaths& paths() const { return paths_; }

 private:
  RunPaths paths_;
  int lock_ = -1;
};

}  // namespace skipless
