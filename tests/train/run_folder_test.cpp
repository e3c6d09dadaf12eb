#include "train/run_folder.h"

#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "configs/error.h"
#include "tests/temporary_folder.h"
#include "train/metrics_log.h"

namespace skipless {

namespace fs = std::filesystem;

namespace {

std::string bytes_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void refuse_warnings(const std::string& text) {
  FAIL("a warning where none is due: " << text);
}

}  // namespace

TEST_CASE("a run folder is made with its parents, and locked while it is in use", "[run_folder]") {
  const test::TemporaryFolder temporary;
  const fs::path path = temporary.path() / "a/b c/ü";
  {
    const RunFolder run(path);
    CHECK(fs::is_directory(path));
    CHECK_FALSE(is_run(path));
    CHECK_THROWS_WITH(RunFolder(path), Catch::Contains("another process"));
  }
  CHECK_NOTHROW(RunFolder(path));
}

TEST_CASE("a folder that is no run, or no folder, is refused before anything is written", "[run_folder]") {
  const test::TemporaryFolder temporary;
  std::ofstream(temporary.path() / "thesis.txt") << "text";
  CHECK_THROWS_AS(RunFolder(temporary.path()), UserError);
  CHECK_FALSE(fs::exists(temporary.path() / "lock"));
  CHECK_THROWS_AS(RunFolder(temporary.path() / "thesis.txt"), UserError);
  CHECK_THROWS_WITH(run_config_text(temporary.path() / "thesis.txt"), Catch::Contains("a file"));
  CHECK_THROWS_WITH(run_config_text(temporary.path()), Catch::Contains("no config.yaml"));
  CHECK_THROWS_WITH(run_config_text(temporary.path() / "none"), Catch::Contains("no such"));
}

TEST_CASE("metrics beyond the checkpoint are cut off, and an incomplete last line with them", "[metrics]") {
  const test::TemporaryFolder temporary;
  const fs::path file = temporary.path() / "metrics.jsonl";
  const std::string kept = "{\"step\":1}\n{\"kind\":\"eval\",\"step\":2}\n";
  std::ofstream(file) << kept << "{\"step\":3}\n{\"step\":4}\n{\"st";
  {
    MetricsLog log(file, 2, refuse_warnings);
    CHECK(bytes_of(file) == kept);
    CHECK(log.add({{"step", 3}}).empty());
    CHECK(log.all_written());
  }
  CHECK(bytes_of(file) == kept + "{\"step\":3}\n");
  std::ofstream(file, std::ios::app) << "{\"step\":4}";
  MetricsLog again(file, 100, refuse_warnings);
  CHECK(bytes_of(file) == kept + "{\"step\":3}\n");
}

TEST_CASE("lines that could not be written are tried again, whole", "[metrics]") {
  const test::TemporaryFolder temporary;
  const fs::path file = temporary.path() / "metrics.jsonl";
  MetricsLog log(file, 0, refuse_warnings);
  CHECK(log.add({{"step", 1}}).empty());
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit unlimited{};
  getrlimit(RLIMIT_FSIZE, &unlimited);
  const rlimit limited{.rlim_cur = 16, .rlim_max = unlimited.rlim_max};  // half a second line
  setrlimit(RLIMIT_FSIZE, &limited);
  CHECK_FALSE(log.add({{"step", 2}}).empty());
  CHECK_FALSE(log.all_written());
  CHECK(bytes_of(file) == "{\"step\":1}\n");
  setrlimit(RLIMIT_FSIZE, &unlimited);
  CHECK(log.add({{"step", 3}}).empty());
  std::signal(SIGXFSZ, old_handler);
  CHECK(log.all_written());
  CHECK(bytes_of(file) == "{\"step\":1}\n{\"step\":2}\n{\"step\":3}\n");
}

TEST_CASE("a device or a folder in the place of the metrics is refused", "[metrics]") {
  const test::TemporaryFolder temporary;
  CHECK_THROWS_AS(MetricsLog("/dev/full", 0, refuse_warnings), UserError);
  CHECK_THROWS_AS(MetricsLog(temporary.path(), 0, refuse_warnings), UserError);
}

TEST_CASE("a loss that is not a number is null in the metrics", "[metrics]") {
  const test::TemporaryFolder temporary;
  MetricsLog log(temporary.path() / "m", 0, refuse_warnings);
  log.add({{"loss", std::nan("")}, {"step", 1}});
  CHECK(bytes_of(temporary.path() / "m") == "{\"loss\":null,\"step\":1}\n");
}

TEST_CASE("lines that cannot be read are left out by number, and the file as it was is kept", "[metrics]") {
  const test::TemporaryFolder temporary;
  const fs::path file = temporary.path() / "metrics.jsonl";
  const std::string spoilt = "{\"step\":1}\nnoise\n{\"step\":2}\n{\"step\":\"3\"}\n{\"step\":4}\n{\"step\":9}\n{\"st";
  for (const char* copy : {"metrics.jsonl.corrupt", "metrics.jsonl.corrupt.2"}) {
    std::ofstream(file) << spoilt;
    std::vector<std::string> warnings;
    const MetricsLog log(file, 4, [&](const std::string& text) { warnings.push_back(text); });
    CHECK(bytes_of(file) == "{\"step\":1}\n{\"step\":2}\n{\"step\":4}\n");
    REQUIRE(warnings.size() == 1);
    CHECK_THAT(warnings[0], Catch::Contains("lines 2, 4 ") && Catch::Contains(copy));
    CHECK(bytes_of(temporary.path() / copy) == spoilt);
  }
}

TEST_CASE("metrics of a run that lost its checkpoints are kept beside the new ones", "[metrics]") {
  const test::TemporaryFolder temporary;
  const fs::path file = temporary.path() / "metrics.jsonl";
  for (const char* copy : {"metrics.jsonl.old", "metrics.jsonl.old.2"}) {
    std::ofstream(file) << "{\"step\":0}\n{\"step\":3}\n";
    std::vector<std::string> warnings;
    const MetricsLog log(file, 0, [&](const std::string& text) { warnings.push_back(text); });
    CHECK(bytes_of(file).empty());
    REQUIRE(warnings.size() == 1);
    CHECK_THAT(warnings[0], Catch::Contains(copy));
    CHECK(bytes_of(temporary.path() / copy) == "{\"step\":0}\n{\"step\":3}\n");
  }
  // A start that came to no step is nothing to keep.
  std::ofstream(file) << "{\"step\":0}\n";
  const MetricsLog log(file, 0, refuse_warnings);
  CHECK(bytes_of(file) == "{\"step\":0}\n");
}

}  // namespace skipless
