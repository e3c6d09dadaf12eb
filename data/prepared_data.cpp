#include "data/prepared_data.h"

#include <fmt/format.h>

#include "configs/error.h"
#include "data/mapped_file.h"
#include "data/strict_json.h"
#include "data/tokenizer_file.h"

namespace skipless {
namespace {

namespace fs = std::filesystem;

void check_manifest(const fs::path& folder, const TokenShard& train, const TokenShard& validation) {
  const fs::path file = folder / prepared_files::kManifest;
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return;  // only a record: the shards say what is needed
  const nlohmann::json manifest = parse_strict_json(MappedFile(file).text(), file.string());
  if (!manifest.is_object() || manifest.value("complete", nlohmann::json()) != true) {
    throw UserError(
        fmt::format("'{}' says that the preparation was interrupted; run 'skipless prepare' again", file.string()));
  }
  const auto compare = [&](const char* split, const TokenShard& shard) {
    const nlohmann::json entry = manifest.value(split, nlohmann::json::object());
    const nlohmann::json checksum = entry.is_object() ? entry.value("checksum", nlohmann::json()) : nlohmann::json();
    if (checksum == shard.checksum()) return;
    throw UserError(fmt::format("'{}' has the checksum {}, but '{}' was made with {}: they are not of one preparation",
                                shard.path().string(), shard.checksum(), file.string(), brief_json(checksum)));
  };
  compare("train", train);
  compare("validation", validation);
}

void check_tokenizer(const TokenShard& shard, const Tokenizer& tokenizer, const fs::path& file) {
  if (shard.tokenizer_hash() != tokenizer.hash()) {
    throw UserError(fmt::format("'{}' was made with the tokenizer {}, but '{}' is {}", shard.path().string(),
                                shard.tokenizer_hash(), file.string(), tokenizer.hash()));
  }
  if (shard.vocab_size() != tokenizer.vocab_size()) {
    throw UserError(fmt::format("'{}' says {} for the size of the vocabulary, but '{}' has {}", shard.path().string(),
                                shard.vocab_size(), file.string(), tokenizer.vocab_size()));
  }
}

}  // namespace

PreparedData PreparedData::open(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    throw UserError(fmt::format("'{}' is {}, expected a folder that 'skipless prepare' wrote", folder.string(),
                                fs::exists(folder, ignored) ? "a file" : "missing"));
  }
  const fs::path tokenizer_file = folder / prepared_files::kTokenizer;
  TokenShard train = TokenShard::open(folder / prepared_files::kTrain);
  TokenShard validation = TokenShard::open(folder / prepared_files::kValidation);
  std::shared_ptr<const Tokenizer> tokenizer = read_tokenizer(tokenizer_file);
  if (train.tokenizer_hash() != validation.tokenizer_hash()) {
    throw UserError(fmt::format("'{}' was made with the tokenizer {}, but '{}' with {}", train.path().string(),
                                train.tokenizer_hash(), validation.path().string(), validation.tokenizer_hash()));
  }
  check_tokenizer(train, *tokenizer, tokenizer_file);
  check_tokenizer(validation, *tokenizer, tokenizer_file);
  check_manifest(folder, train, validation);
  const std::int64_t vocab_size = tokenizer->vocab_size();
  std::string hash = tokenizer->hash();
  return {.train = std::move(train),
          .validation = std::move(validation),
          .tokenizer = std::move(tokenizer),
          .tokenizer_hash = std::move(hash),
          .vocab_size = vocab_size};
}

}  // namespace skipless
