// A unit of text -> the ids of its documents: the work of one thread of `prepare`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/bpe_encoder.h"
#include "data/pretokenizer.h"
#include "data/text_units.h"

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
  /// The tokenizer must outlive it. `cache_bytes`: BpeEncoder.
  UnitEncoder(const BpeTokenizer& tokenizer, std::string field, std::uint64_t seed, std::size_t cache_bytes);

  /// A document with a piece that is too long (fault_of_pieces) is skipped. UserError with the document's place for
  /// what BpeEncoder or visit_documents refuses.
  EncodedUnit encode(const TextUnit& unit);

 private:
  std::int64_t append(std::string_view text, const std::string& place, std::uint64_t offset, EncodedUnit& out);

  BpeEncoder encoder_;
  PreTokenizer pattern_;
  PieceReader pieces_;
  std::string field_;
  std::uint64_t seed_;
};

}  // namespace skipless
