// Follows the stream of a source's table, and applies its records to the target.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "bulk/job.h"
#include "bulk/live_progress.h"
#include "bulk/live_settings.h"
#include "bulk/live_shards.h"
#include "model/key_schema.h"

namespace stator::bulk {

// Returns the shards of a stream. A parent may be listed before or after its children.
Result<std::vector<ListedShard>> ListShards(api_client::Client& streams, const std::string& stream);

// Why the target equals the source in the end: the scan is applied completely before the first
// record, and the records begin before the scan. So a record may be older than the item that the
// scan has put, and undo it for a while. But every write since the scan began has a record, and the
// records of a key are applied in their order: a key is in one shard at a time, and a shard's
// parent is read first. So the last thing that is done to a key is its last record, a delete
// included, and a key without a record has what the scan saw. For the same reason a run may begin
// again at an earlier record.
class Follower {
 public:
  // The references must outlive the object.
  Follower(const LiveSettings& settings, const Surroundings& around, const model::KeySchema& key,
           LiveProgress& progress);

  // Applies records until all that were written before the call are applied: each open shard has
  // had nothing for a moment, or a record from after the call. The client's clock should be right
  // to some seconds for the latter. kCorruption, if records were trimmed before they were read.
  Status CatchUp();

  // How far the oldest of the shards' last records is behind now; 0 if there was nothing to apply.
  int64_t lag_micros() const { return lag_micros_.load(std::memory_order_relaxed); }
  // Records that this run has applied.
  int64_t records() const { return records_.load(std::memory_order_relaxed); }
  int64_t retries() const { return retries_.load(std::memory_order_relaxed); }

 private:
  struct Reader {
    std::string iterator;        // empty: to be asked for
    int nothing = 0;             // answers without a record, one after the other
    int64_t created_micros = 0;  // of the last record
    bool ended = false;
  };
  struct Clients {
    std::unique_ptr<api_client::Client> streams;
    std::unique_ptr<api_client::Client> target;
  };

  Status Refresh();
  // Reads some pages of a shard and applies them.
  Status ReadShard(const FollowedShard& shard, Clients& clients, Reader* reader);
  Status ApplyPage(const FollowedShard& shard, const std::string& answer, Clients& clients,
                   Reader* reader);
  Result<std::string> IteratorOf(const FollowedShard& shard, const Clients& clients);
  // Reads the shards that may be read once. True: there was nothing new in any of them.
  Result<bool> ReadRound();
  bool IsCaughtUp(int64_t since_micros) const;
  // Whether a shard has ended in this run, and its children are not listed yet.
  bool WaitsForChildren() const;

  const LiveSettings& settings_;
  const Surroundings& around_;
  const model::KeySchema& key_;
  LiveProgress& progress_;
  const std::string stream_;
  std::vector<Clients> clients_;           // of each thread
  std::map<std::string, Reader> readers_;  // by the shard; the map changes between rounds only
  std::set<std::string> ended_;            // shards, in this run
  std::atomic<int64_t> lag_micros_{0};
  std::atomic<int64_t> records_{0};
  std::atomic<int64_t> retries_{0};
};

}  // namespace stator::bulk
