// Reads byte-level BPE tokenizers: Hugging Face's tokenizer.json, or vocab.json beside merges.txt.
//
// What a tokenizer.json asks for and this program does not do is refused by its name and value, never ignored:
// normalizers, pre-tokenizers other than ByteLevel with its pattern and no prefix blank, models other than BPE,
// unknown, fused or byte-fallback tokens, ignore_merges, dropout, affixes of words, truncation, padding,
// post-processors that insert tokens, added tokens that are matched in text (`special` false), and every key that is
// not known. Without effect here, and accepted: how a special token would be matched in text (special tokens never
// are), and ByteLevel's offsets.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "data/tokenizer.h"

namespace skipless {

/// `path`: a tokenizer.json under any name; a vocab.json or a merges.txt (the other one beside it); or a folder with a
/// tokenizer.json or the other two. UserError says what is wrong and where.
std::unique_ptr<const Tokenizer> read_tokenizer(const std::filesystem::path& path);

/// The text of the tokenizer.json that `path` is, or is equivalent to.
std::string tokenizer_json_of(const std::filesystem::path& path);

}  // namespace skipless
