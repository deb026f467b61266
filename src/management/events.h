// The events of this server, for GET /_stator/events?since=SEQ&table=NAME&limit=N.
//
// Tables come and go, partitions split, requests are throttled, people turn the fault dial: the
// newest of these are kept in memory, bounded by number and bytes. A storm of throttling does not
// push out what else happened: each of the two has bounds of its own. They end with the process,
// and are of this process where several serve a store. Nothing of it is on the request path:
// throttling is told together with the log's lines, when the second that explains it has ended.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "ops/context.h"
#include "table/store.h"

namespace stator::management {

struct Event {
  // Present in events of throttling.
  struct Throttled {
    std::string reason;
    int64_t requests = 0;  // since the event before it
    // The time that this limit refuses without a longer pause, this event included: its begin and
    // its requests.
    int64_t since_micros = 0;
    int64_t all_requests = 0;
    uint64_t partition = 0;
    double limit = 0;
    double demand = 0;  // of the busiest second since the event before it
    std::string key;    // the hottest then; empty: none is known
    std::vector<std::string> advice;
    bool passed = false;  // they were counted and let pass
  };
  int64_t seq = 0;
  int64_t at_micros = 0;
  std::string_view kind;  // a literal
  std::string table;      // empty: of none
  std::string index;      // empty: of the table
  std::string text;
  std::optional<uint64_t> hash;  // of a split: where the right half begins
  std::optional<Throttled> throttled;
  bool continued = false;  // a later event tells of the same throttling, and of all its requests
};

// Thread-safe.
class Events {
 public:
  // Each bounds the events of throttling and, apart from them, all others.
  static constexpr size_t kMostEvents = 5000;
  static constexpr size_t kMostBytes = 2 << 20;
  static constexpr int64_t kMostReturned = 1000;
  // Throttling by one limit that pauses no longer than that is one.
  static constexpr int64_t kPauseMicros = 60'000'000;

  // The environment outlives this object.
  explicit Events(ops::Environment& environment) : environment_(environment) {}
  // Begins to watch `admission`, so that throttling and splits become events. Call it before the
  // first Admission::Advance. Admission::Advance must not be called after the end of this object.
  void Listen();

  // Makes events of the catalog's changes since the last call. The first call makes none. Called
  // about once a second.
  void Look();
  // `kind` is a literal.
  void Note(std::string_view kind, std::string text);

  // Returns the number of the newest event; 0: there was none. Numbers rise across restarts.
  int64_t seq() const;
  // Returns the newest events with numbers above `since`, at most `limit`, oldest first, as JSON.
  // `table`: only that table's. `brief`: of the events of one continued throttling, only the last
  // one.
  std::string Since(int64_t since, const std::optional<std::string>& table, int64_t limit,
                    bool brief = false) const;

 private:
  // The state of telling about one table or index.
  struct Told {
    size_t partitions = 0;    // 0: what the meter knows of splits is to be told
    uint64_t last_split = 0;  // the id of a left half; ids rise
    // The last event of each limit, by the time it was last told of.
    std::array<std::array<int64_t, throughput::kLimits>, throughput::kAccesses> refusals{};
    // When that was.
    std::array<std::array<int64_t, throughput::kLimits>, throughput::kAccesses> told_micros{};
    // The throttling that goes on, by limit.
    struct Going {
      int64_t seq = 0;  // of its last event; 0: nothing
      int64_t since_micros = 0;
      int64_t last_micros = 0;
      int64_t requests = 0;
      bool passed = false;
      // The busiest second since the last event: what it asked for, and of a partition's limit its
      // account.
      double demand = 0;
      std::optional<throughput::Explanation> why;
    };
    std::array<std::array<Going, throughput::kLimits>, throughput::kAccesses> going{};
  };
  // The events of throttling, and all others; oldest first.
  struct Kept {
    std::deque<Event> events;
    size_t bytes = 0;
  };
  void OnUsage(const ops::Admission::Usage& usage);
  void OnRefusals(const ops::Admission::Refusals& refused);
  void NoteSplits(const ops::Admission::Resource& resource, Told* told) REQUIRES(mutex_);
  void NoteChanges(const table::TableDescriptor& before, const table::TableDescriptor& now)
      REQUIRES(mutex_);
  // `at_micros` 0: now.
  void NoteTable(std::string_view kind, const std::string& name, std::string text,
                 int64_t at_micros = 0) REQUIRES(mutex_);
  Told& ToldOf(const ops::Admission::Resource& resource) REQUIRES(mutex_);
  void Add(Event event) REQUIRES(mutex_);
  // Marks the event with this number as continued by a later one.
  void Continue(int64_t seq) REQUIRES(mutex_);
  void NoteDemand(const ops::Admission::Usage& usage, Told* told) REQUIRES(mutex_);

  ops::Environment& environment_;
  mutable Mutex mutex_;
  Kept throttled_ GUARDED_BY(mutex_);
  Kept others_ GUARDED_BY(mutex_);
  int64_t seq_ GUARDED_BY(mutex_) = 0;
  std::map<uint32_t, Told> told_ GUARDED_BY(mutex_);       // by tablet
  std::vector<table::TablePtr> known_ GUARDED_BY(mutex_);  // by name, as of the last Look
  bool looked_ GUARDED_BY(mutex_) = false;
};

}  // namespace stator::management
