#include "data/unit_encoder.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <span>
#include <string_view>
#include <utility>

#include "configs/error.h"
#include "data/document_reader.h"

namespace skipless {
namespace {

constexpr std::size_t kBlock = 1 << 16;  // ids

}  // namespace

UnitEncoder::UnitEncoder(const Tokenizer& tokenizer, std::string field, std::uint64_t seed, std::size_t cache_bytes)
    : encoder_(tokenizer.make_encoder(cache_bytes)),
      cutter_(tokenizer.make_cutter()),
      field_(std::move(field)),
      seed_(seed) {}

EncodedUnit UnitEncoder::encode(const TextUnit& unit) {
  EncodedUnit out;
  out.end = unit.end;
  out.file_bytes = unit.file_bytes;
  if (unit.kind == TextUnit::Kind::part) {
    const std::int64_t tokens = append(unit.text, unit.file->path, unit.begin.offset, out);
    out.pieces.push_back({.document_hash = unit.document_hash, .tokens = tokens, .ends_document = unit.ends_document});
    return out;
  }
  visit_documents(
      unit, field_,
      [&](const Document& document) {
        if (auto fault = cutter_->fault_of(document.text, 0)) {
          out.skipped.push_back({.place = document.place, .kind = kLongWord, .reason = std::move(*fault)});
          return;
        }
        const std::uint64_t hash = XXH3_64bits_withSeed(document.text.data(), document.text.size(), seed_);
        out.pieces.push_back({.document_hash = hash, .tokens = append(document.text, document.place, 0, out)});
      },
      [&](const SkippedDocument& document) {
        if (document.kind != kEmptyDocument) return out.skipped.push_back(document);
        if (++out.empty == 1) out.first_empty = document.place;
      });
  return out;
}

/// Appends the ids of a text that begins at byte `offset` of its document; returns how many they are.
std::int64_t UnitEncoder::append(std::string_view text, const std::string& place, std::uint64_t offset,
                                 EncodedUnit& out) {
  std::int64_t tokens = 0;
  try {
    encoder_->encode(text, [&](std::span<const std::int32_t> ids, std::size_t) {
      tokens += static_cast<std::int64_t>(ids.size());
      if (out.ids.empty() || out.ids.back().size() + ids.size() > kBlock) out.ids.emplace_back();
      out.ids.back().insert(out.ids.back().end(), ids.begin(), ids.end());
    });
  } catch (const UserError& error) {
    throw UserError(offset == 0 ? fmt::format("{}: {}", place, error.what())
                                : fmt::format("{}, part from byte {} on: {}", place, offset, error.what()));
  }
  return tokens;
}

}  // namespace skipless
