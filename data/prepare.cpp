#include "data/prepare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "configs/atomic_file.h"
#include "configs/error.h"
#include "data/bpe_encoder.h"
#include "data/document_reader.h"
#include "data/input_files.h"
#include "data/mapped_file.h"
#include "data/prepared_data.h"
#include "data/strict_json.h"
#include "data/tokenizer_file.h"

namespace skipless {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Names the files of a corpus by path, size and time of change: reading all of a large one again, only to say that
/// nothing is to be done, would take as long as preparing it.
std::string fingerprint(const InputFiles& inputs) {
  // Each line's hash is the next one's seed: no text as long as the list of files.
  std::uint64_t hash = 0;
  for (const InputFile& file : inputs.files) {
    std::error_code ignored;
    const std::string line =
        fmt::format("{}\n{} {}\n", fs::weakly_canonical(file.path, ignored).string(), file.size, file.modified);
    hash = XXH3_64bits_withSeed(line.data(), line.size(), hash);
  }
  return fmt::format("{:016x}", hash);
}

/// What decides the shards' bytes.
json settings_of(const PrepareOptions& options, const InputFiles& inputs, const BpeTokenizer& tokenizer) {
  return {{"tokenizer", tokenizer.hash()},
          {"field", options.field},
          {"validation_fraction", options.validation_fraction},
          {"seed", options.seed},
          {"files", inputs.files.size()},
          {"bytes", inputs.bytes},
          {"files_fingerprint", fingerprint(inputs)}};
}

std::vector<std::string> differences(const json& old_settings, const json& new_settings) {
  std::vector<std::string> texts;
  for (const auto& item : new_settings.items()) {
    const json old_value = old_settings.is_object() ? old_settings.value(item.key(), json()) : json();
    if (old_value != item.value()) {
      texts.push_back(fmt::format("{}: {} there, {} now", item.key(), brief_json(old_value), brief_json(item.value())));
    }
  }
  return texts;
}

TokenShardWriter::Summary summary_of(const TokenShard& shard) {
  return {.tokens = shard.tokens(), .documents = shard.documents(), .checksum = shard.checksum()};
}

json to_json(const TokenShardWriter::Summary& summary) {
  return {{"documents", summary.documents}, {"tokens", summary.tokens}, {"checksum", summary.checksum}};
}

/// Not even --force mixes data into the folder of a training run.
void refuse_run_folder(const fs::path& out) {
  std::error_code ignored;
  for (const char* name : {"config.yaml", "checkpoints"}) {
    if (!fs::exists(out / name, ignored)) continue;
    throw UserError(fmt::format("'{}' holds {}: it is the folder of a training run. Give --out a folder of its own",
                                out.string(), name));
  }
}

/// The preparation of these settings that stands in the folder already, if it does. Throws when the folder holds
/// something that must not be replaced.
std::optional<PreparedData> find_preparation(const PrepareOptions& options, const json& settings,
                                             const PrepareHooks& hooks) {
  const fs::path manifest_file = options.out / prepared_files::kManifest;
  std::error_code ignored;
  if (options.force) return std::nullopt;
  if (!fs::exists(manifest_file, ignored)) {
    for (const char* name : {prepared_files::kTrain, prepared_files::kValidation, prepared_files::kTokenizer}) {
      if (!fs::exists(options.out / name, ignored)) continue;
      throw UserError(
          fmt::format("'{}' holds {} and no {}: something else wrote it. Give another --out, or --force to "
                      "replace it",
                      options.out.string(), name, prepared_files::kManifest));
    }
    return std::nullopt;
  }
  const json manifest = parse_strict_json(MappedFile(manifest_file).text(), manifest_file.string());
  if (!manifest.is_object() || manifest.value("complete", json()) != true) return std::nullopt;
  const std::vector<std::string> different = differences(manifest.value("settings", json()), settings);
  if (!different.empty()) {
    throw UserError(fmt::format("'{}' holds another preparation ({}). Give another --out, or --force to replace it",
                                options.out.string(), fmt::join(different, "; ")));
  }
  try {
    return PreparedData::open(options.out);
  } catch (const UserError& error) {
    hooks.warn(fmt::format("preparing again: {}", error.what()));
    return std::nullopt;
  }
}

/// One run over the corpus.
class Preparation {
 public:
  Preparation(const PrepareOptions& options, const InputFiles& inputs, const BpeTokenizer& tokenizer,
              const PrepareHooks& hooks)
      : options_(options), inputs_(inputs), tokenizer_(tokenizer), hooks_(hooks), encoder_(tokenizer) {
    progress_.bytes_total = inputs.bytes;
  }

