// Where a part is divided, and which of its cells that moves. Pure. Internal to the room.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kv/engine.h"
#include "kv_rados/layout.h"

namespace stator::kv_rados {

// What a part has, one key after the other in any order.
class PartSurvey {
 public:
  explicit PartSurvey(kv::Space space) : space_(space) {}
  // The bytes that it takes up, and the stamp of its value.
  void Note(std::string_view key, size_t bytes, uint64_t stamp);
  const Amount& amount() const { return amount_; }
  // Where the part is divided; none if all keys have to stay together. That is the route at which
  // it falls into halves of about the same size. But a part that has grown beyond a limit, and
  // whose newest keys are its last ones, as those of a queue are, will get its next ones there too:
  // it keeps as much as lets it stay below the limit, so little is copied, and a queue leaves few
  // parts behind. It is the beginning of the route of some key behind it, and no key before it is
  // beyond it: whatever key of the same shape comes to be later with a higher stamp in it belongs
  // behind it.
  std::optional<std::string> Boundary(const std::optional<Amount>& limit);

 private:
  struct Entry {
    std::string route;
    size_t bytes = 0;
    uint64_t stamp = 0;
  };
  // A place to cut: the bytes of the entries before `route` are `share` of all bytes. CutAt returns
  // the cut whose share is nearest to the wanted one. The entries must be sorted.
  struct Cut {
    std::string route;
    double share = 0;
  };
  std::optional<Cut> CutAt(double share) const;
  double ShareToKeep(const Amount& limit) const;
  // Returns true if nearly all of the newest eighth of the entries are in the last eighth of the
  // keys: writers append.
  bool IsAppendedTo() const;

  const kv::Space space_;
  std::vector<Entry> entries_;
  uint64_t entry_bytes_ = 0;
  bool keep_hashes_whole_ = false;
  Amount amount_;
};

// Whether a key goes to the new part. Counters stay.
bool Moves(kv::Space space, std::string_view boundary, std::string_view key);
// For a key that does not: the cell "k" behind which the next one that does may be. "" if they lie
// scattered.
std::string NextThatMoves(kv::Space space, std::string_view boundary, std::string_view key);

}  // namespace stator::kv_rados
