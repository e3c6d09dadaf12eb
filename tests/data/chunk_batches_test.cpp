#include "data/chunk_batches.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "data/permutation.h"
#include "data/token_shard_writer.h"
#include "tests/data/messages.h"
#include "tests/data/small_tokenizer.h"
#include "tests/temporary_folder.h"

using namespace skipless;
using Catch::Contains;
using test::TemporaryFolder;
using test::user_error_of;

namespace {

/// Token t of the shard is t, so that a chunk shows where it comes from.
TokenShard counting_shard(const TemporaryFolder& folder, const std::vector<std::int32_t>& document_sizes) {
  TokenShardWriter writer(folder.path() / "shard.bin", 100000, std::string(32, '0'));
  std::int32_t next = 0;
  for (const std::int32_t size : document_sizes) {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(size));
    std::iota(ids.begin(), ids.end(), next);
    next += size;
    writer.append(ids);
    writer.end_document();
  }
  writer.commit();
  return TokenShard::open(folder.path() / "shard.bin");
}

std::vector<std::int64_t> batch_of(const ChunkBatches& batches, std::int64_t index) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(batches.batch_size() * batches.chunk_length()));
  batches.batch(index, out);
  return out;
}

/// First tokens of the chunks of `count` items.
std::vector<std::int64_t> items(const ChunkBatches& batches, std::int64_t count) {
  std::vector<std::int64_t> starts;
  for (std::int64_t index = 0; static_cast<std::int64_t>(starts.size()) < count; ++index) {
    const auto batch = batch_of(batches, index);
    for (std::size_t at = 0; at < batch.size(); at += static_cast<std::size_t>(batches.chunk_length())) {
      starts.push_back(batch[at]);
    }
  }
  starts.resize(static_cast<std::size_t>(count));
  return starts;
}

}  // namespace

TEST_CASE("chunks are whole, of one document, with its tail dropped", "[chunks]") {
  const TemporaryFolder folder;
  // Documents at 0, 10, 13, 13, 17, 25: chunks of 4 start at 0, 4 / - / - / 13 / 17, 21.
  const ChunkTable table(counting_shard(folder, {10, 3, 0, 4, 8}), 4);
  CHECK(table.size() == 5);
  std::vector<std::int64_t> chunk(4);
  const std::vector<std::int64_t> starts = {0, 4, 13, 17, 21};
  for (std::int64_t i = 0; i < table.size(); ++i) {
    table.copy(i, chunk);
    const std::int64_t start = starts[static_cast<std::size_t>(i)];
    CHECK(chunk == std::vector<std::int64_t>{start, start + 1, start + 2, start + 3});
  }
}

TEST_CASE("an epoch holds every chunk once and epochs differ", "[chunks]") {
  const TemporaryFolder folder;
  const TokenShard shard = counting_shard(folder, {30, 7, 50, 21});
  const ChunkBatches batches(shard, 5, 4, 1, true);
  const std::int64_t chunks = batches.chunks();
  REQUIRE(chunks == 6 + 1 + 10 + 4);
  const auto sequence = items(batches, 3 * chunks);  // batches of 4 cut epochs of 21 chunks
  std::vector<std::vector<std::int64_t>> epochs;
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    epochs.emplace_back(sequence.begin() + epoch * chunks, sequence.begin() + (epoch + 1) * chunks);
    CHECK(std::set<std::int64_t>(epochs.back().begin(), epochs.back().end()).size() ==
          static_cast<std::size_t>(chunks));
    CHECK_FALSE(std::is_sorted(epochs.back().begin(), epochs.back().end()));
  }
  CHECK(epochs[0] != epochs[1]);
  CHECK(epochs[1] != epochs[2]);
}

TEST_CASE("batches are a function of seed and index alone", "[chunks]") {
  const TemporaryFolder folder;
  const TokenShard shard = counting_shard(folder, {300, 70, 500});
  const ChunkBatches one(shard, 5, 8, 42, true);
  const ChunkBatches two(shard, 5, 8, 42, true);
  std::vector<std::vector<std::int64_t>> forward;
  for (std::int64_t i = 0; i < 60; ++i) forward.push_back(batch_of(one, i));
  for (std::int64_t i = 59; i >= 0; --i) CHECK(batch_of(two, i) == forward[static_cast<std::size_t>(i)]);
  CHECK(batch_of(ChunkBatches(shard, 5, 8, 43, true), 0) != forward[0]);
  // The sequence does not depend on how it is cut into batches.
  CHECK(items(ChunkBatches(shard, 5, 3, 42, true), 400) == items(one, 400));
  // Fixed for all machines and versions: a resumed run must see what it would have seen.
  CHECK(items(one, 6) == std::vector<std::int64_t>{235, 745, 390, 435, 605, 835});
}

