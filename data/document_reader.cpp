#include "data/document_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <vector>

#include "configs/error.h"
#include "configs/printable.h"
#include "data/strict_json.h"
#include "data/text_cut.h"

namespace skipless {
namespace {

constexpr std::size_t kLongestPath = 4096;

std::string text_of_line(std::string_view line, const std::string& place, const std::string& field) {
  nlohmann::json value = parse_strict_json(line, place);
  if (!value.is_object()) throw UserError(fmt::format("{}: {} is no JSON object", place, brief_json(value)));
  const auto member = value.find(field);
  if (member == value.end()) {
    std::string names;
    for (const auto& item : value.items()) names += fmt::format("{}{}", names.empty() ? "" : ", ", item.key());
    constexpr std::size_t kMost = 200;
    throw UserError(fmt::format("{}: no field {}; the line has: {}", place, in_quotes(field),
                                names.empty() ? "none" : printable(names, kMost)));
  }
  if (!member->is_string()) {
    throw UserError(
        fmt::format("{}: the field {} is {}, expected a text", place, in_quotes(field), brief_json(*member)));
  }
  return std::move(member->get_ref<std::string&>());
}

void visit_lines(const TextUnit& unit, const std::string& field, const VisitDocument& visit, const VisitSkipped& skip) {
  std::string_view content = unit.text;
  std::uint64_t number = unit.begin.line;
  const std::string shown = printable(unit.file->path, kLongestPath);
  while (!content.empty()) {
    const std::size_t end = std::min(content.find('\n'), content.size());
    const std::string_view line = content.substr(0, end);
    content.remove_prefix(std::min(end + 1, content.size()));
    const std::string place = fmt::format("{}:{}", shown, ++number);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const std::string text = text_of_line(line, place, field);
    if (text.empty()) {
      skip({.place = place, .kind = kEmptyDocument, .reason = "empty"});
    } else {
      visit({.text = text, .place = place});
    }
  }
}

}  // namespace

void visit_documents(const TextUnit& unit, const std::string& field, const VisitDocument& visit,
                     const VisitSkipped& skip) {
  assert(unit.kind != TextUnit::Kind::part);
  if (unit.kind == TextUnit::Kind::lines) {
    visit_lines(unit, field, visit, skip);
  } else if (unit.kind == TextUnit::Kind::skipped) {
    skip(unit.skipped);
  } else if (const auto fault = fault_of_text(*unit.file, unit.text)) {
    skip(*fault);
  } else {
    visit({.text = unit.text, .place = unit.file->path});
  }
}

void read_documents(const InputFile& file, const std::string& field, const VisitDocument& visit,
                    const VisitSkipped& skip) {
  const std::vector<InputFile> files = {file};
  constexpr std::uint64_t kSeed = 0;
  TextUnitReader reader(files, field, kSeed, std::make_shared<ByteLevelCutter>());
  std::string long_text;
  while (const auto unit = reader.next()) {
    if (unit->kind != TextUnit::Kind::part) {
      visit_documents(*unit, field, visit, skip);
      continue;
    }
    long_text += unit->text;
    if (!unit->ends_document) continue;
    visit({.text = long_text, .place = file.path});
    long_text.clear();
  }
}

}  // namespace skipless
