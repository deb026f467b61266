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
  void Note(std::string_view key, size_t bytes);
  const Amount& amount() const { return amount_; }
  // The route at which the part falls into halves of about the same size; none if all keys have to stay together. It is the beginning of
  // the route of some key in the second half, and no key of the first half is beyond it: whatever key of the same shape
  // comes to be later with a higher stamp in it belongs to the second half.
  std::optional<std::string> Middle();

 private:
  struct Entry {
    std::string route;
    size_t bytes = 0;
  };
  const kv::Space space_;
  std::vector<Entry> entries_;
  bool keep_hashes_whole_ = false;
  Amount amount_;
};

// Whether a key goes to the new part. Counters stay.
bool Moves(kv::Space space, std::string_view boundary, std::string_view key);
// For a key that does not: the cell "k" behind which the next one that does may be. "" if they lie scattered.
std::string NextThatMoves(kv::Space space, std::string_view boundary, std::string_view key);

}  // namespace stator::kv_rados
