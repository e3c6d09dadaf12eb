// Broken GLUE files.
#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "data/glue.h"
#include "tests/fuzz/mutation.h"
#include "tests/shared_folder.h"
#include "tests/temporary_folder.h"

namespace skipless::test {
namespace {

const std::vector<std::string> kWords = {"\t",
                                         "\n",
                                         "\r\n",
                                         "\"",
                                         "\xEF\xBB\xBF",
                                         "\xFF",
                                         "label",
                                         "sentence",
                                         "index",
                                         "-",
                                         "0",
                                         "5.0",
                                         "1e999",
                                         "nan",
                                         "-1",
                                         "entailment",
                                         "\t\t",
                                         "\n\n",
                                         "2",
                                         "score",
                                         "gold_label",
                                         std::string(1, '\0')};

const std::vector<std::pair<std::string_view, std::string>> kValid = {
    {"cola", "a\t1\t\tThe cat slept .\na\t0\t*\tCat \"the .\n"},
    {"stsb", "index\tsentence1\tsentence2\tscore\n0\ta b\tc\t4.750\n1\td\te \xC3\xA9\t0\n"},
    {"mnli", "index\tsentence1\tsentence2\tlabel1\tgold_label\n0\ta\tb\tneutral\tentailment\n1\tc\td\tneutral\t-\n"},
    {"mrpc", "\xEF\xBB\xBFQuality\t#1 ID\t#1 String\t#2 String\r\n1\t2\tone\ttwo\r\n\r\n0\t3\tthree\tfour"}};

}  // namespace

TEST_CASE("broken GLUE files are read or refused, and what is read is within its range", "[fuzz][glue]") {
  const TemporaryFolder folder;
  Mutation mutation(9);
  Verdicts verdicts;
  int left_out = 0;
  for (int i = 0; i < 4000; ++i) {
    const auto& [name, valid] = kValid[mutation.below(kValid.size())];
    const GlueTask& task = glue_task(name);
    const auto split = mutation.one_in(3) ? GlueSplit::test : GlueSplit::train;
    const auto file = folder.write("mutant.tsv", mutation.of(valid, kWords));
    read_or_refuse(verdicts, [&] {
      const auto read = read_glue(file, task, split);
      REQUIRE(!read.examples.empty());
      for (const auto& example : read.examples) {
        REQUIRE(example.label >= 0);
        REQUIRE(example.label <= (task.is_regression() ? task.high : static_cast<double>(task.labels.size() - 1)));
        REQUIRE(example.first.find('\t') == std::string::npos);
      }
      left_out += static_cast<int>(read.notes().size());
    });
  }
  CHECK(verdicts.accepted > 500);
  CHECK(verdicts.refused > 500);
  CHECK(left_out > 100);
}

}  // namespace skipless::test
