#include "data/wordpiece_tokenizer.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "configs/utf8.h"
#include "data/sequence_builder.h"
#include "data/tokenizer_file.h"
#include "data/wordpiece_encoder.h"
#include "tests/data/messages.h"
#include "tests/data/small_tokenizer.h"
#include "tests/shared_folder.h"
#include "tests/temporary_folder.h"

using namespace skipless;
using Catch::Contains;
using nlohmann::json;
using test::TemporaryFolder;
using test::user_error_of;
using Ids = std::vector<std::int32_t>;

namespace {

const std::string kEnglish8192 = SKIPLESS_SOURCE_DIR "/data/tokenizers/english_8192";

json reference() {  // tests/reference/make_wordpiece_reference.py
  return json::parse(test::read_all(SKIPLESS_SOURCE_DIR "/tests/reference/wordpiece_english_8192.json"));
}

/// Ids: the five special tokens, then 5 "a" to 8 "d", 9 "##a" to 12 "##d", 13 "bc", 14 "##cd", 15 "é", 16 "!", 17 "A".
WordPieceContent small_content() {
  WordPieceContent content;
  content.source = "small";
  for (const char* text : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", "d", "##a", "##b", "##c", "##d",
                           "bc", "##cd", "\u00E9", "!", "A"}) {
    content.vocab.emplace_back(text, static_cast<std::int64_t>(content.vocab.size()));
  }
  return content;
}

Ids ids_of(const WordPieceContent& content, std::string_view text) {
  return WordPieceTokenizer(content).encode(text);
}

Ids encoded_in_blocks(const Tokenizer& tokenizer, std::string_view text) {
  Ids ids;
  std::size_t done = 0;
  tokenizer.make_encoder()->encode(text, [&](std::span<const std::int32_t> block, std::size_t bytes) {
    ids.insert(ids.end(), block.begin(), block.end());
    CHECK(bytes > done);
    done = bytes;
  });
  return ids;
}

}  // namespace

TEST_CASE("WordPiece ids and decoded texts are those of the tokenizers package", "[wordpiece]") {
  const auto uncased = read_tokenizer(kEnglish8192);
  const TemporaryFolder folder;
  json root = json::parse(test::read_all(kEnglish8192 + "/tokenizer.json"));
  root["normalizer"]["lowercase"] = false;
  const auto cased = read_tokenizer(folder.write("cased.json", root.dump()));
  CHECK(cased->hash() != uncased->hash());
  const auto encoder = uncased->make_encoder(), cased_encoder = cased->make_encoder();
  const json cases = reference()["cases"];
  REQUIRE(cases.size() > 300);
  for (const auto& entry : cases) {
    const auto text = entry["text"].get<std::string>();
    CAPTURE(text);
    Ids ids, cased_ids;
    encoder->encode(text, ids);
    cased_encoder->encode(text, cased_ids);
    CHECK(ids == entry["uncased"].get<Ids>());
    CHECK(cased_ids == entry["cased"].get<Ids>());
    CHECK(encoded_in_blocks(*uncased, text) == ids);
    CHECK(uncased->decode(ids) == entry["decoded"].get<std::string>());
  }
}

TEST_CASE("sequences of one text or two are those of the tokenizers package", "[wordpiece][sequence]") {
  const auto tokenizer = read_tokenizer(kEnglish8192);
  const auto ordinary = [&](const std::string& text) {
    return static_cast<std::int64_t>(tokenizer->encode(text).size());
  };
  std::size_t cut = 0;
  const json all = reference();
  for (const auto& entry : all["pairs"]) {
    const auto a = entry["a"].get<std::string>(), b = entry["b"].get<std::string>();
    CAPTURE(a, b, entry["length"]);
    const Sequence sequence = SequenceBuilder(*tokenizer, entry["length"].get<std::int64_t>()).pair(a, b);
    CHECK(sequence.ids == entry["ids"].get<std::vector<std::int64_t>>());
    CHECK(sequence.token_types == entry["types"].get<std::vector<std::int64_t>>());
    REQUIRE(sequence.special.size() == sequence.ids.size());
    CHECK(std::count(sequence.special.begin(), sequence.special.end(), true) == 3);
    CHECK(sequence.cut == ordinary(a) + ordinary(b) + 3 - static_cast<std::int64_t>(sequence.ids.size()));
    cut += sequence.cut > 0 ? 1 : 0;
  }
  CHECK(cut > 100);
  for (const auto& entry : all["singles"]) {
    const Sequence sequence =
        SequenceBuilder(*tokenizer, entry["length"].get<std::int64_t>()).single(entry["a"].get<std::string>());
    CHECK(sequence.ids == entry["ids"].get<std::vector<std::int64_t>>());
    CHECK(sequence.token_types == entry["types"].get<std::vector<std::int64_t>>());
    CHECK(sequence.special.front());
    CHECK(sequence.special.back());
  }
}

