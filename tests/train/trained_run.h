// Small runs, and looking at what they left in their folders. Includes Catch2, so it comes after LibTorch's headers.
#pragma once

#include <spdlog/spdlog.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/train/small_run.h"
#include "train/checkpoint.h"
#include "train/run_folder.h"
#include "train/trainer.h"
// Catch2 comes last: its CHECK clashes with LibTorch's.
#include <catch2/catch.hpp>

namespace skipless::test {

namespace fs = std::filesystem;
using nlohmann::json;

inline TrainOutcome run(const fs::path& folder, const std::vector<std::string>& overrides = {}) {
  spdlog::set_level(spdlog::level::off);
  return train(small_run_config(overrides), folder, "{}\n", /*terminal=*/false);
}

inline std::vector<json> metrics_of(const fs::path& folder, const std::string& kind) {
  std::vector<json> lines;
  std::ifstream stream(RunPaths{folder}.metrics());
  for (std::string line; std::getline(stream, line);) {
    auto entry = json::parse(line);
    if (entry.at("kind") == kind) lines.push_back(entry);
  }
  return lines;
}

inline CheckpointFolder checkpoints_of(const fs::path& folder) {
  return CheckpointFolder(RunPaths{folder}.checkpoints());
}

inline std::string error_of(const fs::path& folder, const std::vector<std::string>& overrides) {
  try {
    run(folder, overrides);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

/// Takes a run back to an earlier checkpoint, as if it had been killed right after it.
inline void go_back(const fs::path& folder, int64_t step) {
  const auto checkpoints = checkpoints_of(folder);
  for (const int64_t later : checkpoints.steps()) {
    if (later > step) fs::remove_all(checkpoints.path_of(later));
  }
}

inline void require_same_metrics(const fs::path& a, const fs::path& b) {
  for (const char* kind : {"train", "eval"}) {
    const auto lines_a = metrics_of(a, kind), lines_b = metrics_of(b, kind);
    REQUIRE(lines_a.size() == lines_b.size());
    for (size_t i = 0; i < lines_a.size(); ++i) {
      for (const char* key : {"step", "loss", "lr", "grad_norm", "tokens", "perplexity", "masked_perplexity"}) {
        CHECK(lines_a[i].value(key, json()) == lines_b[i].value(key, json()));
      }
    }
  }
}

inline void require_same_run(const fs::path& a, const fs::path& b, int64_t step) {
  for (const char* name : {"model.safetensors", "optimizer.safetensors"}) {
    CHECK(read_bytes(checkpoints_of(a).path_of(step) / name) == read_bytes(checkpoints_of(b).path_of(step) / name));
  }
  require_same_metrics(a, b);
}

}  // namespace skipless::test
