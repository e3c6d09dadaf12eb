// Broken configs and broken arguments of the command line.
#include <catch2/catch.hpp>

#include "tests/configs/sample_config.h"
#include "tests/fuzz/mutation.h"
#include "tests/shared_folder.h"
#include "tests/temporary_folder.h"

namespace skipless::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSample =
    "name: \"a name\"\n"
    "files: [one.txt, 'two.txt']\n"
    "model:\n"
    "  n_layer: 8   # a comment\n"
    "  n_head: 4\n"
    "  gain: 1.25e-3\n"
    "  shape: free_form\n"
    "  form: {bend: 0.5}\n"
    "train:\n"
    "  decay: ~\n"
    "  note: |\n"
    "    some text\n"
    "  seed: -7\n";

const std::vector<std::string> kWords = {
    "&a ",     "*a",   "<<: ",  "!!str ",  "---\n",    "...\n",
    "\n  ",    "? ",   "- ",    "{",       "}",        "[",
    "]",       "#",    "|",     ">-\n",    "\"",       "'",
    "1e99999", ".nan", "-.inf", "0x7f",    "1_0",      "\xEF\xBB\xBF",
    "\t",      "~",    ": ",    "\\u0000", "model:\n", "  n_layer: 99999999999999999999\n",
    "no",      "\xFF", "\xC3"};

/// The sample, the recipes of this checkout, and the files handed out where they are.
std::vector<std::string> seeds() {
  std::vector<std::string> texts = {kSample};
  for (const auto& folder : {fs::path(SKIPLESS_SOURCE_DIR) / "configs", shared_folder() / "cases/yaml"}) {
    if (!fs::is_directory(folder)) continue;
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() == ".yaml") texts.push_back(read_all(entry.path()));
    }
  }
  std::sort(texts.begin() + 1, texts.end());
  return texts;
}

}  // namespace

TEST_CASE("broken configs are read or refused", "[fuzz][configs]") {
  const TemporaryFolder folder;
  const auto texts = seeds();
  Mutation mutation(1);
  Verdicts verdicts;
  for (int i = 0; i < 2500; ++i) {
    // Every second one is of the sample, which alone can be accepted.
    const auto file =
        folder.write("mutant.yaml", mutation.of(texts[i % 2 == 0 ? 0 : mutation.below(texts.size())], kWords));
    read_or_refuse(verdicts, [&] { read_config_file<SampleConfig>(file); });
  }
  CHECK(verdicts.accepted > 50);
  CHECK(verdicts.refused > 500);
}

TEST_CASE("broken arguments are taken or refused", "[fuzz][configs]") {
  const std::vector<std::string> arguments = {"model.n_layer=8",   "files=[a, \"b\"]", "model.form={bend: 1}",
                                              "train.note='x: y'", "train.decay=null", "model.shape=free_form"};
  Mutation mutation(2);
  Verdicts verdicts;
  for (int i = 0; i < 1500; ++i) {
    const std::string argument = mutation.of(arguments[mutation.below(arguments.size())], kWords);
    read_or_refuse(verdicts, [&] { parse(kSample, {argument}); });
  }
  CHECK(verdicts.accepted > 50);
  CHECK(verdicts.refused > 500);
}

}  // namespace skipless::test
