#include "data/token_shard_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <stdexcept>

#include "configs/error.h"
#include "data/byte_source.h"
#include "data/token_shard_format.h"

namespace skipless {
namespace {

using token_shard_format::Header;

constexpr std::size_t kBlock = 1 << 20;

std::uint32_t token_bytes_of(std::int64_t vocab_size) {
  return static_cast<std::uint64_t>(vocab_size) <= token_shard_format::kNarrowVocab ? 2 : 4;
}

std::filesystem::path table_of(std::filesystem::path file) {
  file += ".documents";
  return file;
}

std::size_t bytes_of_tokens(std::int64_t tokens, std::int64_t vocab_size) {
  return sizeof(Header) + static_cast<std::size_t>(tokens) * token_bytes_of(vocab_size);
}

std::size_t bytes_of_table(std::int64_t documents) {
  return (static_cast<std::size_t>(documents) + 1) * sizeof(std::uint64_t);
}

/// Visits the bytes [begin, end) of a file; UserError when there are not as many.
template <class Visit>
void read_blocks(const std::filesystem::path& file, std::uint64_t begin, std::uint64_t end, Visit&& visit) {
  const auto source = open_bytes(file);
  bool whole = source->skip(begin);
  std::vector<char> block(kBlock);
  while (whole && begin < end) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(end - begin, block.size()));
    whole = source->read(std::span(block).first(wanted)) == wanted;
    if (whole) visit(block.data(), wanted);
    begin += wanted;
  }
  if (!whole) throw UserError(fmt::format("'{}' has fewer than {} bytes", file.string(), end));
}

}  // namespace

TokenShardWriter::Checksum::Checksum() : state_(XXH3_createState()) {
  XXH3_64bits_reset(state_.get());
}

void TokenShardWriter::Checksum::add_file(const std::filesystem::path& file, std::uint64_t begin, std::uint64_t end) {
  read_blocks(file, begin, end, [&](const char* data, std::size_t bytes) { add(data, bytes); });
}

TokenShardWriter::TokenShardWriter(const std::filesystem::path& file, std::int64_t vocab_size,
                                   const std::string& tokenizer_hash)
    : file_(file),
      table_(table_of(file)),
      vocab_size_(vocab_size),
      tokenizer_hash_(tokenizer_hash),
      token_bytes_(token_bytes_of(vocab_size)) {
  assert(vocab_size > 0 && tokenizer_hash.size() == token_shard_format::kHashDigits);
  const Header placeholder{};  // its counts are known at the end
  file_.write(&placeholder, sizeof(placeholder));
  write_boundary();
}

TokenShardWriter::TokenShardWriter(const std::filesystem::path& file, std::int64_t vocab_size,
                                   const std::string& tokenizer_hash, const Saved& saved)
    : file_(file, bytes_of_tokens(saved.tokens, vocab_size)),
      table_(table_of(file), bytes_of_table(saved.documents)),
      vocab_size_(vocab_size),
      tokenizer_hash_(tokenizer_hash),
      token_bytes_(token_bytes_of(vocab_size)),
      tokens_(saved.tokens),
      documents_(saved.documents) {
  tokens_checksum_.add_file(file_.temporary(), sizeof(Header), file_.size());
  table_checksum_.add_file(table_.temporary(), 0, table_.size());
  if (fmt::format("{:016x}", tokens_checksum_.value()) != saved.tokens_checksum ||
      fmt::format("{:016x}", table_checksum_.value()) != saved.table_checksum) {
    throw UserError(fmt::format("'{}' is not what was saved: its checksum differs", file_.temporary().string()));
  }
  const std::size_t last = table_.size() - sizeof(std::uint64_t);
  read_blocks(table_.temporary(), last, table_.size(),
              [&](const char* data, std::size_t bytes) { std::memcpy(&document_begin_, data, bytes); });
}

void TokenShardWriter::write_tokens(const void* data, std::size_t bytes) {
  tokens_checksum_.add(data, bytes);
  file_.write(data, bytes);
}

void TokenShardWriter::write_boundary() {
  table_checksum_.add(&tokens_, sizeof(tokens_));
  table_.write(&tokens_, sizeof(tokens_));
  document_begin_ = tokens_;
}

void TokenShardWriter::append(std::span<const std::int32_t> ids) {
  for (const std::int32_t id : ids) {
    if (id < 0 || id >= vocab_size_) {
      throw std::out_of_range(fmt::format("token id {} is outside the vocabulary (0 to {})", id, vocab_size_ - 1));
    }
  }
  if (token_bytes_ == 2) {
    narrow_.assign(ids.begin(), ids.end());
    write_tokens(narrow_.data(), narrow_.size() * sizeof(std::uint16_t));
  } else {
    write_tokens(ids.data(), ids.size() * sizeof(std::int32_t));
  }
  tokens_ += static_cast<std::int64_t>(ids.size());
}

void TokenShardWriter::end_document() {
  ++documents_;
  write_boundary();
}

TokenShardWriter::Saved TokenShardWriter::save() {
  file_.sync();
  table_.sync();
  file_.keep();
  table_.keep();
  return {.tokens = tokens_,
          .documents = documents_,
          .tokens_checksum = fmt::format("{:016x}", tokens_checksum_.value()),
          .table_checksum = fmt::format("{:016x}", table_checksum_.value())};
}

void TokenShardWriter::discard() {
  file_.keep_not();
  table_.keep_not();
}

void TokenShardWriter::append_table() {
  table_.sync();
  read_blocks(table_.temporary(), 0, table_.size(),
              [&](const char* data, std::size_t bytes) { write_tokens(data, bytes); });
}

TokenShardWriter::Summary TokenShardWriter::finish() {
  assert(document_begin_ == tokens_ && "the last document was not ended");
  constexpr char kZeros[8] = {};
  write_tokens(kZeros, token_shard_format::padding(static_cast<std::uint64_t>(tokens_) * token_bytes_));
  append_table();

  Header header{};
  std::memcpy(header.magic, token_shard_format::kMagic, sizeof(header.magic));
  header.version = token_shard_format::kVersion;
  header.token_bytes = token_bytes_;
  header.vocab_size = static_cast<std::uint64_t>(vocab_size_);
  header.tokens = static_cast<std::uint64_t>(tokens_);
  header.documents = static_cast<std::uint64_t>(documents_);
  std::copy(tokenizer_hash_.begin(), tokenizer_hash_.end(), header.tokenizer_hash);
  header.payload_checksum = tokens_checksum_.value();
  header.header_checksum = XXH3_64bits(&header, offsetof(Header, header_checksum));
  file_.write_at(0, &header, sizeof(header));
  file_.finish();
  finished_ = {.tokens = tokens_, .documents = documents_, .checksum = fmt::format("{:016x}", header.payload_checksum)};
  return *finished_;
}

TokenShardWriter::Summary TokenShardWriter::commit() {
  const Summary summary = finished_ ? *finished_ : finish();
  file_.commit();
  table_.keep_not();  // it goes with this object
  return summary;
}

}  // namespace skipless
