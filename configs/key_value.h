// The value of one key, whatever its type: what it may be, how it is read from YAML and how it is written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "configs/schema.h"
#include "configs/yaml_node.h"

namespace skipless {

class KeyValue {
 public:
  virtual ~KeyValue() = default;

  /// "an integer from 1 to 128"
  virtual std::string allowed() const = 0;
  /// As YAML, on one line.
  virtual std::string text() const = 0;
  /// Takes the value of `node`. Returns what is wrong with it, and then leaves the value alone; "" when nothing is.
  virtual std::string read(const YamlNode& node) = 0;
};

// The types. parse() gets a node that is neither null nor empty nor a section, and what to say is allowed; it returns
// what is wrong with the node.

struct BoolType {
  using Value = bool;
  std::string allowed() const;
  std::string parse(const YamlNode& node, const std::string& allowed, bool& value) const;
  std::string text(bool value) const { return value ? "true" : "false"; }
};

struct IntegerType {
  using Value = int64_t;
  Range<int64_t> range;
  std::string allowed() const;
  std::string parse(const YamlNode& node, const std::string& allowed, int64_t& value) const;
  std::string text(int64_t value) const { return std::to_string(value); }
};

struct NumberType {
  using Value = double;
  Range<double> range;
  std::string allowed() const;
  std::string parse(const YamlNode& node, const std::string& allowed, double& value) const;
  std::string text(double value) const;
};

struct TextType {
  using Value = std::string;
  std::string allowed() const;
  std::string parse(const YamlNode& node, const std::string& allowed, std::string& value) const;
  std::string text(const std::string& value) const;
};

struct NameType {
  using Value = std::string;
  std::string_view key;  // says what kind of name is unknown
  std::vector<std::string> names;
  std::string allowed() const;
  std::string parse(const YamlNode& node, const std::string& allowed, std::string& value) const;
  std::string text(const std::string& value) const;
};

struct TextListType {
  using Value = std::vector<std::string>;
  std::string allowed() const;
  std::string parse(const YamlNode& node, const std::string& allowed, std::vector<std::string>& value) const;
  std::string text(const std::vector<std::string>& value) const;
};

/// What is wrong with a node that can be the value of no key, or of none that is not optional; "" if nothing.
std::string unusable(const YamlNode& node, const std::string& allowed);

template <class Type>
class RequiredValue : public KeyValue {
 public:
  RequiredValue(Type type, typename Type::Value& value) : type_(std::move(type)), value_(value) {}

  std::string allowed() const override { return type_.allowed(); }
  std::string text() const override { return type_.text(value_); }
  std::string read(const YamlNode& node) override {
    if (std::string problem = unusable(node, allowed()); !problem.empty()) return problem;
    typename Type::Value parsed{};
    std::string problem = type_.parse(node, allowed(), parsed);
    if (problem.empty()) value_ = std::move(parsed);
    return problem;
  }

 private:
  Type type_;
  typename Type::Value& value_;
};

template <class Type>
class OptionalValue : public KeyValue {
 public:
  OptionalValue(Type type, std::optional<typename Type::Value>& value) : type_(std::move(type)), value_(value) {}

  std::string allowed() const override { return type_.allowed() + ", or null"; }
  std::string text() const override { return value_ ? type_.text(*value_) : "null"; }
  std::string read(const YamlNode& node) override {
    if (node.kind == YamlNode::Kind::null) {
      value_.reset();
      return "";
    }
    if (std::string problem = unusable(node, allowed()); !problem.empty()) return problem;
    typename Type::Value parsed{};
    std::string problem = type_.parse(node, allowed(), parsed);
    if (problem.empty()) value_ = std::move(parsed);
    return problem;
  }

 private:
  Type type_;
  std::optional<typename Type::Value>& value_;
};

}  // namespace skipless
