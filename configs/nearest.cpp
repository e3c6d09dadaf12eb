#include "configs/nearest.h"

#include <algorithm>
#include <cstddef>

namespace skipless {
namespace {

constexpr std::size_t kMostEdits = 3;

std::string folded(std::string_view name) {
  std::string out(name);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '-') c = '_';
  }
  return out;
}

// Optimal string alignment distance, with the three rows that its recurrence looks at.
std::size_t edits(const std::string& a, const std::string& b) {
  std::vector<std::size_t> two_back(b.size() + 1), back(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    two_back.swap(back);
    back.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({back[j] + 1, row[j - 1] + 1, back[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], two_back[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::optional<std::string> nearest_name(std::string_view name, const std::vector<std::string>& names) {
  const std::string wanted = folded(name);
  std::optional<std::string> best;
  std::size_t best_edits = kMostEdits + 1;
  for (const std::string& candidate : names) {
    const std::size_t longer = std::max(wanted.size(), candidate.size());
    const std::size_t shorter = std::min(wanted.size(), candidate.size());
    if (longer - shorter > kMostEdits) continue;
    const std::size_t distance = edits(wanted, folded(candidate));
    const bool near = distance <= std::min(kMostEdits, longer / 3);
    if (near && distance < best_edits) {
      best = candidate;
      best_edits = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& names) {
  const std::optional<std::string> nearest = nearest_name(name, names);
  return nearest ? " (did you mean '" + *nearest + "'?)" : "";
}

}  // namespace skipless
