// The Schema that lists a Config's keys for --help and the docs.
#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "configs/config_file.h"
#include "configs/key_value.h"

namespace skipless {
namespace {

class ConfigDescriber : public Schema {
 public:
  std::string text() const {
    std::size_t width = 0;
    for (const Line& line : lines_) width = std::max(width, line.path.size());
    std::string out;
    for (const Line& line : lines_) {
      out += fmt::format("{:<{}}  {}; default {}; {}\n", line.path, width, line.allowed, line.value, line.help);
    }
    return out;
  }

 protected:
  void value(std::string_view name, KeyValue& value, std::string_view help) override {
    lines_.push_back({prefixes_.back() + std::string(name), value.allowed(), value.text(), std::string(help)});
  }

  bool begin_section(std::string_view name, std::string_view, bool) override {
    prefixes_.push_back(prefixes_.back() + std::string(name) + ".");
    return true;
  }

  void end_section() override { prefixes_.pop_back(); }

 private:
  struct Line {
    std::string path, allowed, value, help;
  };
  std::vector<Line> lines_;
  std::vector<std::string> prefixes_{""};
};

}  // namespace

namespace detail {

std::string describe_config(const std::function<void(Schema&)>& keys) {
  ConfigDescriber describer;
  keys(describer);
  return describer.text();
}

}  // namespace detail
}  // namespace skipless
