// The bytes of generated tokens as text that can be shown: whole characters, ended by a stop text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace skipless {

/// Tokens of a byte-level tokenizer may end within a character, and a stop text may be spread over several tokens. Both
/// are held back until it is clear what they are, so that all that push() and finish() return is valid UTF-8 and holds
/// no stop text. Bytes that cannot become a character are U+FFFD, one for each beginning of a character, or stray byte.
class TextStream {
 public:
  /// `stops`: none of them empty.
  explicit TextStream(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  /// What can be shown now. Nothing any more once stopped().
  std::string push(std::string_view bytes);
  /// A stop text was met: it and what follows it is not shown.
  bool stopped() const { return stopped_; }
  /// What is left at the end.
  std::string finish();

 private:
  std::string take_characters(std::string_view bytes, bool at_end);

  std::vector<std::string> stops_;
  bool stopped_ = false;
  std::string maybe_stop_;       // may be the beginning of a stop text
  std::string maybe_character_;  // is the beginning of a character
};

}  // namespace skipless
