// tokenize_file TOKENIZER LIST [--time]: encodes every file that LIST names (one path a line) as one document.
// Writes, per file, the number of ids and the ids as 32-bit little-endian integers to standard output; with --time,
// encodes all of them from memory three times and prints the fastest pass instead. For
// tests/data/compare_tokenizers.py.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "data/bpe_encoder.h"
#include "data/tokenizer_file.h"

namespace {

std::string read_all(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_numbers(const std::vector<std::int32_t>& numbers) {
  std::fwrite(numbers.data(), sizeof(std::int32_t), numbers.size(), stdout);
}

double encode_seconds(const skipless::BpeTokenizer& tokenizer, const std::vector<std::string>& texts) {
  const auto start = std::chrono::steady_clock::now();
  skipless::BpeEncoder encoder(tokenizer);
  std::vector<std::vector<std::int32_t>> ids(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) encoder.encode(texts[i], ids[i]);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main(int count, char** arguments) try {
  if (count < 3) {
    fmt::print(stderr, "usage: tokenize_file TOKENIZER LIST [--time]\n");
    return 2;
  }
  const skipless::BpeTokenizer tokenizer = skipless::read_tokenizer(arguments[1]);
  std::vector<std::string> texts;
  std::ifstream list(arguments[2]);
  for (std::string path; std::getline(list, path);) texts.push_back(read_all(path));

  if (count > 3 && std::string(arguments[3]) == "--time") {
    double best = encode_seconds(tokenizer, texts);
    for (int again = 0; again < 2; ++again) best = std::min(best, encode_seconds(tokenizer, texts));
    fmt::print("{:.4f}\n", best);
    return 0;
  }
  skipless::BpeEncoder encoder(tokenizer);
  for (const std::string& text : texts) {
    std::vector<std::int32_t> ids;
    encoder.encode(text, ids);
    if (tokenizer.decode(ids) != text) throw std::runtime_error("decode(encode(text)) differs from the text");
    write_numbers({static_cast<std::int32_t>(ids.size())});
    write_numbers(ids);
  }
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "tokenize_file: {}\n", error.what());
  return 1;
}
