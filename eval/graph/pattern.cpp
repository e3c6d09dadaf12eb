#include "eval/graph/pattern.h"

namespace skipless {

namespace {

class Matching {
 public:
  Matching(const Computation& pattern, size_t n_inputs, const Computation& whole)
      : pattern_(pattern), whole_(whole), found_(n_inputs) {}

  bool matches(const Source& in_pattern, const Source& in_whole) {
    if (in_pattern.operation < found_.size()) {
      auto& found = found_[in_pattern.operation];
      if (!found) found = in_whole;
      return found->is_same(in_whole);
    }
    const auto &a = pattern_.operations()[in_pattern.operation], &b = whole_.operations()[in_whole.operation];
    if (a.name != b.name || a.leaves != b.leaves || a.inputs.size() != b.inputs.size()) return false;
    for (size_t i = 0; i < a.inputs.size(); ++i) {
      if (!matches(a.inputs[i], b.inputs[i])) return false;
    }
    return true;
  }

  std::optional<std::vector<Source>> found() const {
    std::vector<Source> sources;
    for (const auto& source : found_) {
      if (!source) return std::nullopt;
      sources.push_back(*source);
    }
    return sources;
  }

 private:
  const Computation& pattern_;
  const Computation& whole_;
  std::vector<std::optional<Source>> found_;
};

}  // namespace

std::optional<std::vector<Source>> find_pattern(const Computation& pattern, size_t n_inputs, const Computation& whole,
                                                size_t last) {
  const bool is_nothing = pattern.output().operation < n_inputs;
  Matching matching(pattern, n_inputs, whole);
  if (is_nothing || !matching.matches(pattern.output(), {.operation = last})) return std::nullopt;
  return matching.found();
}

}  // namespace skipless
