#include "fleet/fleet.h"

#include <fmt/format.h>

#include <condition_variable>

#include "base/log.h"
#include "base/mutex_wait.h"
#include "kv/features.h"

namespace stator::fleet {
namespace {

// Lease and process entries are adjacent, so that one scan reads both.
static_assert(kLeasePrefix < kProcessPrefix);
constexpr std::string_view kEnd = "process0";

struct Entries {
  std::vector<Members::Entry> processes;
  std::map<std::string, Leases::Entry, std::less<>> leases;
};

// Skips damaged entries: their owners will write them again.
Result<Entries> ReadEntries(kv::Engine& engine) {
  Entries entries;
  TRY(engine.Scan({kFleetTablet, kLeasePrefix, kEnd, false}, kv::Tier::kAny,
                  [&](std::string_view key, std::string_view value) {
                    const Result<std::string_view> text = DecodeRecord(value);
                    if (!text.ok()) return true;
                    const uint64_t stamp = kv::StampOf(value);
                    if (const std::string_view name = NameIn(kLeasePrefix, key); !name.empty()) {
                      if (Result<Lease> lease = Lease::Decode(*text); lease.ok())
                        entries.leases[std::string(name)] = {*std::move(lease), stamp};
                    } else if (const std::string_view id = NameIn(kProcessPrefix, key);
                               !id.empty()) {
                      if (Result<Beat> beat = Beat::Decode(*text); beat.ok())
                        entries.processes.push_back({std::string(id), *std::move(beat), stamp});
                    }
                    return true;
                  }));
  return entries;
}

// Applies all batches at once, which costs little more than one, and waits.
std::vector<Result<uint64_t>> ApplyAll(kv::Engine& engine, std::vector<kv::Batch> batches) {
  Mutex mutex;
  std::condition_variable_any wake;
  size_t left = batches.size();
  std::vector<Result<uint64_t>> outcomes(batches.size(), uint64_t{0});
  for (size_t i = 0; i < batches.size(); ++i) {
    engine.Apply(std::move(batches[i]), [&, i](Result<uint64_t> outcome) {
      const MutexLock lock(mutex);
      outcomes[i] = std::move(outcome);
      if (--left == 0) wake.notify_all();
    });
  }
  UniqueMutexLock lock(mutex);
  wake.wait(lock, [&left] { return left == 0; });
  return outcomes;
}

}  // namespace

std::string DrawId(Random& random) { return fmt::format("{:016x}", random.Next()); }

Result<Membership> ReadMembership(kv::Engine& engine) {
  ASSIGN_OR_RETURN(Entries entries, ReadEntries(engine));
  Members members;
  members.Observe(entries.processes, 0);
  return Membership{members.all(), std::move(entries.leases)};
}

Fleet::Fleet(kv::Engine& engine, const Clock& clock, Options options)
    : engine_(engine),
      clock_(clock),
      options_(std::move(options)),
      leases_(options_.id, options_.leases),
      made_ticks_(clock.TicksMicros()) {}

kv::Batch Fleet::NextBeat() {
  Beat beat = options_.beat;
  beat.sequence = ++sequence_;
  beat.at_micros = clock_.NowMicros();
  if (ages_ != nullptr) beat.age_micros = ages_->NowMicros();
  beat.draining = draining_;
  {
    const MutexLock lock(mutex_);
    beat.unreached = unreached_;
  }
  kv::Batch batch;
  batch.puts.push_back(
      {kFleetTablet, KeyOf(kProcessPrefix, options_.id), EncodeRecord(beat.Encode())});
  return batch;
}

Status Fleet::Read() {
  ASSIGN_OR_RETURN(Entries entries, ReadEntries(engine_));
  const MutexLock lock(mutex_);
  std::vector<std::string> before = members_.Alive();
  members_.Observe(entries.processes, clock_.TicksMicros());
  for (const std::string& id : before) {
    if (!members_.IsAlive(id))
      LogInfo("process_gone", {{"process", id}, {"left", !members_.all().contains(id)}});
  }
  changes_ = leases_.Observe(std::move(entries.leases), members_);
  forgotten_.clear();
  for (const auto& [id, member] : members_.all()) {
    if (member.silent_micros < kForgetMicros) continue;
    const std::string key = KeyOf(kProcessPrefix, id);
    kv::Batch batch;
    batch.guards.push_back({kFleetTablet, key, member.stamp});
    batch.deletes.push_back({kFleetTablet, key});
    forgotten_.push_back(std::move(batch));
  }
  return OkStatus();
}

Status Fleet::Step() {
  const MutexLock stepping(stepping_);
  if (left_) return OkStatus();
  const int64_t began = clock_.TicksMicros();
  Result<uint64_t> beaten = kv::ApplyAndWait(engine_, NextBeat());
  if (!beaten.ok()) return std::move(beaten).error();
  // Read only after the beat: any process that took a lease from this one while it was silent did
  // so before, or fails now.
  TRY(Read());
  {
    const MutexLock lock(mutex_);
    confirmed_ticks_ = began;
  }
  std::vector<kv::Batch> batches;
  for (Leases::LeaseChange& change : changes_) batches.push_back(std::move(change.batch));
  // If one of these fails, a later step tries again.
  for (kv::Batch& batch : forgotten_) batches.push_back(std::move(batch));
  if (batches.empty()) return OkStatus();
  const std::vector<Result<uint64_t>> outcomes = ApplyAll(engine_, std::move(batches));
  const MutexLock lock(mutex_);
  for (size_t i = 0; i < changes_.size(); ++i) leases_.Settle(changes_[i], outcomes[i]);
  return OkStatus();
}

Status Fleet::Leave() {
  const MutexLock stepping(stepping_);
  if (left_) return OkStatus();
  left_ = true;
  kv::Batch batch;
  {
    const MutexLock lock(mutex_);
    confirmed_ticks_.reset();
    batch = leases_.Release();
  }
  const std::string key = KeyOf(kProcessPrefix, options_.id);
  const std::string drain = KeyOf(kSettingPrefix, DrainSetting(options_.id));
  batch.deletes.push_back({kFleetTablet, key});
  batch.deletes.push_back({kFleetTablet, drain});
  Result<uint64_t> gone = kv::ApplyAndWait(engine_, std::move(batch));
  if (!gone.ok() && gone.error().code() == ErrorCode::kGuardFailed) {
    // Other processes have taken leases meanwhile. It is enough to remove this process's entry:
    // that frees its remaining leases.
    kv::Batch entry;
    entry.deletes.push_back({kFleetTablet, key});
    entry.deletes.push_back({kFleetTablet, drain});
    gone = kv::ApplyAndWait(engine_, std::move(entry));
  }
  return gone.ok() ? OkStatus() : Status(std::move(gone).error());
}

void Fleet::SetUnreached(std::string ids) {
  const MutexLock lock(mutex_);
  unreached_ = std::move(ids);
}

bool Fleet::Holds(std::string_view lease) const {
  const MutexLock lock(mutex_);
  return confirmed_ticks_ && clock_.TicksMicros() - *confirmed_ticks_ < kBeliefMicros &&
         leases_.Has(lease);
}

Membership Fleet::membership() const {
  const MutexLock lock(mutex_);
  return {members_.all(), leases_.all()};
}

Status Fleet::CheckFeature(std::string_view name) const {
  ASSIGN_OR_RETURN(const Entries entries, ReadEntries(engine_));
  const MutexLock lock(mutex_);
  for (const auto& [id, beat, stamp] : entries.processes) {
    const auto known = members_.all().find(id);
    const bool dead = known != members_.all().end() && !known->second.alive &&
                      known->second.beat.sequence == beat.sequence;
    if (dead || id == options_.id) continue;
    const Result<kv::Features> features = kv::SplitFeatures(beat.features);
    if (features.ok() && features->count(name) > 0) continue;
    return Error(ErrorCode::kUnavailable,
                 fmt::format("The process at {} (version {}) serves this store and does not know "
                             "the feature {}. Upgrade it first.",
                             beat.endpoint, beat.version, name));
  }
  return OkStatus();
}

int64_t Fleet::MicrosSinceContact() const {
  const MutexLock lock(mutex_);
  return clock_.TicksMicros() - confirmed_ticks_.value_or(made_ticks_);
}

}  // namespace stator::fleet
