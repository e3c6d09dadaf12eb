#include "data/document_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "configs/error.h"
#include "data/mapped_file.h"
#include "data/strict_json.h"
#include "data/utf8.h"

namespace skipless {
namespace {

constexpr std::size_t kBinaryProbe = 8192;

std::string invalid_utf8_reason(std::string_view text, std::size_t offset) {
  const bool utf16 = text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF");
  return fmt::format("not UTF-8: byte 0x{:02X} at offset {}{}", static_cast<std::uint8_t>(text[offset]), offset,
                     utf16 ? " (it begins with the byte order mark of UTF-16)" : "");
}

void read_text(const InputFile& file, std::string_view text, const std::function<void(const Document&)>& visit,
               const std::function<void(const SkippedDocument&)>& skip) {
  const std::string place = file.path.string();
  const auto leave_out = [&](const std::string& kind, const std::string& reason) {
    skip({.place = place, .kind = kind, .reason = reason, .file_bytes = text.size()});
  };
  if (text.empty()) return leave_out("empty", "empty");
  const std::size_t nul = text.substr(0, kBinaryProbe).find('\0');
  if (nul != std::string_view::npos && !file.named) {
    return leave_out("binary", fmt::format("binary: NUL byte at offset {}", nul));
  }
  if (const auto invalid = find_invalid_utf8(text)) return leave_out("not UTF-8", invalid_utf8_reason(text, *invalid));
  visit({.text = text, .place = place, .file_bytes = text.size()});
}

std::string text_of_line(std::string_view line, const std::string& place, const std::string& field) {
  const nlohmann::json value = parse_strict_json(line, place);
  if (!value.is_object()) throw UserError(fmt::format("{}: {} is no JSON object", place, brief_json(value)));
  const auto member = value.find(field);
  if (member == value.end()) {
    std::string names;
    for (const auto& item : value.items()) names += fmt::format("{}{}", names.empty() ? "" : ", ", item.key());
    throw UserError(fmt::format("{}: no field '{}'; the line has: {}", place, field, names.empty() ? "none" : names));
  }
  if (!member->is_string()) {
    throw UserError(fmt::format("{}: the field '{}' is {}, expected a text", place, field, brief_json(*member)));
  }
  return member->get<std::string>();
}

void read_json_lines(const InputFile& file, std::string_view content, const std::string& field,
                     const std::function<void(const Document&)>& visit,
                     const std::function<void(const SkippedDocument&)>& skip) {
  if (field.empty()) {
    throw UserError(
        fmt::format("'{}' is a .jsonl file: name the field that holds the text with --field NAME", file.path.string()));
  }
  std::uint64_t number = 0;
  while (!content.empty()) {
    const std::size_t end = std::min(content.find('\n'), content.size());
    const std::string_view line = content.substr(0, end);
    const std::size_t file_bytes = std::min(end + 1, content.size());
    content.remove_prefix(file_bytes);
    const std::string place = fmt::format("{}:{}", file.path.string(), ++number);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const std::string text = text_of_line(line, place, field);
    if (text.empty()) {
      skip({.place = place, .kind = "empty", .reason = "empty", .file_bytes = file_bytes});
    } else {
      visit({.text = text, .place = place, .file_bytes = file_bytes});
    }
  }
}

}  // namespace

void read_documents(const InputFile& file, const std::string& field, const std::function<void(const Document&)>& visit,
                    const std::function<void(const SkippedDocument&)>& skip) {
  const MappedFile mapping(file.path);
  if (file.is_json_lines()) {
    read_json_lines(file, mapping.text(), field, visit, skip);
  } else {
    read_text(file, mapping.text(), visit, skip);
  }
}

}  // namespace skipless
