#include "configs/numbers.h"

#include <charconv>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <system_error>

namespace skipless {
namespace {

std::string_view without_sign(std::string_view text) {
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) text.remove_prefix(1);
  return text;
}

// std::from_chars knows no '+'.
std::string_view without_plus(std::string_view text) {
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  return text;
}

std::size_t count_digits(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size() && text[n] >= '0' && text[n] <= '9') ++n;
  return n;
}

// YAML 1.1 reads 010 as eight, YAML 1.2 as ten.
bool has_leading_zero(std::string_view unsigned_text) {
  return unsigned_text.size() > 1 && unsigned_text[0] == '0' && count_digits(unsigned_text) > 1;
}

bool is_decimal(std::string_view text) {
  const std::size_t whole = count_digits(text);
  text.remove_prefix(whole);
  std::size_t fraction = 0;
  if (!text.empty() && text[0] == '.') {
    text.remove_prefix(1);
    fraction = count_digits(text);
    text.remove_prefix(fraction);
  }
  if (whole + fraction == 0) return false;
  if (text.empty()) return true;
  if (text[0] != 'e' && text[0] != 'E') return false;
  text = without_sign(text.substr(1));
  return !text.empty() && count_digits(text) == text.size();
}

bool names_no_finite_number(std::string_view unsigned_text) {
  if (!unsigned_text.empty() && unsigned_text[0] == '.') unsigned_text.remove_prefix(1);
  std::string lower(unsigned_text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower == "inf" || lower == "nan" || lower == "infinity";
}

}  // namespace

std::string parse_integer(std::string_view text, int64_t& value) {
  const std::string_view digits = without_sign(text);
  if (digits.empty() || count_digits(digits) != digits.size()) return "is not an integer";
  if (has_leading_zero(digits)) return "has a leading zero";
  const std::string_view number = without_plus(text);
  const auto result = std::from_chars(number.data(), number.data() + number.size(), value);
  return result.ec == std::errc() ? "" : "does not fit in 64 bits";
}

std::string parse_number(std::string_view text, double& value) {
  const std::string_view magnitude = without_sign(text);
  if (names_no_finite_number(magnitude)) return "is not a finite number";
  if (!is_decimal(magnitude)) return "is not a number";
  if (has_leading_zero(magnitude)) return "has a leading zero";
  const std::string_view number = without_plus(text);
  double parsed = 0;
  const auto result = std::from_chars(number.data(), number.data() + number.size(), parsed);
  if (result.ec != std::errc()) return "is too large or too small for a double";
  value = parsed;
  return "";
}

std::string number_text(double value) {
  if (!std::isfinite(value)) throw std::logic_error("a config holds a number that is not finite");
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

}  // namespace skipless
