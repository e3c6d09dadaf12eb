// A trained run in use: generation, raw text, other formats.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/program.h"

namespace skipless {

using Catch::Contains;
using nlohmann::json;
using test::Result;

namespace {

/// A place with a run of 20 steps ("run"), made once: these tests only read it.
const test::Workplace& place() {
  static const test::Workplace kPlace(
      "\"$skipless\" train small.yaml model.n_positions=24 train.lr=0.02 train.warmup_steps=2 --run run &&"
      "cp -r run lonely && sed -i 's/folder: data/folder: gone/' lonely/config.yaml && rm lonely/tokenizer.json");
  return kPlace;
}

Result generate(const std::string& arguments) {
  return place().run("\"$skipless\" generate " + arguments);
}

Result eval_text(const std::string& arguments) {
  return place().run("\"$skipless\" eval run --text " + arguments);
}

}  // namespace

TEST_CASE("generate writes the prompt and what follows it, the same for the same seed", "[program][generate]") {
  const Result first = generate("run --prompt 'def f' --seed 3");
  INFO(first.err);
  REQUIRE(first.code == 0);
  CHECK(first.err.empty());
  CHECK(first.out.starts_with("def f"));
  CHECK(first.out.ends_with("\n"));
  CHECK(first.out.size() > std::string("def f\n").size());
  CHECK(generate("run --prompt 'def f' --seed 4").out != first.out);
  CHECK("def f" + generate("run --prompt 'def f' --seed 3 --no-echo").out == first.out);
  CHECK(place().run("printf 'def f' | \"$skipless\" generate run --prompt-file - --seed 3").out == first.out);
  // The kept tokenizer is enough; and given by hand where that is gone too.
  CHECK(generate("lonely --prompt 'def f' --seed 3 --tokenizer data").out == first.out);
}

TEST_CASE("generate takes the ends of its settings for what they mean", "[program][generate]") {
  const std::string greedy = generate("run --prompt 'def f' --temperature 0").out;
  for (const char* same : {"--top-k 1", "--top-p 0"}) {
    INFO(same);
    CHECK(generate(std::string("run --prompt 'def f' ") + same).out == greedy);
  }
  const Result clamped = generate("run --prompt 'def f' --top-k 4097");
  CHECK(clamped.code == 0);
  CHECK_THAT(clamped.err, Contains("warning: --top-k 4097") && Contains("4096"));
  // A stop text that the greedy text holds is the end, and is not shown.
  const std::string written = greedy.substr(5, greedy.size() - 6);
  const size_t letter = written.find_first_of("abcdefghijklmnopqrstuvwxyz0123456789(", 1);
  REQUIRE(letter != std::string::npos);
  const std::string stop = written.substr(letter, 1);
  const auto stopped_by = [&](const std::string& stops) {
    return generate("run --prompt 'def f' --temperature 0 --no-echo " + stops).out;
  };
  CHECK(stopped_by(fmt::format("--stop 'not there' --stop '{}'", stop)) ==
        written.substr(0, written.find(stop)) + "\n");
  // From nothing: from the beginning of a text. The name of a special token is ordinary text.
  CHECK(generate("run --prompt '' --max-tokens 3").code == 0);
  CHECK(generate("run --prompt '<|endoftext|>' --max-tokens 23").code == 2);  // it is more than one token
}

TEST_CASE("generate refuses what it cannot do, with code 2 and in one line", "[program][generate][mistakes]") {
  struct Mistake {
    const char* arguments;
    const char* said;
  };
  for (const auto& mistake : std::vector<Mistake>{
           Mistake{"run", "--prompt TEXT or --prompt-file FILE is needed"},
           Mistake{"run --prompt a --prompt-file b", "excludes"},
           Mistake{"run --prompt-file none", "cannot read the prompt from 'none': No such file"},
           Mistake{"run --prompt $'a\\xff'", "not UTF-8: byte 0xFF at offset 1"},
           Mistake{"run --prompt a --top-k -1", "--top-k: '-1' is out of range"},
           Mistake{"run --prompt a --top-p 1.5", "--top-p: '1.5' is out of range; allowed: a number from 0 to 1"},
           Mistake{"run --prompt a --stop ''", "--stop: is empty"},
           Mistake{"run --prompt a --stop $'a\\xff'", "--stop 'a\\xff' is not UTF-8: byte 0xFF at offset 1"},
           Mistake{"run --prompt-file <(head -c 2097153 /dev/zero | tr '\\0' x)", "the prompt: 2097153 bytes"},
           Mistake{"run --prompt a --max-tokens 24", "23 of the model's 24 positions"},
           Mistake{"run --prompt \"$(seq 60)\"", "the model has 24 positions"},
           Mistake{"lonely --prompt a", "give it with --tokenizer"}}) {
    INFO(mistake.arguments);
    const Result result = generate(mistake.arguments);
    INFO(result.err);
    CHECK(result.code == 2);
    CHECK(result.out.empty());
    CHECK_THAT(result.err, Contains(mistake.said));
    CHECK(result.err.starts_with("error: "));
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  }
  const Result beyond = generate("run --prompt a --max-tokens 20");
  CHECK(beyond.code == 0);
  CHECK_THAT(beyond.err, Contains("warning: the model was trained on 16 tokens at a time"));
  const Result full = generate("run --prompt a > /dev/full");
  CHECK(full.code == 1);
  CHECK_THAT(full.err, Contains("cannot write to standard output: No space left on device"));
}

TEST_CASE("raw text is evaluated per token and per byte, whatever the batch and however it is given",
          "[program][eval]") {
  const Result all = eval_text("source --json");
  INFO(all.err);
  REQUIRE(all.code == 0);
  const auto result = json::parse(all.out);
  CHECK(result.at("documents") == 12);
  CHECK(result.at("stride") == 15);
  int64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(place().path() / "source")) {
    bytes += static_cast<int64_t>(std::filesystem::file_size(entry));
  }
  CHECK(result.at("bytes") == bytes);
  // "def" is the first token of each document, and of one alone nothing is predicted.
  CHECK(result.at("predicted_bytes") == bytes - 12 * 3);
  const double nats = result.at("loss").get<double>() * result.at("predicted_tokens").get<double>();
  CHECK(result.at("bits_per_byte").get<double>() ==
        Approx(nats / std::log(2) / result.at("predicted_bytes").get<double>()).epsilon(1e-12));
  CHECK(result.at("perplexity").get<double>() == Approx(std::exp(result.at("loss").get<double>())).epsilon(1e-12));
  const auto strided = json::parse(eval_text("source --stride 4 --json").out);
  CHECK(strided.at("predicted_tokens") == result.at("predicted_tokens"));
  CHECK(strided.at("loss") != result.at("loss"));
  CHECK_THAT(eval_text("source").out, Contains("text loss") && Contains("bits per byte"));
  test::write_text(place().path() / "lines.jsonl", "{\"t\": \"def f(x, y):\"}\n{\"t\": \"\"}\n{\"t\": \"x\"}\n");
  const Result lines = eval_text("lines.jsonl --field t --json");
  CHECK(json::parse(lines.out).at("documents") == 2);
  CHECK_THAT(lines.err, Contains("lines.jsonl:2"));
  test::write_text(place().path() / "word.jsonl", "{\"t\": \"\"}\n{\"t\": \"" + std::string(2097153, 'x') + "\"}\n");
  const Result word = eval_text("word.jsonl --field t");
  CHECK(word.code == 2);
  CHECK_THAT(word.err, Contains("word.jsonl:2: 2097153 bytes from offset 0 on"));
}

