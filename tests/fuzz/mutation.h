// Thousands of broken copies of valid files, the same ones at each run, for the code that reads files: each copy is
// either read or refused with a sentence. A crash leaves its copy behind, in the test's temporary folder.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

#include "configs/error.h"

namespace skipless::test {

class Mutation {
 public:
  explicit Mutation(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(random_() % limit); }
  bool one_in(std::size_t n) { return below(n) == 0; }

  /// `valid` with one to four edits: bits flipped, bytes and `words` put in or over others, pieces taken out, doubled
  /// or moved, the end cut off.
  std::string of(const std::string& valid, const std::vector<std::string>& words) {
    std::string text = valid;
    for (auto edits = 1 + below(4); edits > 0; --edits) edit(text, words);
    return text;
  }

 private:
  void edit(std::string& text, const std::vector<std::string>& words) {
    const std::size_t at = below(text.size() + 1);
    const std::size_t length = std::min(below(16), text.size() - at);
    switch (below(8)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        break;
      case 1:
        if (at < text.size()) text[at] = static_cast<char>(below(256));
        break;
      case 2:
        text.insert(at, 1, static_cast<char>(below(256)));
        break;
      case 3:
        text.erase(at, length);
        break;
      case 4:
        text.insert(below(text.size() + 1), text.substr(at, length));
        break;
      case 5:
        text.replace(at, length, words[below(words.size())]);
        break;
      case 6:
        text.insert(at, words[below(words.size())]);
        break;
      default:
        // Rarely, for little is left to look at.
        if (one_in(4)) text.resize(at);
    }
  }

  std::mt19937_64 random_;
};

struct Verdicts {
  int accepted = 0;
  int refused = 0;
};

/// Runs `read`, which may throw a UserError that says something, and nothing else.
template <class Read>
void read_or_refuse(Verdicts& verdicts, Read&& read) {
  INFO("mutant " << verdicts.accepted + verdicts.refused);
  try {
    read();
    ++verdicts.accepted;
  } catch (const UserError& error) {
    REQUIRE(std::string_view(error.what()).size() > 10);
    ++verdicts.refused;
  }
}

}  // namespace skipless::test
