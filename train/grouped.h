// Large numbers for people.
#pragma once

#include <fmt/format.h>

#include <string>

namespace skipless {

/// 1234567 -> "1,234,567"
inline std::string grouped(double value) {
  const std::string digits = fmt::format("{:.0f}", value);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

}  // namespace skipless
