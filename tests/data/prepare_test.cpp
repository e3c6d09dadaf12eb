#include "data/prepare.h"

#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "data/prepared_data.h"
#include "data/tokenizer_file.h"
#include "tests/data/messages.h"
#include "tests/data/small_tokenizer.h"
#include "tests/shared_folder.h"
#include "tests/temporary_folder.h"

using namespace skipless;
using namespace std::string_literals;
using Catch::Contains;
using test::TemporaryFolder;
using test::user_error_of;

namespace {

PrepareOptions options_of(const TemporaryFolder& folder) {
  PrepareOptions options;
  options.tokenizer = folder.write("small.json", test::small_tokenizer().to_json());
  options.out = folder.path() / "out";
  options.paths = {(folder.path() / "in").string()};
  return options;
}

/// 40 files of different texts below "in".
void write_corpus(const TemporaryFolder& folder) {
  for (int i = 0; i < 40; ++i) {
    folder.write("in/sub" + std::to_string(i % 3) + "/file" + std::to_string(i) + ".txt",
                 "text number " + std::to_string(i) + "\nabc aaaa\n");
  }
}

/// No file grows beyond `bytes` while this lives, as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limit{bytes, old_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit old_{};
};

std::vector<std::string> texts_of(const TokenShard& shard, const Tokenizer& tokenizer) {
  std::vector<std::string> texts;
  for (std::int64_t i = 0; i < shard.documents(); ++i) {
    const auto place = shard.document(i);
    std::vector<std::int64_t> ids(static_cast<std::size_t>(place.size()));
    shard.copy(place.begin, ids);
    texts.push_back(tokenizer.decode(std::vector<std::int32_t>(ids.begin(), ids.end())));
  }
  return texts;
}

std::vector<std::string> all_texts(const std::filesystem::path& out) {
  const PreparedData data = PreparedData::open(out);
  std::vector<std::string> texts = texts_of(data.train, *data.tokenizer);
  for (const std::string& text : texts_of(data.validation, *data.tokenizer)) texts.push_back(text);
  std::sort(texts.begin(), texts.end());
  return texts;
}

}  // namespace

TEST_CASE("a prepared folder holds every document once, on one side", "[prepare]") {
  const TemporaryFolder folder;
  write_corpus(folder);
  PrepareOptions options = options_of(folder);
  options.validation_fraction = 0.25;
  const PrepareResult result = prepare(options);
  CHECK_FALSE(result.already_done);
  CHECK(result.train.documents + result.validation.documents == 40);
  CHECK(result.validation.documents > 3);  // 10 expected, standard deviation 2.7
  CHECK(result.validation.documents < 20);
  CHECK(result.vocab_size == 262);

  const PreparedData data = PreparedData::open(options.out);
  CHECK(data.vocab_size == 262);
  CHECK(data.tokenizer_hash == test::small_tokenizer().hash());
  CHECK(data.train.tokens() == result.train.tokens);
  std::vector<std::string> expected;
  for (int i = 0; i < 40; ++i) expected.push_back("text number " + std::to_string(i) + "\nabc aaaa\n");
  std::sort(expected.begin(), expected.end());
  CHECK(all_texts(options.out) == expected);
}

TEST_CASE("the same corpus gives the same bytes wherever it lies, and another seed another split", "[prepare]") {
  const TemporaryFolder first;
  const TemporaryFolder second;
  write_corpus(first);
  write_corpus(second);
  PrepareOptions options = options_of(first);
  prepare(options);
  PrepareOptions elsewhere = options_of(second);
  prepare(elsewhere);
  for (const char* name : {"train.bin", "validation.bin", "tokenizer.json"}) {
    CHECK(test::read_all(options.out / name) == test::read_all(elsewhere.out / name));
  }
  options.seed = 1;
  options.force = true;
  prepare(options);
  CHECK(test::read_all(options.out / "validation.bin") != test::read_all(elsewhere.out / "validation.bin"));
}

TEST_CASE("copies of a document are on one side, and both sides hold something", "[prepare]") {
  const TemporaryFolder folder;
  for (int i = 0; i < 12; ++i) folder.write("in/" + std::to_string(i) + ".txt", i % 2 == 0 ? "even text" : "odd text");
  PrepareOptions options = options_of(folder);
  for (const double fraction : {0.0001, 0.5, 0.9999}) {
    options.validation_fraction = fraction;
    options.force = true;
    const PrepareResult result = prepare(options);
    CHECK(result.train.documents == 6);
    CHECK(result.validation.documents == 6);
  }
}

