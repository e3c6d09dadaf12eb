#include "data/bpe_encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <mutex>

#include "configs/error.h"
#include "configs/utf8.h"

namespace skipless {
namespace {

// Up to here, searching all pairs for the earliest merge is faster than keeping them in a heap.
constexpr std::size_t kShortWord = 64;
constexpr std::size_t kVeryLongWord = 1 << 16;
constexpr std::size_t kBlock = 1 << 16;

}  // namespace

BpeEncoder::BpeEncoder(const BpeTokenizer& tokenizer, std::size_t cache_bytes)
    : tokenizer_(tokenizer), pieces_(tokenizer.pretokenizer_), cache_(cache_bytes) {}

void BpeEncoder::encode(std::string_view text, std::vector<std::int32_t>& ids) {
  require_utf8(text);
  pieces_.start(text);
  std::string_view piece;
  while (pieces_.next(piece)) encode_piece(piece, static_cast<std::size_t>(piece.data() - text.data()), ids);
}

void BpeEncoder::encode(std::string_view text, const Blocks& blocks) {
  require_utf8(text);
  pieces_.start(text);
  std::string_view piece;
  block_.clear();
  while (pieces_.next(piece)) {
    const auto offset = static_cast<std::size_t>(piece.data() - text.data());
    encode_piece(piece, offset, block_);
    if (block_.size() >= kBlock) {
      blocks(block_, offset + piece.size());
      block_.clear();
    }
  }
  if (!block_.empty()) blocks(block_, text.size());
}

void BpeEncoder::encode_piece(std::string_view piece, std::size_t offset, std::vector<std::int32_t>& ids) {
  if (cache_.append(piece, ids)) return;
  if (piece.size() > kLongestPiece) {
    throw UserError(fmt::format("{} bytes from offset {} on have no end of a word or number in them; allowed are {}",
                                piece.size(), offset, kLongestPiece));
  }
  symbols_.clear();
  for (std::size_t i = 0; i < piece.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(piece[i]);
    const std::int32_t id = tokenizer_.byte_ids_[byte];
    if (id < 0) {
      throw UserError(fmt::format("'{}' has no token for the byte 0x{:02X}, which stands at offset {} of the text",
                                  tokenizer_.tokens_.source(), byte, offset + i));
    }
    symbols_.push_back(id);
  }
  if (symbols_.size() <= kShortWord) {
    merge_short(symbols_);
  } else if (symbols_.size() <= kVeryLongWord) {
    merge_long(symbols_);
  } else {
    // One at a time: several threads would take as many times the memory.
    static std::mutex very_long;
    const std::lock_guard lock(very_long);
    merge_long(symbols_);
  }
  cache_.insert(piece, symbols_);
  ids.insert(ids.end(), symbols_.begin(), symbols_.end());
  if (symbols_.capacity() > kVeryLongWord) symbols_ = {};
}

/// Merges the pair that stands earliest in the list of merges, the leftmost of several, until no pair merges.
void BpeEncoder::merge_short(std::vector<std::int32_t>& symbols) {
  const MergeTable& table = tokenizer_.merges_;
  merges_.clear();  // merges_[i]: of symbols i and i + 1
  for (std::size_t i = 0; i + 1 < symbols.size(); ++i) merges_.push_back(table.find(symbols[i], symbols[i + 1]));
  while (!merges_.empty()) {
    const auto best =
        std::min_element(merges_.begin(), merges_.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
    if (best->rank == MergeTable::kNone) break;
    const auto i = static_cast<std::size_t>(best - merges_.begin());
    symbols[i] = best->token;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    merges_.erase(best);
    if (i < merges_.size()) merges_[i] = table.find(symbols[i], symbols[i + 1]);
    if (i > 0) merges_[i - 1] = table.find(symbols[i - 1], symbols[i]);
  }
}

/// The same merges with a heap of pairs and a linked list of symbols: n log n instead of n squared.
void BpeEncoder::merge_long(std::vector<std::int32_t>& symbols) {
  const MergeTable& table = tokenizer_.merges_;
  constexpr std::int32_t kGone = -1;
  const auto end = static_cast<std::uint32_t>(symbols.size());
  std::vector<std::uint32_t> previous(end);
  std::vector<std::uint32_t> next(end);
  for (std::uint32_t i = 0; i < end; ++i) {
    previous[i] = i - 1;  // wraps for the first one, which is then not below `end`
    next[i] = i + 1;
  }

  using Candidate = std::pair<std::int32_t, std::uint32_t>;  // rank, place of the left symbol: smallest first
  std::vector<Candidate> heap;
  heap.reserve(end);
  for (std::uint32_t i = 0; i + 1 < end; ++i) {
    const auto merge = table.find(symbols[i], symbols[i + 1]);
    if (merge.rank != MergeTable::kNone) heap.emplace_back(merge.rank, i);
  }
  std::make_heap(heap.begin(), heap.end(), std::greater<>());
  const auto push = [&](std::uint32_t left) {
    const auto merge = table.find(symbols[left], symbols[next[left]]);
    if (merge.rank == MergeTable::kNone) return;
    heap.emplace_back(merge.rank, left);
    std::push_heap(heap.begin(), heap.end(), std::greater<>());
  };

  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    const auto [rank, left] = heap.back();
    heap.pop_back();
    const std::uint32_t right = next[left];
    if (symbols[left] == kGone || right >= end) continue;
    const auto merge = table.find(symbols[left], symbols[right]);
    if (merge.rank != rank) continue;  // one of the two was merged since
    symbols[left] = merge.token;
    symbols[right] = kGone;
    next[left] = next[right];
    if (next[left] < end) {
      previous[next[left]] = left;
      push(left);
    }
    if (previous[left] < end) push(previous[left]);
  }
  std::erase(symbols, kGone);
}

}  // namespace skipless
