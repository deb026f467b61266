#include "fleet/leases.h"

#include <algorithm>

#include "base/fnv.h"

namespace stator::fleet {
namespace {

uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

uint64_t HashOf(std::string_view text) { return Mix(Fnv1a(text)); }

}  // namespace

std::string PreferredOwner(std::string_view name, const std::vector<std::string>& ids) {
  std::string best;
  uint64_t most = 0;
  for (const std::string& id : ids) {
    const uint64_t weight = Mix(HashOf(name) ^ HashOf(id));
    if (best.empty() || weight > most || (weight == most && id < best)) {
      best = id;
      most = weight;
    }
  }
  return best;
}

std::vector<Leases::LeaseChange> Leases::Observe(std::map<std::string, Entry, std::less<>> entries,
                                                 const Members& members) {
  entries_ = std::move(entries);
  const std::vector<std::string> alive = members.Alive();
  std::vector<LeaseChange> changes;
  for (const std::string& name : names_) {
    const auto found = entries_.find(name);
    const Entry now = found == entries_.end() ? Entry() : found->second;
    const std::string wanted = PreferredOwner(name, alive);
    if (wanted.empty() || wanted == now.lease.owner) continue;
    const bool mine = now.lease.owner == id_;
    const bool free = now.lease.owner.empty() || !members.IsAlive(now.lease.owner);
    // Only the owner gives a lease away, and only to a living process. Only the preferred owner
    // takes a free lease.
    if (!mine && !(free && wanted == id_)) continue;
    LeaseChange change{name, {wanted, now.lease.term + 1}, {}};
    const std::string key = KeyOf(kLeasePrefix, name);
    change.batch.guards.push_back({kFleetTablet, key, now.stamp});
    if (!mine && !now.lease.owner.empty()) {
      const auto dead = members.all().find(now.lease.owner);
      change.batch.guards.push_back({kFleetTablet, KeyOf(kProcessPrefix, now.lease.owner),
                                     dead == members.all().end() ? 0 : dead->second.stamp});
    }
    change.batch.puts.push_back({kFleetTablet, key, EncodeRecord(change.lease.Encode())});
    // The lease counts as given away from now on: the new owner may learn of it before this process
    // does.
    if (mine) entries_.erase(found);
    changes.push_back(std::move(change));
  }
  return changes;
}

void Leases::Settle(const LeaseChange& change, const Result<uint64_t>& outcome) {
  if (outcome.ok()) entries_[change.name] = {change.lease, *outcome};
}

kv::Batch Leases::Release() const {
  kv::Batch batch;
  for (const auto& [name, entry] : entries_) {
    if (entry.lease.owner != id_) continue;
    const std::string key = KeyOf(kLeasePrefix, name);
    batch.guards.push_back({kFleetTablet, key, entry.stamp});
    batch.deletes.push_back({kFleetTablet, key});
  }
  return batch;
}

bool Leases::Has(std::string_view name) const {
  const auto found = entries_.find(name);
  return found != entries_.end() && found->second.lease.owner == id_;
}

}  // namespace stator::fleet
