// Cuts text into the pieces within which byte-level BPE merges: words with their leading blank, numbers, runs of other
// characters, runs of blanks, English contractions. The pattern is GPT-2's, run by PCRE2.
//
// Cuts where the Hugging Face `tokenizers` package (0.23) cuts, for every code point: "blank" is Unicode's White_Space
// (PCRE2's own \s also takes U+180E), and letters and numbers are those of Unicode 16 (unicode_additions.h).
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

namespace skipless {

/// The compiled pattern. Immutable: any number of PieceReaders, in any threads, may share one.
class PreTokenizer {
 public:
  PreTokenizer();
  ~PreTokenizer();
  PreTokenizer(PreTokenizer&&) noexcept;

 private:
  friend class PieceReader;
  struct Code;
  std::unique_ptr<Code> code_;
};

/// Hands out the pieces of one text after another. For one thread at a time.
class PieceReader {
 public:
  explicit PieceReader(const PreTokenizer& pattern);
  ~PieceReader();
  PieceReader(const PieceReader&) = delete;
  PieceReader& operator=(const PieceReader&) = delete;

  /// Starts a text, which must be valid UTF-8 and outlive the reading.
  void start(std::string_view text);
  /// The next piece; false at the end. The pieces joined are the text.
  bool next(std::string_view& piece);

 private:
  struct Match;
  const PreTokenizer& pattern_;
  std::unique_ptr<Match> match_;
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace skipless
