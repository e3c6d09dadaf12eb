#include "data/bpe_encoder.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "data/tokenizer_file.h"
#include "tests/data/messages.h"
#include "tests/data/small_tokenizer.h"
#include "tests/temporary_folder.h"

using namespace skipless;
using namespace std::string_literals;
using test::user_error_of;
using Ids = std::vector<std::int32_t>;

namespace {

const char kPython4096[] = SKIPLESS_SOURCE_DIR "/data/tokenizers/python_4096";

/// Merging by the definition: of all neighbours, the pair that stands earliest in the list merges, the leftmost first.
Ids merge_plainly(const BpeContent& content, const std::string& piece) {
  std::vector<std::string> symbols;
  for (const char byte : piece) symbols.push_back(alphabet_character(static_cast<std::uint8_t>(byte)));
  while (true) {
    std::size_t best_rank = content.merges.size();
    std::size_t best_place = 0;
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
      for (std::size_t rank = 0; rank < best_rank; ++rank) {
        if (content.merges[rank].first != symbols[i] || content.merges[rank].second != symbols[i + 1]) continue;
        best_rank = rank;
        best_place = i;
      }
    }
    if (best_rank == content.merges.size()) break;
    symbols[best_place] += symbols[best_place + 1];
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best_place) + 1);
  }
  Ids ids;
  for (const std::string& symbol : symbols) {
    for (const auto& [text, id] : content.vocab) {
      if (text == symbol) ids.push_back(static_cast<std::int32_t>(id));
    }
  }
  return ids;
}

}  // namespace

TEST_CASE("ids are those of the tokenizers package", "[bpe]") {
  // tests/reference/make_bpe_reference.py
  const auto reference =
      nlohmann::json::parse(test::read_all(SKIPLESS_SOURCE_DIR "/tests/reference/bpe_python_4096.json"));
  REQUIRE(reference["cases"].size() > 300);
  const auto tokenizer_file = read_tokenizer(kPython4096);
  const Tokenizer& tokenizer = *tokenizer_file;
  const auto encoder = tokenizer.make_encoder();
  for (const auto& entry : reference["cases"]) {
    const auto text = entry["text"].get<std::string>();
    Ids ids;
    encoder->encode(text, ids);
    CAPTURE(text);
    CHECK(ids == entry["ids"].get<Ids>());
    CHECK(tokenizer.decode(ids) == text);
    CHECK(tokenizer.encode(text) == ids);
  }
}

TEST_CASE("words of every length merge as the definition says", "[bpe]") {
  // Letters only, so that a text is one piece. Long words take another path than short ones: both sides of that bound.
  BpeContent content = test::small_content();
  const BpeTokenizer small(content);
  test::Numbers numbers(7);
  for (std::size_t round = 0; round < 400; ++round) {
    std::string word;
    const std::size_t length = 1 + numbers.below(round < 300 ? 80 : 300);
    while (word.size() < length) word += "aaabc"[numbers.below(5)];
    CAPTURE(word);
    REQUIRE(small.encode(word) == merge_plainly(content, word));
  }
}

// An optimised build takes a tenth of a second. Unoptimised and under sanitizers the bound only tells
// n log n from n squared, which takes minutes there.
#ifdef NDEBUG
constexpr double kSecondsForLongWord = 2;
#else
constexpr double kSecondsForLongWord = 30;
#endif

TEST_CASE("a text of 300,000 equal letters is encoded in under 2 seconds", "[bpe]") {
  const auto tokenizer_file = read_tokenizer(kPython4096);
  const Tokenizer& tokenizer = *tokenizer_file;
  for (const char letter : {'x', 'e', ' ', '=', '7'}) {
    const std::string text(300000, letter);
    const auto start = std::chrono::steady_clock::now();
    const Ids ids = tokenizer.encode(text);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    CHECK(seconds < kSecondsForLongWord);
    CHECK(tokenizer.decode(ids) == text);
  }
}

TEST_CASE("text that spells a special token is ordinary text", "[bpe]") {
  const auto tokenizer_file = read_tokenizer(kPython4096);
  const Tokenizer& tokenizer = *tokenizer_file;
  const auto special = tokenizer.special_token_id("<|endoftext|>");
  REQUIRE(special == 0);
  for (const std::string text : {"<|endoftext|>", "a<|endoftext|>b", " <|endoftext|>\n<|endoftext|>"}) {
    const Ids ids = tokenizer.encode(text);
    CHECK(std::count(ids.begin(), ids.end(), *special) == 0);
    CHECK(tokenizer.decode(ids) == text);
  }
  CHECK(tokenizer.decode(Ids{*special}) == "<|endoftext|>");
  CHECK_FALSE(tokenizer.special_token_id("<|pad|>").has_value());
  CHECK_FALSE(tokenizer.special_token_id("def").has_value());
}

