// Chooses the process that should write a part: this one, unless it loses races there. Pure; time
// is handed in, in ticks. The choice is a hint: the part's stamp decides, whichever process writes.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "kv/engine.h"

namespace stator::link {

// Thread-safe.
class Ownership {
 public:
  // This number of lost races within kWindowMicros makes a part contended, for kWindowMicros.
  static constexpr int kLostRaces = 4;
  static constexpr int64_t kWindowMicros = 1'000'000;
  // The maximum number of remembered parts. Further parts do not become contended.
  static constexpr size_t kMostParts = 10'000;

  explicit Ownership(std::string self) : self_(std::move(self)) {}

  // Sets who may own parts beside this process. `self_may`: whether this process may (it does not
  // while it drains, unless it is alone).
  void SetOthers(std::vector<std::string> others, bool self_may);

  // A write of this process lost to another one's.
  void Lost(const kv::Unit& unit, int64_t now);
  struct Owner {
    std::string process = {};  // empty: this one
    size_t unit = 0;           // that decided; an index
  };
  // Returns the process that should run a write of all these units. The lowest contended unit
  // decides, so all processes that know of the same contended units choose the same process.
  Owner OwnerOf(std::span<const kv::Unit> units, int64_t now);
  std::string OwnerOf(const kv::Unit& unit, int64_t now) {
    return OwnerOf({&unit, 1}, now).process;
  }
  // Notes the owner's answer, whether processes other than this one write to the unit. If none
  // does, this process writes directly again.
  void Told(const kv::Unit& unit, bool contended, int64_t now);

  // At the owner: `asker` has handed a write over. Returns whether any other process, this one
  // included, has written the part here within kWindowMicros; true too if that is not known yet.
  bool NoteForwarded(const kv::Unit& unit, std::string_view asker, int64_t now);

  // True if some part is contended or is written for others: without, OwnerOf need not be asked.
  bool active() const { return count_.load(std::memory_order_relaxed) > 0; }
  // Forgets parts that are not used. About once a second.
  void Forget(int64_t now);

  // The rendezvous hash: the highest wins.
  static uint64_t Weight(const kv::Unit& unit, std::string_view process);

 private:
  struct Part {
    int lost = 0;
    int64_t lost_since = 0;
    int64_t contended_until = 0;
    // At the owner: the processes that have written, and the times.
    int64_t first_forwarded = 0;
    std::string last_source;  // empty: this process
    int64_t last_at = 0;
    std::string other_source;
    int64_t other_at = 0;
    int64_t used = 0;
  };
  Part* Find(const kv::Unit& unit) REQUIRES(mutex_);
  const std::string& Best(const kv::Unit& unit) const REQUIRES(mutex_);
  Part* FindOrAdd(const kv::Unit& unit) REQUIRES(mutex_);
  static void NoteSource(Part& part, std::string_view source, int64_t now);

  const std::string self_;
  mutable Mutex mutex_;
  std::vector<std::string> others_ GUARDED_BY(mutex_);
  bool self_may_ GUARDED_BY(mutex_) = true;
  std::map<kv::Unit, Part> parts_ GUARDED_BY(mutex_);
  std::atomic<size_t> count_ = 0;  // of parts_
};

}  // namespace stator::link
