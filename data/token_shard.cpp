#include "data/token_shard.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <cassert>
#include <cstring>

#include "configs/error.h"
#include "data/mapped_file.h"
#include "data/token_shard_format.h"
#include "data/tokenizer.h"

namespace skipless {
namespace {

using token_shard_format::Header;
using token_shard_format::kHashDigits;

constexpr std::size_t kBlock = 1 << 20;  // bytes that are summed and range-checked while they are in the cache

template <class... Arguments>
[[noreturn]] void refuse(const std::filesystem::path& file, fmt::format_string<Arguments...> format,
                         Arguments&&... arguments) {
  throw UserError(
      fmt::format("token shard '{}': {}", file.string(), fmt::format(format, std::forward<Arguments>(arguments)...)));
}

Header read_header(const MappedFile& mapping, const std::filesystem::path& file) {
  if (mapping.size() < sizeof(Header)) {
    refuse(file, "{} bytes, too short for the header of {} bytes; truncated, or not a token shard", mapping.size(),
           sizeof(Header));
  }
  Header header{};
  std::memcpy(&header, mapping.data(), sizeof(header));
  if (std::memcmp(header.magic, token_shard_format::kMagic, sizeof(header.magic)) != 0) {
    refuse(file, "does not begin as a token shard does; 'skipless prepare' writes them");
  }
  if (header.version != token_shard_format::kVersion) {
    refuse(file, "has version {}, this program reads version {}; run 'skipless prepare' again", header.version,
           token_shard_format::kVersion);
  }
  if (header.header_checksum != XXH3_64bits(&header, offsetof(Header, header_checksum))) {
    refuse(file, "corrupt: the header's checksum does not match");
  }
  return header;
}

/// The checksum excludes accidents, these checks also what a faulty writer could do.
void check_counts(const Header& header, std::uint64_t size, const std::filesystem::path& file) {
  if (header.token_bytes != 2 && header.token_bytes != 4) {
    refuse(file, "ids have {} bytes, allowed are 2 and 4", header.token_bytes);
  }
  const std::uint64_t most_vocab =
      header.token_bytes == 2 ? token_shard_format::kNarrowVocab : static_cast<std::uint64_t>(Tokenizer::kMaxVocabSize);
  if (header.vocab_size < 1 || header.vocab_size > most_vocab) {
    refuse(file, "the vocabulary has {} tokens, allowed with {}-byte ids are 1 to {}", header.vocab_size,
           header.token_bytes, most_vocab);
  }
  for (const char digit : header.tokenizer_hash) {
    if ((digit < '0' || digit > '9') && (digit < 'a' || digit > 'f')) refuse(file, "the tokenizer's hash is malformed");
  }
  // Compared by division first, so that no product overflows.
  std::uint64_t expected = UINT64_MAX;
  if (header.tokens <= size / header.token_bytes && header.documents < size / sizeof(std::uint64_t)) {
    const std::uint64_t token_bytes = header.tokens * header.token_bytes;
    expected = sizeof(Header) + token_bytes + token_shard_format::padding(token_bytes) +
               (header.documents + 1) * sizeof(std::uint64_t);
  }
  if (expected == size) return;
  refuse(file, "has {} bytes, but {} tokens of {} bytes in {} documents need {}; {}", size, header.tokens,
         header.token_bytes, header.documents, expected == UINT64_MAX ? "far more" : std::to_string(expected),
         expected > size ? "truncated" : "something was added to it");
}

template <class Id>
std::uint64_t largest_id(const std::byte* data, std::size_t bytes) {
  const auto* ids = reinterpret_cast<const Id*>(data);
  Id largest = 0;
  for (std::size_t i = 0; i < bytes / sizeof(Id); ++i) largest = std::max(largest, ids[i]);
  return largest;
}

template <class Id>
std::uint64_t find_large_id(const std::byte* data, std::uint64_t vocab_size) {
  const auto* ids = reinterpret_cast<const Id*>(data);
  std::uint64_t index = 0;
  while (ids[index] < vocab_size) ++index;
  return index;
}

void check_payload(const Header& header, const MappedFile& mapping, const std::filesystem::path& file) {
  const bool narrow = header.token_bytes == 2;
  const std::byte* payload = mapping.data() + sizeof(Header);
  const std::size_t payload_bytes = mapping.size() - sizeof(Header);
  const std::size_t token_bytes = header.tokens * header.token_bytes;
  XXH3_state_t* state = XXH3_createState();
  XXH3_64bits_reset(state);
  std::uint64_t largest = 0;
  for (std::size_t at = 0; at < payload_bytes; at += kBlock) {
    XXH3_64bits_update(state, payload + at, std::min(kBlock, payload_bytes - at));
    if (at >= token_bytes) continue;
    const std::size_t bytes = std::min(kBlock, token_bytes - at);
    const std::uint64_t here =
        narrow ? largest_id<std::uint16_t>(payload + at, bytes) : largest_id<std::uint32_t>(payload + at, bytes);
    largest = std::max(largest, here);
  }
  const bool intact = XXH3_64bits_digest(state) == header.payload_checksum;
  XXH3_freeState(state);

  if (header.tokens > 0 && largest >= header.vocab_size) {
    const std::uint64_t index = narrow ? find_large_id<std::uint16_t>(payload, header.vocab_size)
                                       : find_large_id<std::uint32_t>(payload, header.vocab_size);
    std::uint32_t id = 0;
    std::memcpy(&id, payload + index * header.token_bytes, header.token_bytes);
    refuse(file, "token {} has the id {}, allowed are 0 to {}{}", index, id, header.vocab_size - 1,
           intact ? "" : " (and the checksum does not match: the file is corrupt)");
  }
  if (!intact) refuse(file, "corrupt: the checksum of its {} tokens does not match", header.tokens);
}

void check_boundaries(const Header& header, const std::uint64_t* boundaries, const std::filesystem::path& file) {
  for (std::uint64_t i = 0; i <= header.documents; ++i) {
    const std::uint64_t low = i == 0 ? 0 : boundaries[i - 1];
    const std::uint64_t high = i == 0 ? 0 : header.tokens;
    if (boundaries[i] < low || boundaries[i] > high) {
      refuse(file, "the boundary of documents {} is {}, allowed are {} to {}", i, boundaries[i], low, high);
    }
  }
  if (boundaries[header.documents] != header.tokens) {
    refuse(file, "the last document ends at token {}, expected {}", boundaries[header.documents], header.tokens);
  }
}

}  // namespace

struct TokenShard::State {
  MappedFile mapping;
  std::filesystem::path path;
  Header header{};
  const std::uint64_t* boundaries = nullptr;
  std::string tokenizer_hash;
  std::string checksum;
};

TokenShard::TokenShard(std::shared_ptr<const State> state) : state_(std::move(state)) {}

TokenShard TokenShard::open(const std::filesystem::path& file) {
  auto state = std::make_shared<State>(State{.mapping = MappedFile(file),
                                             .path = file,
                                             .header = {},
                                             .boundaries = nullptr,
                                             .tokenizer_hash = {},
                                             .checksum = {}});
  state->header = read_header(state->mapping, file);
  check_counts(state->header, state->mapping.size(), file);
  check_payload(state->header, state->mapping, file);
  const std::uint64_t token_bytes = state->header.tokens * state->header.token_bytes;
  state->boundaries = reinterpret_cast<const std::uint64_t*>(state->mapping.data() + sizeof(Header) + token_bytes +
                                                             token_shard_format::padding(token_bytes));
  check_boundaries(state->header, state->boundaries, file);
  state->tokenizer_hash.assign(state->header.tokenizer_hash, kHashDigits);
  state->checksum = fmt::format("{:016x}", state->header.payload_checksum);
  return TokenShard(std::move(state));
}

std::int64_t TokenShard::tokens() const {
  return static_cast<std::int64_t>(state_->header.tokens);
}
std::int64_t TokenShard::documents() const {
  return static_cast<std::int64_t>(state_->header.documents);
}
std::int64_t TokenShard::vocab_size() const {
  return static_cast<std::int64_t>(state_->header.vocab_size);
}
int TokenShard::token_bytes() const {
  return static_cast<int>(state_->header.token_bytes);
}
const std::string& TokenShard::tokenizer_hash() const {
  return state_->tokenizer_hash;
}
const std::string& TokenShard::checksum() const {
  return state_->checksum;
}
const std::filesystem::path& TokenShard::path() const {
  return state_->path;
}

TokenShard::Document TokenShard::document(std::int64_t index) const {
  assert(index >= 0 && index < documents());
  return {.begin = static_cast<std::int64_t>(state_->boundaries[index]),
          .end = static_cast<std::int64_t>(state_->boundaries[index + 1])};
}

void TokenShard::require_whole() const {
  struct stat status {};
  if (::stat(state_->path.c_str(), &status) != 0 || !state_->mapping.is_of(status)) return;
  if (static_cast<std::size_t>(status.st_size) >= state_->mapping.size()) return;
  throw RunError(fmt::format("token shard '{}' was cut off while it was read: it has {} bytes, expected {}",
                             state_->path.string(), status.st_size, state_->mapping.size()));
}

void TokenShard::copy(std::int64_t first, std::span<std::int64_t> out) const {
  assert(first >= 0 && static_cast<std::int64_t>(out.size()) <= tokens() - first);
  const std::byte* ids = state_->mapping.data() + sizeof(Header);
  if (token_bytes() == 2) {
    std::copy_n(reinterpret_cast<const std::uint16_t*>(ids) + first, out.size(), out.begin());
  } else {
    std::copy_n(reinterpret_cast<const std::uint32_t*>(ids) + first, out.size(), out.begin());
  }
}

}  // namespace skipless
