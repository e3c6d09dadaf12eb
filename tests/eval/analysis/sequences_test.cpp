#include "eval/analysis/sequences.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <torch/utils.h>

#include <fstream>
#include <string>
#include <vector>

#include "configs/error.h"
#include "data/tokenizer_file.h"
#include "tests/temporary_folder.h"
// Catch2 comes last: its CHECK clashes with LibTorch's.
#include <catch2/catch.hpp>

namespace skipless {

namespace {

std::string text_of(char letter, int words) {
  std::string text;
  for (int i = 0; i < words; ++i) text += std::string(" ") + letter + std::to_string(i);
  return text;
}

at::Tensor ids_of(const Tokenizer& tokenizer, const std::string& text) {
  const auto ids = tokenizer.encode(text);
  return at::tensor(at::ArrayRef<int32_t>(ids), at::kLong);
}

}  // namespace

TEST_CASE("sequences are the whole chunks of documents, in their order, and no more than are wanted", "[analysis]") {
  const auto tokenizer = read_tokenizer(SKIPLESS_SOURCE_DIR "/data/tokenizers/python_4096");
  const test::TemporaryFolder folder;
  const std::vector<std::string> texts = {text_of('x', 7), "short", text_of('y', 30)};
  InputSelection selection;
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto file = folder.path() / ("t" + std::to_string(i));
    std::ofstream(file) << texts[i];
    selection.paths.push_back(file.string());
  }
  const auto inputs = find_input_files(selection);
  const auto skip = [](const InputFile&, const SkippedDocument& skipped) { FAIL(skipped.place); };
  const auto first = ids_of(*tokenizer, texts[0]), last = ids_of(*tokenizer, texts[2]);
  constexpr int64_t kLength = 8;
  const int64_t of_first = first.numel() / kLength, of_last = last.numel() / kLength;
  REQUIRE(of_first >= 1);
  REQUIRE(first.numel() % kLength > 0);  // a tail to drop
  REQUIRE(of_last >= 3);
  const auto got = text_sequences(inputs, "", *tokenizer, of_first + 2, kLength, skip);
  const auto wanted = at::cat({first.slice(0, 0, of_first * kLength), last.slice(0, 0, 2 * kLength)});
  CHECK(at::equal(got, wanted.view({-1, kLength})));
  CHECK(text_sequences(inputs, "", *tokenizer, of_first + of_last, kLength, skip).size(0) == of_first + of_last);
  CHECK_THROWS_WITH(text_sequences(inputs, "", *tokenizer, of_first + of_last + 1, kLength, skip),
                    Catch::Contains(std::to_string(of_first + of_last) + " sequences of 8 tokens"));
}

TEST_CASE("random sequences are the same for a seed, use the whole vocabulary, and leave the generator alone",
          "[analysis]") {
  torch::manual_seed(5);
  const auto expected = torch::rand({3});
  torch::manual_seed(5);
  const auto ids = random_sequences(11, 20, 30, 1);
  CHECK(at::equal(torch::rand({3}), expected));
  CHECK(at::equal(ids, random_sequences(11, 20, 30, 1)));
  CHECK_FALSE(at::equal(ids, random_sequences(11, 20, 30, 2)));
  CHECK(ids.sizes() == at::IntArrayRef({20, 30}));
  CHECK(ids.min().item<int64_t>() == 0);
  CHECK(ids.max().item<int64_t>() == 10);
}

}  // namespace skipless
