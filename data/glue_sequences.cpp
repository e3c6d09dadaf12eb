#include "data/glue_sequences.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>

namespace skipless {

GlueSequences::GlueSequences(const GlueExamples& examples, const GlueTask& task, SequenceBuilder& builder) {
  for (const auto& example : examples.examples) {
    const Sequence sequence =
        task.is_pair() ? builder.pair(example.first, example.second) : builder.single(example.first);
    for (const auto id : sequence.ids) ids_.push_back(static_cast<int32_t>(id));
    ends_.push_back(static_cast<int64_t>(ids_.size()));
    first_part_.push_back(
        static_cast<int32_t>(std::count(sequence.token_types.begin(), sequence.token_types.end(), int64_t{0})));
    labels_.push_back(example.label);
    indices_.push_back(example.index);
    cut_ += sequence.cut > 0 ? 1 : 0;
  }
}

std::span<const int32_t> GlueSequences::ids(int64_t i) const {
  const auto end = static_cast<size_t>(ends_[static_cast<size_t>(i)]);
  const auto begin = i == 0 ? size_t{0} : static_cast<size_t>(ends_[static_cast<size_t>(i - 1)]);
  return std::span(ids_).subspan(begin, end - begin);
}

std::string GlueSequences::checksum() const {
  uint64_t hash = 0;
  const auto add = [&](const auto& values) {
    hash = XXH3_64bits_withSeed(values.data(), values.size() * sizeof(values[0]), hash);
  };
  add(ids_);
  add(ends_);
  add(first_part_);
  add(labels_);
  return fmt::format("{:016x}", hash);
}

}  // namespace skipless