TEST_CASE("a tokenizer without [CLS] or [SEP], and lengths without room for them, are refused", "[sequence]") {
  CHECK_THAT(user_error_of([] { SequenceBuilder(test::small_tokenizer(), 16); }), Contains("special token [CLS]"));
  const WordPieceTokenizer tokenizer(small_content());
  CHECK_THAT(user_error_of([&] { SequenceBuilder(tokenizer, 2); }), Contains("sequences of 2 tokens"));
  CHECK(SequenceBuilder(tokenizer, 3).pair("a", "b").ids == std::vector<std::int64_t>{2, 3, 3});
  CHECK(SequenceBuilder(tokenizer, 3).pair("a", "b").cut == 2);
}

TEST_CASE("the longest pieces are taken from the left, and a word that they do not make up is unknown", "[wordpiece]") {
  CHECK(ids_of(small_content(), "bcd") == Ids{13, 12});
  CHECK(ids_of(small_content(), "abcd abx ab") == Ids{5, 10, 14, 1, 5, 10});
  CHECK(ids_of(small_content(), "bc!bc") == Ids{13, 16, 13});
  CHECK(ids_of(small_content(), "A \u00C9") == Ids{5, 1});  // "e" is no token
  WordPieceContent content = small_content();
  content.normalizer.lowercase = false;
  CHECK(ids_of(content, "A \u00C9 \u00E9") == Ids{17, 1, 15});
  content = small_content();
  content.normalizer.strip_accents = false;
  CHECK(ids_of(content, "A \u00C9") == Ids{5, 15});
}

TEST_CASE("the longest word is counted in code points of what it becomes", "[wordpiece]") {
  const WordPieceTokenizer tokenizer(small_content());
  const auto repeated = [](std::string_view text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
  };
  CHECK(tokenizer.encode(repeated("A", 100)).size() == 100);
  CHECK(tokenizer.encode(repeated("A", 101)) == Ids{1});
  CHECK(tokenizer.encode(repeated("a\u0301", 100)).size() == 100);
  CHECK(tokenizer.encode(repeated("a\u0301", 101)) == Ids{1});
  CHECK(tokenizer.encode(repeated("a", 1 << 20)) == Ids{1});
  // Marks that change places, in a run as long: no time that grows with its square.
  CHECK(tokenizer.encode("a" + repeated("\u0301\u0323", 1 << 18)) == Ids{5});
}

TEST_CASE("text never becomes a special token but the unknown one", "[wordpiece]") {
  const WordPieceTokenizer tokenizer(small_content());
  CHECK(tokenizer.encode("[MASK]") == Ids{1, 1, 1});  // "[", "mask", "]"
  WordPieceContent content = small_content();
  content.specials.emplace_back("bc", 13);
  const WordPieceTokenizer with_word(content);
  CHECK(with_word.encode("bc") == Ids{6, 11});
  CHECK(with_word.is_special(13));
  CHECK(with_word.hash() != tokenizer.hash());
  for (std::int32_t id = 0; id < tokenizer.vocab_size(); ++id) CHECK(tokenizer.is_special(id) == (id < 5));
}

TEST_CASE("invalid UTF-8 is refused with its byte", "[wordpiece]") {
  const WordPieceTokenizer tokenizer(small_content());
  CHECK(user_error_of([&] { tokenizer.encode("abc\xFF"); }) == "not valid UTF-8: byte 0xFF at offset 3");
}

TEST_CASE("WordPiece ids do not depend on what was encoded before, nor on the thread", "[wordpiece]") {
  const auto tokenizer = read_tokenizer(kEnglish8192);
  const std::string text = test::read_all(SKIPLESS_SOURCE_DIR "/docs/data.md");
  const Ids expected = tokenizer->encode(text);
  CHECK(expected.size() > 1000);
  const auto small_cache = tokenizer->make_encoder(1 << 14);  // starts anew again and again
  Ids ids;
  small_cache->encode(text, ids);
  CHECK(ids == expected);
  std::vector<Ids> results(3);
  std::vector<std::thread> threads;
  for (Ids& result : results) threads.emplace_back([&] { tokenizer->make_encoder()->encode(text, result); });
  for (std::thread& thread : threads) thread.join();
  for (const Ids& result : results) CHECK(result == expected);
}

