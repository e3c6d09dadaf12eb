#include "train/checked_cards.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "configs/error.h"
#include "tests/temporary_folder.h"
// Catch2 comes last: its CHECK clashes with LibTorch's.
#include <catch2/catch.hpp>

namespace skipless {

namespace {

CheckedCard card(const std::string& name, const std::string& commit = "abc", const std::string& kernels = "") {
  return {.kernels = kernels.empty() ? kernel_hash() : kernels, .capability = "7.5", .name = name, .commit = commit};
}

constexpr const char* kName = "NVIDIA GeForce RTX 2080 Ti";

std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

TEST_CASE("a card that was recorded is known again by kernels, compute capability and name", "[cards]") {
  const test::TemporaryFolder temporary;
  const auto file = temporary.path() / "state/skipless/checked_cards.tsv";
  CHECK(read_checked_cards(file).empty());
  record_checked_card(file, card(kName));
  record_checked_card(file, card("NVIDIA H200", "abc", "of another build"));
  const auto cards = read_checked_cards(file);
  CHECK(is_checked(cards, {.name = kName, .major = 7, .minor = 5}));
  CHECK_FALSE(is_checked(cards, {.name = kName, .major = 8, .minor = 6}));
  CHECK_FALSE(is_checked(cards, {.name = "NVIDIA TITAN RTX", .major = 7, .minor = 5}));
  CHECK_FALSE(is_checked(cards, {.name = "NVIDIA H200", .major = 7, .minor = 5}));
}

TEST_CASE("recording a card replaces its own line and leaves every other as it is", "[cards]") {
  const test::TemporaryFolder temporary;
  const auto file = temporary.write("checked_cards.tsv", "# a later version's line\nhash\t9.0\tNVIDIA H200\tabc\n");
  record_checked_card(file, card(kName, "first"));
  record_checked_card(file, card(kName, "second"));
  CHECK(text_of(file) == fmt::format("# a later version's line\nhash\t9.0\tNVIDIA H200\tabc\n{}\t7.5\t{}\tsecond\n",
                                     kernel_hash(), kName));
  CHECK(read_checked_cards(file).size() == 2);
}

TEST_CASE("cards that several processes record at the same time are all kept", "[cards]") {
  constexpr int kProcesses = 8, kEach = 5;
  const test::TemporaryFolder temporary;
  const auto file = temporary.path() / "checked_cards.tsv";
  for (int process = 0; process < kProcesses; ++process) {
    if (::fork() != 0) continue;
    for (int i = 0; i < kEach; ++i) record_checked_card(file, card(fmt::format("card {} of {}", i, process)));
    ::_exit(0);
  }
  for (int process = 0; process < kProcesses; ++process) ::wait(nullptr);
  CHECK(read_checked_cards(file).size() == kProcesses * kEach);
}

TEST_CASE("a card that cannot be recorded is the user's to hear of", "[cards]") {
  const test::TemporaryFolder temporary;
  const auto in_the_way = temporary.write("state", "");
  CHECK_THROWS_AS(record_checked_card(in_the_way / "skipless/checked_cards.tsv", card(kName)), UserError);
}

TEST_CASE("the record lies in the user's state folder", "[cards]") {
  const char* const state = std::getenv("XDG_STATE_HOME");
  const std::string before = state == nullptr ? "" : state;
  ::setenv("XDG_STATE_HOME", "/some/where", 1);
  CHECK(checked_cards_file() == "/some/where/skipless/checked_cards.tsv");
  ::setenv("XDG_STATE_HOME", "relative", 1);
  const auto without = checked_cards_file();
  if (const char* const home = std::getenv("HOME"); home != nullptr) {
    CHECK(without == std::filesystem::path(home) / ".local/state/skipless/checked_cards.tsv");
  }
  if (state == nullptr) {
    ::unsetenv("XDG_STATE_HOME");
  } else {
    ::setenv("XDG_STATE_HOME", before.c_str(), 1);
  }
}

}  // namespace skipless
