// Words that were encoded before, with their ids. Of bounded size: when it is full, it starts anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace skipless {

class WordCache {
 public:
  static constexpr std::size_t kDefaultBytes = std::size_t{32} << 20;

  /// `most_bytes`: of slots, words and ids together, without what vectors reserve (as much again at most).
  explicit WordCache(std::size_t most_bytes = kDefaultBytes);

  /// Appends the ids of `word` if it is known.
  bool append(std::string_view word, std::vector<std::int32_t>& ids) const;
  /// `word` must not be known. Long words are rarely seen twice and not kept.
  void insert(std::string_view word, const std::vector<std::int32_t>& ids);

 private:
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t text_start = 0;
    std::uint32_t ids_start = 0;
    std::uint16_t text_size = 0;  // 0: free
    std::uint16_t ids_size = 0;
  };

  std::size_t find(std::uint64_t hash, std::string_view word) const;
  void make_room();
  std::size_t bytes() const;

  std::size_t most_bytes_;
  std::vector<Slot> slots_;  // a power of two, at most half full
  std::size_t used_ = 0;
  std::string texts_;
  std::vector<std::int32_t> ids_;
};

}  // namespace skipless
