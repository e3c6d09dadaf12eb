// Reads tokenizers: Hugging Face's tokenizer.json of byte-level BPE or WordPiece, vocab.json beside merges.txt, or a
// vocab.txt of WordPiece.
//
// What a tokenizer.json asks for and this program does not do is refused by its name and value, never ignored:
//   both        added tokens that are matched in text (`special` false), and every key that is not known
//   BPE         normalizers, pre-tokenizers other than ByteLevel with its pattern and no prefix blank, models other
//               than BPE, unknown, fused or byte-fallback tokens, ignore_merges, dropout, affixes of words, truncation,
//               padding, post-processors that insert tokens
//   WordPiece   normalizers other than BertNormalizer, pre-tokenizers other than BertPreTokenizer, post-processors
//               other than [CLS] A [SEP] and [CLS] A [SEP] B [SEP], truncation and padding but at the right and
//               longest first, decoders other than WordPiece
// Without effect here, and accepted: how a special token would be matched in text (special tokens never are),
// ByteLevel's offsets, and the lengths that a WordPiece file would truncate or pad to.
//
// A vocab.txt is one of WordPiece. A tokenizer_config.json beside it says do_lower_case, tokenize_chinese_chars and
// strip_accents; never_split, do_basic_tokenize false and other names of the special tokens are refused, its further
// keys are about other things. Without one, text is read in lower case and without accents.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "data/tokenizer.h"

namespace skipless {

/// `path`: a tokenizer.json under any name; a vocab.json or a merges.txt (the other one beside it); a .txt file with
/// another name, which is a vocab.txt; or a folder with the first of these that it has. UserError says what is wrong
/// and where.
std::unique_ptr<const Tokenizer> read_tokenizer(const std::filesystem::path& path);

/// The text of the tokenizer.json that `path` is, or is equivalent to.
std::string tokenizer_json_of(const std::filesystem::path& path);

}  // namespace skipless
