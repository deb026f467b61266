// Gives back the disk that dropped tablets took, one after the other, in the background.
//
// The batch that drops tablets puts an entry "dropped/" into the catalog (catalog_entry.h). The
// entry goes when their space has been given back, so the work goes on after a restart.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "kv/engine.h"
#include "kv/reclaim.h"

namespace stator::table {

// Thread-safe. Its thread starts with the first entry.
class SpaceReclaimer {
 public:
  // On an engine that gives space back by itself, Add does nothing.
  explicit SpaceReclaimer(kv::Engine& engine) : engine_(engine), reclaimer_(engine.reclaimer()) {}
  ~SpaceReclaimer() { Stop(); }

  // Whether dropped tablets need an entry in the catalog.
  bool needed() const { return reclaimer_ != nullptr; }
  // Takes an entry of the catalog.
  void Add(std::string key, std::vector<kv::Tablet> tablets);
  // Returns false while a reader may still need what the tablet held: the entry waits. Null: every
  // tablet may go.
  using MayReclaim = std::function<bool(kv::Tablet tablet)>;
  void SetPredicate(MayReclaim may_reclaim);

  struct View {
    size_t waiting = 0;  // entries, with the one under way
    uint64_t bytes = 0;  // given back as whole files since the start
    std::string error;   // of the last attempt, if it failed
  };
  View view() const;
  // Leaves the rest to the next start. Idempotent.
  void Stop();

 private:
  struct Entry {
    std::string key;
    std::vector<kv::Tablet> tablets;
  };
  void Run();
  Status Work(const Entry& entry);

  kv::Engine& engine_;
  kv::Reclaimer* const reclaimer_;
  std::atomic<bool> stop_ = false;
  mutable Mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<Entry> entries_ GUARDED_BY(mutex_);  // the first is being worked on
  MayReclaim may_reclaim_ GUARDED_BY(mutex_);
  View view_ GUARDED_BY(mutex_);
  std::thread thread_ GUARDED_BY(mutex_);
};

}  // namespace stator::table
