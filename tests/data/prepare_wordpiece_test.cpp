// The whole of `prepare` with a WordPiece tokenizer.
#include <catch2/catch.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "data/chunking.h"
#include "data/prepare.h"
#include "data/prepared_data.h"
#include "tests/data/small_tokenizer.h"
#include "tests/temporary_folder.h"

using namespace skipless;
using test::TemporaryFolder;

namespace {

/// Words, ideographs, marks and signs, with fewer blanks than a cut would like.
std::string text_of(std::uint64_t seed, std::size_t bytes) {
  static const std::vector<std::string> kParts = {
      "The ", "caf\u00E9s",         "don't ", "\u4E2D\u6587", "x\u0301\u0323", "...", "\n\n", "unaffable ",
      "42",   "\u201Cquoted\u201D", "\u00A0", "naive",        "\u2260",        " ",   "abc"};
  test::Numbers numbers(seed);
  std::string text;
  while (text.size() < bytes) text += kParts[numbers.below(kParts.size())];
  return text;
}

PrepareOptions options_of(const TemporaryFolder& folder, const char* out) {
  PrepareOptions options;
  options.tokenizer = SKIPLESS_SOURCE_DIR "/data/tokenizers/english_8192";
  options.out = folder.path() / out;
  options.paths = {(folder.path() / "in").string()};
  options.validation_fraction = 0.3;
  return options;
}

std::string bytes_of(const std::filesystem::path& folder) {
  return test::read_all(folder / prepared_files::kTrain) + test::read_all(folder / prepared_files::kValidation);
}

}  // namespace

TEST_CASE("WordPiece is prepared to the same bytes by any number of threads, and after an interruption",
          "[wordpiece][prepare][size]") {
  const TemporaryFolder folder;
  constexpr std::size_t kLong = 5'000'000;  // is cut into parts
  for (int i = 0; i < 12; ++i) {
    folder.write("in/text" + std::to_string(i) + ".txt", text_of(static_cast<std::uint64_t>(i), 20'000));
  }
  folder.write("in/unbroken.txt", "long " + std::string(120'000, 'a'));
  folder.write("in/long.txt", text_of(99, kLong));
  PrepareOptions options = options_of(folder, "one");
  options.threads = 1;
  const PrepareResult result = prepare(options);
  CHECK(result.tokenizer_kind == "WordPiece, uncased");
  CHECK(result.vocab_size == 8192);
  CHECK(result.skipped.empty());
  const std::string expected = bytes_of(options.out);

  options.out = folder.path() / "four";
  options.threads = 4;
  prepare(options);
  CHECK(bytes_of(options.out) == expected);

  options.out = folder.path() / "interrupted";
  options.save_seconds = 0;  // after every unit
  int interruptions = 0;
  for (bool done = false; !done; ++interruptions) {
    REQUIRE(interruptions < 40);
    int saves = 0;
    PrepareHooks hooks;
    hooks.saved = [&] {
      if (++saves == 3) throw std::runtime_error("interrupted");
    };
    try {
      prepare(options, hooks);
      done = true;
    } catch (const std::runtime_error& error) {
      if (std::string(error.what()) != "interrupted") throw;
    }
  }
  CHECK(interruptions > 3);
  CHECK(bytes_of(options.out) == expected);

  const PreparedData data = PreparedData::open(options.out);
  const auto whole = data.tokenizer->encode(text_of(99, kLong));
  bool found = false;
  for (const TokenShard* shard : {&data.train, &data.validation}) {
    for (std::int64_t i = 0; i < shard->documents(); ++i) {
      const auto place = shard->document(i);
      if (place.size() != static_cast<std::int64_t>(whole.size())) continue;
      std::vector<std::int64_t> ids(whole.size());
      shard->copy(place.begin, ids);
      found = found || std::equal(ids.begin(), ids.end(), whole.begin());
    }
  }
  CHECK(found);
  CHECK(chunking_with(ChunkKind::packed, *data.tokenizer).end_of_text == 3);  // [SEP]
}
