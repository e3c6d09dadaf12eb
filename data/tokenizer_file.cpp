#include "data/tokenizer_file.h"

#include <fmt/format.h>

#include <string_view>

#include "configs/error.h"
#include "configs/utf8.h"
#include "data/mapped_file.h"
#include "data/strict_json.h"
#include "data/text_lines.h"
#include "data/tokenizer_json.h"
#include "data/wordpiece_json.h"
#include "data/wordpiece_tokenizer.h"

namespace skipless {
namespace {

void read_merges_txt(std::string_view text, const std::string& file, BpeContent& content) {
  if (const auto invalid = find_invalid_line(text)) {
    throw UserError(fmt::format("tokenizer '{}', line {}: {}", file, invalid->number, invalid->problem));
  }
  text = without_byte_order_mark(text);
  std::size_t number = 0;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
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

/// One of the three kinds.
struct TokenizerFiles {
  std::filesystem::path json = {};
  std::filesystem::path vocab_json = {}, merges = {};
  std::filesystem::path vocab_txt = {}, config = {};  // of WordPiece; the config may be missing
};

TokenizerFiles wordpiece_files(const std::filesystem::path& vocab) {
  return {.vocab_txt = vocab, .config = vocab.parent_path() / "tokenizer_config.json"};
}

TokenizerFiles find_files(const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    if (fs::exists(path / "tokenizer.json", ignored)) return {.json = path / "tokenizer.json"};
    if (fs::exists(path / "vocab.json", ignored) && fs::exists(path / "merges.txt", ignored)) {
      return {.vocab_json = path / "vocab.json", .merges = path / "merges.txt"};
    }
    if (fs::exists(path / "vocab.txt", ignored)) return wordpiece_files(path / "vocab.txt");
    throw UserError(
        fmt::format("the folder '{}' holds no tokenizer: expected tokenizer.json, or vocab.json and merges.txt, or "
                    "vocab.txt",
                    path.string()));
  }
  if (path.filename() == "vocab.json" || path.filename() == "merges.txt") {
    return {.vocab_json = path.parent_path() / "vocab.json", .merges = path.parent_path() / "merges.txt"};
  }
  if (path.extension() == ".txt") return wordpiece_files(path);
  return {.json = path};
}

}  // namespace

std::unique_ptr<const Tokenizer> read_tokenizer(const std::filesystem::path& path) {
  const TokenizerFiles files = find_files(path);
  if (!files.vocab_txt.empty()) {
    WordPieceContent content = parse_vocab_txt(MappedFile(files.vocab_txt).text(), files.vocab_txt.string());
    std::error_code ignored;
    if (std::filesystem::exists(files.config, ignored)) {
      read_tokenizer_config(MappedFile(files.config).text(), files.config.string(), content);
    }
    return std::make_unique<WordPieceTokenizer>(content);
  }
  if (!files.json.empty()) {
    const std::string name = files.json.string();
    const nlohmann::json root = parse_strict_json(MappedFile(files.json).text(), name);
    if (is_wordpiece(root)) return std::make_unique<WordPieceTokenizer>(parse_wordpiece_json(root, name));
    return std::make_unique<BpeTokenizer>(parse_tokenizer_json(root, name));
  }
  BpeContent content = parse_vocab_json(MappedFile(files.vocab_json).text(), files.vocab_json.string());
  read_merges_txt(MappedFile(files.merges).text(), files.merges.string(), content);
  return std::make_unique<BpeTokenizer>(content);
}

std::string tokenizer_json_of(const std::filesystem::path& path) {
  const TokenizerFiles files = find_files(path);
  if (!files.json.empty()) return std::string(MappedFile(files.json).text());
  return read_tokenizer(path)->to_json();
}

}  // namespace skipless
