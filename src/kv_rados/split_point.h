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
  // Where the part is divided when it has grown beyond `limit`; none if all keys have to stay together. That is the middle. But a part
  // whose newest keys are its last ones, as those of a queue are, will get its next ones there too: it keeps as much as lets it
  // stay below the limit, so little is copied, and a queue leaves few parts behind.
  std::optional<std::string> Boundary(const Amount& limit);
  // The route at which the part falls into halves of about the same size; none if all keys have to stay together. It is the beginning of
  // the route of some key in the second half, and no key of the first half is beyond it: whatever key of the same shape
  // comes to be later with a higher stamp in it belongs to the second half.
  std::optional<std::string> Middle();

 private:
  struct Entry {
    std::string route;
    size_t bytes = 0;
    uint64_t stamp = 0;
  };
  // Where what is before it comes nearest to so many bytes of the entries, and how many those are.
  struct Cut {
    std::string route;
    uint64_t before = 0;
  };
  std::optional<Cut> CutAt(uint64_t bytes) const;
  void Sort();
  // Whether nearly all of the newest eighth of the entries are among the last eighth.
  bool IsAppendedTo() const;

  const kv::Space space_;
  std::vector<Entry> entries_;
  uint64_t entry_bytes_ = 0;
  bool keep_hashes_whole_ = false;
  Amount amount_;
};

// Whether a key goes to the new part. Counters stay.
bool Moves(kv::Space space, std::string_view boundary, std::string_view key);
// For a key that does not: the cell "k" behind which the next one that does may be. "" if they lie scattered.
std::string NextThatMoves(kv::Space space, std::string_view boundary, std::string_view key);

}  // namespace stator::kv_rados
