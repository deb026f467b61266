// Which process does which background work. A lease lasts as long as its owner's beat goes on, so
// that keeping it costs nothing; work is spread over the living by rendezvous hashing, so that
// little of it moves when one comes or goes. Pure: it is told what was read and says what to write.
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

// Who of `ids` is to do what is called `name`: the same answer everywhere. Empty if there are none.
std::string PreferredOwner(std::string_view name, const std::vector<std::string>& ids);

// One thread at a time.
class Leases {
 public:
  struct Entry {
    Lease lease;
    uint64_t stamp = 0;
  };

  // `id` is this process. `names` are all the leases that there are to be.
  Leases(std::string id, std::vector<std::string> names)
      : id_(std::move(id)), names_(std::move(names)) {}

  // One change that this process wants: a batch that is refused if anybody was faster, or if the
  // owner whom it takes the lease from beats again.
  struct Wish {
    std::string name;
    Lease lease;  // what it is to be
    kv::Batch batch;
  };
  // After a read: `entries` by name, `members` as of the same read. What is to be given away is not
  // this process's any more.
  std::vector<Wish> Observe(std::map<std::string, Entry, std::less<>> entries,
                            const Members& members);
  // What became of a wish: the stamp of its batch, or that it failed (perhaps it was done all the
  // same; the next read will tell).
  void Settle(const Wish& wish, const Result<uint64_t>& outcome);
  // What gives back all that this process has, for its end.
  kv::Batch Release() const;

  // Whether the lease was this process's when it was last read or taken. Who acts on it must also
  // know that its own beat is fresh.
  bool Has(std::string_view name) const;
  const std::map<std::string, Entry, std::less<>>& all() const { return entries_; }

 private:
  const std::string id_;
  const std::vector<std::string> names_;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace stator::fleet
