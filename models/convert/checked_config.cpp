#include "models/convert/checked_config.h"

#include <fmt/format.h>

#include <set>
#include <utility>
#include <vector>

#include "configs/config_check.h"
#include "configs/error.h"

namespace skipless {

namespace {

/// A config as the section `model` of a file.
struct ModelSection {
  ModelConfig& model;
  void keys(Schema& s) { s.section("model", model, ""); }
  void resolve() { model.resolve(); }
  void check(Problems& problems) const {
    problems.within("model", [&](Problems& p) { model.check(p); });
  }
};

/// Empty: not known.
std::string_view theirs_of(std::string_view ours, KeyOrigins origins) {
  for (const auto& origin : origins) {
    if (origin.ours == ours) return origin.theirs;
  }
  return {};
}

}  // namespace

void require_none(const Problems& problems, KeyOrigins origins, const std::string& source) {
  std::vector<std::string> lines;
  std::set<std::pair<std::string_view, std::string_view>> said;
  for (const auto& [path, message] : problems.all()) {
    const auto theirs = theirs_of(path, origins);
    // Several of our keys may have one setting of theirs, which is then wrong once.
    if (!theirs.empty() && !said.emplace(theirs, message).second) continue;
    lines.push_back(theirs.empty() ? fmt::format("{}: {}", path, message)
                                   : fmt::format("{} (here {}): {}", theirs, path, message));
  }
  if (lines.empty()) return;
  if (lines.size() == 1) throw UserError(fmt::format("{}: {}", source, lines[0]));
  throw UserError(fmt::format("{}: {} problems:\n  {}", source, lines.size(), fmt::join(lines, "\n  ")));
}

void finish_config(ModelConfig& config, KeyOrigins origins, const std::string& source) {
  ModelSection section{config};
  require_none(problems_of(section), origins, source);
}

void check_head(ClassifierConfig head, KeyOrigins origins, const std::string& source) {
  Problems problems;
  check_values([&](Schema& s) { s.section("head", head, ""); }, problems);
  require_none(problems, origins, source);
}

}  // namespace skipless