TEST_CASE("parts between the safe cuts of WordPiece have the ids of the whole", "[wordpiece][text_cut]") {
  // Each character is a token, so that an accent that changed sides would show.
  WordPieceContent content;
  content.source = "characters";
  const std::vector<std::uint32_t> alphabet = {' ',     '\n',   'a',    'B',    '1',   '!',     '\'',   0xA0,
                                               0xE9,    0x3000, 0x4E00, 0x302E, 0x301, 0x1D165, 0x2028, 0x200B,
                                               0x1F600, 0x2260, 0xF900, 0xAC00, 0x323, 0x2019,  0x85,   0};
  content.vocab.emplace_back("[UNK]", 0);
  for (std::uint32_t c : {0x61u, 0x62u, 0x31u, 0x21u, 0x27u, 0x65u, 0x4E00u, 0x302Eu, 0x1D165u, 0x1F600u, 0x3Du,
                          0x8C48u, 0x1100u, 0x1161u, 0x2019u}) {
    for (std::string text : {"", "##"}) {
      append_utf8(c, text);
      content.vocab.emplace_back(text, static_cast<std::int64_t>(content.vocab.size()));
    }
  }
  const WordPieceTokenizer tokenizer(content);
  const auto cutter = tokenizer.make_cutter();
  const auto encoder = tokenizer.make_encoder(WordCache::kDefaultBytes);
  test::Numbers numbers(4);
  std::size_t cuts = 0, unknown = 0, all = 0;
  for (int round = 0; round < 6000; ++round) {
    std::string text;
    const std::size_t length = 1 + numbers.below(40), kinds = 2 + numbers.below(alphabet.size() - 1),
                      shift = numbers.below(alphabet.size());
    for (std::size_t i = 0; i < length; ++i) {
      append_utf8(alphabet[(shift + numbers.below(kinds)) % alphabet.size()], text);
    }
    std::size_t end = 1 + numbers.below(text.size());
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
    const std::size_t cut = cutter->last_safe_cut(std::string_view(text).substr(0, end));
    REQUIRE(cut < end);
    if (cut == 0) continue;
    ++cuts;
    Ids joined, whole;
    encoder->encode(std::string_view(text).substr(0, cut), joined);
    encoder->encode(std::string_view(text).substr(cut), joined);
    encoder->encode(text, whole);
    CAPTURE(text, cut);
    CHECK(joined == whole);
    all += whole.size();
    unknown += static_cast<std::size_t>(std::count(whole.begin(), whole.end(), 0));
  }
  CHECK(cuts > 3000);
  CHECK(unknown < all / 10);
  CHECK(cutter->last_safe_cut("word") == 0);
  CHECK(cutter->last_safe_cut("") == 0);
  CHECK(cutter->last_safe_cut("word " + std::string(100000, 'x')) == 5);
}

TEST_CASE("a WordPiece that was written is read back as itself", "[wordpiece][tokenizer_file]") {
  const TemporaryFolder folder;
  WordPieceContent content = small_content();
  content.normalizer = {.clean_text = false, .handle_chinese_chars = false, .strip_accents = true, .lowercase = false};
  content.longest_word = 7;
  content.clean_up = false;
  const WordPieceTokenizer small(content);
  const auto read = read_tokenizer(folder.write("any_name.json", small.to_json()));
  CHECK(read->hash() == small.hash());
  CHECK(read->to_json() == small.to_json());
  CHECK(read->kind() == "WordPiece");
  CHECK(read->encode("abcdabcd abcd") == small.encode("abcdabcd abcd"));
}

