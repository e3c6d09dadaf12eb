// A keyed permutation of 0 .. size - 1 that needs no memory: each value is computed on its own.
#pragma once

#include <cstdint>

namespace skipless {

/// A Feistel network over the next power of four at or above `size`; a value that falls outside is sent through again
/// ("cycle walking") until it falls inside, four passes at most on average.
class Permutation {
 public:
  Permutation(std::uint64_t size, std::uint64_t key);

  /// Where `index` (below size) goes.
  std::uint64_t operator()(std::uint64_t index) const;

 private:
  std::uint64_t size_;
  std::uint64_t key_;
  int half_bits_ = 1;
};

/// A well-mixed function of two numbers: keys of epochs from a seed.
std::uint64_t mix(std::uint64_t a, std::uint64_t b);

}  // namespace skipless
