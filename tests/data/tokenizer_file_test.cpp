#include "data/tokenizer_file.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "data/strict_json.h"
#include "data/tokenizer_json.h"
#include "tests/data/messages.h"
#include "tests/data/small_tokenizer.h"
#include "tests/shared_folder.h"
#include "tests/temporary_folder.h"

using namespace skipless;
using Catch::Contains;
using nlohmann::json;
using test::TemporaryFolder;
using test::user_error_of;

namespace {

json small_json() {
  return json::parse(test::small_tokenizer().to_json());
}

std::string refusal_of(const TemporaryFolder& folder, const std::string& text) {
  const auto file = folder.write("tokenizer.json", text);
  return user_error_of([&] { read_tokenizer(file); });
}

/// Writes vocab.json and merges.txt of a tokenizer.json.
void write_pair(const TemporaryFolder& folder, const json& root, const std::string& line_end = "\n") {
  folder.write("pair/vocab.json", root["model"]["vocab"].dump());
  std::string merges = "#version: 0.2" + line_end;
  for (const auto& merge : root["model"]["merges"]) {
    merges += merge[0].get<std::string>() + " " + merge[1].get<std::string>() + line_end;
  }
  folder.write("pair/merges.txt", merges);
}

}  // namespace

TEST_CASE("a tokenizer that was written is read back as itself", "[tokenizer_file]") {
  const TemporaryFolder folder;
  const BpeTokenizer small = test::small_tokenizer();
  const auto file = folder.write("any_name.json", small.to_json());
  const auto read_file = read_tokenizer(file);
  const Tokenizer& read = *read_file;
  CHECK(read.hash() == small.hash());
  CHECK(read.to_json() == small.to_json());
  CHECK(read.vocab_size() == 262);
  CHECK(read.unused_ids() == 0);
  CHECK(read.special_token_id("<|endoftext|>") == 256);
  CHECK(read.encode(" aabcab") == small.encode(" aabcab"));
}

TEST_CASE("both kinds of files of one tokenizer have one hash", "[tokenizer_file]") {
  const TemporaryFolder folder;
  json root = small_json();
  for (const std::string line_end : {"\n", "\r\n"}) {
    write_pair(folder, root, line_end);
    const std::string expected = test::small_tokenizer().hash();
    for (const char* name : {"pair", "pair/vocab.json", "pair/merges.txt"}) {
      const auto read_file = read_tokenizer(folder.path() / name);
      const Tokenizer& read = *read_file;
      CHECK(read.hash() == expected);
      CHECK(read.special_token_id("<|endoftext|>") == 256);
    }
    const auto again = folder.write("again.json", tokenizer_json_of(folder.path() / "pair"));
    CHECK(read_tokenizer(again)->hash() == expected);
  }
  for (auto& merge : root["model"]["merges"]) merge = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
  CHECK(read_tokenizer(folder.write("old_merges.json", root.dump()))->hash() == test::small_tokenizer().hash());
  root["model"].erase("type");
  CHECK(read_tokenizer(folder.write("no_type.json", root.dump()))->hash() == test::small_tokenizer().hash());
}

TEST_CASE("every change of vocabulary, merges or specials changes the hash", "[tokenizer_file]") {
  const std::string hash = test::small_tokenizer().hash();
  CHECK(hash.size() == 32);
  BpeContent content = test::small_content();
  std::swap(content.merges[0], content.merges[2]);
  CHECK(BpeTokenizer(content).hash() != hash);
  content = test::small_content();
  content.merges.pop_back();
  CHECK(BpeTokenizer(content).hash() != hash);
  content = test::small_content();
  std::swap(content.vocab[65].second, content.vocab[66].second);
  CHECK(BpeTokenizer(content).hash() != hash);
  content = test::small_content();
  content.specials.emplace_back("<|pad|>", 262);
  CHECK(BpeTokenizer(content).hash() != hash);
}

