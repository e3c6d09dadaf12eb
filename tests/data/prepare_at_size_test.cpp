// What `prepare` does with inputs that are large, compressed, or damaged, and after a kill.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "data/prepare.h"
#include "data/prepared_data.h"
#include "data/text_units.h"
#include "tests/data/archives.h"
#include "tests/data/messages.h"
#include "tests/data/small_tokenizer.h"
#include "tests/temporary_folder.h"

using namespace skipless;
using Catch::Contains;
using test::TemporaryFolder;
using test::user_error_of;

namespace {

namespace fs = std::filesystem;

PrepareOptions options_of(const TemporaryFolder& folder) {
  PrepareOptions options;
  options.tokenizer = folder.write("small.json", test::small_tokenizer().to_json());
  options.out = folder.path() / "out";
  options.paths = {(folder.path() / "in").string()};
  options.field = "text";
  options.validation_fraction = 0.3;
  return options;
}

/// Words of several scripts with every kind of blank between them, `bytes` long.
std::string words(std::uint64_t seed, std::size_t bytes) {
  static const std::vector<std::string> kWords = {"abc",
                                                  "aaaa",
                                                  "it's",
                                                  "\xC3\xA9t\xC3\xA9",
                                                  "42",
                                                  "!?",
                                                  " ",
                                                  "\n",
                                                  "\n\n  ",
                                                  "\t",
                                                  "\xE4\xBD\xA0\xE5\xA5\xBD",
                                                  "\xE3\x80\x80",
                                                  " the",
                                                  " a",
                                                  "(x)",
                                                  "''",
                                                  "\xF0\x9F\x98\x80"};
  test::Numbers numbers(seed);
  std::string text;
  while (text.size() < bytes) text += kWords[numbers.below(kWords.size())];
  return text;
}

std::string lines(std::uint64_t seed, int count, std::size_t bytes) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    const auto number = static_cast<std::uint64_t>(i);
    text += nlohmann::json{{"text", words(seed * 1000 + number, bytes + number % 50)}, {"id", i}}.dump() + "\n";
    if (i % 17 == 0) text += "\n";
    if (i % 19 == 0) text += "{\"text\": \"\"}\n";
  }
  return text;
}

/// Every kind of input, some of it longer than a unit of work.
void write_corpus(const TemporaryFolder& folder) {
  for (int i = 0; i < 30; ++i)
    folder.write("in/t" + std::to_string(i) + ".txt", words(static_cast<std::uint64_t>(i), 300));
  folder.write("in/long.txt", words(100, 1300000));
  folder.write("in/long.py.gz", test::gzip_of(words(101, 1200000)));
  folder.write("in/a.jsonl", lines(1, 1500, 200));
  folder.write("in/b.jsonl.gz", test::gzip_of(lines(2, 700, 300)) + test::gzip_of(lines(3, 500, 300)));
  folder.write("in/c.jsonl.zst", test::zstd_of(lines(4, 3, 400000)));
  folder.write("in/d.json.gz", test::gzip_of(lines(5, 100, 100)));
  folder.write("in/bad.txt", "caf\xE9");
  folder.write("in/bad_long.txt", words(102, 1200000) + "\x80");
}

std::string result_of(const fs::path& out) {
  return test::read_all(out / "train.bin") + test::read_all(out / "validation.bin") +
         test::read_all(out / "prepare.json");
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

const std::vector<std::string> kComplete = {"prepare.json", "tokenizer.json", "train.bin", "validation.bin"};

/// Runs `work` in a process of its own; its exit code, or the negative signal that ended it.
int in_child(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      work();
      ::_exit(0);
    } catch (...) {
      ::_exit(1);
    }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::int64_t anonymous_kilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:")) return std::stoll(line.substr(8));
  }
  return -1;
}

/// Largest growth of anonymous memory while `work` runs, in MiB.
int peak_growth_of(const std::function<void()>& work) {
  const TemporaryFolder folder;
  const fs::path report = folder.path() / "peak";
  const int code = in_child([&] {
    const std::int64_t start = anonymous_kilobytes();
    std::atomic<bool> stop = false;
    std::int64_t peak = start;
    std::thread sampler([&] {
      while (!stop) {
        peak = std::max(peak, anonymous_kilobytes());
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
    });
    try {
      work();
    } catch (...) {
      stop = true;
      sampler.join();
      throw;
    }
    stop = true;
    sampler.join();
    std::ofstream(report) << (peak - start) / 1024;
  });
  REQUIRE(code == 0);
  return std::stoi(test::read_all(report));
}

}  // namespace