TEST_CASE("a vocab.txt is read as a WordPiece, with the settings beside it", "[wordpiece][tokenizer_file]") {
  const TemporaryFolder folder;
  std::string lines, lines_crlf;
  for (const auto& [text, id] : small_content().vocab) {
    lines += text + "\n";
    lines_crlf += text + "\r\n";
  }
  const std::string expected = WordPieceTokenizer(small_content()).hash();
  folder.write("bert/vocab.txt", lines);
  CHECK(read_tokenizer(folder.path() / "bert")->hash() == expected);
  CHECK(read_tokenizer(folder.write("other/words.txt", lines_crlf))->hash() == expected);
  CHECK(read_tokenizer(folder.write("other/mark.txt", "\xEF\xBB\xBF" + lines))->hash() == expected);
  CHECK(read_tokenizer(folder.write("again.json", tokenizer_json_of(folder.path() / "bert")))->hash() == expected);

  folder.write("bert/tokenizer_config.json", R"({"do_lower_case": false, "tokenize_chinese_chars": false,
      "strip_accents": true, "model_max_length": 512, "mask_token": {"content": "[MASK]"}})");
  WordPieceContent content = small_content();
  content.normalizer = {.clean_text = true, .handle_chinese_chars = false, .strip_accents = true, .lowercase = false};
  CHECK(read_tokenizer(folder.path() / "bert")->hash() == WordPieceTokenizer(content).hash());

  const auto refusal = [&](const std::string& config) {
    folder.write("bert/tokenizer_config.json", config);
    return user_error_of([&] { read_tokenizer(folder.path() / "bert"); });
  };
  CHECK_THAT(refusal(R"({"do_lower_case": 1})"), Contains("'do_lower_case' is 1"));
  CHECK_THAT(refusal(R"({"do_basic_tokenize": false})"), Contains("'do_basic_tokenize' is false"));
  CHECK_THAT(refusal(R"({"never_split": ["x"]})"), Contains(R"('never_split' is ["x"])"));
  CHECK_THAT(refusal(R"({"unk_token": "<unk>"})"), Contains(R"('unk_token' is "<unk>")"));
  const auto vocabulary = [&](const std::string& text) {
    return user_error_of([&] { read_tokenizer(folder.write("broken.txt", text)); });
  };
  CHECK_THAT(vocabulary("[UNK]\na\na\n"), Contains("broken.txt', line 3: \"a\" stands in line 2"));
  CHECK_THAT(vocabulary("[UNK]\n\na\n"), Contains("line 2: empty"));
  CHECK_THAT(vocabulary("a\nb\n"), Contains("unknown token \"[UNK]\" is not in the vocabulary"));
  CHECK_THAT(vocabulary("[UNK]\n\xFF\n"), Contains("broken.txt', line 2: not UTF-8: byte 0xFF at offset 6"));
  CHECK_THAT(vocabulary(""), Contains("empty"));
}

TEST_CASE("what a WordPiece file asks for and is not supported is refused by name and value",
          "[wordpiece][tokenizer_file]") {
  struct Case {
    const char* place;  // JSON pointer
    json value;
    const char* expected;
  };
  const Case cases[] = {
      {"/normalizer", nullptr, "'normalizer' is null"},
      {"/normalizer/type", "NFC", "'normalizer' is {"},
      {"/normalizer/form", "x", R"('normalizer.form' is "x")"},
      {"/normalizer/lowercase", "yes", R"('normalizer.lowercase' is "yes")"},
      {"/pre_tokenizer/type", "Whitespace", "'pre_tokenizer' is {"},
      {"/pre_tokenizer/behavior", "x", R"('pre_tokenizer.behavior' is "x")"},
      {"/post_processor/type", "RobertaProcessing", "'post_processor' is {"},
      {"/post_processor/sep/0", "</s>", R"('post_processor.sep' is ["</s>",3])"},
      {"/post_processor/cls/1", 9, R"('post_processor.cls' is ["[CLS]",9])"},
      {"/decoder/type", "BPEDecoder", "'decoder' is {"},
      {"/decoder/prefix", "@@", R"('decoder.prefix' is "@@")"},
      {"/truncation", {{"max_length", 8}, {"strategy", "OnlyFirst"}}, R"('truncation.strategy' is "OnlyFirst")"},
      {"/truncation", {{"max_length", 8}, {"stride", 2}}, "'truncation.stride' is 2"},
      {"/padding", {{"direction", "Left"}}, R"('padding.direction' is "Left")"},
      {"/model/max_input_chars_per_word", -1, "'model.max_input_chars_per_word' is -1"},
      {"/model/unk_token", "<unk>", "unknown token \"<unk>\" is not in the vocabulary"},
      {"/model/extra", 1, "'model.extra' is 1"},
      {"/added_tokens/0/special", false, "'added_tokens[0].special' is false"},
      {"/added_tokens/0/id", 9, R"("[PAD]" has the id 9, and 0 too)"},
      {"/version", "2.0", R"('version' is "2.0")"},
  };
  const TemporaryFolder folder;
  const json small = json::parse(WordPieceTokenizer(small_content()).to_json());
  for (const Case& c : cases) {
    json root = small;
    root[json::json_pointer(c.place)] = c.value;
    CAPTURE(c.place);
    CHECK_THAT(user_error_of([&] { read_tokenizer(folder.write("bad.json", root.dump())); }), Contains(c.expected));
  }
  json accepted = small;
  accepted["truncation"] = {{"direction", "Right"}, {"max_length", 128}, {"strategy", "LongestFirst"}, {"stride", 0}};
  accepted["padding"] = {{"strategy", {{"Fixed", 128}}},
                         {"direction", "Right"},
                         {"pad_to_multiple_of", nullptr},
                         {"pad_id", 0},
                         {"pad_type_id", 0},
                         {"pad_token", "[PAD]"}};
  accepted["model"].erase("type");
  accepted.erase("decoder");
  CHECK(read_tokenizer(folder.write("good.json", accepted.dump()))->hash() ==
        WordPieceTokenizer(small_content()).hash());
}

