// A value that many threads read and one thread replaces now and then. Readers never wait and never
// block the writer: a replaced value is freed later, once every reader that could have seen it is
// known to have left.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace stator::throughput {

// Readers count themselves in one of a few counters, chosen by thread, that all objects of one type
// share: a table with 20 indexes has 21 objects. A reader that was there when a value was replaced
// has left once its counter was seen at zero afterwards; no need to see all of them at zero
// together.
template <typename T>
class Published {
 public:
  explicit Published(std::unique_ptr<const T> value) : current_(value.release()) {}
  ~Published() { delete current_.load(); }  // no reader may be left
  Published(const Published&) = delete;
  Published& operator=(const Published&) = delete;

  // Keeps the value it was made from alive.
  class Pin {
   public:
    explicit Pin(const Published& from) : readers_(MyReaders()) {
      readers_.fetch_add(1);  // sequentially consistent with the load below and with Publish
      value_ = from.current_.load();
    }
    ~Pin() { readers_.fetch_sub(1, std::memory_order_release); }
    Pin(const Pin&) = delete;
    Pin& operator=(const Pin&) = delete;
    const T& operator*() const { return *value_; }
    const T* operator->() const { return value_; }

   private:
    std::atomic<int64_t>& readers_;
    const T* value_;
  };

  // One caller at a time, together with Reclaim and Current.
  void Publish(std::unique_ptr<const T> value) {
    retired_.push_back({std::unique_ptr<const T>(current_.exchange(value.release())), 0});
    Reclaim();
  }
  // Frees the replaced values that no reader can see any more. Publish calls it; the writer may
  // call it at any other time.
  void Reclaim() {
    if (retired_.empty()) return;
    uint32_t idle = 0;
    for (size_t i = 0; i < kCounters; ++i) {
      if (counters_[i].readers.load() == 0) idle |= uint32_t{1} << i;
    }
    std::erase_if(retired_, [idle](Retired& retired) { return (retired.idle |= idle) == kAll; });
  }
  // For the one that publishes.
  const T& Current() const { return *current_.load(std::memory_order_relaxed); }
  size_t retired() const { return retired_.size(); }

 private:
  static constexpr size_t kCounters = 16;
  static constexpr uint32_t kAll = (uint32_t{1} << kCounters) - 1;
  struct alignas(64) Counter {
    std::atomic<int64_t> readers{0};
  };
  struct Retired {
    std::unique_ptr<const T> value;
    uint32_t idle;  // counters that were seen at zero since
  };

  static std::atomic<int64_t>& MyReaders() {
    static std::atomic<size_t> threads{0};
    thread_local const size_t mine = threads.fetch_add(1, std::memory_order_relaxed) % kCounters;
    return counters_[mine].readers;
  }

  static inline std::array<Counter, kCounters> counters_;
  std::atomic<const T*> current_;
  std::vector<Retired> retired_;
};

}  // namespace stator::throughput
