// The throughput of all tables and global indexes: a Meter for each, which follows the catalog, and
// the clock that drives them. The request path asks the meters that hang on the version of a table
// it holds (table::Table::meters); nothing is looked up here.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "table/store.h"
#include "throughput/meter.h"
#include "throughput/share_allocator.h"

namespace stator::ops {

// How a server throttles.
struct ThrottlingModes {
  throughput::Throttling all = throughput::Throttling::kObserve;
  std::map<std::string, throughput::Throttling, std::less<>> tables;  // those that differ; they
                                                                      // need not exist
};

// Thread-safe.
class Admission final : public table::CatalogObserver {
 public:
  // Both outlive it.
  Admission(table::Store& store, const Clock& clock) : store_(store), clock_(clock) {}
  ~Admission() override;
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;

  // Makes meters for the tables that there are and for those to come. Once, before requests; until
  // then there are no meters, and no request is measured. Reads the counts of the tables.
  void Start(ThrottlingModes modes, const throughput::ModelSettings& model = {});

  // --- Modes. Changes hold for requests that come later, and until the server ends.

  ThrottlingModes modes() const;
  throughput::Throttling ModeOf(std::string_view table) const;
  // nullopt: as all others.
  void SetMode(const std::string& table, std::optional<throughput::Throttling> mode);
  void SetModeOfAll(throughput::Throttling mode);

  // --- Meters

  // The table itself, or one of its global indexes.
  struct Resource {
    table::TablePtr table;
    const table::IndexDescriptor* index = nullptr;  // of `table`; null: the table
    std::shared_ptr<throughput::Meter> meter;
  };
  // All of them, or those of one table, the table itself first. None of a table that is not there.
  std::vector<Resource> Resources() const;
  std::vector<Resource> ResourcesOf(std::string_view table) const;

  // --- Time

  // Advances the time of all meters (Resource::Advance), reports their use to the watchers, forgets
  // remembered keys beyond kMostKeyBytes, and writes splits to the partition maps in the catalog.
  // (Bounds inside an item collection exist only in the model; the maps cannot hold them.) Of
  // several processes only the one that decides writes splits. Called about once a second and after
  // a manual clock was moved. Waits for the disk: must not be called on a loop's or an engine's
  // thread.
  void Advance();

  // The use of a resource between two calls of Advance. Served units are `consumed` and `let_pass`
  // together; `refused` are the units of requests that exceeded a limit (in both modes).
  struct Usage {
    const Resource& resource;
    int64_t from_micros = 0;  // of the product's clock
    int64_t to_micros = 0;
    throughput::Rates consumed;  // units, not per second
    throughput::Rates let_pass;
    // By throughput::Limit.
    std::array<throughput::Rates, throughput::kLimits> refused;
    std::array<std::array<int64_t, throughput::kLimits>, throughput::kAccesses> refused_requests{};
  };
  // Hears of every resource that was used, from within Advance. Before the first call of Advance.
  using Watcher = std::function<void(const Usage&)>;
  void Watch(Watcher watcher) { watchers_.push_back(std::move(watcher)); }

  // A report of refusals by one limit, made when they are written to the log: first when the second
  // that explains them has ended, then every Meter::kBetweenLinesMicros.
  struct Refusals {
    const Resource& resource;
    throughput::Access access;
    throughput::Limit limit;
    const throughput::Explanation& why;
    int64_t now_micros;
  };
  using RefusalWatcher = std::function<void(const Refusals&)>;
  // Calls `watcher` with each report, as Watch does.
  void WatchRefusals(RefusalWatcher watcher) { refusal_watchers_.push_back(std::move(watcher)); }
  // Tells at once what is not told yet: the server stops.
  void TellAllRefusals();

  // A bound of the bytes that the keys which all meters remember take (Resource::KeyBytes), as an
  // Advance leaves them. Beyond it the resources that were not used for longest forget theirs.
  static constexpr size_t kMostKeyBytes = 64 << 20;
  // Another bound, for tests. Before the first call of Advance.
  void LimitKeyBytes(size_t bytes) { most_key_bytes_ = bytes; }
  // Those bytes, as of the last Advance.
  size_t KeyBytes() const { return key_bytes_.load(std::memory_order_relaxed); }

  void OnVersion(const table::Table* before, table::Table* next) override;

  // --- As one of several processes of a store (throughput/shares.h). Meters have what this process
  // is granted, and nothing before that. Without Share nothing of it applies.

  // Before Start.
  void Share();
  bool shared() const { return shared_; }
  // Whether capacity may be used now.
  bool Granted() const {
    return !shared_ || clock_.TicksMicros() < valid_until_.load(std::memory_order_relaxed);
  }

