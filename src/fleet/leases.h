// Assigns background work to processes. A lease lasts as long as its owner's beat changes, so
// keeping it costs nothing. Rendezvous hashing spreads the leases over the living processes, so
// that few of them move when a process comes or goes. Pure: it is told what was read and returns
// what to write.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/members.h"
#include "kv/engine.h"

namespace stator::fleet {

// Returns the member of `ids` that should hold the lease `name`: the same in every process. Empty
// if `ids` is empty.
std::string PreferredOwner(std::string_view name, const std::vector<std::string>& ids);

// Not thread-safe.
class Leases {
 public:
  struct Entry {
    Lease lease;
    uint64_t stamp = 0;
  };

  // `id` is this process. `names` are all leases of the store.
  Leases(std::string id, std::vector<std::string> names)
      : id_(std::move(id)), names_(std::move(names)) {}

  // A change of owner that this process wants. The batch is refused if another process changed the
  // lease first, or if the dead owner beats again.
  struct LeaseChange {
    std::string name;
    Lease lease;  // the lease as it should be
    kv::Batch batch;
  };
  // Takes the result of a read, `entries` by lease name and `members` of the same read, and returns
  // the wanted changes. A lease that this process gives away no longer counts as its own.
  std::vector<LeaseChange> Observe(std::map<std::string, Entry, std::less<>> entries,
                                   const Members& members);
  // Records the outcome of a change: the stamp of its batch, or an error. After an error the batch
  // may still have been applied; the next read tells.
  void Settle(const LeaseChange& change, const Result<uint64_t>& outcome);
  // Returns the batch that gives back all leases of this process.
  kv::Batch Release() const;

  // Returns whether this process held the lease when it was last read or taken. A caller that acts
  // on it must also know that its own beat is fresh.
  bool Has(std::string_view name) const;
  const std::map<std::string, Entry, std::less<>>& all() const { return entries_; }

 private:
  const std::string id_;
  const std::vector<std::string> names_;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace stator::fleet