TEST_CASE("preparing again says that it is done, and never replaces another preparation by itself", "[prepare]") {
  const TemporaryFolder folder;
  write_corpus(folder);
  PrepareOptions options = options_of(folder);
  const PrepareResult first = prepare(options);
  const std::string bytes = test::read_all(options.out / "train.bin");
  const PrepareResult again = prepare(options);
  CHECK(again.already_done);
  CHECK(again.train.tokens == first.train.tokens);
  CHECK(again.validation.checksum == first.validation.checksum);

  options.seed = 5;
  CHECK_THAT(user_error_of([&] { prepare(options); }),
             Contains("holds another preparation (seed: 0 there, 5 now)") && Contains("--force"));
  options.seed = 0;
  folder.write("in/new.txt", "a new file");
  CHECK_THAT(user_error_of([&] { prepare(options); }), Contains("files: 40 there, 41 now"));
  CHECK(test::read_all(options.out / "train.bin") == bytes);
  options.force = true;
  CHECK(prepare(options).train.documents + prepare(options).validation.documents == 41);

  // A damaged shard of these very settings is made anew.
  options.force = false;
  std::filesystem::resize_file(options.out / "train.bin", 200);
  std::vector<std::string> warnings;
  const PrepareResult repaired =
      prepare(options, {.warn = [&](const std::string& message) { warnings.push_back(message); }});
  CHECK_FALSE(repaired.already_done);
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Contains("preparing again") && Contains("train.bin"));
  CHECK(prepare(options).already_done);
}

TEST_CASE("a replacement that runs out of space leaves the old preparation as it was", "[prepare]") {
  const TemporaryFolder folder;
  write_corpus(folder);
  PrepareOptions options = options_of(folder);
  prepare(options);
  const auto contents = [&] {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(options.out)) {
      files[entry.path().filename().string()] = test::read_all(entry.path());
    }
    return files;
  };
  const auto before = contents();
  options.seed = 5;
  options.force = true;
  // The first limit stops a shard, the second the tokenizer; a manifest that says "incomplete" fits into both.
  for (const std::size_t limit : {before.at("train.bin").size() / 2, before.at("tokenizer.json").size() - 1}) {
    INFO("files of at most " << limit << " bytes");
    REQUIRE(limit > 500);
    {
      const FileSizeLimit limited(limit);
      CHECK_THROWS_AS(prepare(options), RunError);
    }
    CHECK(contents() == before);
    CHECK(PreparedData::open(options.out).train.documents() > 0);
  }
  prepare(options);
  CHECK(contents() != before);
}

TEST_CASE("the folder of a training run takes no data, by force or not", "[prepare]") {
  const TemporaryFolder folder;
  write_corpus(folder);
  PrepareOptions options = options_of(folder);
  for (const bool force : {false, true}) {
    options.force = force;
    folder.write("out/checkpoints/step_1/model", "");
    CHECK_THAT(user_error_of([&] { prepare(options); }), Contains("holds checkpoints: it is the folder of a training"));
    folder.write("out/config.yaml", "{}");
    CHECK_THAT(user_error_of([&] { prepare(options); }), Contains("holds config.yaml"));
    std::filesystem::remove(options.out / "config.yaml");
  }
  CHECK_FALSE(std::filesystem::exists(options.out / "train.bin"));
}

TEST_CASE("a folder with files of another origin is left alone", "[prepare]") {
  const TemporaryFolder folder;
  write_corpus(folder);
  const PrepareOptions options = options_of(folder);
  folder.write("out/train.bin", "precious");
  CHECK_THAT(user_error_of([&] { prepare(options); }), Contains("something else wrote it"));
  CHECK(test::read_all(options.out / "train.bin") == "precious");
}

TEST_CASE("an interrupted preparation is not used, and made anew without being asked", "[prepare]") {
  const TemporaryFolder folder;
  write_corpus(folder);
  const PrepareOptions options = options_of(folder);
  prepare(options);
  auto manifest = nlohmann::json::parse(test::read_all(options.out / "prepare.json"));
  manifest["complete"] = false;
  folder.write("out/prepare.json", manifest.dump());
  CHECK_THAT(user_error_of([&] { PreparedData::open(options.out); }), Contains("interrupted"));
  CHECK_FALSE(prepare(options).already_done);
  CHECK(prepare(options).already_done);
}

