// The JSON files of byte-level BPE tokenizers -> what they say (tokenizer_file.h has the rules).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "data/bpe_tokenizer.h"

namespace skipless {

/// UserError, naming `file`, for everything malformed, and one for all of what is not supported, each by name and
/// value.
BpeContent parse_tokenizer_json(const nlohmann::json& root, const std::string& file);

/// The vocabulary alone: {"token": id, ...}.
BpeContent parse_vocab_json(std::string_view text, const std::string& file);

/// "left right", as a line of merges.txt and as an old tokenizer.json has it; nothing for another form.
std::optional<std::pair<std::string, std::string>> split_merge(std::string_view line);

}  // namespace skipless
