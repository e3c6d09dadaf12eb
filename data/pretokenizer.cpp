#include "data/pretokenizer.h"

#include <fmt/format.h>

#include <string>

#include "configs/error.h"
#include "data/unicode_additions.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace skipless {
namespace {

std::string pattern_text() {
  // ASCII is named beside the properties because a class tests its bitmap first, without a table of properties.
  const std::string blank = R"(\t-\r \x{85}\p{Z})";
  const std::string letter = std::string(R"(A-Za-z\p{L})") + kLetterAdditions;
  const std::string number = std::string(R"(0-9\p{N})") + kNumberAdditions;
  return fmt::format("'s|'t|'re|'ve|'m|'ll|'d| ?[{1}]+| ?[{2}]+| ?[^{0}{1}{2}]+|[{0}]+(?![^{0}])|[{0}]+", blank, letter,
                     number);
}

std::string reason_of(int error) {
  PCRE2_UCHAR buffer[256] = {};
  pcre2_get_error_message(error, buffer, sizeof(buffer));
  return reinterpret_cast<const char*>(buffer);
}

}  // namespace

struct PreTokenizer::Code {
  pcre2_code* code = nullptr;
  ~Code() { pcre2_code_free(code); }
};

struct PieceReader::Match {
  pcre2_match_data* data = nullptr;
  ~Match() { pcre2_match_data_free(data); }
};

PreTokenizer::PreTokenizer() : code_(std::make_unique<Code>()) {
  const std::string pattern = pattern_text();
  int error = 0;
  PCRE2_SIZE offset = 0;
  code_->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                              PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED, &error, &offset, nullptr);
  if (code_->code == nullptr) {
    throw RunError(fmt::format("PCRE2 refuses the pre-tokenizer's pattern at {}: {}", offset, reason_of(error)));
  }
  // Where no code can be generated (a hardened kernel), PCRE2 interprets the pattern: slower, with the same pieces.
  pcre2_jit_compile(code_->code, PCRE2_JIT_COMPLETE);
}

PreTokenizer::~PreTokenizer() = default;
PreTokenizer::PreTokenizer(PreTokenizer&&) noexcept = default;

PieceReader::PieceReader(const PreTokenizer& pattern) : pattern_(pattern), match_(std::make_unique<Match>()) {
  match_->data = pcre2_match_data_create_from_pattern(pattern.code_->code, nullptr);
  if (match_->data == nullptr) throw std::bad_alloc();
}

PieceReader::~PieceReader() = default;

void PieceReader::start(std::string_view text) {
  text_ = text;
  at_ = 0;
}

bool PieceReader::next(std::string_view& piece) {
  if (at_ >= text_.size()) return false;
  // Every character is a blank, a letter, a number or another one, so that there is always a match.
  const int found = pcre2_match(pattern_.code_->code, reinterpret_cast<PCRE2_SPTR>(text_.data()), text_.size(), at_,
                                PCRE2_NO_UTF_CHECK, match_->data, nullptr);
  if (found <= 0) throw RunError(fmt::format("PCRE2 failed at byte {} of a text: {}", at_, reason_of(found)));
  const PCRE2_SIZE end = pcre2_get_ovector_pointer(match_->data)[1];
  piece = text_.substr(at_, end - at_);
  at_ = end;
  return true;
}

}  // namespace skipless
