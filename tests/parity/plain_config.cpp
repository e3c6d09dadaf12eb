#include "plain_config.h"

#include <fmt/format.h>

#include <map>
#include <sstream>
#include <string_view>
#include <vector>

#include "configs/error.h"
#include "configs/key_value.h"

namespace skipless::parity {

namespace {

class Lines : public Schema {
 protected:
  std::string path_of(std::string_view name) const {
    std::string path;
    for (const auto& section : sections_) path += section + ".";
    return path + std::string(name);
  }
  bool begin_section(std::string_view name, std::string_view, bool written) override {
    if (written) sections_.emplace_back(name);
    return written;
  }
  void end_section() override { sections_.pop_back(); }

 private:
  std::vector<std::string> sections_;
};

class Writer : public Lines {
 public:
  std::string lines;

 protected:
  void value(std::string_view name, KeyValue& value, std::string_view) override {
    lines += fmt::format("{}={}\n", path_of(name), value.text());
  }
};

YamlNode node_of(const std::string& text) {
  if (text == "null") return {.kind = YamlNode::Kind::null, .entries = {}};
  if (!text.starts_with('"')) return {.kind = YamlNode::Kind::plain, .text = text, .entries = {}};
  return {.kind = YamlNode::Kind::quoted, .text = text.substr(1, text.size() - 2), .entries = {}};
}

class Reader : public Lines {
 public:
  explicit Reader(const std::string& lines) {
    std::istringstream stream(lines);
    for (std::string line; std::getline(stream, line);) {
      const auto equals = line.find('=');
      values_[line.substr(0, equals)] = line.substr(equals + 1);
    }
  }

 protected:
  void value(std::string_view name, KeyValue& value, std::string_view) override {
    const auto path = path_of(name);
    const auto found = values_.find(path);
    if (found == values_.end()) return;
    const auto problem = value.read(node_of(found->second));
    if (!problem.empty()) throw UserError(path + ": " + problem);
  }

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace

std::string write_lines(const std::function<void(Schema&)>& keys) {
  Writer writer;
  keys(writer);
  return writer.lines;
}

void read_lines(const std::string& lines, const std::function<void(Schema&)>& keys) {
  Reader reader(lines);
  keys(reader);
}

}  // namespace skipless::parity
