// How a Config lists its keys. One list serves reading, writing, comparing and documenting.
//
//   struct NormConfig {
//     NormKind kind = NormKind::rms_norm;
//     double eps = 1e-5;
//     void keys(Schema& s) {
//       s.key("kind", kind, "normalisation of the block's inputs");
//       s.key("eps", eps, Range<double>::above(0), "added to the root mean square, outside the root");
//     }
//   };
//
// The schema that is passed in decides what happens: the reader overwrites fields that the YAML names and collects
// every problem; the writer emits the values; the describer prints name, type, default and help.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace skipless {

/// Allowed interval of a number; both ends may be open or closed.
template <class T>
struct Range {
  T low = std::numeric_limits<T>::lowest();
  T high = std::numeric_limits<T>::max();
  bool low_open = false;
  bool high_open = false;

  static Range any() { return {}; }
  static Range at_least(T value) { return {.low = value}; }
  static Range above(T value) { return {.low = value, .low_open = true}; }
  static Range between(T from, T to) { return {.low = from, .high = to}; }  // both ends allowed
  static Range from_below(T from, T to) { return {.low = from, .high = to, .high_open = true}; }

  bool contains(T value) const {
    return (low_open ? value > low : value >= low) && (high_open ? value < high : value <= high);
  }
};

/// One name of an enum value. An enum that appears in a config has a function, found by argument-dependent lookup:
///   std::span<const EnumName<NormKind>> enum_names(NormKind);
template <class Enum>
struct EnumName {
  Enum value;
  std::string_view name;
};

template <class Enum>
std::string_view name_of(Enum value) {
  for (const auto& entry : enum_names(Enum{})) {
    if (entry.value == value) return entry.name;
  }
  return "?";
}

/// Problems found after reading: contradictions between keys. Paths are relative to the config that reports them.
class Problems {
 public:
  struct Problem {
    std::string path;  // "model.n_head"
    std::string message;
  };

  /// Reports a problem at `key`, a path relative to the current section ("n_head", "sas.beta_ff").
  void add(std::string_view key, std::string message);

  /// Runs `check` with every path below `section`.
  template <class Check>
  void within(std::string_view section, Check&& check) {
    const std::string outer = prefix_;
    prefix_ += std::string(section) + ".";
    check(*this);
    prefix_ = outer;
  }

  bool empty() const { return problems_.empty(); }
  const std::vector<Problem>& all() const { return problems_; }

 private:
  std::string prefix_;
  std::vector<Problem> problems_;
};

class KeyValue;

class Schema {
 public:
  virtual ~Schema() = default;

  void key(std::string_view name, bool& value, std::string_view help);
  void key(std::string_view name, int64_t& value, Range<int64_t> allowed, std::string_view help);
  void key(std::string_view name, double& value, Range<double> allowed, std::string_view help);
  /// Free text.
  void key(std::string_view name, std::string& value, std::string_view help);
  /// One of a list of names.
  void key(std::string_view name, std::string& value, std::vector<std::string> allowed, std::string_view help);
  void key(std::string_view name, std::vector<std::string>& value, std::string_view help);
  /// Optional keys: absent or `null` leaves them empty, which a Config's `resolve()` may fill in.
  void key(std::string_view name, std::optional<bool>& value, std::string_view help);
  void key(std::string_view name, std::optional<int64_t>& value, Range<int64_t> allowed, std::string_view help);
  void key(std::string_view name, std::optional<double>& value, Range<double> allowed, std::string_view help);
  void key(std::string_view name, std::optional<std::string>& value, std::string_view help);

  /// An enum, by the names that its enum_names lists.
  template <class Enum>
  requires std::is_enum_v<Enum>
  void key(std::string_view name, Enum& value, std::string_view help) {
    std::vector<std::string> allowed;
    for (const auto& entry : enum_names(Enum{})) allowed.emplace_back(entry.name);
    std::string text(name_of(value));
    key(name, text, allowed, help);
    for (const auto& entry : enum_names(Enum{})) {
      if (entry.name == text) value = entry.value;
    }
  }

  /// A nested Config. `written` false leaves it out of what the writer emits (it is still read and checked): the
  /// settings of a block that is not the chosen one.
  template <class Config>
  void section(std::string_view name, Config& config, std::string_view help, bool written = true) {
    if (!begin_section(name, help, written)) return;
    config.keys(*this);
    end_section();
  }

 protected:
  /// Every key() ends here; what a value is and how it is read and written is the KeyValue's affair (key_value.h).
  virtual void value(std::string_view name, KeyValue& value, std::string_view help) = 0;
  /// False: skip the section.
  virtual bool begin_section(std::string_view name, std::string_view help, bool written) = 0;
  virtual void end_section() = 0;
};

}  // namespace skipless
