// Which of the processes that have an entry live: those whose beat changes. Pure: it is told what
// was read and when.
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
  uint64_t stamp = 0;  // of its entry
  bool alive = true;
  int64_t silent_micros = 0;  // for how long its beat has been watched and did not change
};

// One thread at a time.
class Members {
 public:
  // A process is dead when its beat has stood still for so long by the observer's clock. No clocks
  // are compared.
  static constexpr int64_t kSilenceMicros = 5'000'000;
  // Of the time between two reads so much counts at most: after a time in which the store did not
  // answer, or in which this process itself was frozen, others get their chance to beat before they
  // are taken for dead.
  static constexpr int64_t kMostPerRead = 2'000'000;

  // What one read found: all entries. `now_micros` never goes back.
  struct Entry {
    std::string id;
    Beat beat;
    uint64_t stamp = 0;
  };
  void Observe(const std::vector<Entry>& entries, int64_t now_micros);

  // By id.
  const std::map<std::string, Member>& all() const { return members_; }
  // False for those without an entry.
  bool IsAlive(const std::string& id) const;
  std::vector<std::string> Alive() const;

 private:
  std::map<std::string, Member> members_;
  int64_t observed_micros_ = 0;
};

}  // namespace stator::fleet
