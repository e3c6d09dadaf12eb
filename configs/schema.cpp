#include "configs/schema.h"

#include "configs/key_value.h"

namespace skipless {

void Problems::add(std::string_view key, std::string message) {
  problems_.push_back({prefix_ + std::string(key), std::move(message)});
}

void Schema::key(std::string_view name, bool& slot, std::string_view help) {
  RequiredValue<BoolType> typed({}, slot);
  value(name, typed, help);
}

void Schema::key(std::string_view name, int64_t& slot, Range<int64_t> allowed, std::string_view help) {
  RequiredValue<IntegerType> typed({allowed}, slot);
  value(name, typed, help);
}

void Schema::key(std::string_view name, double& slot, Range<double> allowed, std::string_view help) {
  RequiredValue<NumberType> typed({allowed}, slot);
  value(name, typed, help);
}

void Schema::key(std::string_view name, std::string& slot, std::string_view help) {
  RequiredValue<TextType> typed({}, slot);
  value(name, typed, help);
}

void Schema::key(std::string_view name, std::string& slot, std::vector<std::string> allowed, std::string_view help) {
  RequiredValue<NameType> typed({name, std::move(allowed)}, slot);
  value(name, typed, help);
}

void Schema::key(std::string_view name, std::vector<std::string>& slot, std::string_view help) {
  RequiredValue<TextListType> typed({}, slot);
  value(name, typed, help);
}

void Schema::key(std::string_view name, std::optional<bool>& slot, std::string_view help) {
  OptionalValue<BoolType> typed({}, slot);
  value(name, typed, help);
}

void Schema::key(std::string_view name, std::optional<int64_t>& slot, Range<int64_t> allowed, std::string_view help) {
  OptionalValue<IntegerType> typed({allowed}, slot);
  value(name, typed, help);
}

void Schema::key(std::string_view name, std::optional<double>& slot, Range<double> allowed, std::string_view help) {
  OptionalValue<NumberType> typed({allowed}, slot);
  value(name, typed, help);
}

void Schema::key(std::string_view name, std::optional<std::string>& slot, std::string_view help) {
  OptionalValue<TextType> typed({}, slot);
  value(name, typed, help);
}

}  // namespace skipless
