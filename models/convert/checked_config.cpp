#include "models/convert/checked_config.h"

#include <fmt/format.h>

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

std::string key_text(const std::string& ours, KeyOrigins origins) {
  for (const auto& origin : origins) {
    if (origin.ours == ours) return fmt::format("{} (here {})", origin.theirs, ours);
  }
  return ours;
}

}  // namespace

void require_none(const Problems& problems, KeyOrigins origins, const std::string& source) {
  std::vector<std::string> lines;
  for (const auto& [path, message] : problems.all()) {
    lines.push_back(fmt::format("{}: {}", key_text(path, origins), message));
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
