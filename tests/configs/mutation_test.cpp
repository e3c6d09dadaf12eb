// Broken configs by the thousand: each is either read or refused, and nothing else happens.
#include <random>

#include <catch2/catch.hpp>

#include "tests/configs/sample_config.h"

namespace skipless::test {
namespace {

constexpr const char* kValid =
    "name: \"a name\"\n"
    "files:\n"
    "  - one.txt\n"
    "  - 'two.txt'\n"
    "model:\n"
    "  n_layer: 8   # a comment\n"
    "  n_head: 4\n"
    "  gain: 1.25e-3\n"
    "  shape: free_form\n"
    "  form: {bend: 0.5}\n"
    "train:\n"
    "  learning_rate: 3e-4\n"
    "  decay: ~\n"
    "  note: |\n"
    "    some text\n"
    "  seed: -7\n";

std::string mutated(std::mt19937_64& random) {
  static const std::string kBytes = "\n\t :-#[]{},&*!|>'\"%@`?~<=.0123456789abcxyz_\\\r\x01\x7F\x80\xC3\xFF";
  std::string text = kValid;
  for (auto edits = 1 + random() % 4; edits > 0; --edits) {
    const std::size_t at = random() % (text.size() + 1);
    const std::size_t length = std::min<std::size_t>(random() % 12, text.size() - at);
    switch (random() % 5) {
      case 0:
        text.insert(at, 1, kBytes[random() % kBytes.size()]);
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        if (at < text.size()) text[at] = kBytes[random() % kBytes.size()];
        break;
      case 3:
        text.insert(random() % (text.size() + 1), text.substr(at, length));
        break;
      default:
        text.resize(at);
    }
  }
  return text;
}

}  // namespace

TEST_CASE("two thousand mutations of a config are read or refused", "[configs][mutation]") {
  REQUIRE_NOTHROW(parse(kValid));
  std::mt19937_64 random(7);
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::string text = mutated(random);
    INFO("mutation " << i << ":\n" << text);
    try {
      parse(text);
    } catch (const UserError& error) {
      ++refused;
      REQUIRE(std::string(error.what()).size() > 10);
    }
  }
  // Both outcomes occur, or the mutations would test nothing.
  CHECK(refused > 500);
  CHECK(refused < 1990);
}

}  // namespace skipless::test
