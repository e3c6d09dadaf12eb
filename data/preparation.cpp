#include "data/preparation.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <span>
#include <thread>

#include "configs/error.h"
#include "data/ordered_pipeline.h"
#include "data/prepared_data.h"
#include "data/text_units.h"

namespace skipless {
namespace {

// Memory, in all below 500 MB: text on the way times 6 (as text, as JSON, as ids of 4 bytes), the window of a zstd file
// (128 MiB), the caches of words.
constexpr std::size_t kTextOnTheWay = std::size_t{24} << 20;
constexpr std::size_t kUnitOverhead = 4096;
constexpr std::size_t kAllCaches = std::size_t{48} << 20;
constexpr std::size_t kMostThreads = 64;

std::size_t threads_of(const PrepareOptions& options) {
  const std::size_t wanted =
      options.threads > 0 ? static_cast<std::size_t>(options.threads) : std::thread::hardware_concurrency();
  return std::clamp<std::size_t>(wanted, 1, kMostThreads);
}

}  // namespace

Preparation::Preparation(const PrepareOptions& options, const nlohmann::json& settings, const InputFiles& inputs,
                         const Tokenizer& tokenizer, const PrepareHooks& hooks)
    : options_(options),
      lock_(options.out),
      settings_(settings),
      inputs_(inputs),
      tokenizer_(tokenizer),
      hooks_(hooks) {
  if (!resume()) begin(static_cast<std::uint64_t>(std::ldexp(options.validation_fraction, 64)));
}

Preparation::~Preparation() = default;

Preparation::Lock::Lock(const std::filesystem::path& folder)
    : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (descriptor_ < 0 || ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  ::close(descriptor_);
  throw UserError(fmt::format("another 'skipless prepare' is writing into '{}'", folder.string()));
}

Preparation::Lock::~Lock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void Preparation::begin(std::uint64_t threshold) {
  remove_journal(options_.out);
  train_.reset();
  validation_.reset();
  threshold_ = threshold;
  position_ = {};
  count_ = {};
  count_.skipped = inputs_.skipped;
  train_ = std::make_unique<TokenShardWriter>(options_.out / prepared_files::kTrain, tokenizer_.vocab_size(),
                                              tokenizer_.hash());
  validation_ = std::make_unique<TokenShardWriter>(options_.out / prepared_files::kValidation, tokenizer_.vocab_size(),
                                                   tokenizer_.hash());
}

bool Preparation::resume() {
  try {
    auto journal = read_journal(options_.out);
    if (!journal || journal->settings != settings_) return false;
    train_ = std::make_unique<TokenShardWriter>(options_.out / prepared_files::kTrain, tokenizer_.vocab_size(),
                                                tokenizer_.hash(), journal->train);
    validation_ = std::make_unique<TokenShardWriter>(options_.out / prepared_files::kValidation,
                                                     tokenizer_.vocab_size(), tokenizer_.hash(), journal->validation);
    threshold_ = journal->threshold;
    position_ = journal->position;
    count_ = std::move(journal->count);
  } catch (const UserError& error) {
    hooks_.warn(fmt::format("beginning anew: {}", error.what()));
    return false;
  }
  hooks_.note(fmt::format("going on behind {} documents, where an earlier run was interrupted", count_.documents));
  return true;
}

void Preparation::run() {
  try {
    encode_all();
    if (validation_->documents() == 0 || train_->documents() == 0) {
      begin(validation_->documents() == 0 ? count_.smallest_hash + 1 : count_.largest_hash);
      encode_all();
    }
  } catch (const UserError&) {
    remove_journal(options_.out);
    train_->discard();
    validation_->discard();
    throw;
  }
  if (validation_->documents() == 0 || train_->documents() == 0) {
    throw RunError("the input files changed while they were read");
  }
}

void Preparation::encode_all() {
  const std::size_t threads = threads_of(options_);
  TextUnitReader reader(inputs_.files, options_.field, options_.seed, tokenizer_.make_cutter(), position_);
  OrderedPipeline<TextUnit, EncodedUnit> pipeline(threads, kTextOnTheWay);
  pipeline.run([&] { return reader.next(); }, [](const TextUnit& unit) { return unit.text.size() + kUnitOverhead; },
               [&] {
                 const auto encoder =
                     std::make_shared<UnitEncoder>(tokenizer_, options_.field, options_.seed,
                                                   std::min(kAllCaches / threads, WordCache::kDefaultBytes));
                 return [encoder](TextUnit&& unit) { return encoder->encode(unit); };
               },
               [&](EncodedUnit&& unit) { write(unit); });
  report(true);
  require_two_documents();
}

void Preparation::write(const EncodedUnit& unit) {
  auto block = unit.ids.begin();
  std::size_t used = 0;  // of *block
  for (const EncodedUnit::Piece& piece : unit.pieces) {
    TokenShardWriter& shard = piece.document_hash < threshold_ ? *validation_ : *train_;
    for (auto left = static_cast<std::size_t>(piece.tokens); left > 0;) {
      const std::size_t here = std::min(left, block->size() - used);
      shard.append(std::span(*block).subspan(used, here));
      left -= here;
      used += here;
      if (used == block->size()) {
        ++block;
        used = 0;
      }
    }
    if (!piece.ends_document) continue;
    shard.end_document();
    ++count_.documents;
    count_.smallest_hash = std::min(count_.smallest_hash, piece.document_hash);
    count_.largest_hash = std::max(count_.largest_hash, piece.document_hash);
  }
  if (unit.empty > 0) {
    count_.skipped[kEmptyDocument] += unit.empty;
    if (count_.first_skipped.empty()) count_.first_skipped = fmt::format("'{}' is empty", unit.first_empty);
  }
  for (const SkippedDocument& document : unit.skipped) {
    ++count_.skipped[document.kind];
    if (count_.first_skipped.empty()) count_.first_skipped = fmt::format("'{}' is {}", document.place, document.reason);
    if (count_.listed.size() < CorpusCount::kMostListed) count_.listed.push_back(document);
  }
  count_.bytes += unit.file_bytes;
  position_ = unit.end;
  if (seconds() - saved_ >= options_.save_seconds) save();
  report(false);
}

void Preparation::save() {
  const PrepareJournal journal{.settings = settings_,
                               .threshold = threshold_,
                               .position = position_,
                               .count = count_,
                               .train = train_->save(),
                               .validation = validation_->save()};
  write_journal(options_.out, journal);
  saved_ = seconds();
  hooks_.saved();
}

void Preparation::report(bool always) {
  constexpr double kInterval = 0.2;
  const double now = seconds();
  if (!always && now - reported_ < kInterval) return;
  reported_ = now;
  hooks_.progress({.bytes_done = count_.bytes,
                   .bytes_total = inputs_.bytes,
                   .documents = count_.documents,
                   .tokens = train_->tokens() + validation_->tokens(),
                   .seconds = now});
}

void Preparation::require_two_documents() const {
  if (count_.documents == 0) {
    throw UserError(fmt::format("the corpus is empty: {} input files hold no text that can be used{}{}",
                                inputs_.files.size(), count_.first_skipped.empty() ? "" : "; ", count_.first_skipped));
  }
  if (count_.smallest_hash != count_.largest_hash) return;
  throw UserError(fmt::format(
      "{} is too little to hold out a part for validation: at least two different documents are needed (a file is one "
      "document, or a line of a .jsonl file; cut a long text into several files)",
      count_.documents == 1 ? "one document" : fmt::format("{} copies of one document", count_.documents)));
}

PrepareResult Preparation::finish() {
  PrepareResult result;
  result.train = train_->finish();
  result.validation = validation_->finish();
  result.vocab_size = tokenizer_.vocab_size();
  result.unused_ids = tokenizer_.unused_ids();
  result.tokenizer_hash = tokenizer_.hash();
  result.tokenizer_kind = tokenizer_.kind();
  result.skipped = count_.skipped;
  result.seconds = seconds();
  return result;
}

void Preparation::commit() {
  train_->commit();
  validation_->commit();
}

}  // namespace skipless
