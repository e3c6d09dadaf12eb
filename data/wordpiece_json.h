// The files of WordPiece tokenizers -> what they say (tokenizer_file.h has the rules).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "data/wordpiece_tokenizer.h"

namespace skipless {

/// Whether a tokenizer.json is one of WordPiece. Files of old versions name no type: it is then told by its settings.
bool is_wordpiece(const nlohmann::json& root);

/// UserError, naming `file`, for everything malformed, and one for all of what is not supported, each by name and
/// value.
WordPieceContent parse_wordpiece_json(const nlohmann::json& root, const std::string& file);

/// One token a line, its id the number of lines before it; a byte order mark is no part of the first. UserError, naming
/// the line, for one that is empty or not UTF-8, and for a token that stands twice.
WordPieceContent parse_vocab_txt(std::string_view text, const std::string& file);

/// The settings of a tokenizer_config.json beside a vocab.txt.
void read_tokenizer_config(std::string_view text, const std::string& file, WordPieceContent& content);

}  // namespace skipless
