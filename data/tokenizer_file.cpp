#include "data/tokenizer_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "configs/error.h"
#include "configs/utf8.h"
#include "data/mapped_file.h"
#include "data/strict_json.h"
#include "data/tokenizer_json.h"

namespace skipless {
namespace {

void read_merges_txt(std::string_view text, const std::string& file, BpeContent& content) {
  if (const auto invalid = find_invalid_utf8(text)) {
    throw UserError(fmt::format("tokenizer '{}': not valid UTF-8 at byte {}", file, *invalid));
  }
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    ++number;
    if (number == 1 && line.starts_with("#version")) continue;
    auto merge = split_merge(line);
    if (!merge) {
      throw UserError(fmt::format("tokenizer '{}', line {}: {} is no merge, expected 'left right'", file, number,
                                  brief_json(std::string(line))));
    }
    content.merges.push_back(std::move(*merge));
  }
}

struct TokenizerFiles {
  std::filesystem::path json = {};  // or, where empty:
  std::filesystem::path vocab = {};
  std::filesystem::path merges = {};
};

TokenizerFiles find_files(const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    if (fs::exists(path / "tokenizer.json", ignored)) return {.json = path / "tokenizer.json"};
    if (fs::exists(path / "vocab.json", ignored) && fs::exists(path / "merges.txt", ignored)) {
      return {.vocab = path / "vocab.json", .merges = path / "merges.txt"};
    }
    throw UserError(fmt::format(
        "the folder '{}' holds no tokenizer: expected tokenizer.json, or vocab.json and merges.txt", path.string()));
  }
  if (path.filename() == "vocab.json" || path.filename() == "merges.txt") {
    return {.vocab = path.parent_path() / "vocab.json", .merges = path.parent_path() / "merges.txt"};
  }
  return {.json = path};
}

}  // namespace

std::unique_ptr<const Tokenizer> read_tokenizer(const std::filesystem::path& path) {
  const TokenizerFiles files = find_files(path);
  if (!files.json.empty()) {
    return std::make_unique<BpeTokenizer>(parse_tokenizer_json(MappedFile(files.json).text(), files.json.string()));
  }
  BpeContent content = parse_vocab_json(MappedFile(files.vocab).text(), files.vocab.string());
  read_merges_txt(MappedFile(files.merges).text(), files.merges.string(), content);
  return std::make_unique<BpeTokenizer>(content);
}

std::string tokenizer_json_of(const std::filesystem::path& path) {
  const TokenizerFiles files = find_files(path);
  if (!files.json.empty()) return std::string(MappedFile(files.json).text());
  return read_tokenizer(path)->to_json();
}

}  // namespace skipless
