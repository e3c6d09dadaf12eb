// A folder that `skipless prepare` wrote: train.bin, validation.bin, tokenizer.json, prepare.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "data/token_shard.h"
#include "data/tokenizer.h"

namespace skipless {

struct PreparedData {
  TokenShard train;
  TokenShard validation;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::string tokenizer_hash;
  std::int64_t vocab_size = 0;

  /// Opens and checks all of it (TokenShard::open). UserError when a file is missing or damaged, when the shards and
  /// the folder's tokenizer do not belong together (naming both hashes), when prepare.json says that the preparation
  /// was interrupted, or when a shard is not the one that it was made with.
  static PreparedData open(const std::filesystem::path& folder);
};

namespace prepared_files {
inline constexpr char kTrain[] = "train.bin";
inline constexpr char kValidation[] = "validation.bin";
inline constexpr char kTokenizer[] = "tokenizer.json";
inline constexpr char kManifest[] = "prepare.json";
}  // namespace prepared_files

}  // namespace skipless
