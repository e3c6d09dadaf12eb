// The bytes of a token shard, little-endian:
//
//   header    128 bytes (below)
//   tokens    `tokens` ids of `token_bytes` bytes, then zeros up to a multiple of 8 bytes
//   documents `documents` + 1 offsets of 8 bytes, in tokens: document i is [offset[i], offset[i + 1])
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace skipless::token_shard_format {

static_assert(std::endian::native == std::endian::little, "shards are written as they stand in memory");

inline constexpr char kMagic[8] = {'s', 'k', 'i', 'p', 'l', 'e', 's', 's'};
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::uint64_t kNarrowVocab = 65536;  // the largest vocabulary whose ids fit 16 bits
inline constexpr std::size_t kHashDigits = 32;

struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t token_bytes;  // 2 or 4
  std::uint64_t vocab_size;
  std::uint64_t tokens;
  std::uint64_t documents;
  char tokenizer_hash[kHashDigits];  // hexadecimal digits
  std::uint64_t payload_checksum;    // XXH3, 64 bits, of everything behind the header
  char reserved[40];
  std::uint64_t header_checksum;  // XXH3, 64 bits, of the header before it
};
static_assert(sizeof(Header) == 128);

/// Bytes between the end of the tokens and the document table.
inline constexpr std::uint64_t padding(std::uint64_t token_bytes_in_all) {
  return (8 - token_bytes_in_all % 8) % 8;
}

}  // namespace skipless::token_shard_format
