// The thread of a server that makes whole-store backups: on demand, and on a schedule.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "kv/engine.h"
#include "store_backup/make.h"
#include "store_backup/place.h"

namespace stator::store_backup {

struct KeeperOptions {
  std::unique_ptr<Place> place;
  std::string data_dir;
  int64_t every_micros = 0;  // 0: on demand only
  uint64_t keep = 0;         // 0: all
  uint64_t bytes_per_second = 0;
  std::string version;
  std::string key_id;
  // Hears what became of a backup; `kind` is a literal. Null: the log alone hears. On the thread.
  std::function<void(std::string_view kind, const std::string& text)> tell;
};

// A backup without the list of its files.
struct Summary {
  std::string id;
  int64_t as_of_micros = 0;
  int64_t until_micros = 0;
  uint64_t files = 0;
  uint64_t bytes = 0;
  uint64_t new_files = 0;
  uint64_t new_bytes = 0;
  std::string key_id;
};
Summary SummaryOf(const Backup& backup);

// Thread-safe. One backup is made at a time.
class Keeper {
 public:
  struct View {
    bool running = false;
    uint64_t total_bytes = 0;  // of the one that runs; this and the next
    uint64_t done_bytes = 0;
    uint64_t made = 0;  // by this process; this and the next
    uint64_t failed = 0;
    std::optional<Summary> last;         // the newest that the place is known to have
    double last_seconds = 0;             // that it took, if this process made it
    std::optional<std::string> failure;  // why the last attempt failed; nothing: it did not
    int64_t failure_micros = 0;
    std::optional<int64_t> next_micros;  // when one is due; nothing: it is not known, or never
  };

  // The engine and the clock (the product's time) must outlive the object.
  Keeper(kv::Engine& engine, const Clock& clock, KeeperOptions options);
  ~Keeper() { Stop(); }

  void Start();
  // Stops the thread. A running backup is aborted and fails. Idempotent.
  void Stop();

  // Asks for a backup. False: one is being made, whose moment is in the past.
  bool Begin();
  // Begins one if it is due. Returns whether something runs.
  bool Look();
  View view() const;
  // Lists the newest backups, at most kMostListed. Adds a sentence to *damaged for each that cannot
  // be read. Blocks, perhaps for minutes if the place does not answer; so only one call runs at a
  // time, and others get kUnavailable.
  static constexpr size_t kMostListed = 1000;
  Result<std::vector<Summary>> List(std::vector<std::string>* damaged);

  const KeeperOptions& options() const { return options_; }

 private:
  void Run();
  void LearnLast();
  void Make();
  void Fail(const std::string& what, const Error& error);
  std::optional<int64_t> NextMicros() const REQUIRES(mutex_);

  kv::Engine& engine_;
  const Clock& clock_;
  const KeeperOptions options_;
  std::atomic<bool> stop_ = false;
  std::atomic<bool> listing_ = false;
  std::atomic<uint64_t> total_bytes_ = 0;
  std::atomic<uint64_t> done_bytes_ = 0;
  mutable Mutex mutex_;
  std::condition_variable_any wake_;
  bool wanted_ GUARDED_BY(mutex_) = false;
  bool running_ GUARDED_BY(mutex_) = false;
  bool learned_ GUARDED_BY(mutex_) = false;  // whether the place was asked for its newest
  int64_t tried_micros_ GUARDED_BY(mutex_) = 0;
  View view_ GUARDED_BY(mutex_);
  bool leavings_ = true;  // the thread's own: the place may have objects of no backup
  std::thread thread_;
};

}  // namespace stator::store_backup
