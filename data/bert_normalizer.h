// How BERT reads text before its vocabulary is asked: which characters separate words, which are words of their own,
// and what becomes of the others (clean-up, accents, lower case).
//
// Equal, code point for code point, to BertNormalizer and BertPreTokenizer of the Hugging Face `tokenizers` package
// (0.23). The tables are utf8proc's; where the package carries another version of Unicode, wordpiece_unicode.h says so.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace skipless {

struct BertNormalizerConfig {
  bool clean_text = true;             // control characters are removed, all white space is a blank
  bool handle_chinese_chars = true;   // CJK ideographs are words of their own
  std::optional<bool> strip_accents;  // decomposed, nonspacing marks removed; empty: as `lowercase`
  bool lowercase = true;              // code point by code point, as Unicode's default without its final sigma

  bool strips_accents() const { return strip_accents.value_or(lowercase); }
};

/// What a character does to the words of a text.
enum class CharacterKind : std::uint8_t {
  part,   // stands in a word, or is removed
  blank,  // ends a word
  alone,  // ends a word and is one
};

/// Immutable: any number of threads may share one.
class BertNormalizer {
 public:
  explicit BertNormalizer(const BertNormalizerConfig& config);

  const BertNormalizerConfig& config() const { return config_; }

  CharacterKind kind(std::uint32_t code_point) const {
    return code_point < kTable ? (*kinds_)[code_point] : find_kind(code_point);
  }

  /// Appends to `out` what becomes of a word: characters that are `part`, or one that is `alone`, valid UTF-8. False,
  /// with nothing appended, where it is more than `most` code points.
  bool normalize(std::string_view word, std::size_t most, std::string& out) const;

 private:
  static constexpr std::uint32_t kTable = 0x10000;
  using Kinds = std::array<CharacterKind, kTable>;

  const Kinds& shared_kinds() const;
  CharacterKind find_kind(std::uint32_t code_point) const;
  bool is_removed(std::uint32_t code_point) const;
  bool normalize_any(std::string_view word, std::size_t most, std::string& out) const;

  BertNormalizerConfig config_;
  const Kinds* kinds_;  // of the code points that texts are made of, looked up once
};

}  // namespace skipless
