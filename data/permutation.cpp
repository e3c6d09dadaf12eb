#include "data/permutation.h"

#include <cassert>

namespace skipless {
namespace {

constexpr int kRounds = 8;

/// The finaliser of the SplitMix64 generator: every bit of the result depends on every bit of the value.
std::uint64_t scramble(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
  return value ^ (value >> 31);
}

}  // namespace

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15u;
  return scramble(scramble(a + kGolden) + (b + 1) * kGolden);
}

Permutation::Permutation(std::uint64_t size, std::uint64_t key) : size_(size), key_(key) {
  assert(size > 0 && size <= (std::uint64_t{1} << 62));
  while ((std::uint64_t{1} << (2 * half_bits_)) < size) ++half_bits_;
}

std::uint64_t Permutation::operator()(std::uint64_t index) const {
  assert(index < size_);
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  do {
    std::uint64_t left = index >> half_bits_;
    std::uint64_t right = index & mask;
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      const std::uint64_t next = left ^ (mix(key_ + round, right) & mask);
      left = right;
      right = next;
    }
    index = (left << half_bits_) | right;
  } while (index >= size_);
  return index;
}

}  // namespace skipless
