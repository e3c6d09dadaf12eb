#include "data/token_shard_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <stdexcept>

#include "data/token_shard_format.h"

namespace skipless {

using token_shard_format::Header;

TokenShardWriter::TokenShardWriter(const std::filesystem::path& file, std::int64_t vocab_size,
                                   const std::string& tokenizer_hash)
    : file_(file),
      vocab_size_(vocab_size),
      tokenizer_hash_(tokenizer_hash),
      token_bytes_(static_cast<std::uint64_t>(vocab_size) <= token_shard_format::kNarrowVocab ? 2 : 4),
      checksum_(XXH3_createState()) {
  assert(vocab_size > 0 && tokenizer_hash.size() == token_shard_format::kHashDigits);
  XXH3_64bits_reset(checksum_.get());
  const Header placeholder{};  // its counts are known at the end
  file_.write(&placeholder, sizeof(placeholder));
}

void TokenShardWriter::write_payload(const void* data, std::size_t bytes) {
  XXH3_64bits_update(checksum_.get(), data, bytes);
  file_.write(data, bytes);
}

void TokenShardWriter::append(std::span<const std::int32_t> ids) {
  for (const std::int32_t id : ids) {
    if (id < 0 || id >= vocab_size_) {
      throw std::out_of_range(fmt::format("token id {} is outside the vocabulary (0 to {})", id, vocab_size_ - 1));
    }
  }
  if (token_bytes_ == 2) {
    narrow_.assign(ids.begin(), ids.end());
    write_payload(narrow_.data(), narrow_.size() * sizeof(std::uint16_t));
  } else {
    write_payload(ids.data(), ids.size() * sizeof(std::int32_t));
  }
  tokens_ += static_cast<std::int64_t>(ids.size());
}

void TokenShardWriter::end_document() {
  boundaries_.push_back(static_cast<std::uint64_t>(tokens_));
}

TokenShardWriter::Summary TokenShardWriter::finish() {
  assert(boundaries_.back() == static_cast<std::uint64_t>(tokens_) && "the last document was not ended");
  constexpr char kZeros[8] = {};
  write_payload(kZeros, token_shard_format::padding(static_cast<std::uint64_t>(tokens_) * token_bytes_));
  write_payload(boundaries_.data(), boundaries_.size() * sizeof(std::uint64_t));

  Header header{};
  std::memcpy(header.magic, token_shard_format::kMagic, sizeof(header.magic));
  header.version = token_shard_format::kVersion;
  header.token_bytes = token_bytes_;
  header.vocab_size = static_cast<std::uint64_t>(vocab_size_);
  header.tokens = static_cast<std::uint64_t>(tokens_);
  header.documents = static_cast<std::uint64_t>(documents());
  std::copy(tokenizer_hash_.begin(), tokenizer_hash_.end(), header.tokenizer_hash);
  header.payload_checksum = XXH3_64bits_digest(checksum_.get());
  header.header_checksum = XXH3_64bits(&header, offsetof(Header, header_checksum));
  file_.write_at(0, &header, sizeof(header));
  file_.finish();
  finished_ = {
      .tokens = tokens_, .documents = documents(), .checksum = fmt::format("{:016x}", header.payload_checksum)};
  return *finished_;
}

TokenShardWriter::Summary TokenShardWriter::commit() {
  const Summary summary = finished_ ? *finished_ : finish();
  file_.commit();
  return summary;
}

}  // namespace skipless
