// The merges of a BPE model: which two neighbouring tokens become which one, and how early.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace skipless {

/// A hash table with open addressing, at most half full. Several times faster here than std::unordered_map, and looking
/// up pairs is most of the work of encoding a word that was not seen before.
class MergeTable {
 public:
  struct Merge {
    std::int32_t rank = kNone;  // position in the list of merges; lower merges first
    std::int32_t token = kNone;
  };
  static constexpr std::int32_t kNone = INT32_MAX;

  explicit MergeTable(std::size_t merges) {
    std::size_t slots = 16;
    while (slots < 2 * merges) slots *= 2;
    slots_.resize(slots);
  }

  /// False when the pair is there already.
  bool insert(std::int32_t left, std::int32_t right, Merge merge) {
    Slot& slot = slots_[find(key_of(left, right))];
    if (slot.key != kFree) return false;
    slot = {key_of(left, right), merge};
    return true;
  }

  /// rank kNone when the pair does not merge.
  Merge find(std::int32_t left, std::int32_t right) const { return slots_[find(key_of(left, right))].merge; }

 private:
  static constexpr std::uint64_t kFree = UINT64_MAX;  // no pair: ids are not negative

  struct Slot {
    std::uint64_t key = kFree;
    Merge merge;
  };

  static std::uint64_t key_of(std::int32_t left, std::int32_t right) {
    return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32) | static_cast<std::uint32_t>(right);
  }

  /// The slot of `key`, or the free one where it would go.
  std::size_t find(std::uint64_t key) const {
    const std::uint64_t mixed = key * 0x9E3779B97F4A7C15u;
    std::size_t slot = (mixed ^ (mixed >> 32)) & (slots_.size() - 1);
    while (slots_[slot].key != key && slots_[slot].key != kFree) slot = (slot + 1) & (slots_.size() - 1);
    return slot;
  }

  std::vector<Slot> slots_;
};

}  // namespace skipless
