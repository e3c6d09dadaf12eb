#include "data/text_units.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cassert>
#include <memory>
#include <span>
#include <utility>

#include "configs/error.h"
#include "configs/utf8.h"

namespace skipless {
namespace {

constexpr std::size_t kUnit = 1 << 18;       // text of a unit, where a document does not need more
constexpr std::size_t kWholeText = 1 << 20;  // longer texts are read in parts
constexpr std::size_t kMostUncut = 1 << 22;
constexpr std::size_t kFirstStep = 1 << 14;
constexpr std::size_t kBinaryProbe = 8192;
constexpr std::size_t kLongestCharacter = 4;

/// Cannot be met but while a long text is examined, or when its file changes behind that.
class NoPlaceToCut : public UserError {
 public:
  using UserError::UserError;
};

void require_unchanged(const InputFile& file) {
  if (!is_unchanged(file)) throw UserError(fmt::format("'{}' changed while it was read", file.path));
}

SkippedDocument not_utf8(const InputFile& file, std::string_view beginning, char byte, std::uint64_t offset) {
  const bool utf16 = beginning.starts_with("\xFF\xFE") || beginning.starts_with("\xFE\xFF");
  return {.place = file.path,
          .kind = "not UTF-8",
          .reason = fmt::format("not UTF-8: byte 0x{:02X} at offset {}{}", static_cast<std::uint8_t>(byte), offset,
                                utf16 ? " (it begins with the byte order mark of UTF-16)" : "")};
}

std::optional<SkippedDocument> binary(const InputFile& file, std::string_view beginning) {
  const std::size_t nul = beginning.substr(0, kBinaryProbe).find('\0');
  if (nul == std::string_view::npos || file.named) return std::nullopt;
  return SkippedDocument{
      .place = file.path, .kind = "binary", .reason = fmt::format("binary: NUL byte at offset {}", nul)};
}

struct FreeState {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

}  // namespace

std::optional<SkippedDocument> fault_of_text(const InputFile& file, std::string_view text) {
  if (text.empty()) return SkippedDocument{.place = file.path, .kind = kEmptyDocument, .reason = "empty"};
  if (auto fault = binary(file, text)) return fault;
  if (const auto invalid = find_invalid_utf8(text)) return not_utf8(file, text, text[*invalid], *invalid);
  return std::nullopt;
}

TextUnitReader::TextUnitReader(const std::vector<InputFile>& files, std::string field, std::uint64_t seed,
                               std::shared_ptr<TextCutter> cutter, InputPosition from)
    : files_(files), field_(std::move(field)), seed_(seed), at_(from), cutter_(std::move(cutter)) {}

std::optional<TextUnit> TextUnitReader::next() {
  while (at_.file < files_.size()) {
    if (source_ == nullptr) open();
    if (!files_[at_.file].is_json_lines()) return next_text();
    if (fill(kUnit) || !buffer_.empty()) return next_lines();
    close_file();
  }
  return std::nullopt;
}

void TextUnitReader::open() {
  const InputFile& file = files_[at_.file];
  if (file.is_json_lines() && field_.empty()) {
    throw UserError(
        fmt::format("'{}' is a .jsonl file: name the field that holds the text with --field NAME", file.path));
  }
  require_unchanged(file);
  source_ = open_bytes(file.path);
  if (at_.offset > 0 && !source_->skip(at_.offset)) {
    throw UserError(fmt::format("'{}' changed: it ends before byte {} of its text", file.path, at_.offset));
  }
  reported_ = source_->file_bytes();
  buffer_.clear();
  at_end_ = false;
}

void TextUnitReader::close_file() {
  require_unchanged(files_[at_.file]);
  source_.reset();
  at_ = {.file = at_.file + 1, .offset = 0, .line = 0, .document_hash = {}};
}

/// Reads on until there are `bytes` of text; false when there are not as many.
bool TextUnitReader::fill(std::size_t bytes) {
  // In steps, so that a small file costs no more than it holds.
  while (buffer_.size() < bytes && !at_end_) {
    const std::size_t had = buffer_.size();
    const std::size_t wanted = std::min(bytes, std::max(2 * had, kFirstStep));
    buffer_.resize(wanted);
    std::size_t got = 0;
    try {
      got = source_->read(std::span(buffer_).subspan(had));
    } catch (const UserError& error) {
      if (!files_[at_.file].is_json_lines()) throw;
      const auto lines = at_.line + static_cast<std::uint64_t>(std::count(buffer_.begin(), buffer_.end(), '\n'));
      throw UserError(fmt::format("{} (behind line {})", error.what(), lines));
    }
    buffer_.resize(had + got);
    at_end_ = had + got < wanted;
  }
  return buffer_.size() >= bytes;
}

TextUnit TextUnitReader::take(TextUnit::Kind kind, std::size_t bytes) {
  TextUnit unit;
  unit.kind = kind;
  unit.file = &files_[at_.file];
  unit.begin = at_;
  if (bytes == buffer_.size() && buffer_.capacity() <= 2 * bytes) {
    unit.text = std::exchange(buffer_, {});
  } else {  // a unit on its way takes no more than what it counts for
    unit.text = buffer_.substr(0, bytes);
    buffer_.erase(0, bytes);
  }
  at_.offset += bytes;
  const std::uint64_t now = source_->file_bytes();
  unit.file_bytes = now - std::exchange(reported_, now);
  return unit;
}

TextUnit TextUnitReader::next_lines() {
  std::size_t end = buffer_.rfind('\n');
  while (end == std::string::npos && !at_end_) {
    if (buffer_.size() > kLongestLine) return skip_long_line();
    const std::size_t had = buffer_.size();
    fill(std::min(4 * had, kLongestLine + 1));
    end = buffer_.find('\n', had);
  }
  const bool all = at_end_ && (end == std::string::npos || buffer_.size() <= kUnit);
  TextUnit unit = take(TextUnit::Kind::lines, all ? buffer_.size() : end + 1);
  at_.line += static_cast<std::uint64_t>(std::count(unit.text.begin(), unit.text.end(), '\n'));
  unit.end = at_;
  return unit;
}

TextUnit TextUnitReader::skip_long_line() {
  TextUnit unit = take(TextUnit::Kind::skipped, buffer_.size());
  std::uint64_t length = std::exchange(unit.text, {}).size();
  bool ended = false;
  while (!ended && (fill(kUnit) || !buffer_.empty())) {
    const std::size_t end = buffer_.find('\n');
    ended = end != std::string::npos;
    const std::size_t bytes = ended ? end + 1 : buffer_.size();
    length += ended ? end : bytes;
    unit.file_bytes += take(TextUnit::Kind::skipped, bytes).file_bytes;
  }
  ++at_.line;
  unit.end = at_;
  unit.skipped = {.place = fmt::format("{}:{}", unit.file->path, at_.line),
                  .kind = "line too long",
                  .reason = fmt::format("a line of {} bytes; allowed are {}", length, kLongestLine)};
  return unit;
}

TextUnit TextUnitReader::next_text() {
  if (at_.document_hash) return next_part();
  fill(kWholeText + 1);
  if (!at_end_) {
    auto fault = examine_long_text();
    if (!fault) return next_part();
    TextUnit unit = take(TextUnit::Kind::skipped, buffer_.size());
    unit.text.clear();
    unit.file_bytes += unit.file->size - std::min(reported_, unit.file->size);
    unit.skipped = std::move(*fault);
    close_file();
    unit.end = at_;
    return unit;
  }
  TextUnit unit = take(TextUnit::Kind::whole_text, buffer_.size());
  close_file();
  unit.end = at_;
  return unit;
}

/// Reads a long text once through, for its hash, which decides where it goes, and for what is wrong with it.
std::optional<SkippedDocument> TextUnitReader::examine_long_text() {
  const InputFile& file = files_[at_.file];
  if (auto fault = binary(file, buffer_)) return fault;
  const auto source = open_bytes(file.path);
  const std::unique_ptr<XXH3_state_t, FreeState> hash(XXH3_createState());
  XXH3_64bits_reset_withSeed(hash.get(), seed_);
  std::string block(kUnit, '\0');
  std::size_t kept = 0;      // bytes of a character that the last block cut, at the start of this one
  std::uint64_t offset = 0;  // of the block
  bool cut_missing = false;  // in one of the blocks
  for (bool more = true; more;) {
    const std::size_t got = source->read(std::span(block).subspan(kept));
    more = kept + got == block.size();
    XXH3_64bits_update(hash.get(), block.data() + kept, got);
    const std::string_view text = std::string_view(block).substr(0, kept + got);
    const auto invalid = find_invalid_utf8(text);
    if (invalid && (!more || text.size() - *invalid >= kLongestCharacter)) {
      return not_utf8(file, buffer_, text[*invalid], offset + *invalid);
    }
    kept = invalid ? text.size() - *invalid : 0;
    // A part or piece that is too long reaches over several blocks.
    cut_missing = cut_missing || (more && cutter_->last_safe_cut(text.substr(0, text.size() - kept)) == 0);
    offset += text.size() - kept;
    std::copy_n(block.begin() + static_cast<std::ptrdiff_t>(text.size() - kept), kept, block.begin());
  }
  if (cut_missing) {
    if (auto fault = fault_of_parts()) return fault;
  }
  at_.document_hash = XXH3_64bits_digest(hash.get());
  return std::nullopt;
}

/// Reads the parts of a long text ahead of time, for one that cannot be encoded: nothing of it is to be written then.
std::optional<SkippedDocument> TextUnitReader::fault_of_parts() const {
  const std::vector<InputFile> file = {files_[at_.file]};
  const auto skipped = [&](std::string reason) {
    return SkippedDocument{.place = file.front().path, .kind = kLongWord, .reason = std::move(reason)};
  };
  TextUnitReader parts(file, {}, seed_, cutter_, {.file = 0, .offset = 0, .line = 0, .document_hash = 0});
  try {
    while (const auto part = parts.next()) {
      if (auto fault = cutter_->fault_of(part->text, part->begin.offset)) return skipped(std::move(*fault));
    }
  } catch (const NoPlaceToCut& error) {
    return skipped(error.what());
  }
  return std::nullopt;
}

TextUnit TextUnitReader::next_part() {
  std::size_t bytes = kUnit;
  std::size_t cut = 0;
  while (cut == 0 && fill(bytes + kLongestCharacter)) {
    std::size_t end = bytes;  // not inside a character
    while (end > 0 && (static_cast<unsigned char>(buffer_[end]) & 0xC0) == 0x80) --end;
    cut = cutter_->last_safe_cut(std::string_view(buffer_).substr(0, end));
    if (cut > 0) break;
    if (bytes >= kMostUncut) {
      throw NoPlaceToCut(
          fmt::format("a text of which {} bytes from byte {} on have no place to cut it, an end of a word or number",
                      bytes, at_.offset));
    }
    bytes *= 2;
  }
  const std::uint64_t hash = *at_.document_hash;
  const bool last = cut == 0;
  TextUnit unit = take(TextUnit::Kind::part, last ? buffer_.size() : cut);
  unit.document_hash = hash;
  unit.ends_document = last;
  if (last) close_file();
  unit.end = at_;
  return unit;
}

}  // namespace skipless
