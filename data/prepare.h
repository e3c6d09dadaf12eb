// Text files -> a folder of token shards. The command `skipless prepare` in cli/ only parses and prints.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "data/token_shard_writer.h"

namespace skipless {

struct PrepareOptions {
  std::filesystem::path tokenizer;  // read_tokenizer
  std::filesystem::path out;        // folder, made where it is missing
  std::vector<std::string> paths;   // these three: InputSelection
  std::vector<std::string> globs;
  std::vector<std::string> excludes;
  std::string field;  // of .jsonl files
  /// Share of the documents that is held out, above 0 and below 1. A document is held out when the hash of its text
  /// (under `seed`) falls into that share, so that copies of a document are on one side. Where that leaves a side
  /// empty, the document whose hash comes nearest goes there.
  double validation_fraction = 0.05;
  std::uint64_t seed = 0;
  bool force = false;        // replace a preparation with other settings
  std::int64_t threads = 0;  // that encode; 0: one per core (64 at most)
  double save_seconds = 10;  // between two places where an interrupted run can go on
};

struct PrepareProgress {
  std::uint64_t bytes_done = 0;
  std::uint64_t bytes_total = 0;
  std::int64_t documents = 0;
  std::int64_t tokens = 0;
  double seconds = 0;
};

struct PrepareHooks {
  std::function<void(const PrepareProgress&)> progress = [](const PrepareProgress&) {};  // a few times a second
  std::function<void(const std::string&)> warn = [](const std::string&) {};
  std::function<void(const std::string&)> note = [](const std::string&) {};
  std::function<void()> saved = [] {};  // there is one more place where an interrupted run can go on
};

struct PrepareResult {
  bool already_done = false;  // the folder held this very preparation; nothing was written
  std::int64_t vocab_size = 0;
  std::int64_t unused_ids = 0;
  std::string tokenizer_hash;
  std::string tokenizer_kind;  // Tokenizer::kind()
  TokenShardWriter::Summary train;
  TokenShardWriter::Summary validation;
  std::map<std::string, std::int64_t> skipped;  // reason -> files or documents
  double seconds = 0;
};

/// Writes train.bin, validation.bin, tokenizer.json and prepare.json below `out` (PreparedData reads them). The same
/// options over the same files give the same bytes, whatever the number of threads and however often the run was
/// interrupted: the next one with the same settings and inputs goes on. Texts stream: memory does not grow with the
/// corpus, its documents or what compressed files hold, but for the list of input files.
///
/// UserError: options that cannot be used, input or tokenizer at fault (with file, line or byte), nothing to prepare,
/// fewer than two different documents, another preparation in the folder, whole or interrupted (naming the
/// differences), the folder of a run. RunError: no space; an earlier preparation in the folder is then as it was, and
/// what was saved of this one stays, to go on with.
PrepareResult prepare(const PrepareOptions& options, const PrepareHooks& hooks = {});

}  // namespace skipless
