// Checks of options that are numbers. CLI11 by itself reads a part of what is no number, and numbers that are not
// finite.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

namespace skipless {

/// An integer of this range, written as one.
CLI::Validator integer_between(std::int64_t low, std::int64_t high);

/// A finite number of this range, both ends included.
CLI::Validator number_between(double low, double high);

}  // namespace skipless
