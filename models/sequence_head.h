// The head of a classifier apart from its trunk, as a file of its own: what an import of another code's classifier, or
// of a pooler, keeps beside the weights of the run.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "models/classifier.h"

namespace skipless {

struct SequenceHead {
  ClassifierConfig config;
  /// Names of the classes, in the order of the logits; empty: not known, or a regression.
  std::vector<std::string> labels;
  /// head_w_1 and head_b_1, or all four of classifier.h; those that are missing are still to be trained.
  std::map<std::string, at::Tensor> tensors;
};

/// Replaces the file at once.
void write_sequence_head(const std::filesystem::path& path, const SequenceHead& head);

/// UserError for a file that is none.
SequenceHead read_sequence_head(const std::filesystem::path& path);

}  // namespace skipless