  /// Documents whose hash is below `threshold` are held out. False, and nothing written, when that leaves a side empty:
  /// `threshold` is then the nearest one that does not.
  bool run(std::uint64_t& threshold) {
    train_ = std::make_unique<TokenShardWriter>(options_.out / prepared_files::kTrain, tokenizer_.vocab_size(),
                                                tokenizer_.hash());
    validation_ = std::make_unique<TokenShardWriter>(options_.out / prepared_files::kValidation,
                                                     tokenizer_.vocab_size(), tokenizer_.hash());
    skipped_ = inputs_.skipped;
    skipped_documents_ = json::array();
    for (const InputFile& file : inputs_.files) {
      read_documents(
          file, options_.field, [&](const Document& document) { add(document, threshold); },
          [&](const SkippedDocument& document) { skip(document); });
    }
    report(true);
    if (progress_.documents == 0) refuse_empty();
    if (smallest_ == largest_) {
      throw UserError(fmt::format(
          "{} is too little to hold out a part for validation: at least two different documents "
          "are needed (a file is one document, or a line of a .jsonl file; cut a long text into "
          "several files)",
          progress_.documents == 1 ? "one document" : fmt::format("{} copies of one document", progress_.documents)));
    }
    if (validation_->documents() == 0) {
      threshold = smallest_ + 1;
      return false;
    }
    if (train_->documents() == 0) {
      threshold = largest_;
      return false;
    }
    return true;
  }

  /// Both shards to the disk, beside the old ones.
  PrepareResult finish() {
    PrepareResult result;
    result.train = train_->finish();
    result.validation = validation_->finish();
    result.vocab_size = tokenizer_.vocab_size();
    result.unused_ids = tokenizer_.unused_ids();
    result.tokenizer_hash = tokenizer_.hash();
    result.skipped = skipped_;
    result.seconds = seconds();
    return result;
  }

  /// Both shards in the place of the old ones.
  void commit() {
    train_->commit();
    validation_->commit();
  }

  const json& skipped_documents() const { return skipped_documents_; }

 private:
  void add(const Document& document, std::uint64_t threshold) {
    const std::uint64_t hash = XXH3_64bits_withSeed(document.text.data(), document.text.size(), options_.seed);
    smallest_ = std::min(smallest_, hash);
    largest_ = std::max(largest_, hash);
    const std::uint64_t bytes_before = progress_.bytes_done;
    TokenShardWriter& shard = hash < threshold ? *validation_ : *train_;
    try {
      encoder_.encode(document.text, [&](std::span<const std::int32_t> ids, std::size_t bytes) {
        shard.append(ids);
        progress_.tokens += static_cast<std::int64_t>(ids.size());
        progress_.bytes_done = bytes_before + std::min<std::uint64_t>(bytes, document.file_bytes);
        report(false);
      });
    } catch (const UserError& error) {
      throw UserError(fmt::format("{}: {}", document.place, error.what()));
    }
    shard.end_document();
    ++progress_.documents;
    progress_.bytes_done = bytes_before + document.file_bytes;
  }

  void skip(const SkippedDocument& document) {
    ++skipped_[document.kind];
    if (first_skipped_.empty()) first_skipped_ = fmt::format("'{}' is {}", document.place, document.reason);
    if (document.kind != "empty") {
      skipped_documents_.push_back({{"place", document.place}, {"reason", document.reason}});
    }
    progress_.bytes_done += document.file_bytes;
  }

  [[noreturn]] void refuse_empty() const {
    throw UserError(fmt::format("the corpus is empty: {} input files hold no text that can be used{}{}",
                                inputs_.files.size(), first_skipped_.empty() ? "" : "; ", first_skipped_));
  }

  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  void report(bool always) {
    constexpr double kInterval = 0.2;
    const double now = seconds();
    if (!always && now - progress_.seconds < kInterval) return;
    progress_.seconds = now;
    hooks_.progress(progress_);
  }

