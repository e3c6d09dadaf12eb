// Suggestions, printable text, and the files that configs are read from.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>

#include "configs/nearest.h"
#include "configs/printable.h"
#include "tests/configs/sample_config.h"
#include "tests/configs/temporary_folder.h"

namespace skipless::test {

using Catch::Matchers::Contains;

TEST_CASE("the nearest name is the one with the fewest edits, if it is near at all", "[configs][text]") {
  const std::vector<std::string> names = {"n_layer", "n_head", "learning_rate", "sas", "sas_p", "rms_norm"};
  CHECK(nearest_name("n_layers", names) == "n_layer");
  CHECK(nearest_name("n_laery", names) == "n_layer");
  CHECK(nearest_name("learning_rte", names) == "learning_rate");
  CHECK(nearest_name("Learning-Rate", names) == "learning_rate");
  CHECK(nearest_name("SAS-P", names) == "sas_p");
  CHECK(nearest_name("sass", names) == "sas");
  CHECK(nearest_name("RMSNorm", names) == "rms_norm");
  CHECK_FALSE(nearest_name("dropout", names));
  CHECK_FALSE(nearest_name("", names));
  CHECK_FALSE(nearest_name(std::string(100'000, 'n'), names));
  CHECK_FALSE(nearest_name("n_layer", {}));
}

TEST_CASE("text is shown without anything that acts on a terminal", "[configs][text]") {
  CHECK(printable("caf\xC3\xA9\n\t\x1B[0m\x7F\xFF") == "caf\xC3\xA9\\n\\t\\x1b[0m\\x7f\\xff");
  CHECK(printable("\xC2\x9B\xE2\x80\xAE") == "\\u009b\\u202e");
  CHECK(printable("abcdef", 3) == "abc...");
  CHECK(printable("abc", 3) == "abc");
}

TEST_CASE("the first byte that is not UTF-8 is found", "[configs][text]") {
  CHECK_FALSE(invalid_utf8_at("a\xC3\xA9\xE6\xBC\xA2\xF0\x9F\x98\x80"));
  CHECK(invalid_utf8_at("ab\xC3") == 2u);
  CHECK(invalid_utf8_at("\xC1\x81") == 0u);
  CHECK(invalid_utf8_at("a\xE0\x80\x80") == 1u);
  CHECK(invalid_utf8_at("a\xED\xBF\xBF") == 1u);
  CHECK(invalid_utf8_at("a\xF8\x88\x80\x80\x80") == 1u);
}

TEST_CASE("a config file is read with its name in the messages", "[configs][text]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "a recipe.yaml";
  std::ofstream(file) << "model:\n  n_layer: 6\n  gian: 1\n";
  CHECK_THROWS_WITH(read_config_file<SampleConfig>(file), Contains("a recipe.yaml:3: model.gian: unknown key"));
  std::ofstream(file) << "model:\n  n_layer: 6\n";
  CHECK(read_config_file<SampleConfig>(file, {"model.n_head=3"}).model.n_head == 3);
}

TEST_CASE("what is no config file is refused", "[configs][text]") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(read_config_text(folder.path() / "none.yaml"), Contains("none.yaml': No such file"));
  CHECK_THROWS_AS(read_config_text(folder.path() / "none.yaml"), UserError);
  CHECK_THROWS_WITH(read_config_text(folder.path()), Contains("it is a folder"));
  CHECK_THROWS_WITH(read_config_text(""), Contains("cannot read config ''"));
  CHECK_THROWS_WITH(read_config_text("/dev/zero"), Contains("larger than 1048576 bytes"));
  const auto big = folder.path() / "big.yaml";
  std::ofstream(big) << std::string((std::size_t{1} << 20) + 1, '#');
  CHECK_THROWS_WITH(read_config_text(big), Contains("larger than 1048576 bytes"));
  std::ofstream(big) << std::string(std::size_t{1} << 20, '#');
  CHECK(read_config_text(big).size() == std::size_t{1} << 20);
}

}  // namespace skipless::test
