// A unit of text -> the ids of its documents: the work of one thread of `prepare`.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/text_units.h"
#include "data/tokenizer.h"

namespace skipless {

struct EncodedUnit {
  struct Piece {
    std::uint64_t document_hash = 0;  // XXH3, 64 bits, of the document's text under the seed
    std::int64_t tokens = 0;
    bool ends_document = true;
  };
  std::vector<std::vector<std::int32_t>> ids;  // of all pieces, in blocks of any size
  std::vector<Piece> pieces;
  std::vector<SkippedDocument> skipped;  // without the empty ones, of which there may be very many
  std::int64_t empty = 0;
  std::string first_empty;  // its place
  InputPosition end;
  std::uint64_t file_bytes = 0;
};

class UnitEncoder {
 public:
  /// The tokenizer must outlive it. `cache_bytes`: Tokenizer::make_encoder.
  UnitEncoder(const Tokenizer& tokenizer, std::string field, std::uint64_t seed, std::size_t cache_bytes);

  /// A document that cannot be encoded (TextCutter::fault_of) is skipped. UserError with the document's place for what
  /// TextEncoder or visit_documents refuses.
  EncodedUnit encode(const TextUnit& unit);

 private:
  std::int64_t append(std::string_view text, const std::string& place, std::uint64_t offset, EncodedUnit& out);

  std::unique_ptr<TextEncoder> encoder_;
  std::unique_ptr<TextCutter> cutter_;
  std::string field_;
  std::uint64_t seed_;
};

}  // namespace skipless
