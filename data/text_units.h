// Input files as units of work of bounded size: several lines of a .jsonl file, a whole text file, a part of a long
// one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/byte_source.h"
#include "data/input_files.h"
#include "data/tokenizer.h"

namespace skipless {

inline constexpr char kEmptyDocument[] = "empty";
inline constexpr char kLongWord[] = "word too long";

/// What was left out, with the reason's kind (for counting) and its wording.
struct SkippedDocument {
  std::string place;  // "file" or "file:line"
  std::string kind;   // kEmptyDocument, "binary", "not UTF-8", "line too long", kLongWord
  std::string reason;
};

/// Where in the input files something stands.
struct InputPosition {
  std::size_t file = 0;
  std::uint64_t offset = 0;  // bytes of its text (decompressed) before it
  std::uint64_t line = 0;    // .jsonl: lines before it
  /// Set inside a long text: the hash of all of it.
  std::optional<std::uint64_t> document_hash;
};

struct TextUnit {
  enum class Kind { lines, whole_text, part, skipped };
  Kind kind = Kind::whole_text;
  const InputFile* file = nullptr;
  std::string text;                 // part: cut where a TextCutter allows it, valid UTF-8
  InputPosition begin;              // line: the number of lines before the first one
  InputPosition end;                // where the next unit begins
  std::uint64_t document_hash = 0;  // part: of the whole document
  bool ends_document = true;        // part
  std::uint64_t file_bytes = 0;     // how much of the input files it takes
  SkippedDocument skipped;          // skipped
};

/// Why the text of a file, whole, is no document, if so: empty, binary, not UTF-8.
std::optional<SkippedDocument> fault_of_text(const InputFile& file, std::string_view text);

/// Reads the units of files one after another; memory does not grow with a file, a document or what a compressed file
/// holds. A line of a .jsonl file beyond kLongestLine is skipped.
class TextUnitReader {
 public:
  static constexpr std::size_t kLongestLine = std::size_t{16} << 20;

  /// `field`: of .jsonl files. `seed`: of the hash (XXH3, 64 bits) of documents. `cutter`: of long texts. `from`: the
  /// `end` of an earlier unit.
  TextUnitReader(const std::vector<InputFile>& files, std::string field, std::uint64_t seed,
                 std::shared_ptr<TextCutter> cutter, InputPosition from = {});

  /// The next unit; nothing at the end. UserError for a file that cannot be read or changed since it was found, for a
  /// compressed one that is truncated or corrupt. A long text with no place to cut it in 4 MiB, or that cannot be
  /// encoded (TextCutter::fault_of), is skipped.
  std::optional<TextUnit> next();

 private:
  void open();
  void close_file();
  bool fill(std::size_t bytes);
  TextUnit take(TextUnit::Kind kind, std::size_t bytes);
  TextUnit next_lines();
  TextUnit skip_long_line();
  TextUnit next_text();
  TextUnit next_part();
  std::optional<SkippedDocument> examine_long_text();
  std::optional<SkippedDocument> fault_of_parts() const;

  const std::vector<InputFile>& files_;
  std::string field_;
  std::uint64_t seed_;
  InputPosition at_;
  std::unique_ptr<ByteSource> source_;
  std::string buffer_;          // text from at_.offset on
  bool at_end_ = false;         // the source has no more than buffer_
  std::uint64_t reported_ = 0;  // file bytes of the units so far, of this file
  std::shared_ptr<TextCutter> cutter_;
};

}  // namespace skipless