TEST_CASE("every change of what decides the ids changes the hash of a WordPiece", "[wordpiece]") {
  const std::string hash = WordPieceTokenizer(small_content()).hash();
  const auto changed = [&](const std::function<void(WordPieceContent&)>& change) {
    WordPieceContent content = small_content();
    change(content);
    return WordPieceTokenizer(content).hash() != hash;
  };
  CHECK(changed([](WordPieceContent& c) { std::swap(c.vocab[5].second, c.vocab[6].second); }));
  CHECK(changed([](WordPieceContent& c) { c.vocab.pop_back(); }));
  CHECK(changed([](WordPieceContent& c) { c.prefix = "#"; }));
  CHECK(changed([](WordPieceContent& c) { c.longest_word = 99; }));
  CHECK(changed([](WordPieceContent& c) { c.unknown = "a"; }));
  CHECK(changed([](WordPieceContent& c) { c.normalizer.lowercase = false; }));
  CHECK(changed([](WordPieceContent& c) { c.normalizer.strip_accents = false; }));
  CHECK_FALSE(changed([](WordPieceContent& c) { c.normalizer.strip_accents = true; }));  // as lowercase has it
  CHECK(changed([](WordPieceContent& c) { c.normalizer.clean_text = false; }));
  CHECK(changed([](WordPieceContent& c) { c.normalizer.handle_chinese_chars = false; }));
}

TEST_CASE("ids that no token of a WordPiece has are refused when decoding", "[wordpiece]") {
  const WordPieceTokenizer tokenizer(small_content());
  CHECK(tokenizer.decode(Ids{2, 13, 12, 16, 3}) == "[CLS] bcd! [SEP]");
  CHECK_THAT(user_error_of([&] { tokenizer.decode(Ids{5, 18}); }), Contains("id 18 at position 1 is no token"));
}

TEST_CASE("the WordPiece cases handed out give the tokens that they name", "[wordpiece][shared]") {
  const auto path = test::shared_folder() / "cases/text";
  SKIPLESS_NEEDS(path);
  const auto tokenizer = read_tokenizer(path / "wordpiece_vocab.txt");
  std::vector<std::string> vocabulary;
  std::istringstream words(test::read_all(path / "wordpiece_vocab.txt"));
  for (std::string word; std::getline(words, word);) vocabulary.push_back(word);
  std::istringstream lines(test::read_all(path / "wordpiece_expected.jsonl"));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const json entry = json::parse(line);
    std::vector<std::string> tokens;
    for (const std::int32_t id : tokenizer->encode(entry["text"].get<std::string>())) {
      tokens.push_back(vocabulary[static_cast<std::size_t>(id)]);
    }
    CHECK(tokens == entry["tokens"].get<std::vector<std::string>>());
  }
  CHECK(count == 12);
  CHECK(tokenizer->encode(test::read_all(path / "huge_line.txt")).size() == 1);
  CHECK(user_error_of([&] { tokenizer->encode(test::read_all(path / "invalid_utf8.bin")); }) ==
        "not valid UTF-8: byte 0xFF at offset 3");
}
