// How far an interrupted `prepare` had come: prepare.progress, beside the shards' temporary files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "data/text_units.h"
#include "data/token_shard_writer.h"

namespace skipless {

/// What is known of the corpus so far.
struct CorpusCount {
  std::int64_t documents = 0;
  std::uint64_t bytes = 0;  // of the input files
  std::uint64_t smallest_hash = UINT64_MAX;
  std::uint64_t largest_hash = 0;
  std::map<std::string, std::int64_t> skipped;  // reason -> files or documents
  std::vector<SkippedDocument> listed;          // the first kMostListed of them, without the empty ones
  std::string first_skipped;                    // "'place' is reason"

  static constexpr std::size_t kMostListed = 1000;
};

struct PrepareJournal {
  nlohmann::json settings;  // of the preparation that it belongs to
  std::uint64_t threshold = 0;
  InputPosition position;
  CorpusCount count;
  TokenShardWriter::Saved train;
  TokenShardWriter::Saved validation;
};

/// Nothing when there is no journal. UserError when the file is damaged.
std::optional<PrepareJournal> read_journal(const std::filesystem::path& folder);
/// RunError when it cannot be written; the one before it is then still there.
void write_journal(const std::filesystem::path& folder, const PrepareJournal& journal);
/// Before anything that makes it untrue.
void remove_journal(const std::filesystem::path& folder);

}  // namespace skipless