TEST_CASE("text that is not UTF-8 is refused with the byte's offset", "[bpe]") {
  const BpeTokenizer tokenizer = test::small_tokenizer();
  CHECK(user_error_of([&] { tokenizer.encode("good\xFF"); }) == "not valid UTF-8: byte 0xFF at offset 4");
  CHECK(user_error_of([&] { tokenizer.encode("\xED\xA0\x80"); }) == "not valid UTF-8: byte 0xED at offset 0");
  Ids ids = {5};
  BpeEncoder encoder(tokenizer);
  CHECK_THROWS_AS(encoder.encode("ab\x80", ids), UserError);
  CHECK(ids == Ids{5});  // nothing of a refused text is appended
  encoder.encode("ab", ids);
  CHECK(ids == Ids{5, 257});
}

TEST_CASE("a byte without a token is refused when a text needs it, never dropped", "[bpe]") {
  BpeContent content = test::small_content();
  std::erase_if(content.vocab, [](const auto& entry) { return entry.first == "z"; });
  const BpeTokenizer tokenizer(content);
  CHECK(tokenizer.unused_ids() == 1);
  CHECK(tokenizer.encode("ab") == Ids{257});
  CHECK(user_error_of([&] { tokenizer.encode("abc lazy"); }) ==
        "'small' has no token for the byte 0x7A, which stands at offset 6 of the text");
}

TEST_CASE("blocks hold the ids of the whole text in order", "[bpe]") {
  const BpeTokenizer tokenizer = test::small_tokenizer();
  std::string text;
  test::Numbers numbers(3);
  while (text.size() < 500000) text += "abc ab a\n"[numbers.below(9)];
  BpeEncoder encoder(tokenizer);
  Ids joined;
  std::size_t blocks = 0;
  std::size_t done = 0;
  encoder.encode(text, [&](std::span<const std::int32_t> ids, std::size_t bytes) {
    joined.insert(joined.end(), ids.begin(), ids.end());
    ++blocks;
    CHECK(bytes > done);
    done = bytes;
    CHECK(tokenizer.decode(joined) == text.substr(0, bytes));
  });
  CHECK(blocks > 1);
  CHECK(done == text.size());
  CHECK(joined == tokenizer.encode(text));
}

TEST_CASE("ids do not depend on what was encoded before, nor on how many words", "[bpe]") {
  const auto tokenizer_file = read_tokenizer(kPython4096);
  const Tokenizer& tokenizer = *tokenizer_file;
  const auto used = tokenizer.make_encoder();
  test::Numbers numbers(11);
  Ids ignored;
  for (int i = 0; i < 300000; ++i) {  // more than the cache holds
    std::string word;
    for (std::uint64_t value = numbers.next(); value > 0; value /= 26) word += static_cast<char>('a' + value % 26);
    ignored.clear();
    used->encode(word, ignored);
  }
  const std::string text = "def area(self):\n    return self.width * self.height\n";
  Ids ids;
  used->encode(text, ids);
  CHECK(ids == tokenizer.encode(text));
}

TEST_CASE("one tokenizer serves several threads", "[bpe]") {
  const auto tokenizer_file = read_tokenizer(kPython4096);
  const Tokenizer& tokenizer = *tokenizer_file;
  const std::string text = test::read_all(SKIPLESS_SOURCE_DIR "/data/bpe_tokenizer.cpp");
  const Ids expected = tokenizer.encode(text);
  std::vector<Ids> results(4);
  std::vector<std::thread> threads;
  for (Ids& result : results) threads.emplace_back([&] { tokenizer.make_encoder()->encode(text, result); });
  for (std::thread& thread : threads) thread.join();
  for (const Ids& result : results) CHECK(result == expected);
}

TEST_CASE("ids that no token has are refused when decoding", "[bpe]") {
  const BpeTokenizer tokenizer = test::small_tokenizer();
  CHECK(tokenizer.decode(Ids{257, 32, 258}) == "ab abc");
  CHECK(user_error_of([&] {
          tokenizer.decode(Ids{1, 262});
        }) == "id 262 at position 1 is no token of 'small' (0 to 261)");
  CHECK(user_error_of([&] { tokenizer.decode(Ids{-1}); }) == "id -1 at position 0 is no token of 'small' (0 to 261)");
}