TEST_CASE("rows from any item in any number are a part of one sequence", "[chunks]") {
  const TemporaryFolder folder;
  const ChunkBatches batches(counting_shard(folder, {300, 70, 500}), 5, 8, 42, true);
  const auto all = items(batches, 600);  // over three epochs
  std::vector<std::int64_t> out;
  for (std::int64_t first = 0, count = 0; first + count < 600; first += count, ++count) {
    out.resize(static_cast<std::size_t>(count) * 5);
    batches.rows(first, out);
    for (std::int64_t row = 0; row < count; ++row) {
      CHECK(out[static_cast<std::size_t>(row) * 5] == all[static_cast<std::size_t>(first + row)]);
    }
  }
}

TEST_CASE("the index of many documents finds each chunk", "[chunks]") {
  const TemporaryFolder folder;
  std::vector<std::int32_t> sizes;
  test::Numbers numbers(1);
  for (int i = 0; i < 1000; ++i) sizes.push_back(static_cast<std::int32_t>(i / 200 == 2 ? 0 : numbers.below(12)));
  const ChunkTable table(counting_shard(folder, sizes), 4);
  std::int64_t chunks = 0;
  std::int64_t begin = 0;
  std::vector<std::int64_t> chunk(4);
  for (const std::int32_t size : sizes) {
    for (std::int64_t i = 0; i < size / 4; ++i) {
      table.copy(chunks++, chunk);
      CHECK(chunk.front() == begin + 4 * i);
    }
    begin += size;
  }
  CHECK(table.size() == chunks);
}

TEST_CASE("packed chunks are one stream with an end-of-text token behind each document", "[chunks][packed]") {
  const TemporaryFolder folder;
  constexpr std::int32_t kEnd = 99999;
  for (const std::vector<std::int32_t>& sizes :
       {std::vector<std::int32_t>{10, 3, 0, 4, 8}, {0, 0, 1, 0, 0, 30, 0}, {5}, {1, 1, 1, 1, 1, 1, 1, 1, 1}}) {
    std::vector<std::int64_t> stream;
    std::int64_t next = 0;
    for (const std::int32_t size : sizes) {
      for (std::int32_t i = 0; i < size; ++i) stream.push_back(next++);
      stream.push_back(kEnd);
    }
    const TokenShard shard = counting_shard(folder, sizes);
    for (std::int64_t length = 1; length <= static_cast<std::int64_t>(stream.size()); ++length) {
      const ChunkTable table(shard, length, {.kind = ChunkKind::packed, .end_of_text = kEnd});
      CHECK(table.size() == static_cast<std::int64_t>(stream.size()) / length);
      std::vector<std::int64_t> chunk(static_cast<std::size_t>(length));
      for (std::int64_t i = 0; i < table.size(); ++i) {
        table.copy(i, chunk);
        const auto begin = stream.begin() + i * length;
        CHECK(chunk == std::vector<std::int64_t>(begin, begin + length));
      }
    }
  }
}

TEST_CASE("packed chunks serve training and evaluation alike", "[chunks][packed]") {
  const TemporaryFolder folder;
  const TokenShard shard = counting_shard(folder, {3, 3, 2, 5});  // 17 tokens with the ends: 4 chunks of 4
  const Chunking packed{.kind = ChunkKind::packed, .end_of_text = 500};
  const ChunkBatches training(shard, 4, 2, 0, false, packed);
  CHECK(training.chunks() == 4);
  CHECK(batch_of(training, 0) == std::vector<std::int64_t>{0, 1, 2, 500, 3, 4, 5, 500});
  const EvaluationBatches evaluation(shard, 4, 2, 100, packed);
  CHECK(evaluation.chunks() == 4);
  std::vector<std::int64_t> out(8);
  evaluation.batch(1, out);
  CHECK(out == std::vector<std::int64_t>{6, 7, 500, 8, 9, 10, 11, 12});
  CHECK_THAT(user_error_of([&] { ChunkTable(shard, 18, packed); }),
             Contains("no chunk of 18 tokens: its 4 documents and the end-of-text tokens behind them are 17 tokens"));
}

TEST_CASE("packed chunks take the tokenizer's end-of-text token and need one", "[chunks][packed]") {
  CHECK(chunking_with(ChunkKind::packed, test::small_tokenizer()).end_of_text == 256);
  BpeContent content = test::small_content();
  content.specials.clear();
  std::erase_if(content.vocab, [](const auto& entry) { return entry.second == 256; });
  CHECK_THAT(user_error_of([&] { chunking_with(ChunkKind::packed, BpeTokenizer(content)); }),
             Contains("data.chunking is packed") && Contains("has no special token <|endoftext|>"));
  CHECK(chunking_with(ChunkKind::documents, BpeTokenizer(content)).kind == ChunkKind::documents);
  content.specials = {{"</s>", 300}};
  CHECK(chunking_with(ChunkKind::packed, BpeTokenizer(content)).end_of_text == 300);
}

