#include "train/event_log.h"

#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>

#include "tests/temporary_folder.h"

namespace skipless {

namespace fs = std::filesystem;
using nlohmann::json;
using test::TemporaryFolder;

namespace {

std::vector<fs::path> events_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with("events.out.tfevents.")) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

json train_line(int64_t step) {
  return {{"kind", "train"}, {"step", step}, {"loss", 1.0 / static_cast<double>(step)}};
}

/// What a log says to its user.
struct Warnings {
  std::vector<std::string> texts;
  auto sink() {
    return [this](const std::string& text) { texts.push_back(text); };
  }
};

void write_steps(const fs::path& folder, int64_t from, int64_t to) {
  Warnings warnings;
  EventLog log(folder, from, warnings.sink());
  for (int64_t step = from + 1; step <= to; ++step) log.add(train_line(step));
  CHECK(warnings.texts.empty());
}

/// No file grows beyond `bytes` while this lives, as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_{};
};

}  // namespace

TEST_CASE("CRC-32C has its published values", "[events]") {
  // RFC 3720, section B.4, and the check value of the catalogue of CRCs.
  CHECK(crc32c("123456789") == 0xe3069283);
  CHECK(crc32c(std::string(32, '\0')) == 0x8a9136aa);
  CHECK(crc32c(std::string(32, '\xff')) == 0x62a8ab43);
  CHECK(crc32c("") == 0);
}

TEST_CASE("a record has the bytes that TensorFlow writes", "[events]") {
  // As tensorboard 2.21's EventFileWriter wrote it: wall_time 1.5, step 300, simple_value 0.25 of the tag "a/b".
  const std::string expected(
      "\x1a\0\0\0\0\0\0\0"
      "\x12\x9b\xd8\x2d"
      "\x09\0\0\0\0\0\0\xf8\x3f"
      "\x10\xac\x02"
      "\x2a\x0c\x0a\x0a\x0a\x03"
      "a/b"
      "\x15\0\0\x80\x3e"
      "\xf9\xcd\xe7\xed",
      42);
  CHECK(scalars_record(1.5, 300, {{"a/b", 0.25}}) == expected);
}

TEST_CASE("the numbers of a line become scalars by kind and key, and nothing else does", "[events]") {
  const json line = {{"kind", "eval"}, {"step", 3},          {"loss", 2.5},
                     {"text", "x"},    {"unknown", nullptr}, {"rms", {{"block_0", 1}, {"block_1", {0.5, 0.25}}}}};
  CHECK(scalars_of(line) ==
        Scalars{{"eval/loss", 2.5}, {"rms/block_0", 1}, {"rms/block_1[0]", 0.5}, {"rms/block_1[1]", 0.25}});
  CHECK(scalars_of({{"kind", "start"}, {"step", 3}, {"threads", 2}}).empty());
}

TEST_CASE("a resumed log has every step once, also after a kill in the middle of a record", "[events]") {
  const TemporaryFolder resumed, unbroken;
  write_steps(resumed.path(), 0, 10);
  const auto first = events_in(resumed.path()).at(0);
  // Cut within the last record: killed while it was written.
  fs::resize_file(first, fs::file_size(first) - 5);
  write_steps(resumed.path(), 4, 12);
  write_steps(resumed.path(), 9, 14);
  const auto files = events_in(resumed.path());
  REQUIRE(files.size() == 3);

  // What is left of the files is what three processes that stopped there would have written, but for the times.
  std::vector<std::size_t> sizes;
  for (const auto& [from, to] : {std::pair{0, 4}, {4, 9}, {9, 14}}) {
    write_steps(unbroken.path(), from, to);
    sizes.push_back(fs::file_size(events_in(unbroken.path()).back()));
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    CHECK(fs::file_size(files[i]) == sizes[i]);
    CHECK(bytes_up_to(test::read_all(files[i]), 1000) == sizes[i]);
  }
}

TEST_CASE("a file is good up to the first changed byte", "[events]") {
  const std::string head = version_record(1) + start_record(1, 1);
  const std::string file = head + scalars_record(2, 7, {{"a", 1}}) + scalars_record(3, 8, {{"a", 2}});
  CHECK(bytes_up_to(file, 8) == file.size());
  CHECK(bytes_up_to(file, 7) < file.size());
  CHECK(bytes_up_to(file, 6) == head.size());
  CHECK(bytes_up_to(file, 0) == version_record(1).size());
  CHECK(bytes_up_to("", 5) == 0);
  for (std::size_t at = head.size(); at < file.size(); ++at) {
    std::string changed = file;
    changed[at] = static_cast<char>(changed[at] ^ 4);
    CHECK(bytes_up_to(changed, 8) < file.size());
    CHECK(bytes_up_to(file.substr(0, at), 8) <= at);
  }
}

TEST_CASE("a full disk is told of, costs no record, and stops nothing", "[events]") {
  const TemporaryFolder folder, whole;
  Warnings warnings;
  EventLog log(folder.path(), 0, warnings.sink());
  log.add(train_line(1));
  const auto file = events_in(folder.path()).at(0);
  {
    const FileSizeLimit limit(fs::file_size(file) + 20);
    log.add(train_line(2));
    log.add(train_line(3));
  }
  REQUIRE(warnings.texts.size() == 2);
  CHECK_THAT(warnings.texts[0], Catch::Contains(file.string()));
  log.add(train_line(4));
  write_steps(whole.path(), 0, 4);
  CHECK(test::read_all(file).size() == fs::file_size(events_in(whole.path()).at(0)));
}

TEST_CASE("events that cannot be opened are told of, and stop nothing", "[events]") {
  const TemporaryFolder folder;
  Warnings warnings;
  EventLog log(folder.path() / "missing", 0, warnings.sink());
  log.add(train_line(1));
  CHECK(warnings.texts.size() == 1);
}

}  // namespace skipless
