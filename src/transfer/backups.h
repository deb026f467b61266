// The backups of tables: those that are there, and the thread that makes new ones.
//
// A backup pins its table (kv/pin.h) when it is asked for and is written in the background to a
// folder of its own, the manifest last. It is there once its folder is published; whatever ends the
// process earlier leaves no backup. The folders are the only record of the backups.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/random.h"
#include "base/result.h"
#include "kv/pin.h"
#include "table/store.h"
#include "transfer/data_file.h"
#include "transfer/folders.h"
#include "transfer/manifest.h"

namespace stator::transfer {

// Immutable.
struct Backup {
  Manifest manifest;
  enum class State : uint8_t { kCreating, kAvailable } state = State::kCreating;
};
using BackupPtr = std::shared_ptr<const Backup>;

// Hears what became of a job; `kind` is a literal, `text` a sentence for people. Called on the
// job's thread.
using TellJob =
    std::function<void(std::string_view kind, const std::string& table, const std::string& text)>;

struct BackupOptions {
  std::unique_ptr<Folders> folders;
  TellJob tell;       // null: the log alone hears
  DataLimits limits;  // for tests
  // The maximum size of all backups' manifests as text. They are kept in memory, where they take
  // about three times as much. The system backups that DeleteTable makes have a second bound of the
  // same size.
  size_t most_manifest_bytes = 24 << 20;
};

// Base of the jobs that a room above this one keeps beside the backups, where operations find them.
class Companion {
 public:
  virtual ~Companion() = default;
};

// Thread-safe.
class Backups {
 public:
  // The number of backups that are being made or wait for it.
  static constexpr size_t kMostCreating = 64;
  // How long a table stays pinned at most.
  static constexpr int64_t kMostMicros = int64_t{12} * 3600 * 1'000'000;
  // Free space that is left on the disk of the backups: twice what the store reserves.
  static constexpr uint64_t kLeastFreeBytes = 128 << 20;

  // The system makes a backup of a table that is deleted; it goes by itself after this time. [L]
  static constexpr int64_t kSystemLifeMillis = int64_t{35} * 86'400 * 1000;

  // Reads what backups there are. A folder without a sound manifest is no backup: the log names it,
  // and it is left as it is. The store, clock and random source must outlive the object.
  // kUnavailable if the store's engine is no kv::Pinner, or the folders cannot be read.
  static Result<std::unique_ptr<Backups>> Open(table::Store& store, const Clock& clock,
                                               Random& random, BackupOptions options);
  ~Backups();

  // Begins a backup of the table as it is now. Returns it in the state kCreating. kLimitExceeded if
  // too many are being made or kept; errors of Pinner::Pin. Never waits for a disk.
  Result<BackupPtr> Create(const table::TablePtr& table, std::string name);
  // Begins the system's backup of a table that is deleted, as Create does. There is one for each
  // table. `then` hears on the backups' thread whether it was made; not after an error of the call.
  using Made = std::function<void(bool made)>;
  Result<BackupPtr> CreateSystem(const table::TablePtr& table, Made then);
  // Returns the system's backup of the table with this name, in the store, and this id; null if
  // there is none.
  BackupPtr FindSystem(std::string_view table, std::string_view table_id) const;
  // Removes the system backups that have expired at `now_millis`, except those in use. Returns the
  // first error. Waits for the disk.
  Status RemoveExpired(int64_t now_millis);
  // Returns null if there is none of this id.
  BackupPtr Find(std::string_view id) const;
  // Returns the backups by id, which is the order of their creation.
  std::vector<BackupPtr> List() const;
  // Selects the backups of a page.
  struct Wanted {
    std::string_view account;  // empty: the default
    std::string_view table;    // a name in the store; empty: all tables of the account
    bool user = true;
    bool system = true;
    std::optional<int64_t> from_millis;   // created at this time or later
    std::optional<int64_t> until_millis;  // created earlier
  };
  // Returns at most `most` backups by id, from the one after `after` on; empty: from the first on.
  // Takes time in the number of backups that it returns.
  std::vector<BackupPtr> Page(const Wanted& wanted, std::string_view after, size_t most) const;
  // Removes a backup and returns it. Its files are deleted when the call returns.
  // kResourceNotFound; kResourceInUse if it is being made or is used. Messages of kResourceInUse
  // end with ": ", for the ARN. Waits for the disk.
  Result<BackupPtr> Delete(std::string_view id);

  // Marks a backup as used, so that it cannot be deleted, until Release.
  // kResourceNotFound if there is none; kResourceInUse if it is being made, or used already.
  Result<BackupPtr> Use(std::string_view id);
  void Release(std::string_view id);

  // Sets the companion; null: none. Call it before other threads use the object. The companion must
  // outlive their use.
  void SetCompanion(Companion* companion) { companion_ = companion; }
  Companion* companion() const { return companion_; }

  Folders& folders() { return *options_.folders; }
  // Tells `tell` and the log.
  void Tell(std::string_view kind, const std::string& table, const std::string& text) const;
  // The number of backups that are being made or wait for it.
  size_t creating() const;
  // Ends the thread. A backup that is being made is given up. Call it before the engine is
  // destroyed. Idempotent.
  void Stop();
  // Does the first step of Stop: no further job begins.
  void AskToStop();

 private:
  struct Job {
    BackupPtr backup;
    std::unique_ptr<kv::PinnedRange> pinned;
    int64_t pinned_ticks = 0;
    Made then;  // may be null
  };
  enum class Hold : uint8_t { kUsed, kDeleted };

  Backups(table::Store& store, const Clock& clock, Random& random, BackupOptions options);
  Status ReadFolders();
  Result<BackupPtr> Begin(const table::TablePtr& table, std::string name, bool system, Made then);
  void Run();
  Status Write(Job* job, Manifest* manifest) const;
  bool stopped() const;
  // Puts a backup in the place of what has its id; takes one away.
  void Keep(BackupPtr backup) REQUIRES(mutex_);
  void Drop(const std::string& id) REQUIRES(mutex_);
  // Names of two groups of backups of a kind: those of an account, and those of a table.
  static std::string GroupOf(bool system, bool of_table, std::string_view name);
  static std::array<std::string, 2> GroupsOf(const Manifest& manifest);

  table::Store& store_;
  const Clock& clock_;
  Random& random_;
  const BackupOptions options_;
  kv::Pinner* const pinner_;
  Companion* companion_ = nullptr;
  mutable Mutex mutex_;
  std::condition_variable_any wake_;
  std::map<std::string, BackupPtr, std::less<>> backups_ GUARDED_BY(mutex_);  // by id
  std::set<std::pair<std::string, std::string>> groups_ GUARDED_BY(mutex_);   // group and id
  size_t manifest_bytes_ GUARDED_BY(mutex_) = 0;                              // of them, as text
  std::map<std::string, Hold, std::less<>> held_ GUARDED_BY(mutex_);          // by id
  std::deque<Job> jobs_ GUARDED_BY(mutex_);
  size_t creating_ GUARDED_BY(mutex_) = 0;
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace stator::transfer
