#include "data/prepare_journal.h"

#include <fmt/format.h>

#include "configs/atomic_file.h"
#include "configs/error.h"
#include "data/mapped_file.h"
#include "data/strict_json.h"

namespace skipless {
namespace {

using nlohmann::json;

constexpr char kName[] = "prepare.progress";

json to_json(const TokenShardWriter::Saved& saved) {
  return {{"tokens", saved.tokens},
          {"documents", saved.documents},
          {"tokens_checksum", saved.tokens_checksum},
          {"table_checksum", saved.table_checksum}};
}

TokenShardWriter::Saved saved_of(const json& value) {
  return {.tokens = value.at("tokens"),
          .documents = value.at("documents"),
          .tokens_checksum = value.at("tokens_checksum"),
          .table_checksum = value.at("table_checksum")};
}

json to_json(const InputPosition& position) {
  return {{"file", position.file},
          {"offset", position.offset},
          {"line", position.line},
          {"document_hash", position.document_hash ? json(*position.document_hash) : json()}};
}

InputPosition position_of(const json& value) {
  InputPosition position{
      .file = value.at("file"), .offset = value.at("offset"), .line = value.at("line"), .document_hash = {}};
  if (!value.at("document_hash").is_null()) position.document_hash = value.at("document_hash").get<std::uint64_t>();
  return position;
}

json to_json(const CorpusCount& count) {
  json listed = json::array();
  for (const SkippedDocument& skipped : count.listed) {
    listed.push_back({{"place", skipped.place}, {"kind", skipped.kind}, {"reason", skipped.reason}});
  }
  return {{"documents", count.documents},        {"bytes", count.bytes},     {"smallest_hash", count.smallest_hash},
          {"largest_hash", count.largest_hash},  {"skipped", count.skipped}, {"listed", listed},
          {"first_skipped", count.first_skipped}};
}

CorpusCount count_of(const json& value) {
  CorpusCount count{.documents = value.at("documents"),
                    .bytes = value.at("bytes"),
                    .smallest_hash = value.at("smallest_hash"),
                    .largest_hash = value.at("largest_hash"),
                    .skipped = value.at("skipped"),
                    .listed = {},
                    .first_skipped = value.at("first_skipped")};
  for (const json& skipped : value.at("listed")) {
    count.listed.push_back({.place = skipped.at("place"), .kind = skipped.at("kind"), .reason = skipped.at("reason")});
  }
  return count;
}

}  // namespace

std::optional<PrepareJournal> read_journal(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / kName;
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return std::nullopt;
  const json value = parse_strict_json(MappedFile(file).text(), file.string());
  try {
    return PrepareJournal{.settings = value.at("settings"),
                          .threshold = value.at("threshold"),
                          .position = position_of(value.at("position")),
                          .count = count_of(value.at("count")),
                          .train = saved_of(value.at("train")),
                          .validation = saved_of(value.at("validation"))};
  } catch (const json::exception& error) {
    throw UserError(fmt::format("'{}' is damaged: {}", file.string(), error.what()));
  }
}

void write_journal(const std::filesystem::path& folder, const PrepareJournal& journal) {
  const json value = {{"settings", journal.settings},          {"threshold", journal.threshold},
                      {"position", to_json(journal.position)}, {"count", to_json(journal.count)},
                      {"train", to_json(journal.train)},       {"validation", to_json(journal.validation)}};
  write_file(folder / kName, value.dump(1, ' ', false, json::error_handler_t::replace) + "\n");
}

void remove_journal(const std::filesystem::path& folder) {
  std::error_code ignored;
  if (std::filesystem::remove(folder / kName, ignored)) sync_folder(folder);
}

}  // namespace skipless
