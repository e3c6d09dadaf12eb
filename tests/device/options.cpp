#include "options.h"

#include <fmt/format.h>

#include <charconv>
#include <functional>
#include <map>
#include <sstream>

#include "configs/error.h"
#include "models/block_variants.h"

namespace skipless::device {

namespace {

int64_t positive(const std::string& option, const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1) {
    throw UserError(fmt::format("{} '{}' is no number from 1 on", option, text));
  }
  return value;
}

Precision precision_of(const std::string& text) {
  std::string allowed;
  for (const auto& [value, name] : enum_names(Precision{})) {
    if (name == text) return value;
    allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", name);
  }
  throw UserError(fmt::format("--precision '{}' is not one of {}", text, allowed));
}

std::vector<std::string> blocks_of(const std::string& text) {
  std::vector<std::string> blocks;
  std::istringstream stream(text);
  for (std::string block; std::getline(stream, block, ',');) {
    bool known = false;
    for (const auto& variant : block_variants()) known = known || block.substr(0, block.find(':')) == variant.name;
    if (!known) throw UserError(fmt::format("--blocks: '{}' is no block", block));
    blocks.push_back(block);
  }
  return blocks;
}

}  // namespace

Options parse(int argc, char** argv) {
  Options options;
  using Take = std::function<void(const std::string&)>;
  std::map<std::string, Take> takes = {
      {"--device", [&](const auto& text) { options.device_name = text; }},
      {"--cases", [&](const auto& text) { options.cases = text; }},
      {"--commit", [&](const auto& text) { options.commit = text; }},
      {"--blocks", [&](const auto& text) { options.blocks = blocks_of(text); }},
      {"--precision", [&](const auto& text) { options.precision = precision_of(text); }},
      {"--seconds", [&](const auto& text) { options.seconds = static_cast<double>(positive("--seconds", text)); }},
  };
  const auto number = [&](const std::string& name, int64_t& value) {
    takes[name] = [&value, name](const auto& text) { value = positive(name, text); };
  };
  number("--layers", options.layers);
  number("--width", options.width);
  number("--heads", options.heads);
  number("--vocabulary", options.vocabulary);
  number("--context", options.context);
  number("--batch", options.batch);
  number("--rounds", options.rounds);
  number("--steps", options.steps);
  number("--most", options.most);
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--small") {
      options.small = true;
    } else if (const auto found = takes.find(argument); found != takes.end()) {
      if (++i == argc) throw UserError(argument + " needs a value");
      found->second(argv[i]);
    } else if (argument.starts_with("-") || !options.section.empty()) {
      throw UserError(fmt::format("'{}' is not an option", argument));
    } else {
      options.section = argument;
    }
  }
  return options;
}

}  // namespace skipless::device
