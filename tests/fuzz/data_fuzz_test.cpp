// Broken tokenizers, token shards, prepared folders and input texts.
#include <xxhash.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <nlohmann/json.hpp>

#include "data/bpe_encoder.h"
#include "data/document_reader.h"
#include "data/prepare.h"
#include "data/prepared_data.h"
#include "data/token_shard_format.h"
#include "data/tokenizer_file.h"
#include "data/wordpiece_tokenizer.h"
#include "tests/data/archives.h"
#include "tests/data/small_tokenizer.h"
#include "tests/fuzz/mutation.h"
#include "tests/shared_folder.h"
#include "tests/temporary_folder.h"

namespace skipless::test {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kJsonWords = {"null",        "true",
                                             "false",       "0",
                                             "-1",          "1.5",
                                             "1e999",       "18446744073709551615",
                                             "2147483648",  "\"\"",
                                             "\"a\"",       "[]",
                                             "{}",          "[",
                                             "]",           "{",
                                             "}",           ",",
                                             ":",           "\"",
                                             "\\",          "\\u0000",
                                             "\\ud800",     "\xFF",
                                             "\xC3",        "\"id\"",
                                             "\"model\"",   "\"vocab\":",
                                             "\"merges\":", "\"BPE\"",
                                             "\"a b\"",     "\"a\",\"a\"",
                                             "\"type\"",    "\"special\":false"};

/// Every byte in pieces of all kinds, some of them not UTF-8.
constexpr std::string_view kText =
    "abc aaaa  abcabc\n\t x\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80 'll 12'3 \r\n<|endoftext|>";

void use(const Tokenizer& tokenizer) {
  std::vector<std::int32_t> ids;
  tokenizer.make_encoder()->encode(kText, ids);
  if (tokenizer.is_lossless()) {
    REQUIRE(tokenizer.decode(ids) == kText);
  } else {
    tokenizer.decode(ids);
  }
  tokenizer.to_json();
}

/// The tokenizer.json of the small tokenizer with the bytes of `kText` alone, so that edits meet what matters.
std::string short_tokenizer_json() {
  BpeContent content = small_content();
  std::erase_if(content.vocab, [](const auto& token) {
    return token.second < 256 && kText.find(static_cast<char>(token.second)) == kText.npos;
  });
  return BpeTokenizer(content).to_json();
}

void use(const TokenShard& shard) {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(shard.tokens()));
  shard.copy(0, ids);
  for (const auto id : ids) REQUIRE((id >= 0 && id < shard.vocab_size()));
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < shard.documents(); ++i) {
    REQUIRE(shard.document(i).size() >= 0);
    sum += shard.document(i).size();
  }
  REQUIRE(sum == shard.tokens());
}

/// Checksums that match, as a faulty writer would have written them.
std::string resealed(std::string bytes) {
  using token_shard_format::Header;
  if (bytes.size() < sizeof(Header)) return bytes;
  Header header{};
  std::memcpy(&header, bytes.data(), sizeof(header));
  header.payload_checksum = XXH3_64bits(bytes.data() + sizeof(header), bytes.size() - sizeof(header));
  header.header_checksum = XXH3_64bits(&header, offsetof(Header, header_checksum));
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

std::string shard_bytes(const TemporaryFolder& folder, std::int64_t vocab_size) {
  TokenShardWriter writer(folder.path() / "valid.bin", vocab_size, std::string(32, 'a'));
  for (const auto& ids : std::vector<std::vector<std::int32_t>>{{1, 2, 3}, {}, {7, 99, 0, 5}, {4}}) {
    writer.append(ids);
    writer.end_document();
  }
  writer.commit();
  return read_all(folder.path() / "valid.bin");
}

/// Numbers as a shard holds them.
std::vector<std::string> binary_words() {
  std::vector<std::string> words = {"skipless"};
  for (const std::uint64_t number :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{4}, std::uint64_t{8}, std::uint64_t{65536},
        std::uint64_t{1} << 31, std::uint64_t{1} << 32, std::uint64_t{1} << 62, std::uint64_t{1} << 63,
        ~std::uint64_t{0}}) {
    std::string word(sizeof(number), '\0');
    std::memcpy(word.data(), &number, sizeof(number));
    words.push_back(word);
    words.push_back(word.substr(0, 4));
  }
  return words;
}

