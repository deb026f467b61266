// Splits parts that have grown too large, in the background, and carries on splits whose process
// has died. Internal to the room.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "kv_rados/part_split.h"
#include "kv_rados/tablet_map.h"

namespace stator::kv_rados {

// Thread-safe. The cluster and the map must outlive it. One split of this process is under way at a
// time.
class Splitter {
 public:
  Splitter(Cluster& cluster, TabletMap& map, std::string process);
  ~Splitter() { Stop(); }

  // Splits the part in the background if `size` calls for it. Called after every write to a large
  // part. Never waits.
  void Consider(const PartPtr& part, const PartSize& size);
  // Watches a part whose header says that it is being split. If the split makes no progress for
  // some seconds, this process carries it on. Never waits.
  void Watch(const PartPtr& part);
  // Splits the part that holds the route in the middle, whatever its size, and waits for the end.
  // kUnavailable if the part cannot be divided or is being split already.
  Status SplitNow(kv::Tablet tablet, std::string_view route);

  void AddStatistics(std::map<std::string, double>* statistics) const;
  // Stops the thread. Returns once no operation is under way; other processes carry on with
  // unfinished splits. Idempotent.
  void Stop();

 private:
  struct Task {
    PartPtr part;
    Amount told;                                   // how large it is said to be
    std::shared_ptr<std::optional<Status>> asked;  // what SplitNow waits for; null: no caller waits
  };
  // When a large part is looked at again.
  struct Again {
    bool queued = false;
    int64_t ticks = 0;  // then, or when it has grown to one of these
    Amount amount = {UINT64_MAX, UINT64_MAX};
  };
  // A part that some process is splitting.
  struct Watched {
    PartPtr part;
    std::string seen;  // both headers
    int64_t since = 0;
  };

  void Run();
  void Do(const Task& task);
  // Answers a caller that waits for the task.
  void Answer(const Task& task, Status status) REQUIRES(mutex_);
  void Look();
  // Returns true if the split of the part is over. Otherwise sets *seen to the headers of parent
  // and child: they change while a process carries the split on.
  Result<bool> IsOver(const Part& part, std::string* seen);
  // Splits a part; returns true if it was split. `forced`: splits a small part, too, and returns
  // kUnavailable if the part cannot be split.
  Result<bool> Split(const PartPtr& part, bool forced);
  Status CarryOn(const PartPtr& part);
  PartSplit Carrier(const PartPtr& part);
  bool stopping() const {
    MutexLock lock(mutex_);
    return stopping_;
  }

  Cluster& cluster_;
  TabletMap& map_;
  const std::string process_;
  mutable Mutex mutex_;
  Signal wake_, answered_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::deque<Task> tasks_ GUARDED_BY(mutex_);
  std::map<std::string, Again> again_ GUARDED_BY(mutex_);      // by object
  std::map<std::string, Watched> watched_ GUARDED_BY(mutex_);  // by object

  std::atomic<uint64_t> splits_ = 0, taken_over_ = 0;
  Thread thread_;
};

}  // namespace stator::kv_rados
