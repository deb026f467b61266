// Judges which processes are alive: those whose beat changes. Pure: it is told what was read and
// when.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "fleet/records.h"

namespace stator::fleet {

struct Member {
  std::string id;
  Beat beat;
  uint64_t stamp = 0;  // the stamp of its entry
  bool alive = true;
  int64_t silent_micros = 0;  // how long its beat has been watched without a change
};

// Not thread-safe.
class Members {
 public:
  // A process is dead when its beat has not changed for this long by the observer's clock. Clocks
  // of different machines are never compared.
  static constexpr int64_t kSilenceMicros = 5'000'000;
  // The most time between two reads that counts as silence. After the store hung, or this process
  // was frozen, the others get a chance to beat before they count as dead.
  static constexpr int64_t kMostPerRead = 2'000'000;

  // One process's entry, as read from the store.
  struct Entry {
    std::string id;
    Beat beat;
    uint64_t stamp = 0;
  };
  // Takes the result of one read: all entries. `now_micros` must never go back.
  void Observe(const std::vector<Entry>& entries, int64_t now_micros);

  // All members, by id.
  const std::map<std::string, Member>& all() const { return members_; }
  // Returns false for a process without an entry.
  bool IsAlive(const std::string& id) const;
  std::vector<std::string> Alive() const;

 private:
  std::map<std::string, Member> members_;
  int64_t observed_micros_ = 0;
};

}  // namespace stator::fleet
