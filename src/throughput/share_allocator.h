// Divides capacity among processes (shares.h). Pure; not thread-safe.
//
// A limit that somebody uses for more than half of an even share is divided by demand: while all of
// the demand fits, everybody gets what they ask for, some headroom, and an even part of the rest;
// beyond that, parts in proportion to demand, and a small floor for who asks for nothing. All other
// limits are divided evenly, so that a table that is new, or wakes up, works at once everywhere.
//
// Unused capacity (burst) is kept by the processes, each in buckets of its part. What finds no room
// when a part shrinks goes to a pool, and from there to whoever the part is given to.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "throughput/shares.h"

namespace stator::throughput {

class ShareAllocator {
 public:
  // The allocator's own process is `self`.
  ShareAllocator(const ShareSettings& settings, std::string self)
      : settings_(settings), self_(std::move(self)) {}

  struct State {
    SharePlan plan;
    std::map<std::string, GrantRecord> grants;  // by process
  };
  struct Outcome {
    State next;  // to be written, all or nothing, and only if nobody has written since it was read
    std::vector<std::string> gone;  // processes whose report and record are to be deleted with it
    // The use of other processes that Step has not returned before. The caller adds it to its model
    // (AddForeign).
    std::vector<std::pair<uint32_t, ResourceUse>> used;
    size_t live = 0;  // processes that are there
  };
  // Returns the limits of the resource with this tablet; nullopt if this process does not know the
  // tablet.
  using LimitsOf = std::function<std::optional<SharedLimits>(uint32_t tablet)>;

  // A round: about once a second. `ticks` are of a clock of this process that never goes back or
  // stands still, taken after `reports` and `state` were read.
  Outcome Step(int64_t ticks, const std::map<std::string, Report>& reports, State state,
               const LimitsOf& limits);

 private:
  // Units per second that a process asks for, whatever becomes of it, averaged.
  struct Demand {
    Units whole{};
    std::vector<std::pair<KeyRange, Units>> ranges;
  };
  struct Member {
    uint64_t session = 0;
    uint64_t ask = 0;
    int64_t seen_at = 0;                // when that ask was seen first
    std::map<uint32_t, Demand> demand;  // by tablet
  };
  class Round;

  void Receive(int64_t ticks, const std::string& name, const Report& report, Outcome* outcome);
  void Average(Member* member, const Report& report, size_t fresh) const;
  // Whether the grant of a process has surely ended.
  bool Ended(int64_t ticks, const std::string& name, const GrantRecord& record) const;

  const ShareSettings settings_;
  const std::string self_;
  std::map<std::string, Member> members_;
};

}  // namespace stator::throughput