TEST_CASE("without shuffling, chunks come in order and start anew", "[chunks]") {
  const TemporaryFolder folder;
  const ChunkBatches batches(counting_shard(folder, {12, 9}), 4, 2, 5, false);
  CHECK(items(batches, 8) == std::vector<std::int64_t>{0, 4, 8, 12, 16, 0, 4, 8});
}

TEST_CASE("evaluation sees chunks evenly over the shard once, the last batch shorter", "[chunks]") {
  const TemporaryFolder folder;
  const TokenShard shard = counting_shard(folder, {12, 3, 9, 8});  // chunks of 4: 0 4 8 15 19 24 28
  const auto starts = [](const EvaluationBatches& batches) {
    std::vector<std::int64_t> out;
    for (std::int64_t i = 0; i < batches.batches(); ++i) {
      std::vector<std::int64_t> batch(static_cast<std::size_t>(batches.rows(i) * batches.chunk_length()));
      batches.batch(i, batch);
      for (std::size_t at = 0; at < batch.size(); at += 4) out.push_back(batch[at]);
    }
    return out;
  };
  const EvaluationBatches all(shard, 4, 3, 1000000);
  CHECK(all.chunks() == 7);
  CHECK(all.batches() == 3);
  CHECK(all.rows(0) == 3);
  CHECK(all.rows(2) == 1);
  CHECK(starts(all) == std::vector<std::int64_t>{0, 4, 8, 15, 19, 24, 28});
  CHECK(starts(EvaluationBatches(shard, 4, 3, 23)) == std::vector<std::int64_t>{0, 4, 8, 19, 24});  // 0 1 2 4 5 of 7
  CHECK(starts(EvaluationBatches(shard, 4, 2, 23)) == starts(EvaluationBatches(shard, 4, 3, 23)));
  CHECK(starts(EvaluationBatches(shard, 4, 3, 4)) == std::vector<std::int64_t>{0});
  CHECK(EvaluationBatches(shard, 4, 100, 1000).rows(0) == 7);
  CHECK_THAT(user_error_of([&] { EvaluationBatches(shard, 4, 3, 3); }),
             Contains("3 tokens is less than one chunk of 4"));
}

TEST_CASE("a corpus below one chunk or one batch is refused with the numbers", "[chunks]") {
  const TemporaryFolder folder;
  const TokenShard shard = counting_shard(folder, {5, 7, 6});
  CHECK_THAT(user_error_of([&] { ChunkBatches(shard, 8, 1, 0, true); }),
             Contains("no chunk of 8 tokens: the longest of its 3 documents has 7 tokens"));
  CHECK_THAT(user_error_of([&] { EvaluationBatches(shard, 8, 1, 100); }), Contains("no chunk of 8 tokens"));
  CHECK_THAT(user_error_of([&] { ChunkBatches(shard, 3, 6, 0, true); }),
             Contains("has 5 chunks of 3 tokens, fewer than one batch of 6"));
  CHECK(batch_of(ChunkBatches(shard, 3, 5, 0, true), 0).size() == 15);
}

TEST_CASE("a permutation takes every value once", "[permutation]") {
  for (const std::uint64_t size : {1, 2, 3, 4, 5, 16, 17, 63, 64, 65, 1000, 4096, 4097}) {
    for (std::uint64_t key = 0; key < 5; ++key) {
      const Permutation permutation(size, key);
      std::vector<bool> taken(size, false);
      for (std::uint64_t i = 0; i < size; ++i) {
        const std::uint64_t value = permutation(i);
        REQUIRE(value < size);
        REQUIRE_FALSE(taken[value]);
        taken[value] = true;
      }
    }
  }
  const Permutation large(std::uint64_t{1} << 40, 3);
  CHECK(large(0) < (std::uint64_t{1} << 40));
  CHECK(large(0) != large(1));
}

TEST_CASE("permutations are spread evenly over all orders", "[permutation]") {
  // 24 orders of 4, 12,000 keys: 500 expected each. A chi-square of 23 degrees of freedom exceeds 58 once in 10,000
  // tries; the keys are fixed, so that this is no gamble.
  std::map<std::vector<std::uint64_t>, double> counts;
  for (std::uint64_t key = 0; key < 12000; ++key) {
    const Permutation permutation(4, mix(1, key));
    counts[{permutation(0), permutation(1), permutation(2), permutation(3)}] += 1;
  }
  double chi_square = 24 * 500.0 - 500.0 * static_cast<double>(counts.size());
  CHECK(counts.size() == 24);
  for (const auto& entry : counts) chi_square += (entry.second - 500) * (entry.second - 500) / 500;
  CHECK(chi_square < 58);

  // Of a larger size: where the first item goes, in 10 ranges.
  std::vector<double> places(10, 0);
  for (std::uint64_t epoch = 0; epoch < 10000; ++epoch) ++places[Permutation(1000, mix(2, epoch))(0) / 100];
  double spread = 0;
  for (const double count : places) spread += (count - 1000) * (count - 1000) / 1000;
  CHECK(spread < 34);  // 9 degrees of freedom: once in 10,000 tries
}
