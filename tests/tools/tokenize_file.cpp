// tokenize_file TOKENIZER LIST [--time]: encodes every file that LIST names (one path a line) as one document.
// tokenize_file TOKENIZER --texts FILE:  encodes texts that stand in FILE, each behind its length (32 bits).
// Writes, per document, the number of ids and the ids as 32-bit little-endian integers to standard output; with --time,
// encodes all of them from memory three times and prints the fastest pass instead. For
// tests/data/compare_tokenizers.py.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

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

std::vector<std::string> read_listed(const std::string& list_file) {
  std::vector<std::string> texts;
  std::ifstream list(list_file);
  for (std::string path; std::getline(list, path);) texts.push_back(read_all(path));
  return texts;
}

std::vector<std::string> read_texts(const std::string& file) {
  const std::string content = read_all(file);
  std::vector<std::string> texts;
  for (std::size_t at = 0; at < content.size();) {
    std::uint32_t length = 0;
    std::memcpy(&length, content.data() + at, sizeof(length));
    texts.push_back(content.substr(at + sizeof(length), length));
    at += sizeof(length) + length;
  }
  return texts;
}

double encode_seconds(const skipless::Tokenizer& tokenizer, const std::vector<std::string>& texts) {
  const auto start = std::chrono::steady_clock::now();
  const auto encoder = tokenizer.make_encoder();
  std::vector<std::vector<std::int32_t>> ids(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) encoder->encode(texts[i], ids[i]);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main(int count, char** arguments) try {
  if (count < 3) {
    fmt::print(stderr, "usage: tokenize_file TOKENIZER LIST [--time] | TOKENIZER --texts FILE\n");
    return 2;
  }
  const auto read = skipless::read_tokenizer(arguments[1]);
  const skipless::Tokenizer& tokenizer = *read;
  const bool of_texts = count > 3 && std::string(arguments[2]) == "--texts";
  const std::vector<std::string> texts = of_texts ? read_texts(arguments[3]) : read_listed(arguments[2]);

  if (count > 3 && std::string(arguments[3]) == "--time") {
    double best = encode_seconds(tokenizer, texts);
    for (int again = 0; again < 2; ++again) best = std::min(best, encode_seconds(tokenizer, texts));
    fmt::print("{:.4f}\n", best);
    return 0;
  }
  const auto encoder = tokenizer.make_encoder();
  std::vector<std::int32_t> ids;
  for (const std::string& text : texts) {
    ids.clear();
    encoder->encode(text, ids);
    if (tokenizer.is_lossless() && tokenizer.decode(ids) != text)
      throw std::runtime_error("decode(encode(text)) differs from the text");
    write_numbers({static_cast<std::int32_t>(ids.size())});
    write_numbers(ids);
  }
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "tokenize_file: {}\n", error.what());
  return 1;
}
