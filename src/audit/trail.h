// The audit log of a server. Requests hand over records and go on; a thread of the trail's own
// writes them.
//
// A change of definitions, identities or settings must not happen without a record. So it takes a
// slot before it begins (refused while records cannot be written), and is answered when its record
// is on the disk. Other records (reads, items) wait in a queue of bounded size. Records for which
// the queue or the disk has no room are dropped and counted by name, and the log reports the
// counts.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "audit/log_file.h"
#include "audit/record.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/random.h"
#include "base/result.h"
#include "base/unique_function.h"

namespace stator::audit {

// Thread-safe.
class Trail {
 public:
  // The maximum number of changes under way at one time. Their records fit into the space that the
  // file reserves.
  static constexpr int kMostChanges = 128;
  static_assert(kMostChanges * kMaxLineBytes <= LogFile::kReserveBytes);
  // The maximum number of records per second of requests whose signature did not verify: a flood of
  // them must not push the other records out of the files.
  static constexpr int kMostUnverified = 100;

  struct Options {
    std::string path;
    bool data_plane = false;  // operations on items too
    int64_t most_bytes = 100 << 20;
    int most_files = 10;
    Origin origin;
    size_t most_queued_bytes = 16u << 20;
  };
  struct View {
    int64_t written = 0;
    int64_t dropped = 0;
    bool failing = false;  // the file takes nothing, or no more than it keeps space for
  };

  // The right to one change. Given back when it is destroyed. Not thread-safe.
  class Slot {
   public:
    Slot(Slot&& other) noexcept : trail_(std::exchange(other.trail_, nullptr)) {}
    Slot& operator=(Slot&&) = delete;
    ~Slot() {
      if (trail_ != nullptr) trail_->GiveBack();
    }

   private:
    friend class Trail;
    explicit Slot(Trail* trail) : trail_(trail) {}
    Trail* trail_;
  };

  // Opens the file; errors are LogFile::Open's. `clock`, the machine's, must outlive the trail.
  static Result<std::unique_ptr<Trail>> Open(Options options, const Clock& clock);
  ~Trail();

  bool data_plane() const { return options_.data_plane; }
  const Clock& clock() const { return clock_; }

  // Returns a slot for one change. kUnavailable, with a sentence, if its record could not be
  // written. Does not block.
  Result<Slot> Reserve();
  // Queues the record of a change. Calls `written` once, on the trail's thread: when the record is
  // on the disk, or when the first attempt to write it failed; the trail then tries again until it
  // is stopped. A stopped trail drops the record and does not call `written`.
  void WriteChange(Slot slot, Record record, UniqueFunction<void()> written);
  // Queues the record of a change and waits until WriteChange would call `written`, or the trail is
  // stopped.
  void WriteChangeAndWait(Slot slot, Record record);
  // Queues another kind of record. If the queue is full, it drops and counts the record. Does not
  // block.
  void Write(Record record);
  // Makes the thread open the file again: a tool may have renamed it (log rotation).
  void Reopen();
  // Writes what is queued and ends the thread. Idempotent.
  void Stop();

  View view() const;

 private:
  struct Entry {
    Record record;
    bool change = false;
    UniqueFunction<void()> written;
  };
  // Lines that are written together, and the names of their records.
  struct Lines {
    std::string text;
    std::vector<std::string> names;
  };

  Trail(Options options, std::unique_ptr<LogFile> file, const Clock& clock);
  void GiveBack() { changes_.fetch_sub(1, std::memory_order_relaxed); }
  void Drop(const std::string& name, std::string_view reason) REQUIRES(mutex_);
  // Whether there may be one more record of a request that did not verify.
  bool MayWriteUnverified() REQUIRES(mutex_);

  void Run();
  // On the trail's thread, like all below.
  void WriteBatch(std::deque<Entry> batch);
  void WriteGaps();
  void WriteLate();
  // Looks, while nothing is to be written, whether the file takes lines again: changes are refused
  // until it does.
  void TryAgain();
  Status MakeRoom(size_t bytes);
  bool AppendChange(const std::string& line);
  // Appends lines that must leave what the file keeps. False if there is no room for them.
  bool AppendOthers(std::string_view lines);
  // Writes or drops what is in `lines`, and empties it.
  void WriteOthers(Lines* lines);
  void SetState(const Status& status, bool broken);
  std::string NewEventId();

  const Options options_;
  const std::unique_ptr<LogFile> file_;
  const Clock& clock_;
  SeededRandom ids_;

  std::atomic<int> changes_{0};
  std::atomic<int64_t> room_;  // file_->room() as of the last line
  std::atomic<int64_t> written_{0};
  std::atomic<int64_t> dropped_{0};
  std::atomic<bool> failing_{false};
  std::atomic<bool> broken_{false};  // the last line could not be written at all

  std::vector<std::string> late_;  // lines of changes that could not be written yet
  Status state_ = OkStatus();

  Mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<Entry> queue_ GUARDED_BY(mutex_);
  size_t queued_bytes_ GUARDED_BY(mutex_) = 0;
  bool hurry_ GUARDED_BY(mutex_) = false;
  bool reopen_ GUARDED_BY(mutex_) = false;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::map<std::string, Dropped, std::less<>> gaps_ GUARDED_BY(mutex_);  // by reason
  int64_t unverified_second_ GUARDED_BY(mutex_) = 0;
  int unverified_ GUARDED_BY(mutex_) = 0;
  std::string failure_ GUARDED_BY(mutex_);

  std::thread thread_;
};

}  // namespace stator::audit
