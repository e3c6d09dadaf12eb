#include "data/token_shard.h"

#include <xxhash.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "data/chunk_table.h"
#include "data/token_shard_format.h"
#include "data/token_shard_writer.h"
#include "tests/data/messages.h"
#include "tests/data/small_tokenizer.h"
#include "tests/temporary_folder.h"

using namespace skipless;
using Catch::Contains;
using test::TemporaryFolder;
using test::user_error_of;
using token_shard_format::Header;

namespace {

const std::string kHash = "0123456789abcdef0123456789abcdef";

TokenShardWriter::Summary write_shard(const std::filesystem::path& file, std::int64_t vocab_size,
                                      const std::vector<std::vector<std::int32_t>>& documents) {
  TokenShardWriter writer(file, vocab_size, kHash);
  for (const auto& document : documents) {
    writer.append(document);
    writer.end_document();
  }
  return writer.commit();
}

/// A shard whose content was changed by a program that also wrote matching checksums.
std::string resealed(std::string bytes) {
  Header header{};
  std::memcpy(&header, bytes.data(), sizeof(header));
  header.payload_checksum = XXH3_64bits(bytes.data() + sizeof(header), bytes.size() - sizeof(header));
  header.header_checksum = XXH3_64bits(&header, offsetof(Header, header_checksum));
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

}  // namespace

TEST_CASE("a shard gives back what was written", "[token_shard]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "shard.bin";
  const std::vector<std::vector<std::int32_t>> documents = {{1, 2, 3}, {}, {65535, 0}, {7}};
  const auto summary = write_shard(file, 65536, documents);
  const TokenShard shard = TokenShard::open(file);
  CHECK(shard.token_bytes() == 2);
  CHECK(shard.vocab_size() == 65536);
  CHECK(shard.tokenizer_hash() == kHash);
  CHECK(shard.tokens() == 6);
  CHECK(shard.documents() == 4);
  CHECK(summary.tokens == 6);
  CHECK(summary.documents == 4);
  CHECK(summary.checksum == shard.checksum());
  for (std::size_t i = 0; i < documents.size(); ++i) {
    const auto place = shard.document(static_cast<std::int64_t>(i));
    std::vector<std::int64_t> ids(static_cast<std::size_t>(place.size()));
    shard.copy(place.begin, ids);
    CHECK(ids == std::vector<std::int64_t>(documents[i].begin(), documents[i].end()));
  }
}

TEST_CASE("ids take 32 bits above a vocabulary of 65,536", "[token_shard]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "shard.bin";
  write_shard(file, 70000, {{69999, 65536, 0}});
  const TokenShard shard = TokenShard::open(file);
  CHECK(shard.token_bytes() == 4);
  std::vector<std::int64_t> ids(3);
  shard.copy(0, ids);
  CHECK(ids == std::vector<std::int64_t>{69999, 65536, 0});
}

TEST_CASE("the writer refuses ids outside the vocabulary and leaves no file", "[token_shard]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "shard.bin";
  for (const std::int32_t id : {100, -1, 65536}) {
    CHECK_THROWS_AS(write_shard(file, 100, {{id}}), std::out_of_range);
    CHECK_FALSE(std::filesystem::exists(file));
  }
}

TEST_CASE("an empty shard is a shard", "[token_shard]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "shard.bin";
  write_shard(file, 10, {});
  CHECK(TokenShard::open(file).tokens() == 0);
  CHECK(TokenShard::open(file).documents() == 0);
}

TEST_CASE("a shard that was cut anywhere is refused", "[token_shard]") {
  const TemporaryFolder folder;
  write_shard(folder.path() / "shard.bin", 1000, {{1, 2, 3, 999}, {5, 6, 7}});
  const std::string good = test::read_all(folder.path() / "shard.bin");
  for (std::size_t size = 0; size < good.size(); ++size) {
    const auto file = folder.write("cut.bin", good.substr(0, size));
    const std::string message = user_error_of([&] { TokenShard::open(file); });
    CHECK_THAT(message, Contains("cut.bin'") && Contains("truncated"));
  }
  const auto longer = folder.write("cut.bin", good + std::string(8, '\0'));
  CHECK_THAT(user_error_of([&] { TokenShard::open(longer); }), Contains("something was added"));
}

TEST_CASE("a shard with a flipped bit in any byte is refused", "[token_shard]") {
  const TemporaryFolder folder;
  write_shard(folder.path() / "shard.bin", 1000, {{1, 2, 3, 999}, {5, 6, 7}});
  const std::string good = test::read_all(folder.path() / "shard.bin");
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ (1 << (at % 8)));
    const auto file = folder.write("flipped.bin", bad);
    CHECK_THAT(user_error_of([&] { TokenShard::open(file); }), Contains("flipped.bin'"));
  }
}

