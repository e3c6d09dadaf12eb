#include "data/word_cache.h"

#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace skipless {
namespace {

constexpr std::size_t kFirstSlots = 1 << 8;
constexpr std::size_t kLongestWord = 64;

std::uint64_t hash_of(std::string_view word) {
  return XXH3_64bits(word.data(), word.size());
}

}  // namespace

WordCache::WordCache(std::size_t most_bytes) : most_bytes_(most_bytes), slots_(kFirstSlots) {}

std::size_t WordCache::bytes() const {
  return slots_.size() * sizeof(Slot) + texts_.size() + ids_.size() * sizeof(std::int32_t);
}

std::size_t WordCache::find(std::uint64_t hash, std::string_view word) const {
  std::size_t at = hash & (slots_.size() - 1);
  while (true) {
    const Slot& slot = slots_[at];
    if (slot.text_size == 0) return at;
    if (slot.hash == hash && slot.text_size == word.size() &&
        std::memcmp(texts_.data() + slot.text_start, word.data(), word.size()) == 0) {
      return at;
    }
    at = (at + 1) & (slots_.size() - 1);
  }
}

bool WordCache::append(std::string_view word, std::vector<std::int32_t>& ids) const {
  if (word.size() > kLongestWord) return false;
  const Slot& slot = slots_[find(hash_of(word), word)];
  if (slot.text_size == 0) return false;
  const auto first = ids_.begin() + slot.ids_start;
  ids.insert(ids.end(), first, first + slot.ids_size);
  return true;
}

void WordCache::insert(std::string_view word, const std::vector<std::int32_t>& ids) {
  if (word.empty() || word.size() > kLongestWord) return;
  if (2 * used_ >= slots_.size() || bytes() > most_bytes_) make_room();
  const std::uint64_t hash = hash_of(word);
  slots_[find(hash, word)] = {.hash = hash,
                              .text_start = static_cast<std::uint32_t>(texts_.size()),
                              .ids_start = static_cast<std::uint32_t>(ids_.size()),
                              .text_size = static_cast<std::uint16_t>(word.size()),
                              .ids_size = static_cast<std::uint16_t>(ids.size())};
  texts_ += word;
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  ++used_;
}

/// Doubles the slots, or forgets all words where that would take too much.
void WordCache::make_room() {
  if (bytes() + slots_.size() * sizeof(Slot) > most_bytes_) {
    slots_.assign(slots_.size(), Slot{});
    texts_.clear();
    ids_.clear();
    used_ = 0;
    return;
  }
  std::vector<Slot> old(2 * slots_.size());
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.text_size == 0) continue;
    std::size_t at = slot.hash & (slots_.size() - 1);
    while (slots_[at].text_size != 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = slot;
  }
}

}  // namespace skipless