TEST_CASE("lines of a .jsonl file are documents", "[prepare]") {
  const TemporaryFolder folder;
  folder.write("in/data.jsonl",
               "{\"text\": \"one\\nline\", \"id\": 1}\n\n{\"id\": 2, \"text\": \"two \\u00e9\"}\r\n"
               "{\"text\": \"\"}\n{\"text\": \"last\"}");
  PrepareOptions options = options_of(folder);
  options.field = "text";
  const PrepareResult result = prepare(options);
  CHECK(result.skipped.at("empty") == 1);
  CHECK(all_texts(options.out) == std::vector<std::string>{"last", "one\nline", "two \xC3\xA9"});
}

TEST_CASE("faults in .jsonl files are named with file and line", "[prepare]") {
  const TemporaryFolder folder;
  PrepareOptions options = options_of(folder);
  const auto refusal = [&](const std::string& second_line) {
    folder.write("in/data.jsonl", "{\"text\": \"good\"}\n" + second_line + "\n{\"text\": \"also good\"}\n");
    return user_error_of([&] { prepare(options); });
  };
  CHECK_THAT(refusal("{\"text\": \"x\"}"), Contains("name the field that holds the text with --field"));
  options.field = "text";
  CHECK_THAT(refusal("{\"text\" 1}"),
             Contains("data.jsonl:2' is not valid JSON at byte 9: syntax error") && !Contains("line 1"));
  CHECK(refusal("{\"text\": " + std::string(100000, 'x') + "}").size() < 600);
  CHECK(refusal("{\"" + std::string(100000, 'x') + "\": 1}").size() < 600);
  CHECK_THAT(refusal("{\"text\": \"\\ud800\"}"), Contains("data.jsonl:2' is not valid JSON"));
  CHECK_THAT(refusal("{\"text\": \"\xFF\"}"), Contains("data.jsonl:2' is not UTF-8: byte 0xFF at offset 10"));
  CHECK_THAT(refusal("{\"body\": \"x\", \"id\": 1}"),
             Contains("data.jsonl:2: no field 'text'; the line has: body, id"));
  CHECK_THAT(refusal("{\"text\": 3}"), Contains("data.jsonl:2: the field 'text' is 3, expected a text"));
  CHECK_THAT(refusal("{\"text\": null}"), Contains("data.jsonl:2: the field 'text' is null"));
  CHECK_THAT(refusal("[1]"), Contains("data.jsonl:2: [1] is no JSON object"));
  CHECK_THAT(refusal("{\"text\": \"a\", \"text\": \"b\"}"), Contains("stands twice"));
  CHECK_FALSE(std::filesystem::exists(options.out / "train.bin"));
  CHECK_FALSE(std::filesystem::exists(options.out / "train.bin.tmp"));
}

TEST_CASE("files that are no text are left out, counted and named", "[prepare]") {
  const TemporaryFolder folder;
  write_corpus(folder);
  folder.write("in/latin1.txt", "caf\xE9");
  folder.write("in/utf16.txt", "\xFF\xFEh\0i\0"s);
  folder.write("in/late.txt", std::string(9000, 'a') + "\x80");
  folder.write("in/empty.txt", "");
  folder.write("in/program.exe", "MZ");
  folder.write("in/.hidden/secret.txt", "secret");
  std::vector<std::string> warnings;
  const PrepareOptions options = options_of(folder);
  const PrepareResult result =
      prepare(options, {.warn = [&](const std::string& message) { warnings.push_back(message); }});
  CHECK(result.skipped == std::map<std::string, std::int64_t>{
                              {"binary", 1}, {"empty", 1}, {"hidden", 1}, {"not UTF-8", 2}, {"other kind of file", 1}});
  REQUIRE(warnings.size() == 3);
  CHECK_THAT(warnings[0], Contains("late.txt': not UTF-8: byte 0x80 at offset 9000"));
  CHECK_THAT(warnings[0] + warnings[1] + warnings[2], Contains("latin1.txt': not UTF-8: byte 0xE9 at offset 3"));
  CHECK_THAT(test::read_all(options.out / "prepare.json"), Contains("latin1.txt"));
  CHECK(result.train.documents + result.validation.documents == 40);
}

TEST_CASE("a file that is named is taken whatever its name, NUL bytes and byte order mark included", "[prepare]") {
  const TemporaryFolder folder;
  PrepareOptions options = options_of(folder);
  options.paths = {folder.write("odd.weird", "\xEF\xBB\xBFnul\0byte"s).string(), folder.write("b", "other").string()};
  prepare(options);
  CHECK(all_texts(options.out) == std::vector<std::string>{"other", "\xEF\xBB\xBFnul\0byte"s});
}