  using Clock = std::chrono::steady_clock;

  const PrepareOptions& options_;
  const InputFiles& inputs_;
  const BpeTokenizer& tokenizer_;
  const PrepareHooks& hooks_;
  BpeEncoder encoder_;
  Clock::time_point start_ = Clock::now();
  PrepareProgress progress_;
  std::unique_ptr<TokenShardWriter> train_;
  std::unique_ptr<TokenShardWriter> validation_;
  std::map<std::string, std::int64_t> skipped_;
  json skipped_documents_;
  std::string first_skipped_;
  std::uint64_t smallest_ = UINT64_MAX;
  std::uint64_t largest_ = 0;
};

void write_manifest(const PrepareOptions& options, const json& manifest) {
  write_file(options.out / prepared_files::kManifest,
             manifest.dump(2, ' ', false, json::error_handler_t::replace) + "\n");
}

}  // namespace

PrepareResult prepare(const PrepareOptions& options, const PrepareHooks& hooks) {
  if (!(options.validation_fraction > 0 && options.validation_fraction < 1)) {
    throw UserError(fmt::format("--validation-fraction is {}, allowed are values above 0 and below 1",
                                options.validation_fraction));
  }
  const BpeTokenizer tokenizer = read_tokenizer(options.tokenizer);
  const InputFiles inputs = find_input_files(
      {.paths = options.paths, .globs = options.globs, .excludes = options.excludes, .never = options.out});
  const auto is_json_lines = [](const InputFile& file) { return file.is_json_lines(); };
  if (!options.field.empty() && std::none_of(inputs.files.begin(), inputs.files.end(), is_json_lines)) {
    throw UserError(fmt::format("--field {} is for .jsonl files, but there is none among the {} input files",
                                options.field, inputs.files.size()));
  }
  refuse_run_folder(options.out);
  make_folder(options.out);
  const json settings = settings_of(options, inputs, tokenizer);
  if (const auto data = find_preparation(options, settings, hooks)) {
    return {.already_done = true,
            .vocab_size = data->vocab_size,
            .unused_ids = data->tokenizer->unused_ids(),
            .tokenizer_hash = data->tokenizer_hash,
            .train = summary_of(data->train),
            .validation = summary_of(data->validation),
            .skipped = {},
            .seconds = 0};
  }

  const std::string tokenizer_json = tokenizer_json_of(options.tokenizer);
  auto threshold = static_cast<std::uint64_t>(std::ldexp(options.validation_fraction, 64));
  auto preparation = std::make_unique<Preparation>(options, inputs, tokenizer, hooks);
  if (!preparation->run(threshold)) {
    preparation = std::make_unique<Preparation>(options, inputs, tokenizer, hooks);
    if (!preparation->run(threshold)) {
      throw RunError("the input files changed while they were read");
    }
  }
  for (const json& skipped : preparation->skipped_documents()) {
    hooks.warn(
        fmt::format("skipped '{}': {}", skipped["place"].get<std::string>(), skipped["reason"].get<std::string>()));
  }

  // All that takes space comes first: where it runs out, an earlier preparation is still whole.
  const PrepareResult result = preparation->finish();
  AtomicFile tokenizer_file(options.out / prepared_files::kTokenizer);
  tokenizer_file.write(tokenizer_json);
  tokenizer_file.finish();

  // From here to the last line, a folder that was interrupted says so, and its mixture of old and new files is not
  // used.
  json manifest = {{"complete", false}, {"settings", settings}};
  write_manifest(options, manifest);
  preparation->commit();
  tokenizer_file.commit();
  manifest = {{"complete", true},
              {"settings", settings},
              {"inputs", {{"paths", options.paths}, {"globs", options.globs}, {"excludes", options.excludes}}},
              {"vocab_size", result.vocab_size},
              {"unused_ids", result.unused_ids},
              {"train", to_json(result.train)},
              {"validation", to_json(result.validation)},
              {"skipped", result.skipped},
              {"skipped_documents", preparation->skipped_documents()}};
  write_manifest(options, manifest);
  return result;
}

}  // namespace skipless