TEST_CASE("a model of packed chunks predicts the first token of a text from the end of the one before",
          "[program][eval]") {
  const auto& here = place();
  REQUIRE(here.run("cp -r run packed && sed -i 's/chunking: documents/chunking: packed/' packed/config.yaml").code ==
          0);
  const auto packed = json::parse(here.run("\"$skipless\" eval packed --text source --json").out);
  CHECK(packed.at("documents") == 12);
  CHECK(packed.at("predicted_bytes") == packed.at("bytes"));
}

TEST_CASE("documents of one chunk have the loss of the prepared shard", "[program][eval]") {
  // 16 tokens each: so that the chunks of the shard are the documents.
  const Result prepared = place().run(
      "mkdir -p chunks && for i in 1 2 3 4 5 6; do printf 'x.y.x.y.x.y.x.%d.' $i > chunks/$i.txt; done && "
      "\"$skipless\" prepare chunks --tokenizer data --validation-fraction 0.5 --out small");
  INFO(prepared.err);
  REQUIRE(prepared.code == 0);
  REQUIRE_THAT(prepared.out, Contains("documents"));
  const auto tokens = json::parse(place().text("small/prepare.json"));
  REQUIRE(tokens.at("train").at("tokens") == 16 * tokens.at("train").at("documents").get<int64_t>());
  const auto loss = [](const std::string& options) {
    return json::parse(place().run("\"$skipless\" eval run --json " + options).out);
  };
  const auto train = loss("--data small --split train"), validation = loss("--data small --split validation");
  const auto text = loss("--text chunks");
  CHECK(text.at("predicted_tokens") == 6 * 15);
  const auto nats = [](const json& part) {
    return part.at("loss").get<double>() * part.at("predicted_tokens").get<double>();
  };
  CHECK(nats(text) == Approx(nats(train) + nats(validation)).epsilon(1e-6));  // float32
}