TEST_CASE("the bytes do not depend on the number of threads, and hold every document whole", "[prepare][size]") {
  const TemporaryFolder folder;
  write_corpus(folder);
  PrepareOptions options = options_of(folder);
  std::string first;
  for (const std::int64_t threads : {1, 2, 5}) {
    options.threads = threads;
    options.out = folder.path() / ("out" + std::to_string(threads));
    const PrepareResult result = prepare(options);
    CHECK(result.skipped.at("not UTF-8") == 2);
    if (first.empty()) first = result_of(options.out);
    CHECK(result_of(options.out) == first);
    CHECK(names_in(options.out) == kComplete);
  }
  const PreparedData data = PreparedData::open(options.out);
  const std::vector<std::int32_t> expected = data.tokenizer->encode(words(100, 1300000));
  bool found = false;
  for (const TokenShard& shard : {data.train, data.validation}) {
    for (std::int64_t i = 0; i < shard.documents(); ++i) {
      if (shard.document(i).size() != static_cast<std::int64_t>(expected.size())) continue;
      std::vector<std::int64_t> ids(expected.size());
      shard.copy(shard.document(i).begin, ids);
      found = found || std::equal(ids.begin(), ids.end(), expected.begin());
    }
  }
  CHECK(found);
}

TEST_CASE("after a kill the same command goes on, to the same bytes", "[prepare][size]") {
  const TemporaryFolder folder;
  write_corpus(folder);
  PrepareOptions options = options_of(folder);
  options.threads = 2;
  prepare(options);
  const std::string expected = result_of(options.out);

  options.out = folder.path() / "killed";
  options.save_seconds = 0;  // after every unit
  int kills = 0;
  std::vector<std::int64_t> went_on;  // documents
  for (;; ++kills) {
    REQUIRE(kills < 60);
    const int code = in_child([&] {
      int saves = 0;
      prepare(options, {.saved = [&] {
                if (++saves == 9) std::raise(SIGKILL);
              }});
    });
    if (code == 0) break;
    REQUIRE(code == -SIGKILL);
    CHECK_FALSE(fs::exists(options.out / "train.bin"));
    const auto journal = nlohmann::json::parse(test::read_all(options.out / "prepare.progress"));
    went_on.push_back(journal["count"]["bytes"].get<std::int64_t>());
  }
  CHECK(kills >= 4);
  CHECK(std::is_sorted(went_on.begin(), went_on.end()));
  CHECK(std::adjacent_find(went_on.begin(), went_on.end()) == went_on.end());
  CHECK(result_of(options.out) == expected);
  CHECK(names_in(options.out) == kComplete);
  CHECK(prepare(options).already_done);
}

TEST_CASE("what changed since a kill is noticed", "[prepare][size]") {
  const TemporaryFolder folder;
  write_corpus(folder);
  PrepareOptions options = options_of(folder);
  options.save_seconds = 0;
  const auto killed = [&] {
    return in_child([&] {
      int saves = 0;
      prepare(options, {.saved = [&] {
                if (++saves == 3) std::raise(SIGKILL);
              }});
    });
  };
  REQUIRE(killed() == -SIGKILL);
  PrepareOptions other = options;
  other.seed = 9;
  CHECK_THAT(user_error_of([&] { prepare(other); }), Contains("holds an interrupted preparation of") &&
                                                         Contains("(seed: 0 there, 9 now)") && Contains("--force"));
  const std::string old_text = test::read_all(folder.path() / "in/t3.txt");
  folder.write("in/t3.txt", "another text");
  CHECK_THAT(user_error_of([&] { prepare(options); }), Contains("interrupted") && Contains("files_fingerprint"));
  CHECK(fs::exists(options.out / "prepare.progress"));  // still there for the old settings

  // Damaged files are found by their checksums; the run begins anew and says why.
  options.force = true;
  std::vector<std::string> warnings;
  REQUIRE(killed() == -SIGKILL);
  const auto part = options.out / "train.bin.tmp";
  std::string bytes = test::read_all(part);
  bytes[200] = static_cast<char>(bytes[200] ^ 1);
  folder.write("out/train.bin.tmp", bytes);
  options.force = false;
  prepare(options, {.warn = [&](const std::string& message) { warnings.push_back(message); }});
  REQUIRE_FALSE(warnings.empty());
  CHECK_THAT(warnings.front(), Contains("beginning anew") && Contains("train.bin.tmp"));
  CHECK(names_in(options.out) == kComplete);
  const std::string repaired = result_of(options.out);
  options.out = folder.path() / "plain";
  prepare(options);
  CHECK(result_of(options.out) == repaired);
}

TEST_CASE("two preparations at once do not write into one folder", "[prepare][size]") {
  const TemporaryFolder folder;
  write_corpus(folder);
  PrepareOptions options = options_of(folder);
  std::string refusal;
  prepare(options, {.progress = [&](const PrepareProgress&) {
            if (refusal.empty()) refusal = user_error_of([&] { prepare(options); });
          }});
  CHECK_THAT(refusal, Contains("another 'skipless prepare' is writing into"));
}

