#include "data/chunk_kind.h"

#include <array>

namespace skipless {

std::span<const EnumName<ChunkKind>> enum_names(ChunkKind) {
  static constexpr std::array<EnumName<ChunkKind>, 2> kNames{
      {{ChunkKind::documents, "documents"}, {ChunkKind::packed, "packed"}}};
  return kNames;
}

}  // namespace skipless
