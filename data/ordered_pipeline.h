// Work in three stages that run at the same time: one thread produces items, several work on them, the calling thread
// consumes the results in the order of the items. What is on the way is bounded by its cost.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace skipless {

template <class Item, class Result>
class OrderedPipeline {
 public:
  using Work = std::function<Result(Item&&)>;

  /// `budget`: largest sum of the costs of items between being produced and being consumed; one item is always let in.
  OrderedPipeline(std::size_t threads, std::size_t budget) : threads_(threads), budget_(budget) {}

  /// `produce` returns the next item, or nothing at the end; `cost` is what an item counts for; `make_work` makes the
  /// work of one thread. Exceptions of any stage end the run and are thrown here, in the order of the items: the
  /// results before a fault are consumed, whatever the number of threads. Every thread has ended when it returns or
  /// throws.
  void run(const std::function<std::optional<Item>()>& produce, const std::function<std::size_t(const Item&)>& cost,
           const std::function<Work()>& make_work, const std::function<void(Result&&)>& consume) {
    std::vector<std::thread> threads;
    const Stopper stopper{*this, threads};
    threads.emplace_back([&] { produce_all(produce, cost); });
    for (std::size_t i = 0; i < threads_; ++i) threads.emplace_back([&] { work_on_all(make_work); });
    while (std::shared_ptr<Slot> slot = next_done()) {
      if (slot->error) std::rethrow_exception(slot->error);
      consume(std::move(*slot->result));
      const std::lock_guard lock(mutex_);
      on_the_way_ -= slot->cost;
      changed_.notify_all();
    }
  }

 private:
  struct Slot {
    std::optional<Item> item;
    std::optional<Result> result;
    std::exception_ptr error;
    std::size_t cost = 0;
    bool done = false;
  };

  struct Stopper {
    OrderedPipeline& pipeline;
    std::vector<std::thread>& threads;
    ~Stopper() {
      {
        const std::lock_guard lock(pipeline.mutex_);
        pipeline.stopped_ = true;
        pipeline.changed_.notify_all();
      }
      for (std::thread& thread : threads) thread.join();
    }
  };

  void produce_all(const std::function<std::optional<Item>()>& produce,
                   const std::function<std::size_t(const Item&)>& cost) {
    for (bool more = true; more;) {
      auto slot = std::make_shared<Slot>();
      try {
        slot->item = produce();
        more = slot->item.has_value();
        if (more) slot->cost = cost(*slot->item);
      } catch (...) {
        slot->error = std::current_exception();
        slot->done = true;
        more = false;
      }
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopped_ || on_the_way_ == 0 || on_the_way_ + slot->cost <= budget_; });
      if (stopped_) return;
      on_the_way_ += slot->cost;
      if (slot->item) waiting_.push_back(slot);
      if (slot->item || slot->error) order_.push_back(slot);
      produced_all_ = !more;
      changed_.notify_all();
    }
  }

  void work_on_all(const std::function<Work()>& make_work) {
    std::optional<Work> work;
    while (true) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopped_ || produced_all_ || !waiting_.empty(); });
      if (stopped_ || waiting_.empty()) return;
      const std::shared_ptr<Slot> slot = waiting_.front();
      waiting_.pop_front();
      lock.unlock();
      try {
        if (!work) work = make_work();
        slot->result = (*work)(std::move(*slot->item));
      } catch (...) {
        slot->error = std::current_exception();
      }
      slot->item.reset();
      lock.lock();
      slot->done = true;
      changed_.notify_all();
    }
  }

  std::shared_ptr<Slot> next_done() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return order_.empty() ? produced_all_ : order_.front()->done; });
    if (order_.empty()) return nullptr;
    std::shared_ptr<Slot> slot = order_.front();
    order_.pop_front();
    return slot;
  }

  std::size_t threads_;
  std::size_t budget_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Slot>> waiting_;  // for work
  std::deque<std::shared_ptr<Slot>> order_;    // for consumption
  std::size_t on_the_way_ = 0;
  bool produced_all_ = false;
  bool stopped_ = false;
};

}  // namespace skipless
