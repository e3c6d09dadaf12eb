// The most memory that tensors on the CPU take at one time, counted at LibTorch's allocator.
#pragma once

#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>

namespace skipless::test {

/// Stands in for LibTorch's CPU allocator while it lives, and passes every request on. What was allocated before is not
/// counted; what outlives it still knows how to free itself.
class PeakMemory : private c10::Allocator {
 public:
  PeakMemory() : inner_(c10::GetCPUAllocator()) { c10::SetCPUAllocator(this, /*priority=*/255); }
  ~PeakMemory() override { c10::SetCPUAllocator(inner_, /*priority=*/255); }

  int64_t bytes() const { return count_->peak; }

 private:
  struct Count {
    std::atomic<int64_t> now{0};
    std::atomic<int64_t> peak{0};
  };
  struct Piece {
    c10::DataPtr data;
    int64_t size;
    std::shared_ptr<Count> count;
  };

  c10::DataPtr allocate(size_t n) override {
    auto* piece = new Piece{inner_->allocate(n), static_cast<int64_t>(n), count_};
    const int64_t now = count_->now += piece->size;
    count_->peak = std::max<int64_t>(count_->peak, now);
    const auto free_piece = [](void* context) {
      auto* freed = static_cast<Piece*>(context);
      freed->count->now -= freed->size;
      delete freed;
    };
    return {piece->data.get(), piece, free_piece, piece->data.device()};
  }
  void copy_data(void* to, const void* from, std::size_t n) const override { default_copy_data(to, from, n); }

  c10::Allocator* inner_;
  std::shared_ptr<Count> count_ = std::make_shared<Count>();
};

/// Bytes that `work` takes at its height.
inline int64_t peak_bytes(const std::function<void()>& work) {
  const PeakMemory memory;
  work();
  return memory.bytes();
}

}  // namespace skipless::test
