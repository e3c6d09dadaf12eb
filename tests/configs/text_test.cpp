// Suggestions, printable text, and the files that configs are read from.
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <catch2/catch.hpp>

#include "configs/nearest.h"
#include "configs/printable.h"
#include "configs/synonyms.h"
#include "configs/utf8.h"
#include "tests/configs/sample_config.h"
#include "tests/temporary_folder.h"

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

TEST_CASE("a key is found by the name that other programs have for it", "[configs][text]") {
  const std::vector<std::string> keys = {"lr", "lr_end", "n_layer", "norm", "norm_eps", "steps"};
  CHECK(nearest_key("learning_rte", keys) == "lr");
  CHECK(nearest_key("Max-Steps", keys) == "steps");
  CHECK(nearest_key("num_hidden_layers", keys) == "n_layer");
  CHECK(nearest_key("norm_type", keys) == "norm");  // which has fewer edits than norm_eps
  CHECK(nearest_key("n_layers", keys) == "n_layer");
  CHECK(nearest_key("norm_esp", keys) == "norm_eps");
  CHECK_FALSE(nearest_key("hidden_size", keys));  // there is no d_model among them
  CHECK_FALSE(nearest_key("colour", keys));
}

TEST_CASE("misspelt names of other programs are told what the key is called here", "[configs][text]") {
  struct Config {
    int64_t n_layer = 1;
    double lr = 1, weight_decay = 0;
    struct Model {
      Config& all;
      void keys(Schema& s) { s.key("n_layer", all.n_layer, Range<int64_t>::at_least(1), ""); }
    };
    struct Train {
      Config& all;
      void keys(Schema& s) {
        s.key("lr", all.lr, Range<double>::above(0), "");
        s.key("weight_decay", all.weight_decay, Range<double>::at_least(0), "");
      }
    };
    void keys(Schema& s) {
      Model model{*this};
      Train train{*this};
      s.section("model", model, "");
      s.section("train", train, "");
    }
    void resolve() {}
    void check(Problems&) const {}
  };
  CHECK_THROWS_WITH(
      parse_config<Config>("model:\n  n_layers: 6\ntrain:\n  learning_rte: 1e-3\n  weight_decay: 0.1\n", "typo.yaml"),
      "2 problems:\n  typo.yaml:2: model.n_layers: unknown key (did you mean 'n_layer'?)\n"
      "  typo.yaml:4: train.learning_rte: unknown key (did you mean 'lr'?)");
  CHECK_THROWS_WITH(parse_config<Config>("model: {learning_rate: 1}", "typo.yaml"),
                    "typo.yaml:1: model.learning_rate: unknown key (did you mean 'train.lr'?)");
}

TEST_CASE("text is shown without anything that acts on a terminal", "[configs][text]") {
  CHECK(printable("caf\xC3\xA9\n\t\x1B[0m\x7F\xFF") == "caf\xC3\xA9\\n\\t\\x1b[0m\\x7f\\xff");
  CHECK(printable("\xC2\x9B\xE2\x80\xAE") == "\\u009b\\u202e");
  CHECK(printable("abcdef", 3) == "abc...");
  CHECK(printable("abc", 3) == "abc");
  CHECK(printable_lines("a\x1B[2J\n\nb\r") == "a\\x1b[2J\n\nb\\x0d");
  CHECK(printable_lines("").empty());
}

TEST_CASE("the first byte that is not UTF-8 is found", "[configs][text]") {
  CHECK_FALSE(find_invalid_utf8("a\xC3\xA9\xE6\xBC\xA2\xF0\x9F\x98\x80"));
  CHECK(find_invalid_utf8("ab\xC3") == 2u);
  CHECK(find_invalid_utf8("\xC1\x81") == 0u);
  CHECK(find_invalid_utf8("a\xE0\x80\x80") == 1u);
  CHECK(find_invalid_utf8("a\xED\xBF\xBF") == 1u);
  CHECK(find_invalid_utf8("a\xF8\x88\x80\x80\x80") == 1u);
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

TEST_CASE("a pipe is read to its end, and not waited for without end", "[configs][text]") {
  using namespace std::chrono_literals;
  const TemporaryFolder folder;
  const std::filesystem::path pipe = folder.path() / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THROWS_WITH(read_config_text(pipe, 20ms), Contains("pipe': nothing was written into this pipe for 0.02 s"));

  // A named pipe whose writer comes late and pauses.
  std::thread writer([&] {
    std::this_thread::sleep_for(30ms);
    std::ofstream stream(pipe);
    stream << "name: " << std::flush;
    std::this_thread::sleep_for(30ms);
    stream << "late\n";
  });
  CHECK(read_config_text(pipe, 10s) == "name: late\n");
  writer.join();

  // What a shell's <(...) is: a pipe without a name, whose writer may be gone already.
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  REQUIRE(::write(ends[1], "name: a\n", 8) == 8);
  const std::string by_descriptor = "/dev/fd/" + std::to_string(ends[0]);
  SECTION("the writer is gone") {
    ::close(ends[1]);
    CHECK(read_config_text(by_descriptor, 10s) == "name: a\n");
  }
  SECTION("the writer stays and is silent") {
    CHECK_THROWS_WITH(read_config_text(by_descriptor, 20ms), Contains("nothing was written into this pipe"));
    ::close(ends[1]);
  }
  ::close(ends[0]);
}

}  // namespace skipless::test
