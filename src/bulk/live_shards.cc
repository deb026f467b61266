#include "bulk/live_shards.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace stator::bulk {

Error RecordsTrimmed(const std::string& detail) {
  return CorruptionError(
      fmt::format("the source's stream has trimmed records that were not applied ({}): a stream "
                  "keeps them for 24 hours. Delete the target's table and the progress file, and "
                  "start again",
                  detail));
}

std::vector<FollowedShard> FirstShards(const std::vector<ListedShard>& listed) {
  std::set<std::string> parents;
  for (const ListedShard& shard : listed)
    if (!shard.ended) parents.insert(shard.parent);
  std::vector<FollowedShard> shards;
  for (const ListedShard& shard : listed) {
    const bool needed = !shard.ended || parents.count(shard.id) > 0;
    shards.push_back({shard.id, shard.parent, "", !needed});
  }
  return shards;
}

Status MergeShards(const std::vector<ListedShard>& listed, std::vector<FollowedShard>* shards) {
  std::set<std::string> known, there;
  for (const FollowedShard& shard : *shards) known.insert(shard.id);
  for (const ListedShard& shard : listed) there.insert(shard.id);
  for (const ListedShard& shard : listed) {
    if (known.count(shard.id) > 0) continue;
    const bool seen =
        shard.parent.empty() || known.count(shard.parent) > 0 || there.count(shard.parent) > 0;
    if (!seen) return RecordsTrimmed(fmt::format("the shard {} is gone", shard.parent));
    shards->push_back({shard.id, shard.parent, "", false});
  }
  for (const FollowedShard& shard : *shards) {
    if (!shard.done && there.count(shard.id) == 0)
      return RecordsTrimmed(fmt::format("the shard {} is gone", shard.id));
  }
  shards->erase(std::remove_if(shards->begin(), shards->end(),
                               [&](const FollowedShard& shard) {
                                 return shard.done && there.count(shard.id) == 0;
                               }),
                shards->end());
  return OkStatus();
}

std::vector<size_t> ReadyShards(const std::vector<FollowedShard>& shards) {
  std::map<std::string, bool> done;
  for (const FollowedShard& shard : shards) done[shard.id] = shard.done;
  std::vector<size_t> ready;
  for (size_t i = 0; i < shards.size(); ++i) {
    const auto parent = done.find(shards[i].parent);
    if (!shards[i].done && (parent == done.end() || parent->second)) ready.push_back(i);
  }
  return ready;
}

}  // namespace stator::bulk
