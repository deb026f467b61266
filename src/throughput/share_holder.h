// A process's side of the division of capacity (shares.h). Pure; not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "throughput/shares.h"

namespace stator::throughput {

// Each tick: read the own GrantRecord, pass it to Receive, do what that says, Ask, write the
// Report.
class ShareHolder {
 public:
  struct News {
    // There is a new grant: put it in force now, then call PutInForce. False: the record has the
    // grant that is in force, or none.
    bool granted = false;
    // The grant has expired: this process may use no capacity, and its unused capacity is lost.
    // Never set together with `granted`.
    bool ended = false;
  };
  // `record` as read since `ticks`; null: there is none. Ticks are microseconds of a clock that
  // never goes back or stands still, of this process only.
  News Receive(const GrantRecord* record, int64_t ticks);
  // What was `granted` is in force; `surrendered` is unused capacity that found no room in it.
  void PutInForce(const GrantRecord& record, std::map<uint32_t, Units> surrendered);
  // Until when, in ticks, the process may use what is in force.
  int64_t valid_until() const { return valid_until_; }
  uint64_t generation() const { return generation_; }

  // Returns the report to write, of the tick from the last call until `ticks`. The grant that
  // answers it is valid from `ticks` on, so read the clock before the report is written.
  Report Ask(int64_t ticks, Use use);

 private:
  static constexpr size_t kMostAsks = 64;

  uint64_t session_ = 1;
  uint64_t ask_ = 0;
  std::map<uint64_t, int64_t> asked_;  // ticks by ask, of this session
  uint64_t generation_ = 0;
  int64_t valid_until_ = INT64_MIN;
  bool had_grant_ = false;  // in this session
  std::map<uint32_t, Units> surrendered_;
  std::vector<Report::Tick> ticks_;
  int64_t last_tick_ = INT64_MIN;
};

// Decides which process is the allocator: the one that the plan names, as long as new plans of it
// appear. It does no harm if two processes believe to be the allocator: each writes its plan only
// if the stored plan is the one that it has read.
class ShareElection {
 public:
  explicit ShareElection(const ShareSettings& settings) : settings_(settings) {}
  // `version` of the plan: any number that changes when it is written; null: there is none.
  bool Leads(const std::string& self, const SharePlan* plan, uint64_t version, int64_t ticks);

 private:
  const ShareSettings settings_;
  uint64_t version_ = 0;
  int64_t since_ = INT64_MIN;
};

}  // namespace stator::throughput