/// Half of the edits in place: the size, which is checked first, stays.
std::string shard_mutant(Mutation& mutation, const std::string& valid, const std::vector<std::string>& words) {
  std::string bytes = valid;
  if (mutation.one_in(2)) {
    for (auto edits = 1 + mutation.below(3); edits > 0; --edits) {
      const auto& word = words[mutation.below(words.size())];
      const std::size_t at = mutation.below(bytes.size() / 4) * 4;
      bytes.replace(at, std::min(word.size(), bytes.size() - at), word, 0, bytes.size() - at);
    }
  } else {
    bytes = mutation.of(valid, words);
  }
  return mutation.one_in(4) ? bytes : resealed(bytes);
}

}  // namespace

TEST_CASE("broken tokenizers are read or refused, and what is read encodes without loss", "[fuzz][tokenizer]") {
  const TemporaryFolder folder;
  const std::string valid = short_tokenizer_json();
  Mutation mutation(4);
  Verdicts verdicts;
  for (int i = 0; i < 2500; ++i) {
    const auto file = folder.write("mutant.json", mutation.of(valid, kJsonWords));
    read_or_refuse(verdicts, [&] { use(*read_tokenizer(file)); });
  }
  CHECK(verdicts.accepted > 50);
  CHECK(verdicts.refused > 500);
}

TEST_CASE("broken WordPiece tokenizers are read or refused", "[fuzz][tokenizer]") {
  const TemporaryFolder folder;
  WordPieceContent content;
  content.source = "short";
  std::string lines;
  for (const char* text : {"[UNK]", "[CLS]", "[SEP]", "[MASK]", "ab", "a", "##c", "x", "'", "\xC3\xA9", "##12"}) {
    content.vocab.emplace_back(text, static_cast<std::int64_t>(content.vocab.size()));
    lines += text;
    lines += '\n';
  }
  const std::string valid = WordPieceTokenizer(content).to_json();
  const std::string config = R"({"do_lower_case": false, "strip_accents": null, "mask_token": {"content": "[MASK]"}})";
  Mutation mutation(9);
  Verdicts verdicts;
  for (int i = 0; i < 2000; ++i) {
    const auto file = folder.write("mutant.json", mutation.of(valid, kJsonWords));
    read_or_refuse(verdicts, [&] { use(*read_tokenizer(file)); });
    const auto vocab = folder.write("vocab.txt", mutation.one_in(2) ? mutation.of(lines, kJsonWords) : lines);
    folder.write("tokenizer_config.json", mutation.one_in(2) ? mutation.of(config, kJsonWords) : config);
    read_or_refuse(verdicts, [&] { use(*read_tokenizer(vocab)); });
  }
  CHECK(verdicts.accepted > 500);
  CHECK(verdicts.refused > 500);
}

TEST_CASE("broken vocabularies and lists of merges are read or refused", "[fuzz][tokenizer]") {
  const TemporaryFolder folder;
  const auto json = nlohmann::json::parse(short_tokenizer_json());
  const std::string vocab = json["model"]["vocab"].dump();
  std::string merges = "#version: 0.2\n";
  for (const auto& merge : json["model"]["merges"]) {
    merges += merge[0].get<std::string>() + " " + merge[1].get<std::string>() + "\n";
  }
  Mutation mutation(5);
  Verdicts verdicts;
  for (int i = 0; i < 1000; ++i) {
    folder.write("vocab.json", mutation.one_in(2) ? mutation.of(vocab, kJsonWords) : vocab);
    folder.write("merges.txt", mutation.one_in(2) ? mutation.of(merges, kJsonWords) : merges);
    read_or_refuse(verdicts, [&] { use(*read_tokenizer(folder.path())); });
  }
  CHECK(verdicts.accepted > 50);
  CHECK(verdicts.refused > 200);
}

