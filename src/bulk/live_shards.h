// The shards of a stream that is followed: which may be read now, and which were lost.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace stator::bulk {

// A shard as DescribeStream lists it.
struct ListedShard {
  std::string id;
  std::string parent;  // empty: none
  bool ended = false;  // it gets no more records
};

// A shard that is read.
struct FollowedShard {
  std::string id;
  std::string parent;
  std::string position;  // sequence number of the last record that was applied; empty: none
  bool done = false;     // read to its end, or not needed
};

// Returns the shards from which the stream is followed, at a moment before a scan begins. A shard
// that has ended is not needed: the scan sees what its records say. The parents of open shards are
// read all the same, because an eventually consistent scan may lag behind their last records.
std::vector<FollowedShard> FirstShards(const std::vector<ListedShard>& listed);

// Adds the shards that are new in `listed`, and drops those that are done and gone.
// kCorruption, with a sentence for people, if records were trimmed before they were read: a shard
// that is not done is gone, or a new shard has a parent that was never seen.
Status MergeShards(const std::vector<ListedShard>& listed, std::vector<FollowedShard>* shards);

// Returns the indexes of the shards that may be read: those that are not done, and whose parent is
// done or gone. The records of a key are in one shard and then in its children, so they are applied
// in order.
std::vector<size_t> ReadyShards(const std::vector<FollowedShard>& shards);

// The error of records that were trimmed before they were read.
Error RecordsTrimmed(const std::string& detail);

}  // namespace stator::bulk