TEST_CASE("what a tokenizer.json asks for and is not supported is refused by name and value", "[tokenizer_file]") {
  struct Case {
    const char* place;  // JSON pointer
    json value;
    const char* expected;
  };
  const Case cases[] = {
      {"/normalizer", {{"type", "NFC"}}, R"('normalizer' is {"type":"NFC"})"},
      {"/truncation", {{"max_length", 8}}, R"('truncation' is {"max_length":8})"},
      {"/padding", {{"direction", "Right"}}, R"('padding' is {"direction":"Right"})"},
      {"/version", "2.0", R"('version' is "2.0")"},
      {"/extra", 1, "'extra' is 1"},
      {"/pre_tokenizer", nullptr, "'pre_tokenizer' is null"},
      {"/pre_tokenizer/type", "Whitespace", R"('pre_tokenizer' is {"add_prefix_space":false,)"},
      {"/pre_tokenizer/add_prefix_space", true, "'pre_tokenizer.add_prefix_space' is true"},
      {"/pre_tokenizer/use_regex", false, "'pre_tokenizer.use_regex' is false"},
      {"/pre_tokenizer/pattern", "x", R"('pre_tokenizer.pattern' is "x")"},
      {"/post_processor", {{"type", "TemplateProcessing"}}, R"('post_processor' is {"type":"TemplateProcessing"})"},
      {"/decoder", {{"type", "WordPiece"}}, R"('decoder' is {"type":"WordPiece"})"},
      {"/model/type", "Unigram", R"('model.type' is "Unigram")"},
      {"/model/dropout", 0.1, "'model.dropout' is 0.1"},
      {"/model/unk_token", "<unk>", R"('model.unk_token' is "<unk>")"},
      {"/model/continuing_subword_prefix", "##", R"('model.continuing_subword_prefix' is "##")"},
      {"/model/end_of_word_suffix", "</w>", R"('model.end_of_word_suffix' is "</w>")"},
      {"/model/fuse_unk", true, "'model.fuse_unk' is true"},
      {"/model/byte_fallback", true, "'model.byte_fallback' is true"},
      {"/model/ignore_merges", true, "'model.ignore_merges' is true"},
      {"/model/new_option", 3, "'model.new_option' is 3"},
      {"/added_tokens/0/special", false, "'added_tokens[0].special' is false"},
      {"/added_tokens/0/color", "red", R"('added_tokens[0].color' is "red")"},
  };
  const TemporaryFolder folder;
  for (const Case& entry : cases) {
    json root = small_json();
    root[json::json_pointer(entry.place)] = entry.value;
    CAPTURE(entry.place);
    const std::string message = refusal_of(folder, root.dump());
    CHECK_THAT(message, Contains(entry.expected));
    CHECK_THAT(message, Contains("tokenizer.json' is not supported: "));
  }

  json root = small_json();
  root["normalizer"] = "NFC";
  root["model"]["byte_fallback"] = true;
  const std::string message = refusal_of(folder, root.dump());
  CHECK_THAT(message, Contains("'normalizer'") && Contains("'model.byte_fallback'"));  // all at once
}

TEST_CASE("of a tokenizer.json of another model its type alone is named, with those that are read",
          "[tokenizer_file]") {
  const TemporaryFolder folder;
  for (const std::string type : {"Unigram", "WordLevel"}) {
    json root = small_json();
    root["model"] = {{"type", type}, {"vocab", json::object()}};
    root["decoder"] = {{"type", "WordPiece"}};
    root["post_processor"] = {{"type", "TemplateProcessing"}};
    CHECK_THAT(refusal_of(folder, root.dump()),
               Catch::EndsWith(
                   fmt::format(R"(is not supported: 'model.type' is "{}" (supported: "BPE" or "WordPiece"))", type)));
  }
}

TEST_CASE("malformed tokenizer files are refused with their place", "[tokenizer_file]") {
  const TemporaryFolder folder;
  const auto with = [&](const std::function<void(json&)>& change) {
    json root = small_json();
    change(root);
    return refusal_of(folder, root.dump());
  };
  CHECK_THAT(refusal_of(folder, ""), Contains("is not valid JSON"));
  CHECK_THAT(refusal_of(folder, "[1]"), Contains("expected an object"));
  CHECK_THAT(refusal_of(folder, "{}"), Contains("'model' is missing"));
  CHECK_THAT(refusal_of(folder, R"({"a": 1, "a": 2})"), Contains(R"(the key "a" stands twice)"));
  CHECK_THAT(refusal_of(folder, std::string(100000, '[')), Contains("nested deeper than 64"));
  CHECK_THAT(refusal_of(folder, "{\"model\": \"\xFF\"}"), Contains("is not UTF-8: byte 0xFF at offset 11"));
  CHECK_THAT(with([](json& root) { root["model"].erase("vocab"); }), Contains("'model.vocab' is missing"));
  CHECK_THAT(with([](json& root) { root["model"].erase("merges"); }), Contains("'model.merges' is missing"));
  CHECK_THAT(with([](json& root) { root["model"]["vocab"] = json::object(); }), Contains("the vocabulary is empty"));
  CHECK_THAT(with([](json& root) { root["model"]["vocab"]["a"] = -1; }), Contains("'model.vocab.a' is -1"));
  CHECK_THAT(with([](json& root) { root["model"]["vocab"]["a"] = 1.5; }), Contains("'model.vocab.a' is 1.5"));
  CHECK_THAT(with([](json& root) { root["model"]["vocab"]["a"] = 1u << 24; }),
             Contains("'model.vocab.a' is 16777216, expected an id (0 to 16777215)"));
  CHECK_THAT(with([](json& root) { root["model"]["vocab"]["new"] = 97; }), Contains("has the id 97, which"));
  CHECK_THAT(with([](json& root) {
               root["model"]["merges"].push_back({"x", "y"});
             }),
             Contains(R"(merge 6 ("x" + "y") needs the token "xy", which is not in the vocabulary)"));
  CHECK_THAT(with([](json& root) { root["model"]["merges"].push_back({"no", "y"}); }), Contains(R"(the token "no")"));
  CHECK_THAT(with([](json& root) {
               root["model"]["merges"].push_back({"a", "b"});
             }),
             Contains(R"(merge 6 ("a" + "b") stands twice)"));
  for (const json& merge : {json("ab"), json("a b c"), json(" b"), json("a "), json(7), json({"a"}), json({"a", 1})}) {
    CHECK_THAT(with([&](json& root) { root["model"]["merges"][1] = merge; }), Contains("'model.merges[1]' is "));
  }
  CHECK_THAT(with([](json& root) { root["added_tokens"][0]["id"] = 3; }), Contains("has the id 3, and 256 too"));
  CHECK_THAT(with([](json& root) { root["added_tokens"][0]["content"] = "<|other|>"; }),
             Contains(R"(token "<|other|>" has the id 256, which "<|endoftext|>" has too)"));
  CHECK_THAT(with([](json& root) {
               root["added_tokens"][0]["content"] = "ab";
               root["added_tokens"][0]["id"] = 257;
             }),
             Contains("both a special token and what ordinary text becomes"));
  CHECK_THAT(with([](json& root) { root["added_tokens"][0].erase("special"); }), Contains("special' is missing"));

  CHECK_THAT(user_error_of([&] { read_tokenizer(folder.path() / "none.json"); }), Contains("No such file"));
  std::filesystem::create_directory(folder.path() / "empty");
  CHECK_THAT(user_error_of([&] { read_tokenizer(folder.path() / "empty"); }), Contains("holds no tokenizer"));
  folder.write("pair/vocab.json", R"({"a": 0, "b": 1, "ab": 2})");
  folder.write("pair/merges.txt", "#version: 0.2\na b\n\n");
  CHECK_THAT(user_error_of([&] { read_tokenizer(folder.path() / "pair"); }), Contains("merges.txt', line 3"));
  folder.write("pair/merges.txt", "a b c\n");
  CHECK_THAT(user_error_of([&] { read_tokenizer(folder.path() / "pair"); }), Contains("merges.txt', line 1"));
  folder.write("pair/merges.txt", "a b\nb \xFF\n");
  CHECK_THAT(user_error_of([&] { read_tokenizer(folder.path() / "pair"); }),
             Contains("merges.txt', line 2: not UTF-8: byte 0xFF at offset 6"));
  folder.write("pair/merges.txt",
               "\xEF\xBB\xBF"
               "a b\n");
  CHECK(read_tokenizer(folder.path() / "pair")->encode("ab") == std::vector<std::int32_t>{2});
  folder.write("pair/merges.txt", "a b");  // no newline at the end
  CHECK(read_tokenizer(folder.path() / "pair")->encode("ab") == std::vector<std::int32_t>{2});
}

TEST_CASE("ids may have gaps, and are then counted", "[tokenizer_file]") {
  const TemporaryFolder folder;
  json root = small_json();
  root["model"]["vocab"]["ab"] = 5000;
  const auto tokenizer_file = read_tokenizer(folder.write("gaps.json", root.dump()));
  const Tokenizer& tokenizer = *tokenizer_file;
  CHECK(tokenizer.vocab_size() == 5001);
  CHECK(tokenizer.unused_ids() == 5001 - 262);
  CHECK(tokenizer.encode("ab") == std::vector<std::int32_t>{5000});
  CHECK_THAT(user_error_of([&] { tokenizer.decode(std::vector<std::int32_t>{4999}); }), Contains("with gaps"));
}

TEST_CASE("a damaged tokenizer.json is refused or read, and nothing else", "[tokenizer_file]") {
  const std::string good = test::small_tokenizer().to_json();
  test::Numbers numbers(5);
  int refused = 0;
  for (int round = 0; round < 1500; ++round) {
    std::string bad = good;
    for (std::size_t change = 0; change <= numbers.below(3); ++change) {
      const std::size_t at = numbers.below(bad.size());
      switch (numbers.below(4)) {
        case 0:
          bad[at] = static_cast<char>(numbers.below(256));
          break;
        case 1:
          bad.erase(at, 1 + numbers.below(40));
          break;
        case 2:
          bad.insert(at, bad.substr(numbers.below(bad.size()), numbers.below(40)));
          break;
        default:
          bad.resize(at + 1);
      }
    }
    try {
      const BpeTokenizer tokenizer(parse_tokenizer_json(parse_strict_json(bad, "bad"), "bad"));
      CHECK(tokenizer.hash().size() == 32);
    } catch (const UserError&) {
      ++refused;
    }
  }
  CHECK(refused > 1000);
}

TEST_CASE("the tokenizers handed out are read, and both kinds of files agree", "[tokenizer_file][shared]") {
  const auto path = test::shared_folder() / "data/tokenizers";
  SKIPLESS_NEEDS(path);
  const auto from_json_file = read_tokenizer(path / "code-search-net-tokenizer");
  const Tokenizer& from_json = *from_json_file;
  CHECK(from_json.vocab_size() == 52000);
  CHECK(from_json.hash() == read_tokenizer(path / "code-search-net-tokenizer/vocab.json")->hash());
  CHECK(from_json.special_token_id("<|endoftext|>") == 0);
  const auto gpt2_file = read_tokenizer(path / "gpt2");
  const Tokenizer& gpt2 = *gpt2_file;
  CHECK(gpt2.vocab_size() == 50257);
  CHECK(gpt2.special_token_id("<|endoftext|>") == 50256);
  CHECK(gpt2.encode("Hello world") == std::vector<std::int32_t>{15496, 995});
  const auto bert_file = read_tokenizer(path / "bert-base-uncased");
  const Tokenizer& bert = *bert_file;
  CHECK(bert.vocab_size() == 30522);
  CHECK(bert.hash() == read_tokenizer(path / "bert-base-uncased/vocab.txt")->hash());
  CHECK(bert.special_token_id("[MASK]") == 103);
  CHECK(bert.encode("Hello world") == std::vector<std::int32_t>{7592, 2088});
}

TEST_CASE("the texts handed out come back from their ids", "[bpe][shared]") {
  const auto path = test::shared_folder() / "cases/text";
  SKIPLESS_NEEDS(path);
  const auto tokenizer_file = read_tokenizer(SKIPLESS_SOURCE_DIR "/data/tokenizers/python_4096");
  const Tokenizer& tokenizer = *tokenizer_file;
  for (const char* name :
       {"crlf.txt", "huge_line.txt", "no_trailing_newline.txt", "empty.txt", "bpe_roundtrip.jsonl"}) {
    const std::string text = test::read_all(path / name);
    CHECK(tokenizer.decode(tokenizer.encode(text)) == text);
  }
  CHECK(user_error_of([&] { tokenizer.encode(test::read_all(path / "invalid_utf8.bin")); }) ==
        "not valid UTF-8: byte 0xFF at offset 3");
}
