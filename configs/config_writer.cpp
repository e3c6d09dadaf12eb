// The Schema that emits a Config as YAML.
#include <cstddef>

#include <fmt/format.h>

#include "configs/config_file.h"
#include "configs/key_value.h"

namespace skipless {
namespace {

class ConfigWriter : public Schema {
 public:
  std::string text() const { return out_.empty() ? "{}\n" : out_; }

 protected:
  void value(std::string_view name, KeyValue& value, std::string_view) override {
    // A section's own line comes with its first key: a section of which nothing is written would read as an empty one.
    for (; begun_ < sections_.size(); ++begun_) out_ += fmt::format("{:{}}{}:\n", "", 2 * begun_, sections_[begun_]);
    out_ += fmt::format("{:{}}{}: {}\n", "", 2 * sections_.size(), name, value.text());
  }

  bool begin_section(std::string_view name, std::string_view, bool written) override {
    if (written) sections_.emplace_back(name);
    return written;
  }

  void end_section() override {
    sections_.pop_back();
    if (begun_ > sections_.size()) begun_ = sections_.size();
  }

 private:
  std::string out_;
  std::vector<std::string> sections_;
  std::size_t begun_ = 0;  // how many of sections_ have their line
};

}  // namespace

namespace detail {

std::string write_config(const std::function<void(Schema&)>& keys) {
  ConfigWriter writer;
  keys(writer);
  return writer.text();
}

}  // namespace detail
}  // namespace skipless
