// One run over the input files of `prepare`: reads, encodes on several threads, writes in order, saves now and then.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "data/input_files.h"
#include "data/prepare.h"
#include "data/prepare_journal.h"
#include "data/token_shard_writer.h"
#include "data/tokenizer.h"
#include "data/unit_encoder.h"

namespace skipless {

class Preparation {
 public:
  /// Goes on from a journal of the same `settings` in the folder, if its files are whole. The arguments must outlive
  /// it.
  Preparation(const PrepareOptions& options, const nlohmann::json& settings, const InputFiles& inputs,
              const Tokenizer& tokenizer, const PrepareHooks& hooks);
  /// What was saved stays in the folder, for the next run to go on with.
  ~Preparation();

  /// Encodes all that is left. UserError (what was saved is then removed: the input is at fault) and RunError as
  /// prepare().
  void run();
  /// Both shards to the disk, beside the old ones.
  PrepareResult finish();
  /// Both shards in the place of the old ones.
  void commit();

  const CorpusCount& count() const { return count_; }

 private:
  using Clock = std::chrono::steady_clock;

  void begin(std::uint64_t threshold);
  bool resume();
  void encode_all();
  void write(const EncodedUnit& unit);
  void save();
  void report(bool always);
  void require_two_documents() const;
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  /// One process at a time writes into a folder.
  class Lock {
   public:
    explicit Lock(const std::filesystem::path& folder);
    ~Lock();
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    int descriptor_;
  };

  const PrepareOptions& options_;
  Lock lock_;
  const nlohmann::json& settings_;
  const InputFiles& inputs_;
  const Tokenizer& tokenizer_;
  const PrepareHooks& hooks_;
  std::uint64_t threshold_ = 0;  // documents whose hash is below are held out
  InputPosition position_;       // behind what is written
  CorpusCount count_;
  std::unique_ptr<TokenShardWriter> train_;
  std::unique_ptr<TokenShardWriter> validation_;
  Clock::time_point start_ = Clock::now();
  double reported_ = 0;  // seconds
  double saved_ = 0;
};

}  // namespace skipless
