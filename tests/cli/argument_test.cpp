// Arguments that look like something else than they are.
#include <catch2/catch.hpp>
#include <string>

#include "tests/cli/program.h"

namespace skipless {

using Catch::Contains;
using test::Result;

TEST_CASE("a config whose name holds '=' is the config, and what follows is not", "[program][arguments]") {
  const test::TemporaryFolder folder;
  test::write_text(folder.path() / "c=1.yaml", "modle: {}\n");
  test::write_text(folder.path() / "model.n_layer=2", "modle: {}\n");
  const auto info = [&](const std::string& arguments) {
    return test::shell(folder.path(), "\"$skipless\" info " + arguments).err;
  };
  CHECK_THAT(info("c=1.yaml"), Contains("c=1.yaml:1: modle: unknown key"));
  CHECK_THAT(info("c=1.yaml model.n_layer=x"), Contains("c=1.yaml:1: modle") && Contains("'model.n_layer=x'"));
  CHECK_THAT(info("model.n_layer=x c=1.yaml"), Contains("c=1.yaml:1: modle") && Contains("'model.n_layer=x'"));
  // After the config, a file of that name changes nothing.
  CHECK_THAT(info("c=1.yaml model.n_layer=2"), Contains("c=1.yaml:1: modle") && !Contains("model.n_layer=2:1"));
  CHECK_THAT(info("c=2.yaml c=1.yaml"), Contains("c=1.yaml:1: modle") && Contains("command line: 'c=2.yaml'"));
}

TEST_CASE("a config can come from a process", "[program][arguments]") {
  const test::TemporaryFolder folder;
  const Result result = test::shell(folder.path(), "\"$skipless\" info <(sleep 0.1; echo 'modle: {}')");
  CHECK(result.code == 2);
  CHECK_THAT(result.err, Contains(":1: modle: unknown key (did you mean 'model'?)"));
}

TEST_CASE("numbers of prepare are taken as they stand or refused", "[program][arguments]") {
  const test::TemporaryFolder folder;
  const auto refusal = [&](const std::string& option) {
    const Result result = test::shell(folder.path(), "\"$skipless\" prepare none --tokenizer none --out out " + option);
    CHECK(result.code == 2);
    return result.err;
  };
  for (const std::string value : {"-1", "1.5", "abc", "9223372036854775808"}) {
    INFO(value);
    CHECK_THAT(refusal("--seed=" + value), Contains("--seed") && Contains("an integer from 0 to 9223372036854775807"));
  }
  CHECK_THAT(refusal("--seed -1"), Contains("'-1' is out of range"));
  for (const std::string value : {"nan", "inf", "0", "1", "-0.1", "0.05x"}) {
    INFO(value);
    CHECK_THAT(refusal("--validation-fraction=" + value),
               Contains("--validation-fraction") && Contains("a number above 0 and below 1"));
  }
  CHECK_THAT(refusal("--seed 9223372036854775807 --validation-fraction 0.5"), Contains("none"));
  CHECK_FALSE(std::filesystem::exists(folder.path() / "out"));
}

TEST_CASE("a file's name cannot steer the terminal, in no message", "[program][arguments]") {
  const std::string tokenizer =
      fmt::format("--tokenizer '{}/data/tokenizers/python_4096' --out out", SKIPLESS_SOURCE_DIR);
  const test::TemporaryFolder folder;
  for (const std::string command : {"info", "train --run r", "eval", "generate --prompt x", "convert"}) {
    INFO(command);
    const Result result = test::shell(folder.path(), fmt::format("\"$skipless\" {} $'no\\x1b[2Jfile'{}", command,
                                                                 command == "convert" ? " out" : ""));
    CHECK(result.code == 2);
    CHECK_THAT(result.out + result.err, Contains("no\\x1b[2Jfile") && !Contains("\x1b"));
  }
  // A warning is one too.
  const Result result =
      test::shell(folder.path(), "printf '\\xff' > $'bad\\x1b.py'; echo x > 1.py; echo y > 2.py\n" +
                                     fmt::format("\"$skipless\" prepare . --glob '*.py' {}", tokenizer));
  CHECK(result.code == 0);
  CHECK_THAT(result.out + result.err, Contains("bad\\x1b.py") && !Contains("\x1b"));
}

}  // namespace skipless