TEST_CASE("what is absent, cannot be written or is the output itself is named", "[program][convert][mistakes]") {
  const auto& here = place();
  const Result absent = here.run("\"$skipless\" convert none out");
  CHECK(absent.code == 2);
  CHECK_THAT(absent.err, Contains("none: no such file or folder"));
  const Result full = here.run("\"$skipless\" train --keys > /dev/full");
  CHECK(full.code == 1);
  CHECK_THAT(full.err, Contains("cannot write to standard output: No space left on device"));
  const Result itself =
      here.run("mkdir own && echo a > own/a.txt && \"$skipless\" prepare own --tokenizer data --out own");
  CHECK(itself.code == 2);
  CHECK_THAT(itself.err, Contains("left out: 1 the output folder"));
  // As an import without --data has it.
  REQUIRE(
      here.run("cp -r lonely bare && sed -i 's/folder: gone/folder: \"(imported weights: no data)\"/' bare/config.yaml")
          .code == 0);
  CHECK_THAT(here.run("\"$skipless\" eval bare").err, Contains("'bare' has imported weights: give --data or --text"));
  CHECK_THAT(here.run("\"$skipless\" generate bare --prompt a").err, Contains("no tokenizer: give --tokenizer"));
}

TEST_CASE("text that cannot be evaluated is refused by file and reason", "[program][eval][mistakes]") {
  test::write_text(place().path() / "empty.txt", "");
  test::write_text(place().path() / "latin.txt", "caf\xE9");
  test::write_text(place().path() / "one.txt", "x");
  struct Mistake {
    const char* arguments;
    const char* said;
  };
  for (const auto& mistake : std::vector<Mistake>{
           Mistake{"empty.txt", "'empty.txt' is empty"},
           Mistake{"latin.txt", "'latin.txt' is not UTF-8: byte 0xE9 at offset 3"},
           Mistake{"one.txt", "'one.txt' holds no text of two tokens or more"}, Mistake{"lines.jsonl", "--field"},
           Mistake{"source --stride 16", "--stride is 16; allowed: 1 to 15"}}) {
    INFO(mistake.arguments);
    test::write_text(place().path() / "lines.jsonl", "{\"t\": \"x\"}\n");
    const Result result = eval_text(mistake.arguments);
    INFO(result.err);
    CHECK(result.code == 2);
    CHECK(result.out.empty());
    CHECK_THAT(result.err, Contains(mistake.said));
  }
}

TEST_CASE("a run is exported, comes back as the same model, and nothing is overwritten", "[program][convert]") {
  const auto& here = place();
  const Result exported = here.run("\"$skipless\" convert run out --to authors");
  INFO(exported.err);
  REQUIRE(exported.code == 0);
  CHECK_THAT(exported.out, Contains("step 20"));
  CHECK(here.exists("out/tokenizer.json"));
  REQUIRE(here.run("\"$skipless\" convert out back").code == 0);
  CHECK(generate("back --prompt 'def f' --seed 3").out == generate("run --prompt 'def f' --seed 3").out);
  const auto weights = here.text("out/model.safetensors");

  const Result again = here.run("\"$skipless\" convert run out --to authors");
  CHECK(again.code == 2);
  CHECK_THAT(again.err, Contains("'out' is there already"));
  CHECK(here.text("out/model.safetensors") == weights);
  const Result other = here.run("\"$skipless\" convert run gpt2 --to gpt2");
  CHECK(other.code == 2);
  CHECK_THAT(other.err, Contains("model.block sas would be read as pre_ln"));
  CHECK_FALSE(here.exists("gpt2"));
}

TEST_CASE("convert names the settings' file where a setting is at fault", "[program][convert][mistakes]") {
  const auto& here = place();
  REQUIRE(here.run("\"$skipless\" convert run wrong --to authors").code == 0);
  auto settings = json::parse(here.text("wrong/config.json"));
  settings["norm_type"] = "batch";
  test::write_text(here.path() / "wrong/config.json", settings.dump());
  const Result result = here.run("\"$skipless\" convert wrong run2");
  CHECK(result.code == 2);
  CHECK_THAT(result.err, Contains("wrong/config.json: norm_type is \"batch\""));
  CHECK_FALSE(here.exists("run2"));
}

}  // namespace skipless
