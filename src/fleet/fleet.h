// This process among the processes of its store: writes its beat, watches the beats of the others,
// and holds its share of the leases.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/age_clock.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/random.h"
#include "base/result.h"
#include "fleet/leases.h"
#include "fleet/members.h"
#include "kv/engine.h"

namespace stator::fleet {

// Returns a new process id: 16 hexadecimal digits.
std::string DrawId(Random& random);

// The processes of a store and their leases.
struct Membership {
  std::map<std::string, Member> members;                     // by id
  std::map<std::string, Leases::Entry, std::less<>> leases;  // by name
};
// Reads the members and leases from the store. All members count as alive, because none has been
// watched yet. Blocks.
Result<Membership> ReadMembership(kv::Engine& engine);

// Keeps one process's beat and leases up to date. Thread-safe.
class Fleet {
 public:
  // How long this process trusts its own view after its last confirmed beat. Shorter than
  // Members::kSilenceMicros, after which other processes take over.
  static constexpr int64_t kBeliefMicros = 3'000'000;
  // After this silence the entry of a dead process is deleted.
  static constexpr int64_t kForgetMicros = 600'000'000;

  struct Options {
    std::string id;                   // DrawId
    Beat beat;                        // all fields but those that Fleet knows
    std::vector<std::string> leases;  // all leases of the store; the same list in every process
  };
  // `clock` is the machine's clock, for measuring (TicksMicros) and for dates. Engine and clock
  // must outlive this object.
  Fleet(kv::Engine& engine, const Clock& clock, Options options);

  // Sets where beats take their age_micros from. Before the first step.
  void TellAges(const AgeClock& ages) { ages_ = &ages; }
  // Sets what later beats say of it.
  void SetDraining(bool draining) { draining_ = draining; }
  void SetUnreached(std::string ids);
  // Writes a beat, reads the others, takes and hands over leases. Call it about once a second.
  // Blocks on the engine. Returns an error if the beat could not be written or the others could not
  // be read.
  Status Step();
  // Gives all leases back and deletes this process's entry and what was set for it alone. Later
  // steps do nothing. Blocks on the engine.
  Status Leave();

  // Returns whether this process holds the lease now. False if its last confirmed beat is too old.
  bool Holds(std::string_view lease) const;
  const std::string& id() const { return options_.id; }
  // Returns the members and leases as of the last step that read them.
  Membership membership() const;
  // Returns OK if every living process of the store knows the feature (kv/features.h), else
  // kUnavailable with a sentence that names one that does not. Blocks on the engine.
  Status CheckFeature(std::string_view name) const;
  // Returns the time since the last successful step began, or since construction if none has
  // succeeded.
  int64_t MicrosSinceContact() const;

 private:
  kv::Batch NextBeat() REQUIRES(stepping_);
  Status Read() REQUIRES(stepping_);

  kv::Engine& engine_;
  const Clock& clock_;
  const Options options_;
  const AgeClock* ages_ = nullptr;
  std::atomic<bool> draining_ = false;
  Mutex stepping_;  // held through Step and Leave
  mutable Mutex mutex_;
  uint64_t sequence_ GUARDED_BY(stepping_) = 0;
  bool left_ GUARDED_BY(stepping_) = false;
  std::string unreached_ GUARDED_BY(mutex_);
  Members members_ GUARDED_BY(mutex_);
  Leases leases_ GUARDED_BY(mutex_);
  std::vector<Leases::LeaseChange> changes_ GUARDED_BY(stepping_);
  std::vector<kv::Batch> forgotten_ GUARDED_BY(stepping_);
  // When the last step began whose beat was written and that has read the leases since.
  std::optional<int64_t> confirmed_ticks_ GUARDED_BY(mutex_);
  const int64_t made_ticks_;
};

}  // namespace stator::fleet
