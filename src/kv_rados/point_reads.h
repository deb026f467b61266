// Combines reads of single keys of a part. Only a few operations are under way at a time; reads
// that arrive meanwhile wait for the next operation, which asks for all their keys. A read never
// joins an operation that was sent before the read arrived: it might miss a write in between. If
// fewer operations are under way (on the part and in the window of the process), a read is sent at
// once and alone. Internal to the room.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/unique_function.h"
#include "kv_rados/part.h"
#include "kv_rados/wait_queue.h"
#include "kv_rados/window.h"

namespace stator::kv_rados {

// What one operation gave: 0 or -errno, and the cells that were asked for and are there, from one
// state.
struct Fetched {
  int result = 0;
  std::vector<std::pair<std::string_view, std::string_view>>
      cells;                          // with what they store; in the order of the cells
  std::shared_ptr<const void> owner;  // of what is viewed

  // Calls visit(cell, stored) for those of some cells that are there, once each, until it returns
  // false.
  void ForEach(const std::vector<std::string>& of,
               FunctionRef<bool(std::string_view cell, std::string_view stored)> visit) const;
};
using FetchedPtr = std::shared_ptr<const Fetched>;

// Sends read operations to the object of a part. Each operation compares the object's header with
// `header`, and the object refuses it if they differ.
class PointChannel {
 public:
  virtual ~PointChannel() = default;
  // Repeats what times out, up to the deadline of a read.
  virtual FetchedPtr Read(const Part& part, const KnownHeader& header,
                          const std::vector<std::string>& cells) = 0;
  // Does not repeat. `done` runs on a thread that must not wait.
  virtual void ReadLater(const Part& part, const KnownHeader& header,
                         const std::vector<std::string>& cells,
                         UniqueFunction<void(FetchedPtr)> done) = 0;
};

// On a cluster. Thread-safe; the cluster must outlive it.
class ClusterChannel final : public PointChannel {
 public:
  explicit ClusterChannel(Cluster& cluster) : cluster_(cluster) {}
  FetchedPtr Read(const Part& part, const KnownHeader& header,
                  const std::vector<std::string>& cells) override;
  void ReadLater(const Part& part, const KnownHeader& header, const std::vector<std::string>& cells,
                 UniqueFunction<void(FetchedPtr)> done) override;

 private:
  Cluster& cluster_;
};

// Thread-safe. The channel must outlive it.
class PointReads {
 public:
  // `expired(ticks)`: whether a read that came then has waited long enough; `ticks()`: now.
  PointReads(PointChannel& channel, std::function<int64_t()> ticks,
             std::function<bool(int64_t)> expired, Host* host = nullptr)
      : channel_(channel),
        ticks_(std::move(ticks)),
        expired_(std::move(expired)),
        host_(host),
        idle_(host),
        watch_(host) {}
  ~PointReads() { Stop(); }

  // Reads cells of a part in one operation. -ECANCELED: the part has another header; -ENOENT: it
  // has no object; -ETIMEDOUT: no answer until the deadline (and at most one operation's timeout
  // longer).
  FetchedPtr ReadAndWait(const PartPtr& part, const HeaderPtr& header,
                         std::vector<std::string> cells);
  // Reads asynchronously. `done` runs on a thread of the channel, and must not wait.
  void ReadLater(const PartPtr& part, const HeaderPtr& header, std::vector<std::string> cells,
                 UniqueFunction<void(FetchedPtr)> done);
  // Starts further operations in place of those that hang. Call it from time to time while reads
  // may wait.
  void GoOn();
  // Starts a thread that calls GoOn while reads wait.
  void StartWatching();
  // Waits until all reads are answered. No read may be added any more.
  void Stop();

  uint64_t operations() const { return operations_.load(std::memory_order_relaxed); }
  uint64_t reads() const { return reads_.load(std::memory_order_relaxed); }

  static constexpr int kAtOnce = 2;  // operations on a part

 private:
  struct Waiting {
    HeaderPtr header;
    std::vector<std::string> cells;
    UniqueFunction<void(FetchedPtr)> done;
    int64_t arrived = 0;
  };
  struct Queue {
    int under_way = 0;
    bool in_line = false;
    std::deque<Waiting> waiting;
  };
  // What shall be done once the mutex is free.
  struct Todo {
    struct Group {
      PartPtr part;
      Window::Ticket ticket;
      std::vector<Waiting> together;
    };
    std::vector<Group> groups;
    std::vector<Waiting> late;
  };

  // An operation on the part may be sent at once if this gives a ticket. Ended must follow.
  std::optional<Window::Ticket> Begin(const PartPtr& part, int64_t now) REQUIRES(mutex_);
  // Notes that an operation on the part has ended and answered `reads` reads.
  void Ended(const PartPtr& part, Window::Ticket ticket, size_t reads);
  // Puts the part into the line of parts to be read, if it has waiting reads and may have one more
  // operation under way.
  void StandInLine(const PartPtr& part, Queue& queue) REQUIRES(mutex_);
  // Adds to `todo` the next operations of the parts in the line, as many as the window allows.
  void TakeFromLine(int64_t now, Todo* todo) REQUIRES(mutex_);
  std::vector<Waiting> TakeGroup(const Part& part, Queue& queue, std::vector<Waiting>* late)
      REQUIRES(mutex_);
  void Do(Todo todo);
  void Send(const PartPtr& part, Window::Ticket ticket, std::vector<Waiting> together);
  void OnFetched(const PartPtr& part, Window::Ticket ticket, std::vector<Waiting> together,
                 const FetchedPtr& fetched);
  void Watch();

  PointChannel& channel_;
  const std::function<int64_t()> ticks_;
  const std::function<bool(int64_t)> expired_;
  Host* const host_;
  std::atomic<uint64_t> operations_ = 0, reads_ = 0;

  Mutex mutex_;
  Signal idle_;
  // The queues of all parts that have operations under way or waiting reads.
  std::unordered_map<const Part*, Queue> queues_ GUARDED_BY(mutex_);
  WaitQueue<PartPtr> line_ GUARDED_BY(mutex_);  // parts that wait for the window; each once
  Window window_ GUARDED_BY(mutex_);
  size_t calls_ GUARDED_BY(mutex_) = 0;  // of the channel that have not ended
  Signal watch_;
  bool watch_sleeps_ GUARDED_BY(mutex_) = false;
  bool stop_watching_ GUARDED_BY(mutex_) = false;
  Thread watcher_;
};

}  // namespace stator::kv_rados