TEST_CASE("text that spells a special token stays text", "[prepare]") {
  const TemporaryFolder folder;
  folder.write("in/a.txt", "code with <|endoftext|> inside");
  folder.write("in/b.txt", "other");
  const PrepareOptions options = options_of(folder);
  prepare(options);
  const PreparedData data = PreparedData::open(options.out);
  for (const TokenShard& shard : {data.train, data.validation}) {
    std::vector<std::int64_t> ids(static_cast<std::size_t>(shard.tokens()));
    shard.copy(0, ids);
    CHECK(std::count(ids.begin(), ids.end(), *data.tokenizer->special_token_id("<|endoftext|>")) == 0);
  }
  CHECK(all_texts(options.out)[0] == "code with <|endoftext|> inside");
}

TEST_CASE("a vocabulary of 70,000 is stored in 32 bits, its last entry as it is", "[prepare]") {
  const std::string letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  BpeContent content;
  content.source = "large";
  for (int byte = 0; byte < 256; ++byte) {
    content.vocab.emplace_back(alphabet_character(static_cast<std::uint8_t>(byte)), byte);
  }
  std::vector<std::string> pairs;  // then triples, each a pair and a letter
  while (content.vocab.size() < 70000) {
    const std::size_t made = content.merges.size();
    const std::size_t all_pairs = letters.size() * letters.size();
    const std::size_t left = (made < all_pairs ? made : made - all_pairs) / letters.size();
    content.merges.emplace_back(made < all_pairs ? std::string(1, letters[left]) : pairs[left],
                                std::string(1, letters[made % letters.size()]));
    const auto& [first, second] = content.merges.back();
    if (made < all_pairs) pairs.push_back(first + second);
    content.vocab.emplace_back(first + second, static_cast<std::int64_t>(content.vocab.size()));
  }
  const std::string last = content.vocab.back().first;

  const TemporaryFolder folder;
  PrepareOptions options = options_of(folder);
  options.tokenizer = folder.write("large.json", BpeTokenizer(content).to_json());
  folder.write("in/a.txt", last);
  folder.write("in/b.txt", last + " " + last);
  CHECK(prepare(options).vocab_size == 70000);
  const PreparedData data = PreparedData::open(options.out);
  CHECK(data.train.token_bytes() == 4);
  std::vector<std::int64_t> first(1);
  data.train.copy(0, first);
  CHECK(first[0] == 69999);
  CHECK(all_texts(options.out) == std::vector<std::string>{last, last + " " + last});
}

TEST_CASE("a tokenizer of two files is written as one", "[prepare]") {
  const TemporaryFolder folder;
  write_corpus(folder);
  PrepareOptions options = options_of(folder);
  const auto root = nlohmann::json::parse(test::small_tokenizer().to_json());
  folder.write("pair/vocab.json", root["model"]["vocab"].dump());
  folder.write("pair/merges.txt", "#version: 0.2\na b\nab c\na a\n\xC4\xA0 a\naa aa\n");
  options.tokenizer = folder.path() / "pair";
  prepare(options);
  CHECK(PreparedData::open(options.out).tokenizer_hash == test::small_tokenizer().hash());
  options.tokenizer = folder.path() / "small.json";
  CHECK(prepare(options).already_done);  // the same tokenizer
}

