// The examples of a GLUE file as token ids.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/glue.h"
#include "data/sequence_builder.h"

namespace skipless {

class GlueSequences {
 public:
  GlueSequences() = default;
  /// [CLS] a [SEP] or [CLS] a [SEP] b [SEP], cut to the builder's length.
  GlueSequences(const GlueExamples& examples, const GlueTask& task, SequenceBuilder& builder);

  int64_t size() const { return static_cast<int64_t>(labels_.size()); }
  std::span<const int32_t> ids(int64_t i) const;
  /// How many of ids(i) are of the first text, with what stands around it: their token type is 0, that of the others 1.
  int64_t first_part(int64_t i) const { return first_part_[static_cast<size_t>(i)]; }
  const std::vector<double>& labels() const { return labels_; }
  const std::vector<int64_t>& indices() const { return indices_; }
  /// Examples that were longer.
  int64_t cut() const { return cut_; }
  /// Of all that a training on them depends on, 16 hexadecimal digits.
  std::string checksum() const;

 private:
  std::vector<int32_t> ids_;
  std::vector<int64_t> ends_;
  std::vector<int32_t> first_part_;
  std::vector<double> labels_;
  std::vector<int64_t> indices_;
  int64_t cut_ = 0;
};

}  // namespace skipless
