// Fills tables from backups, or with what other tables were at a moment, in the background.
//
// The catalog marks a table that is being restored (TableDescriptor::restore), so a restart begins
// its filling again; items that are there already are not written again. A table that cannot be
// filled is dropped.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <thread>

#include "base/mutex.h"
#include "base/result.h"
#include "table/store.h"
#include "transfer/backups.h"
#include "transfer/past_table.h"

namespace stator::transfer {

// Thread-safe.
class Restores {
 public:
  // The number of tables that are being restored, or wait for it. [B][L]
  static constexpr size_t kMostRestores = 50;

  // The store and the backups must outlive the object.
  Restores(table::Store& store, Backups& backups) : store_(store), backups_(backups) {}
  ~Restores() { Stop(); }

  // Begins the thread, with the tables that an earlier process left unfinished.
  void Start();
  // Takes a place for one more restore; kLimitExceeded if there is none. Begin or GiveUp uses it.
  Status Reserve();
  void GiveUp();
  // Fills a table of the catalog. Its mark names a backup that the caller has marked as used
  // (Backups::Use), or the moment of `past`. A place was reserved.
  void Begin(const table::TablePtr& table, std::unique_ptr<PastTable> past = nullptr);
  // The number of restores that have not ended.
  size_t running() const;
  // Ends the thread. Its restores go on at the next start. To be called before the engine
  // goes. Idempotent.
  void Stop();

 private:
  struct Job {
    table::TablePtr table;
    std::unique_ptr<PastTable> past;  // null: from a backup
    Status ready = OkStatus();        // an error: the table cannot be filled
  };
  void Run();
  // Makes ready what an earlier process has begun.
  Job GoOnWith(const table::TablePtr& table);
  Status Fill(Job* job);
  Status Complete(const table::TablePtr& table);
  Status Drop(const table::TablePtr& table);
  bool stopped() const;

  table::Store& store_;
  Backups& backups_;
  mutable Mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<Job> jobs_ GUARDED_BY(mutex_);
  size_t running_ GUARDED_BY(mutex_) = 0;  // reserved places included
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace stator::transfer