TEST_CASE("options and inputs that cannot be used are refused", "[prepare]") {
  const TemporaryFolder folder;
  PrepareOptions good = options_of(folder);
  const auto refusal = [&](const std::function<void(PrepareOptions&)>& change) {
    PrepareOptions options = good;
    change(options);
    return user_error_of([&] { prepare(options); });
  };
  CHECK_THAT(refusal([](PrepareOptions&) {}), Contains("in'") && Contains("No such file"));
  std::filesystem::create_directory(folder.path() / "in");
  CHECK_THAT(refusal([](PrepareOptions&) {}), Contains("no input file is left"));
  folder.write("in/empty.txt", "");
  CHECK_THAT(refusal([](PrepareOptions&) {}), Contains("the corpus is empty") && Contains("empty.txt' is empty"));
  folder.write("in/one.txt", "one document");
  CHECK_THAT(refusal([](PrepareOptions&) {}), Contains("one document is too little"));
  folder.write("in/two.txt", "one document");
  CHECK_THAT(refusal([](PrepareOptions&) {}), Contains("2 copies of one document"));
  folder.write("in/two.txt", "two documents");
  for (const double fraction : {0.0, 1.0, -0.1, 2.0, std::numeric_limits<double>::quiet_NaN()}) {
    CHECK_THAT(refusal([&](PrepareOptions& o) { o.validation_fraction = fraction; }),
               Contains("--validation-fraction"));
  }
  CHECK_THAT(refusal([](PrepareOptions& o) { o.paths = {}; }), Contains("no input"));
  CHECK_THAT(refusal([](PrepareOptions& o) { o.field = "text"; }), Contains("--field text is for .jsonl files"));
  CHECK_THAT(refusal([](PrepareOptions& o) { o.paths = {"/nowhere/*.txt"}; }), Contains("matches no file"));
  CHECK_THAT(refusal([](PrepareOptions& o) { o.paths = {"/dev/null"}; }), Contains("neither a file nor a folder"));
  CHECK_THAT(refusal([](PrepareOptions& o) { o.tokenizer = "/nowhere.json"; }), Contains("/nowhere.json"));
  CHECK_THAT(refusal([&](PrepareOptions& o) { o.out = folder.path() / "in/one.txt"; }), Contains("one.txt"));

  folder.write("in/two.txt", "byte \xC3\xBF");
  BpeContent content = test::small_content();
  std::erase_if(content.vocab, [](const auto& entry) { return entry.second == 0xBF; });
  const auto lacking = folder.write("lacking.json", BpeTokenizer(content).to_json());
  CHECK_THAT(refusal([&](PrepareOptions& o) { o.tokenizer = lacking; }),
             Contains("two.txt: ") && Contains("no token for the byte 0xBF, which stands at offset 6"));
  CHECK(prepare(good).train.documents == 1);
}

TEST_CASE("a file that cannot be read is named", "[prepare]") {
  if (::geteuid() == 0) {
    test::say_skipped("root reads every file");
    return;
  }
  const TemporaryFolder folder;
  write_corpus(folder);
  const auto file = folder.write("in/closed.txt", "closed");
  std::filesystem::permissions(file, std::filesystem::perms::none);
  const PrepareOptions options = options_of(folder);
  CHECK_THAT(user_error_of([&] { prepare(options); }), Contains("closed.txt") && Contains("Permission denied"));
}

TEST_CASE("progress ends at everything done", "[prepare]") {
  const TemporaryFolder folder;
  write_corpus(folder);
  PrepareProgress last;
  const PrepareOptions options = options_of(folder);
  const PrepareResult result =
      prepare(options, {.progress = [&](const PrepareProgress& progress) { last = progress; }});
  CHECK(last.documents == 40);
  CHECK(last.bytes_done == last.bytes_total);
  CHECK(last.tokens == result.train.tokens + result.validation.tokens);
}

TEST_CASE("a prepared folder whose files do not belong together is refused", "[prepared_data]") {
  const TemporaryFolder folder;
  const TemporaryFolder other;
  write_corpus(folder);
  write_corpus(other);
  other.write("in/more.txt", "more");
  const PrepareOptions options = options_of(folder);
  PrepareOptions other_options = options_of(other);
  prepare(options);
  prepare(other_options);
  const auto put = [&](const char* name) {
    std::filesystem::copy_file(other_options.out / name, options.out / name,
                               std::filesystem::copy_options::overwrite_existing);
  };
  const auto refusal = [&] { return user_error_of([&] { PreparedData::open(options.out); }); };

  put("train.bin");
  put("validation.bin");
  CHECK_THAT(refusal(), Contains("they are not of one preparation"));

  BpeContent content = test::small_content();
  content.merges.pop_back();
  const BpeTokenizer changed(content);
  other_options.tokenizer = other.write("changed.json", changed.to_json());
  other_options.force = true;
  prepare(other_options);
  put("validation.bin");
  const std::string both = refusal();
  CHECK_THAT(both, Contains("train.bin") && Contains(test::small_tokenizer().hash()) && Contains(changed.hash()));
  put("train.bin");
  const std::string with_tokenizer = refusal();
  CHECK_THAT(with_tokenizer,
             Contains("tokenizer.json") && Contains(changed.hash()) && Contains(test::small_tokenizer().hash()));
  put("tokenizer.json");
  put("prepare.json");
  CHECK(PreparedData::open(options.out).tokenizer_hash == changed.hash());

  std::filesystem::remove(options.out / "validation.bin");
  CHECK_THAT(refusal(), Contains("validation.bin") && Contains("No such file"));
  CHECK_THAT(user_error_of([&] { PreparedData::open(folder.path() / "none"); }), Contains("is missing"));
  CHECK_THAT(user_error_of([&] { PreparedData::open(folder.path() / "small.json"); }), Contains("is a file"));
}