TEST_CASE("an id outside the vocabulary is refused with file, index, value and range", "[token_shard]") {
  const TemporaryFolder folder;
  for (const std::int64_t vocab_size : {1000, 70000}) {
    write_shard(folder.path() / "shard.bin", vocab_size, {std::vector<std::int32_t>(700000, 1)});
    std::string bytes = test::read_all(folder.path() / "shard.bin");
    const std::size_t width = vocab_size > 65536 ? 4 : 2;
    const std::uint32_t bad_id = static_cast<std::uint32_t>(vocab_size) + 5;
    std::memcpy(bytes.data() + sizeof(Header) + 654321 * width, &bad_id, width);
    const auto honest = folder.write("bad.bin", resealed(bytes));
    const std::string expected = "bad.bin': token 654321 has the id " + std::to_string(bad_id) + ", allowed are 0 to " +
                                 std::to_string(vocab_size - 1);
    CHECK_THAT(user_error_of([&] { TokenShard::open(honest); }), Catch::EndsWith(expected));
    const auto corrupt = folder.write("bad.bin", bytes);
    CHECK_THAT(user_error_of([&] { TokenShard::open(corrupt); }), Contains(expected + " (and the checksum"));
  }
}

TEST_CASE("headers that say impossible things are refused, whatever the checksum", "[token_shard]") {
  const TemporaryFolder folder;
  write_shard(folder.path() / "shard.bin", 1000, {{1, 2, 3, 999}, {5, 6, 7}});
  const std::string good = test::read_all(folder.path() / "shard.bin");
  const auto refusal = [&](const std::function<void(Header&)>& change) {
    Header header{};
    std::memcpy(&header, good.data(), sizeof(header));
    change(header);
    std::string bytes = good;
    std::memcpy(bytes.data(), &header, sizeof(header));
    const auto file = folder.write("bad.bin", resealed(bytes));
    return user_error_of([&] { TokenShard::open(file); });
  };
  CHECK_THAT(refusal([](Header& h) { h.magic[0] = 'x'; }), Contains("does not begin as a token shard"));
  CHECK_THAT(refusal([](Header& h) { h.version = 2; }), Contains("has version 2, this program reads version 1"));
  CHECK_THAT(refusal([](Header& h) { h.token_bytes = 0; }), Contains("ids have 0 bytes"));
  CHECK_THAT(refusal([](Header& h) { h.token_bytes = 3; }), Contains("ids have 3 bytes"));
  CHECK_THAT(refusal([](Header& h) { h.token_bytes = 4; }), Contains("truncated"));
  CHECK_THAT(refusal([](Header& h) { h.vocab_size = 0; }), Contains("the vocabulary has 0 tokens"));
  CHECK_THAT(refusal([](Header& h) { h.vocab_size = 65537; }), Contains("allowed with 2-byte ids are 1 to 65536"));
  CHECK_THAT(refusal([](Header& h) { h.vocab_size = UINT64_MAX; }), Contains("the vocabulary has"));
  CHECK_THAT(refusal([](Header& h) { h.tokenizer_hash[3] = '?'; }), Contains("hash is malformed"));
  for (const std::uint64_t count :
       {std::uint64_t{8}, std::uint64_t{1} << 32, std::uint64_t{1} << 62, std::uint64_t{1} << 63, UINT64_MAX}) {
    CHECK_THAT(refusal([&](Header& h) { h.tokens = count; }), Contains("truncated") || Contains("last document"));
    CHECK_THAT(refusal([&](Header& h) { h.documents = count; }), Contains("truncated"));
  }
  CHECK_THAT(refusal([](Header& h) { h.documents = 1; }), Contains("something was added"));
}

TEST_CASE("document boundaries that go backwards or beyond the tokens are refused", "[token_shard]") {
  const TemporaryFolder folder;
  write_shard(folder.path() / "shard.bin", 1000, {{1, 2, 3, 999}, {5, 6, 7}, {8}});
  const std::string good = test::read_all(folder.path() / "shard.bin");
  const auto refusal = [&](std::size_t index, std::uint64_t value) {
    std::string bytes = good;
    std::memcpy(bytes.data() + bytes.size() - (4 - index) * 8, &value, 8);
    const auto file = folder.write("bad.bin", resealed(bytes));
    return user_error_of([&] { TokenShard::open(file); });
  };
  CHECK_THAT(refusal(0, 1), Contains("the boundary of documents 0 is 1, allowed are 0 to 0"));
  CHECK_THAT(refusal(2, 3), Contains("the boundary of documents 2 is 3, allowed are 4 to 8"));
  CHECK_THAT(refusal(1, UINT64_MAX), Contains("the boundary of documents 1 is"));
  CHECK_THAT(refusal(3, 7), Contains("the last document ends at token 7, expected 8"));
}

