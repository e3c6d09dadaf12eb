#include "data/prefetcher.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "data/chunk_batches.h"
#include "data/token_shard_writer.h"
#include "tests/data/messages.h"
#include "tests/data/small_tokenizer.h"
#include "tests/temporary_folder.h"

using namespace skipless;
using Catch::Contains;

namespace {

/// Row r is r, r + 1, r + 2.
void fill_counting(std::int64_t first, std::span<std::int64_t> out) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = first + static_cast<std::int64_t>(i / 3 + i % 3);
}

std::string place(std::int64_t row) {
  return "row " + std::to_string(row);
}

}  // namespace

TEST_CASE("rows come in order, in batches of any size, whatever is made ahead", "[prefetcher]") {
  for (const std::int64_t ahead : {1, 2, 7, 100}) {
    Prefetcher prefetcher(3, 5, ahead, fill_counting, place);
    test::Numbers numbers(static_cast<std::uint64_t>(ahead));
    std::int64_t next = 5;
    while (next < 800) {
      CHECK(prefetcher.position() == next);
      const auto rows = static_cast<std::int64_t>(numbers.below(40));
      std::vector<std::int64_t> out(static_cast<std::size_t>(3 * rows), -1);
      std::vector<std::int64_t> expected(out.size());
      prefetcher.take(out);
      for (std::int64_t row = 0; row < rows; ++row) {
        fill_counting(next + row, std::span(expected).subspan(static_cast<std::size_t>(3 * row), 3));
      }
      CHECK(out == expected);
      next += rows;
    }
    CHECK(prefetcher.waited_seconds() > 0);
  }
}

TEST_CASE("no more than the asked number of rows is made ahead", "[prefetcher]") {
  std::atomic<std::int64_t> made = 0;
  Prefetcher prefetcher(
      3, 0, 10, [&](std::int64_t first, std::span<std::int64_t> out) { fill_counting(first, out), ++made; }, place);
  for (int wait = 0; wait < 1000 && made < 10; ++wait) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(made == 10);
  std::vector<std::int64_t> out(9);
  prefetcher.take(out);
  for (int wait = 0; wait < 1000 && made < 13; ++wait) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(made == 13);
}

TEST_CASE("what the thread meets is thrown where its row is taken, with the row's place", "[prefetcher]") {
  const auto failing = [](auto&& fault) {
    return [fault](std::int64_t first, std::span<std::int64_t> out) {
      if (first == 6) throw fault;
      fill_counting(first, out);
    };
  };
  Prefetcher user(3, 0, 4, failing(UserError("cannot read")), place);
  std::vector<std::int64_t> out(9);
  user.take(out);
  user.take(out);  // rows 3, 4, 5
  CHECK(test::user_error_of([&] { user.take(out); }) == "row 6: cannot read");
  CHECK(test::user_error_of([&] { user.take(out); }) == "row 6: cannot read");  // it stays at fault
  Prefetcher other(3, 5, 4, failing(std::runtime_error("no memory")), place);
  CHECK_THROWS_AS(other.take(out), RunError);
  CHECK(other.position() == 6);
  const Prefetcher never_taken(3, 6, 4, failing(std::runtime_error("no memory")), place);
}

TEST_CASE("a shard that is cut off while it is read ends the loading with its place", "[prefetcher]") {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "shard.bin";
  {
    TokenShardWriter writer(file, 300, std::string(32, '0'));
    const std::vector<std::int32_t> ids(100000, 7);
    writer.append(ids);
    writer.end_document();
    writer.commit();
  }
  const ChunkBatches batches(TokenShard::open(file), 8, 4, 0, false);
  Prefetcher prefetcher(
      8, 0, 16, [&](std::int64_t first, std::span<std::int64_t> out) { batches.rows(first, out); },
      [&](std::int64_t row) { return batches.place(row); });
  std::vector<std::int64_t> out(8 * 4);
  prefetcher.take(out);
  std::filesystem::resize_file(file, 50000);
  std::string message;
  try {
    for (int i = 0; i < 3000; ++i) prefetcher.take(out);
  } catch (const RunError& error) {
    message = error.what();
  }
  CHECK_THAT(message, Contains("sequence ") && Contains(" of epoch 1 (chunk ") && Contains("shard.bin") &&
                          Contains("has 50000 bytes, expected 200"));
}

TEST_CASE("memory is flat over 10,000 batches", "[prefetcher][size]") {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "shard.bin";
  {
    TokenShardWriter writer(file, 300, std::string(32, '0'));
    const std::vector<std::int32_t> ids(1000, 7);
    for (int document = 0; document < 2000; ++document) {
      writer.append(ids);
      writer.end_document();
    }
    writer.commit();
  }
  const auto anonymous_kilobytes = [] {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("RssAnon:")) return std::stoll(line.substr(8));
    }
    return 0LL;
  };
  for (const ChunkKind kind : {ChunkKind::documents, ChunkKind::packed}) {
    const ChunkBatches batches(TokenShard::open(file), 128, 16, 0, true, {.kind = kind, .end_of_text = 256});
    Prefetcher prefetcher(
        128, 0, 32, [&](std::int64_t first, std::span<std::int64_t> out) { batches.rows(first, out); },
        [&](std::int64_t row) { return batches.place(row); });
    std::vector<std::int64_t> out(128 * 16);
    for (int i = 0; i < 1000; ++i) prefetcher.take(out);
    const auto before = anonymous_kilobytes();
    for (int i = 0; i < 10000; ++i) prefetcher.take(out);
    CHECK(anonymous_kilobytes() - before < 256);  // KiB; one batch kept of each would be 160 MB
  }
}