  // Whether some table refuses requests beyond a limit.
  bool Enforces() const;

  // By one thread at a time:
  // Of this process, since the last call, `seconds` ago.
  throughput::Use TakeUse(double seconds);
  // Puts a grant in force for all present and future tables. Returns, by tablet, the unused
  // capacity that did not fit into the new grant. `moved`: unused capacity that comes with the
  // grant.
  std::map<uint32_t, throughput::Units> PutInForce(
      const throughput::Grant& grant, const std::map<uint32_t, throughput::Units>& moved);
  // Sets the time (the clock's TicksMicros) until which the grant in force may be used.
  void SetValidUntil(int64_t ticks) { valid_until_.store(ticks, std::memory_order_relaxed); }
  // Ends the grant: this process may use no capacity.
  void EndGrant();
  // Sets whether this process is the one that decides: it splits partitions, stores them in the
  // catalog and runs auto scaling. It gets the use of the other processes (AddForeign), and they
  // get its decisions (Decisions, FollowDecisions).
  void SetDecides(bool decides);
  bool decides() const { return !shared_ || decides_.load(std::memory_order_relaxed); }
  void AddForeign(const std::vector<std::pair<uint32_t, throughput::ResourceUse>>& used);
  std::map<uint32_t, throughput::SharedLimits> Limits() const;
  using Decided = std::map<uint32_t, throughput::SharePlan::OfResource>;
  Decided Decisions() const;
  void FollowDecisions(const Decided& decided);
  // Asks the store what all processes together have stored. Waits for the disk.
  void CountAgain();

 private:
  // What the meter had counted at some time.
  struct Counts {
    int64_t at_micros = 0;
    throughput::Rates consumed;
    throughput::Rates let_pass;
    std::array<throughput::Rates, throughput::kLimits> refused;
    std::array<std::array<int64_t, throughput::kLimits>, throughput::kAccesses> refused_requests{};
  };
  static Counts CountsOf(const throughput::Meter& meter, int64_t now_micros);

  // Returns the stored items and bytes of a table with its local indexes, or of a global index;
  // nullopt if they cannot be read now.
  std::optional<table::TableCounts> CountOf(const table::Table& table,
                                            const table::IndexDescriptor* index);
  std::shared_ptr<throughput::Meter> NewMeter(const table::TableDescriptor& table,
                                              const table::IndexDescriptor* index);
  static void Append(const table::TablePtr& table, std::vector<Resource>* resources);
  void TellRefusals(const Resource& resource, bool at_end) REQUIRES(advancing_);
  // The state of a meter between two calls of Advance.
  struct Known {
    Resource resource;  // as the last Advance found it
    Counts counts;
    uint64_t used_at = 0;  // the number of the Advance that found it used last
    double used = 0;       // units that it was asked for then
    size_t key_bytes = 0;
  };
  // Tells the watchers of the resource if it was used.
  void Report(const Resource& resource, int64_t now_micros, Known* known) REQUIRES(advancing_);
  // Brings the keys of all meters within their bound.
  void ForgetKeys(const std::vector<Resource>& resources) REQUIRES(advancing_);
  void StoreSplits(const std::vector<Resource>& resources);
  // Sets the mode of all meters to the one that their tables are to have.
  void Spread();

  table::Store& store_;
  const Clock& clock_;
  throughput::ModelSettings model_;
  bool started_ = false;
  bool shared_ = false;  // set before Start
  std::atomic<int64_t> valid_until_{INT64_MIN};
  std::atomic<bool> decides_{false};
  // By tablet, as Start found them; never changed afterwards.
  std::map<uint32_t, table::TableCounts> counts_;
  std::vector<Watcher> watchers_;
  std::vector<RefusalWatcher> refusal_watchers_;

  Mutex spreading_;  // taken before mutex_ and before the store's lock
  mutable Mutex mutex_;
  ThrottlingModes modes_ GUARDED_BY(mutex_);
  std::shared_ptr<const throughput::Grant> grant_ GUARDED_BY(mutex_);  // null: not shared

  Mutex advancing_;
  std::unordered_map<const throughput::Meter*, Known> known_ GUARDED_BY(advancing_);
  uint64_t advances_ GUARDED_BY(advancing_) = 0;
  size_t most_key_bytes_ = kMostKeyBytes;
  std::atomic<size_t> key_bytes_{0};  // of known_, together
  // The units that were let pass until the last TakeUse, by meter. Used only by the thread that
  // calls TakeUse.
  std::unordered_map<const throughput::Meter*, throughput::Rates> let_pass_;
};

}  // namespace stator::ops
