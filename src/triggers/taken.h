// Keeps which changes of a lane a Kinesis stream or Kafka topic has taken. It may have taken later
// ones and refused earlier ones.
#pragma once

#include <cstddef>
#include <set>
#include <vector>

#include "stream/position.h"
#include "triggers/function.h"

namespace stator::triggers {

// The changes of a lane that a target has taken. Each change has the key of its item. A refused
// change is sent again, together with all later changes of the same item, also those that were
// taken: so the last record of an item is always that of its last change. Pure.
class TakenChanges {
 public:
  // Forgets the changes before the batch.
  void Begin(const Batch& batch);
  // Returns the indexes of the changes before `end` that are to be sent together, `most` at most.
  // `in_order`: one of each item, so that none comes before an earlier one that is refused.
  std::vector<size_t> Missing(const Batch& batch, size_t end, size_t most, bool in_order) const;
  // Hears what became of the changes with these indexes.
  void Note(const Batch& batch, const std::vector<size_t>& sent, const std::vector<bool>& taken);
  // Returns the index of the first change that is to be sent; the size of the batch if none is.
  size_t FirstMissing(const Batch& batch) const;

 private:
  std::set<stream::Position> taken_;
};

}  // namespace stator::triggers
