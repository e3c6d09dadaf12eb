#include "data/bert_normalizer.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>
#include <vector>

#include "configs/utf8.h"
#include "data/white_space.h"
#include "data/wordpiece_unicode.h"

namespace skipless {
namespace {

using wordpiece_unicode::CodePoints;
using wordpiece_unicode::LowerCase;

/// The range, of ranges in ascending order, that a code point is in.
template <class Range, std::size_t size>
const Range* find(const Range (&ranges)[size], std::uint32_t c) {
  const auto place = std::lower_bound(std::begin(ranges), std::end(ranges), c,
                                      [](const Range& r, std::uint32_t v) { return r.last < v; });
  return place != std::end(ranges) && place->first <= c ? &*place : nullptr;
}

template <std::size_t size>
bool is_in(const CodePoints (&ranges)[size], std::uint32_t c) {
  return find(ranges, c) != nullptr;
}

utf8proc_category_t category(std::uint32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

bool is_control(std::uint32_t c) {
  const auto of_c = category(c);
  const bool other = of_c == UTF8PROC_CATEGORY_CC || of_c == UTF8PROC_CATEGORY_CF || of_c == UTF8PROC_CATEGORY_CO;
  return other && c != '\t' && c != '\n' && c != '\r' && !is_in(wordpiece_unicode::kNotRemoved, c);
}

bool is_accent(std::uint32_t c) {
  if (category(c) == UTF8PROC_CATEGORY_MN) return !is_in(wordpiece_unicode::kNotMark, c);
  return is_in(wordpiece_unicode::kMark, c);
}

bool is_punctuation(std::uint32_t c) {
  if (c < 0x80) return (c > ' ' && c < '0') || (c > '9' && c < 'A') || (c > 'Z' && c < 'a') || (c > 'z' && c < 0x7F);
  const auto of_c = category(c);
  if (of_c >= UTF8PROC_CATEGORY_PC && of_c <= UTF8PROC_CATEGORY_PO) {
    return !is_in(wordpiece_unicode::kNotPunctuation, c);
  }
  return is_in(wordpiece_unicode::kPunctuation, c);
}

/// The blocks that BERT's own code names.
bool is_ideograph(std::uint32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) || (c >= 0xF900 && c <= 0xFAFF) ||
         (c >= 0x2F800 && c <= 0x2FA1F);
}

/// 0: the character never changes places with its neighbours.
int combining_class(std::uint32_t c) {
  const int of_c = utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class;
  return of_c != 0 && is_in(wordpiece_unicode::kNotReordered, c) ? 0 : of_c;
}

void append_decomposed(std::uint32_t c, std::vector<std::uint32_t>& out) {
  if (c < 0x80 || is_in(wordpiece_unicode::kNotDecomposed, c)) return out.push_back(c);
  utf8proc_int32_t parts[8];
  int ignored = 0;
  const auto count =
      utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts, std::size(parts), UTF8PROC_DECOMPOSE, &ignored);
  for (utf8proc_ssize_t i = 0; i < count; ++i) out.push_back(static_cast<std::uint32_t>(parts[i]));
}

template <class Visit>
void visit_lower(std::uint32_t c, const Visit& visit) {
  if (c < 0x80) return visit(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
  if (c == 0x130) {  // the one letter with two in lower case
    visit('i');
    return visit(0x307u);
  }
  if (const LowerCase* range = find(wordpiece_unicode::kLowerCase, c)) {
    return visit(static_cast<std::uint32_t>(static_cast<std::int32_t>(c) + range->step));
  }
  visit(static_cast<std::uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
}

}  // namespace

BertNormalizer::BertNormalizer(const BertNormalizerConfig& config) : config_(config), kinds_(&shared_kinds()) {}

/// One table for all normalizers of the same settings: it takes some milliseconds.
const BertNormalizer::Kinds& BertNormalizer::shared_kinds() const {
  static std::array<std::once_flag, 16> made;
  static std::array<std::unique_ptr<Kinds>, 16> tables;
  const std::size_t which = (config_.clean_text ? 1u : 0u) + (config_.handle_chinese_chars ? 2u : 0u) +
                            (config_.strips_accents() ? 4u : 0u) + (config_.lowercase ? 8u : 0u);
  std::call_once(made[which], [&] {
    auto table = std::make_unique<Kinds>();
    for (std::uint32_t c = 0; c < kTable; ++c) (*table)[c] = find_kind(c);
    tables[which] = std::move(table);
  });
  return *tables[which];
}

bool BertNormalizer::is_removed(std::uint32_t c) const {
  return config_.clean_text && (c == 0 || c == 0xFFFD || is_control(c));
}

CharacterKind BertNormalizer::find_kind(std::uint32_t code_point) const {
  if (is_removed(code_point)) return CharacterKind::part;
  if (is_white_space(code_point)) return CharacterKind::blank;
  if (config_.handle_chinese_chars && is_ideograph(code_point)) return CharacterKind::alone;
  // What it becomes decides: some characters decompose into punctuation, blanks and accents.
  std::vector<std::uint32_t> parts;
  if (config_.strips_accents()) {
    append_decomposed(code_point, parts);
    std::erase_if(parts, is_accent);
  } else {
    parts.push_back(code_point);
  }
  if (parts.size() != 1) return CharacterKind::part;
  return is_punctuation(parts.front()) ? CharacterKind::alone : CharacterKind::part;
}

bool BertNormalizer::normalize(std::string_view word, std::size_t most, std::string& out) const {
  if (std::any_of(word.begin(), word.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; })) {
    return normalize_any(word, most, out);
  }
  const std::size_t begin = out.size();
  for (const char c : word) {
    if (is_removed(static_cast<unsigned char>(c))) continue;
    if (out.size() - begin == most) {
      out.resize(begin);
      return false;
    }
    out += config_.lowercase && c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  }
  return true;
}

bool BertNormalizer::normalize_any(std::string_view word, std::size_t most, std::string& out) const {
  std::vector<std::uint32_t> parts;
  for (std::size_t at = 0; at < word.size();) {
    const std::uint32_t c = next_code_point(word, at);
    if (is_removed(c)) continue;
    if (config_.strips_accents()) {
      append_decomposed(c, parts);
    } else {
      parts.push_back(c);
    }
  }
  if (config_.strips_accents()) {
    // The canonical order of Unicode: runs of combining marks by their class, then the accents go.
    for (auto run = parts.begin(); run != parts.end();) {
      const auto first = std::find_if(run, parts.end(), [](std::uint32_t c) { return combining_class(c) != 0; });
      run = std::find_if(first, parts.end(), [](std::uint32_t c) { return combining_class(c) == 0; });
      std::stable_sort(first, run,
                       [](std::uint32_t a, std::uint32_t b) { return combining_class(a) < combining_class(b); });
    }
    std::erase_if(parts, is_accent);
  }
  const std::size_t begin = out.size();
  std::size_t count = 0;
  const auto append = [&](std::uint32_t c) {
    if (++count <= most) append_utf8(c, out);
  };
  for (const std::uint32_t c : parts) {
    if (config_.lowercase) {
      visit_lower(c, append);
    } else {
      append(c);
    }
    if (count <= most) continue;
    out.resize(begin);
    return false;
  }
  return true;
}

}  // namespace skipless