TEST_CASE("broken token shards are read or refused, their checksums right or wrong", "[fuzz][token_shard]") {
  const TemporaryFolder folder;
  const std::vector<std::string> valid = {shard_bytes(folder, 100), shard_bytes(folder, 70000)};
  const auto words = binary_words();
  Mutation mutation(6);
  Verdicts verdicts;
  for (int i = 0; i < 4000; ++i) {
    const auto file = folder.write("mutant.bin", shard_mutant(mutation, valid[mutation.below(2)], words));
    read_or_refuse(verdicts, [&] { use(TokenShard::open(file)); });
  }
  CHECK(verdicts.accepted > 50);
  CHECK(verdicts.refused > 500);
}

TEST_CASE("broken texts and lines of JSON are read, left out or refused", "[fuzz][documents]") {
  const TemporaryFolder folder;
  std::vector<std::pair<std::string, std::string>> seeds = {
      {"a.txt", std::string(kText)},
      {"a.jsonl",
       "{\"text\": \"abc\", \"n\": [1, {\"a\": null}]}\n\n{\"text\": \"\\u00e9\\ud83d\\ude00\"}\r\n{\"text\": "
       "\"\"}\n"}};
  const auto cases = shared_folder() / "cases/text";
  for (const char* name : {"bpe_roundtrip.jsonl", "crlf.txt", "invalid_utf8.bin"}) {
    if (fs::exists(cases / name)) seeds.emplace_back(name, read_all(cases / name));
  }
  const std::string lines = seeds[1].second;
  seeds.emplace_back("a.jsonl.gz", gzip_of(lines) + gzip_of(lines));
  seeds.emplace_back("a.jsonl.zst", zstd_of(lines) + zstd_of(lines));
  const BpeTokenizer tokenizer = small_tokenizer();
  BpeEncoder encoder(tokenizer);
  Mutation mutation(7);
  Verdicts verdicts;
  int skipped = 0;
  for (int i = 0; i < 2500; ++i) {
    const auto& [name, text] = seeds[mutation.below(seeds.size())];
    const InputFile file{.path = folder.write(name, mutation.of(text, kJsonWords)), .named = mutation.one_in(2)};
    const auto check = [&](const Document& document) {
      std::vector<std::int32_t> ids;
      encoder.encode(document.text, ids);
      REQUIRE(tokenizer.decode(ids) == document.text);
    };
    read_or_refuse(verdicts, [&] { read_documents(file, "text", check, [&](const SkippedDocument&) { ++skipped; }); });
  }
  CHECK(verdicts.accepted > 50);
  CHECK(verdicts.refused > 200);
  CHECK(skipped > 50);
}

TEST_CASE("a prepared folder with one broken file is opened or refused", "[fuzz][prepare]") {
  const TemporaryFolder folder;
  for (int i = 0; i < 8; ++i) folder.write("in/" + std::to_string(i) + ".txt", "abc " + std::to_string(i));
  PrepareOptions options;
  options.tokenizer = folder.write("small.json", small_tokenizer().to_json());
  options.out = folder.path() / "out";
  options.paths = {(folder.path() / "in").string()};
  options.validation_fraction = 0.3;
  prepare(options);
  const std::vector<std::string> names = {prepared_files::kTrain, prepared_files::kValidation,
                                          prepared_files::kTokenizer, prepared_files::kManifest};
  const auto binary = binary_words();
  Mutation mutation(8);
  Verdicts verdicts;
  for (int i = 0; i < 400; ++i) {
    const std::string& name = names[mutation.below(names.size())];
    const std::string valid = read_all(options.out / name);
    const bool shard = name.ends_with(".bin");
    folder.write("out/" + name, shard ? shard_mutant(mutation, valid, binary) : mutation.of(valid, kJsonWords));
    read_or_refuse(verdicts, [&] {
      const auto data = PreparedData::open(options.out);
      use(data.train);
      use(data.validation);
    });
    // What prepare makes of the folder: done already, or done again.
    if (mutation.one_in(10)) read_or_refuse(verdicts, [&] { prepare(options); });
    folder.write("out/" + name, valid);
  }
  CHECK(verdicts.accepted > 20);
  CHECK(verdicts.refused > 100);
}

}  // namespace skipless::test
