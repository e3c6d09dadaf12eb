// The hash of a tokenizer, by which data and models say which one they were made with.
#pragma once

#include <fmt/format.h>
#include <xxhash.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace skipless {

/// Feeds numbers and texts to a hash in a form in which no two lists of values look alike.
class TokenizerHasher {
 public:
  TokenizerHasher() : state_(XXH3_createState()) { XXH3_128bits_reset(state_); }
  ~TokenizerHasher() { XXH3_freeState(state_); }
  TokenizerHasher(const TokenizerHasher&) = delete;
  TokenizerHasher& operator=(const TokenizerHasher&) = delete;

  void add(std::uint64_t value) {
    unsigned char bytes[8];
    for (int i = 0; i < 8; ++i) bytes[i] = static_cast<unsigned char>(value >> (8 * i));
    XXH3_128bits_update(state_, bytes, sizeof(bytes));
  }
  void add(std::string_view text) {
    add(text.size());
    XXH3_128bits_update(state_, text.data(), text.size());
  }
  std::string hex() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(state_);
    return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
  }

 private:
  XXH3_state_t* state_;
};

}  // namespace skipless