TEST_CASE("archives at fault end a preparation with file, byte and line, and leave nothing", "[prepare][size]") {
  const TemporaryFolder folder;
  PrepareOptions options = options_of(folder);
  folder.write("in/a.jsonl", lines(1, 10, 100));
  const std::string gzip = test::gzip_of(lines(2, 3000, 300));
  for (const std::int64_t threads : {1, 3}) {
    options.threads = threads;
    folder.write("in/b.jsonl.gz", gzip.substr(0, gzip.size() / 2));
    CHECK_THAT(user_error_of([&] { prepare(options); }),
               Contains("b.jsonl.gz' is truncated: its gzip data stop at byte") && Contains("(behind line "));
    folder.write("in/b.jsonl.gz", "{\"text\": \"not compressed\"}\n");
    CHECK_THAT(user_error_of([&] { prepare(options); }), Contains("b.jsonl.gz' is no gzip file"));
    folder.write("in/b.jsonl.gz", test::gzip_of(lines(2, 2000, 300) + "{]\n"));
    CHECK_THAT(user_error_of([&] { prepare(options); }), Contains("b.jsonl.gz:2225' is not valid JSON"));
    CHECK(names_in(options.out).empty());
  }
}

TEST_CASE("a document with a word that is too long is left out alone", "[prepare][size]") {
  const TemporaryFolder folder;
  const PrepareOptions options = options_of(folder);
  const std::string word((2 << 20) + 1, 'x');
  folder.write("in/x.jsonl", "{\"text\": \"one\"}\n{\"text\": \"a " + word + " b\"}\n{\"text\": \"two\"}\n");
  folder.write("in/long.txt", words(1, 1300000) + "\n" + word + "\n");
  folder.write("in/long_enough.txt", words(2, 1300000) + "\n" + word.substr(1) + "\n");
  const PrepareResult result = prepare(options);
  CHECK(result.skipped == std::map<std::string, std::int64_t>{{"word too long", 2}});
  CHECK(result.train.documents + result.validation.documents == 3);
  CHECK_THAT(test::read_all(options.out / "prepare.json"), Contains("x.jsonl:2\"") && Contains("long.txt\"") &&
                                                               Contains("2097153 bytes from byte 130000") &&
                                                               Contains("allowed are 2097152"));
}

TEST_CASE("memory is bounded whatever the input", "[prepare][size]") {
  // With 2 threads these take 10 to 50 MiB, the last one 120 to 280, whatever the length of the input; 500 MB are
  // promised for up to 64 threads.
  constexpr int kMost = 80;
  const TemporaryFolder folder;
  PrepareOptions options = options_of(folder);
  options.threads = 2;
  folder.write("in/x.jsonl", "{\"text\": \"one\"}\n{\"text\": \"two\"}\n");
  const auto growth = [&] {
    const int megabytes = peak_growth_of([&] {
      PrepareOptions forced = options;
      forced.force = true;
      prepare(forced);
    });
    fs::remove_all(options.out);
    return megabytes;
  };
  SECTION("one document of 32 MB, compressed") {
    folder.write("in/long.txt.zst", test::zstd_of_repeated(words(1, 1 << 20), 32));
    CHECK(growth() < kMost);
  }
  SECTION("a line of 512 MB, as a decompression bomb has it, is left out") {
    folder.write("in/bomb.jsonl.zst", test::zstd_of("{\"text\": \"before\"}\n") +
                                          test::zstd_of_repeated(std::string(1 << 20, 'x'), 512) +
                                          test::zstd_of("\n{\"text\": \"behind\"}"));
    CHECK(growth() < kMost);
    const PrepareResult result = prepare(options);
    CHECK(result.skipped.at("line too long") == 1);
    CHECK(result.train.documents + result.validation.documents == 4);
    CHECK_THAT(test::read_all(options.out / "prepare.json"),
               Contains("bomb.jsonl.zst:2") && Contains("a line of 536870912 bytes; allowed are 16777216"));
  }
  SECTION("a text without an end of a word is left out") {
    folder.write("in/bomb.txt.zst", test::zstd_of_repeated(std::string(1 << 20, 'x'), 256));
    CHECK(growth() < kMost);
    const PrepareResult result = prepare(options);
    CHECK(result.skipped.at("word too long") == 1);
    CHECK(result.train.documents + result.validation.documents == 2);
    CHECK_THAT(test::read_all(options.out / "prepare.json"),
               Contains("bomb.txt.zst") && Contains("4194304 bytes from byte 0 on have no place to cut it"));
  }
  SECTION("two million documents of one character") {
    std::string text;
    for (int i = 0; i < 1000; ++i) text += "{\"text\":\"" + std::string(1, static_cast<char>('a' + i % 26)) + "\"}\n";
    folder.write("in/many.jsonl.zst", test::zstd_of_repeated(text, 1000));
    CHECK(growth() < kMost);
  }
  SECTION("lines just short enough") {
    std::string text;
    for (int i = 0; i < 6; ++i) {
      text += "{\"text\":\"" + words(static_cast<std::uint64_t>(i), TextUnitReader::kLongestLine - 2000);
      for (std::size_t at = text.rfind("\":\"") + 3; (at = text.find_first_of("\n\t", at)) != std::string::npos;)
        text[at] = ' ';
      text += "\"}\n";
    }
    folder.write("in/lines.jsonl.zst", test::zstd_of(text));
    CHECK(growth() < 4 * kMost);
  }
}
