// An engine that keeps everything in this process's memory and forgets it at the end: for tests and --in-memory.
#pragma once

#include <functional>
#include <map>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "kv/engine.h"

namespace stator::kv {

// Apply does its work and calls `done` before it returns. A visitor of Scan must not call Apply: readers exclude the writer.
class MemoryEngine final : public Engine {
 public:
  Capabilities capabilities() const override {
    return {.atomic_across_tablets = true, .exclusive = true, .blocking = false, .durable = false};
  }
  Result<bool> Get(Tablet tablet, std::string_view key, Tier tier, std::string* value) override;
  Status MultiGet(std::span<const Point> points, Tier tier,
                  std::vector<std::optional<std::string>>* values) override;
  Status Scan(const Range& range, Tier tier,
              FunctionRef<bool(std::string_view key, std::string_view value)> visit) override;
  void Apply(Batch batch, ApplyDone done) override;
  Status Health() const override { return OkStatus(); }
  uint64_t ApproximateBytes(Tablet tablet) const override;
  std::map<std::string, double> Statistics() const override;
  Status Checkpoint(const std::string& directory) override;

 private:
  // The keys of a tablet in order, and an index of the same nodes for reads of one key.
  class Keys {
   public:
    using Map = std::map<std::string, std::string, std::less<>>;
    const std::string* Find(std::string_view key) const {
      const auto it = index_.find(key);
      return it == index_.end() ? nullptr : it->second;
    }
    void Put(std::string key, std::string value) {
      const auto [it, added] = map_.insert_or_assign(std::move(key), std::move(value));
      if (added) index_.emplace(it->first, &it->second);
    }
    void Erase(std::string_view key) {
      const auto it = map_.find(key);
      if (it == map_.end()) return;
      index_.erase(key);
      map_.erase(it);
    }
    void Erase(Map::const_iterator first, Map::const_iterator last) {
      for (auto it = first; it != last; ++it) index_.erase(it->first);
      map_.erase(first, last);
    }
    const Map& map() const { return map_; }

   private:
    Map map_;
    std::unordered_map<std::string_view, const std::string*> index_;
  };

  // These three expect the lock to be held.
  const std::string* Find(Tablet tablet, std::string_view key) const;
  Result<uint64_t> ApplyLocked(Batch& batch);
  void EraseRange(const DeleteRange& range);

  mutable std::shared_mutex mutex_;
  std::map<Tablet, Keys> tablets_;  // guarded by mutex_
  uint64_t last_stamp_ = 0;         // guarded by mutex_
};

}  // namespace stator::kv