TEST_CASE("files that are no shards are refused", "[token_shard]") {
  const TemporaryFolder folder;
  CHECK_THAT(user_error_of([&] { TokenShard::open(folder.path() / "none.bin"); }), Contains("No such file"));
  CHECK_THAT(user_error_of([&] { TokenShard::open(folder.path()); }), Contains("is a folder, expected a file"));
  CHECK_THAT(user_error_of([&] { TokenShard::open(folder.write("e.bin", "")); }), Contains("0 bytes, too short"));
  CHECK_THAT(user_error_of([&] { TokenShard::open(folder.write("t.bin", std::string(500, 'x'))); }),
             Contains("does not begin as a token shard"));
}

TEST_CASE("a shard header of random numbers under a matching checksum is refused or read, and nothing else",
          "[token_shard]") {
  const TemporaryFolder folder;
  write_shard(folder.path() / "shard.bin", 1000, {{1, 2, 3, 999}, {5, 6, 7}});
  const std::string good = test::read_all(folder.path() / "shard.bin");
  test::Numbers numbers(9);
  for (int round = 0; round < 500; ++round) {
    std::string bad = good;
    for (std::size_t change = 0; change <= numbers.below(3); ++change) {
      const std::size_t at = 8 + numbers.below(bad.size() - 8);
      bad[at] = static_cast<char>(numbers.below(2) == 0 ? 0xFF : numbers.below(256));
    }
    if (numbers.below(4) == 0) bad.resize(sizeof(Header) + numbers.below(64));
    const auto file = folder.write("bad.bin", resealed(bad));
    try {
      const TokenShard shard = TokenShard::open(file);
      std::vector<std::int64_t> ids(static_cast<std::size_t>(shard.tokens()));
      shard.copy(0, ids);
      for (const std::int64_t id : ids) REQUIRE(id < shard.vocab_size());
    } catch (const UserError&) {
    }
  }
}

// Hidden: it maps 5 GiB. scripts/test.sh runs it by its name.
TEST_CASE("the last window of a shard of 5 GiB is read right", "[.huge]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "huge.bin";
  constexpr std::uint64_t kZeros = (std::uint64_t{5} << 30) / 2;  // ids, which take no space on the disk
  constexpr std::uint64_t kWindow = 128;
  std::vector<std::uint16_t> last(kWindow);
  for (std::size_t i = 0; i < kWindow; ++i) last[i] = static_cast<std::uint16_t>(40000 + i);
  const std::vector<std::uint64_t> boundaries = {0, kZeros, kZeros + kWindow};

  Header header{};
  std::memcpy(header.magic, token_shard_format::kMagic, sizeof(header.magic));
  header.version = token_shard_format::kVersion;
  header.token_bytes = 2;
  header.vocab_size = 50000;
  header.tokens = kZeros + kWindow;
  header.documents = 2;
  std::copy(kHash.begin(), kHash.end(), header.tokenizer_hash);
  XXH3_state_t* state = XXH3_createState();
  XXH3_64bits_reset(state);
  const std::vector<char> zeros(1 << 20);
  for (std::uint64_t at = 0; at < 2 * kZeros; at += zeros.size()) XXH3_64bits_update(state, zeros.data(), zeros.size());
  XXH3_64bits_update(state, last.data(), 2 * kWindow);
  XXH3_64bits_update(state, boundaries.data(), boundaries.size() * sizeof(boundaries[0]));
  header.payload_checksum = XXH3_64bits_digest(state);
  XXH3_freeState(state);
  header.header_checksum = XXH3_64bits(&header, offsetof(Header, header_checksum));
  {
    std::ofstream out(file, std::ios::binary);
    out.write(reinterpret_cast<const char*>(&header), sizeof(header));
    out.seekp(static_cast<std::streamoff>(sizeof(header) + 2 * kZeros));
    out.write(reinterpret_cast<const char*>(last.data()), 2 * kWindow);
    out.write(reinterpret_cast<const char*>(boundaries.data()),
              static_cast<std::streamsize>(boundaries.size() * sizeof(boundaries[0])));
  }

  const TokenShard shard = TokenShard::open(file);
  const std::vector<std::int64_t> expected(last.begin(), last.end());
  std::vector<std::int64_t> window(kWindow);
  shard.copy(static_cast<std::int64_t>(kZeros), window);
  CHECK(window == expected);
  const ChunkTable documents(shard, kWindow);
  documents.copy(documents.size() - 1, window);
  CHECK(window == expected);
  documents.copy(documents.size() - 2, window);
  CHECK(window == std::vector<std::int64_t>(kWindow, 0));
  const ChunkTable packed(shard, kWindow, {.kind = ChunkKind::packed, .end_of_text = 49999});
  packed.copy(packed.size() - 1, window);  // one end-of-text token before it, one behind it
  CHECK(window.front() == 49999);
  CHECK(std::equal(window.begin() + 1, window.end(), expected.begin()));
}
