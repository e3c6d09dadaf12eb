// Data and overrides of small_run.h for a masked language model.
#pragma once

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/train/small_run.h"

namespace skipless::test {

inline constexpr int64_t kMaskId = kSmallVocabulary;  // a token more than small_run.h's tokenizer has

/// The small data by the same tokenizer with a [MASK].
inline const std::filesystem::path& masked_data() {
  static const TemporaryFolder folder;
  static const std::filesystem::path data = [] {
    auto tokenizer = nlohmann::json::parse(std::ifstream(small_tokenizer() / "tokenizer.json"));
    auto mask = tokenizer["added_tokens"][0];
    mask["id"] = kMaskId;
    mask["content"] = "[MASK]";
    tokenizer["added_tokens"].push_back(mask);
    const auto file = folder.path() / "tokenizer.json";
    write_bytes(file, tokenizer.dump());
    prepare_small_data(folder.path() / "data", 0, file);
    return folder.path() / "data";
  }();
  return data;
}

/// Overrides of small_run_config.
inline std::vector<std::string> masked_overrides(const std::vector<std::string>& more = {}) {
  std::vector<std::string> overrides{"model.kind=bert", fmt::format("model.vocab_size={}", kSmallVocabulary + 1),
                                     "data.folder=" + masked_data().string(), "data.chunking=packed"};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return overrides;
}

}  // namespace skipless::test
