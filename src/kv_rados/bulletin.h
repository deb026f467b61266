// Messages among the processes of a store. Every process watches one object of the pool; a sender
// notifies the watchers of that object. Internal to the room.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/mutex_wait.h"
#include "kv/engine.h"
#include "kv_rados/cluster.h"

namespace stator::kv_rados {

// Thread-safe. A process without a listener is not waited for. A watch that is lost (the OSDs had
// not heard of the process for too long, because it was frozen or cut off) is set up again, as
// often as it takes; messages of the time between are not heard.
//
// One thread, which runs from the first Listen, keeps the watch and calls the listener.
class RadosBulletin final : public kv::Bulletin, private Watcher {
 public:
  // Calls of librados may go on until the cluster is closed: it must outlive the cluster, which
  // must stay open until Stop.
  explicit RadosBulletin(Cluster& cluster);
  ~RadosBulletin() override { Stop(); }

  // kUnavailable. A message may be heard twice.
  Status Announce(std::string_view message) override;
  // Waits until the watch stands, but no longer than an operation may take. Not from the listener
  // itself.
  void Listen(Listener listener) override;
  // Gives the watch up; later calls of Announce are refused. Idempotent. Acknowledgements may still
  // be called.
  void Stop();

  uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }  // watches so far

 private:
  struct Message {
    uint64_t notification = 0;
    uint64_t watch = 0;
    std::string text;
  };
  enum class Watch { kNone, kBegins, kStands, kEnds };
  // What an acknowledgement holds instead of the cluster: a listener may call it after the bulletin
  // is gone.
  struct Acknowledger {
    Mutex mutex;
    Cluster* cluster GUARDED_BY(mutex) = nullptr;  // null: closed
  };
  using Lock = UniqueMutexLock;

  void OnMessage(uint64_t notification, uint64_t watch, std::string_view message) override;
  void OnLost(uint64_t watch, int result) override;

  void Run();
  // Each returns with the lock held, as it was given.
  void Deliver(Lock& lock) NO_THREAD_SAFETY_ANALYSIS;
  void BeginWatch(Lock& lock) NO_THREAD_SAFETY_ANALYSIS;
  void EndWatch(Lock& lock) NO_THREAD_SAFETY_ANALYSIS;
  void OnWatched(int result);
  static void Acknowledge(Acknowledger& acknowledger, const Message& message);

  Cluster& cluster_;
  const std::shared_ptr<Acknowledger> acknowledger_;
  std::atomic<uint64_t> lost_ = 0;

  Mutex mutex_;
  Signal changed_;
  std::shared_ptr<const Listener> listener_ GUARDED_BY(mutex_);
  bool calling_ GUARDED_BY(mutex_) = false;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::deque<Message> messages_ GUARDED_BY(mutex_);
  Watch state_ GUARDED_BY(mutex_) = Watch::kNone;
  uint64_t watch_ GUARDED_BY(mutex_) = 0;           // if it stands
  std::set<uint64_t> ended_ GUARDED_BY(mutex_);     // watches that OnLost has named
  bool object_missing_ GUARDED_BY(mutex_) = false;  // as the last attempt says
  bool warned_ GUARDED_BY(mutex_) = false;
  int64_t retry_at_ GUARDED_BY(mutex_) = 0;  // ticks
  Thread thread_ GUARDED_BY(mutex_);
};

}  // namespace stator::kv_rados
