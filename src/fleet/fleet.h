// This process among those of its store: it shows that it lives, sees who else does, and holds its
// part of the leases.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/random.h"
#include "base/result.h"
#include "fleet/leases.h"
#include "fleet/members.h"
#include "kv/engine.h"

namespace stator::fleet {

// 16 hexadecimal digits.
std::string DrawId(Random& random);

// What the store says of its processes and their leases.
struct Roll {
  std::map<std::string, Member> members;                     // by id
  std::map<std::string, Leases::Entry, std::less<>> leases;  // by name
};
// Reads it. Nobody has been watched yet, so all members seem to live.
Result<Roll> ReadRoll(kv::Engine& engine);

// Thread-safe.
class Fleet {
 public:
  // What a process has written down is believed for so long without a fresh beat: less than others
  // wait before they take over.
  static constexpr int64_t kBeliefMicros = 3'000'000;
  // The entry of a dead process is taken away.
  static constexpr int64_t kForgetMicros = 600'000'000;

  struct Options {
    std::string id;                   // DrawId
    Beat beat;                        // all but sequence and at_micros
    std::vector<std::string> leases;  // all that there are to be; the same in every process
  };
  // `clock`, the machine's, measures (TicksMicros) and dates. Engine and clock outlive this object.
  Fleet(kv::Engine& engine, const Clock& clock, Options options);

  // Beats, looks at the others, takes and hands over leases. To be called about every second. Waits
  // for the engine. An error if the beat could not be written or the others not be read.
  Status Step();
  // Gives all leases back and takes the entry away, as the last thing. Waits for the engine. Later
  // steps do nothing.
  Status Leave();

  // Whether this process is to do the work of that name now.
  bool Holds(std::string_view lease) const;
  const std::string& id() const { return options_.id; }
  // As of the last step that read it.
  Roll roll() const;
  // Since the beginning of the last step that succeeded; of the first one, since this object was
  // made.
  int64_t MicrosSinceContact() const;

 private:
  kv::Batch NextBeat() REQUIRES(stepping_);
  Status Read() REQUIRES(stepping_);

  kv::Engine& engine_;
  const Clock& clock_;
  const Options options_;
  Mutex stepping_;  // held through Step and Leave
  mutable Mutex mutex_;
  uint64_t sequence_ GUARDED_BY(stepping_) = 0;
  bool left_ GUARDED_BY(stepping_) = false;
  Members members_ GUARDED_BY(mutex_);
  Leases leases_ GUARDED_BY(mutex_);
  std::vector<Leases::Wish> wishes_ GUARDED_BY(stepping_);
  std::vector<kv::Batch> forgotten_ GUARDED_BY(stepping_);
  // The beginning of the last step whose beat others can see and that has read the leases since.
  std::optional<int64_t> confirmed_ticks_ GUARDED_BY(mutex_);
  const int64_t made_ticks_;
};

}  // namespace stator::fleet
