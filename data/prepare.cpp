#include "data/prepare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "configs/atomic_file.h"
#include "configs/error.h"
#include "data/input_files.h"
#include "data/mapped_file.h"
#include "data/preparation.h"
#include "data/prepare_journal.h"
#include "data/prepared_data.h"
#include "data/strict_json.h"
#include "data/tokenizer_file.h"

namespace skipless {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr char kFilesFingerprint[] = "files_fingerprint";

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
json settings_of(const PrepareOptions& options, const InputFiles& inputs, const Tokenizer& tokenizer) {
  return {{"tokenizer", tokenizer.hash()},
          {"field", options.field},
          {"validation_fraction", options.validation_fraction},
          {"seed", options.seed},
          {"files", inputs.files.size()},
          {"bytes", inputs.bytes},
          {kFilesFingerprint, fingerprint(inputs)}};
}

std::vector<std::string> differences(const json& old_settings, const json& new_settings) {
  std::vector<std::string> texts;
  for (const auto& item : new_settings.items()) {
    const json old_value = old_settings.is_object() ? old_settings.value(item.key(), json()) : json();
    if (old_value == item.value()) continue;
    if (item.key() == kFilesFingerprint) {
      texts.push_back("files_fingerprint: an input file has another path, size or time of change than there");
    } else {
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

/// An interrupted preparation of other settings is not thrown away by mistake.
void refuse_other_journal(const PrepareOptions& options, const json& settings) {
  if (options.force) return;
  std::optional<PrepareJournal> journal;
  try {
    journal = read_journal(options.out);
  } catch (const UserError&) {
    return;  // damaged: of no use to anyone
  }
  if (!journal) return;
  const std::vector<std::string> different = differences(journal->settings, settings);
  if (different.empty()) return;
  throw UserError(
      fmt::format("'{}' holds an interrupted preparation of {} documents with other settings or inputs ({}). Run it "
                  "with those to go "
                  "on, or with --force to begin anew",
                  options.out.string(), journal->count.documents, fmt::join(different, "; ")));
}

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
  const auto tokenizer = read_tokenizer(options.tokenizer);
  const InputFiles inputs = find_input_files(
      {.paths = options.paths, .globs = options.globs, .excludes = options.excludes, .never = options.out});
  const auto is_json_lines = [](const InputFile& file) { return file.is_json_lines(); };
  if (!options.field.empty() && std::none_of(inputs.files.begin(), inputs.files.end(), is_json_lines)) {
    throw UserError(fmt::format("--field {} is for .jsonl files, but there is none among the {} input files",
                                options.field, inputs.files.size()));
  }
  refuse_run_folder(options.out);
  make_folder(options.out);
  const json settings = settings_of(options, inputs, *tokenizer);
  if (const auto data = find_preparation(options, settings, hooks)) {
    remove_journal(options.out);  // of a run that was killed at its very end
    return {.already_done = true,
            .vocab_size = data->vocab_size,
            .unused_ids = data->tokenizer->unused_ids(),
            .tokenizer_hash = data->tokenizer_hash,
            .tokenizer_kind = std::string(data->tokenizer->kind()),
            .train = summary_of(data->train),
            .validation = summary_of(data->validation),
            .skipped = {},
            .seconds = 0};
  }

  refuse_other_journal(options, settings);

  const std::string tokenizer_json = tokenizer_json_of(options.tokenizer);
  Preparation preparation(options, settings, inputs, *tokenizer, hooks);
  preparation.run();
  const CorpusCount& count = preparation.count();
  for (const SkippedDocument& skipped : count.listed) {
    hooks.warn(fmt::format("skipped '{}': {}", skipped.place, skipped.reason));
  }

  // All that takes space comes first: where it runs out, an earlier preparation is still whole.
  const PrepareResult result = preparation.finish();
  AtomicFile tokenizer_file(options.out / prepared_files::kTokenizer);
  tokenizer_file.write(tokenizer_json);
  tokenizer_file.finish();

  // From here to the last line, a folder that was interrupted says so, and its mixture of old and new files is not
  // used.
  json manifest = {{"complete", false}, {"settings", settings}};
  write_manifest(options, manifest);
  preparation.commit();
  tokenizer_file.commit();
  manifest = {{"complete", true},
              {"settings", settings},
              {"inputs", {{"paths", options.paths}, {"globs", options.globs}, {"excludes", options.excludes}}},
              {"vocab_size", result.vocab_size},
              {"unused_ids", result.unused_ids},
              {"train", to_json(result.train)},
              {"validation", to_json(result.validation)},
              {"skipped", result.skipped},
              {"skipped_documents", json::array()}};
  for (const SkippedDocument& skipped : count.listed) {
    manifest["skipped_documents"].push_back({{"place", skipped.place}, {"reason", skipped.reason}});
  }
  write_manifest(options, manifest);
  remove_journal(options.out);
  return result;
}

}  // namespace skipless
