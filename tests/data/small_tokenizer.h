// A tokenizer of 256 bytes, a special token and a few merges, and the numbers of a small generator.
#pragma once

#include <cstdint>
#include <string>

#include "data/bpe_tokenizer.h"
#include "data/byte_alphabet.h"

namespace skipless::test {

/// Ids: byte b is b, "<|endoftext|>" 256, then the merges in order: "ab" 257, "abc" 258, "aa" 259, " a" 260, "aaaa"
/// 261.
inline BpeContent small_content() {
  BpeContent content;
  content.source = "small";
  for (int byte = 0; byte < 256; ++byte) {
    content.vocab.emplace_back(alphabet_character(static_cast<std::uint8_t>(byte)), byte);
  }
  content.vocab.emplace_back("<|endoftext|>", 256);
  const std::string blank = alphabet_character(' ');
  content.merges = {{"a", "b"}, {"ab", "c"}, {"a", "a"}, {blank, "a"}, {"aa", "aa"}};
  std::int64_t id = 257;
  for (const auto& [left, right] : content.merges) content.vocab.emplace_back(left + right, id++);
  content.specials = {{"<|endoftext|>", 256}};
  return content;
}

inline BpeTokenizer small_tokenizer() {
  return BpeTokenizer(small_content());
}

/// SplitMix64: the same numbers on every machine.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t value = (state_ += 0x9E3779B97F4A7C15u);
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
    return value ^ (value >> 31);
  }
  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(next() % limit); }

 private:
  std::uint64_t state_;
};

}  // namespace skipless::test
