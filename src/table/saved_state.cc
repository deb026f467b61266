#include "table/saved_state.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "base/memory_account.h"
#include "kv/fixed_bytes.h"
#include "table/catalog.h"
#include "table/catalog_entry.h"
#include "table/catalog_snapshot.h"
#include "table/item_value.h"
#include "table/key_encoding.h"
#include "table/ledger_tablet.h"

namespace stator::table {
namespace {

// How long the gates of all tables wait for their writes together, before those get through that
// are inside one gate and wait at another.
constexpr auto kLongestHold = std::chrono::milliseconds(20);
constexpr auto kBetweenHolds = std::chrono::milliseconds(1);

std::vector<kv::Tablet> TabletsOf(const TableDescriptor& table) {
  std::vector<kv::Tablet> tablets = {table.tablet()};
  for (const IndexDescriptor& index : table.indexes) {
    if (index.is_global()) tablets.push_back(table.TabletOf(index));
  }
  if (table.expiry) tablets.push_back(table.expiry->tablet());
  if (table.change_log) tablets.push_back(table.change_log->tablet());
  return tablets;
}

Status CheckAtRest(const TableDescriptor& table) {
  const char* what = nullptr;
  if (table.restore) what = "is being filled";
  if (table.deleting_micros != 0) what = "is being deleted";
  if (table.HasIndexWork()) what = "has an index or time to live that is being changed";
  if (what == nullptr) return OkStatus();
  return Error(ErrorCode::kResourceInUse, std::string("The table ")
                                              .append(ShownName(table.name))
                                              .append(" ")
                                              .append(what)
                                              .append(": wait until it is ACTIVE"));
}

// The first key behind those that begin with `prefix`.
std::string EndOf(std::string_view prefix) {
  std::string end(prefix);
  ++end.back();
  return end;
}

// Reads a value of EncodeDropped (catalog_snapshot.h).
Result<std::vector<kv::Tablet>> DecodeDropped(std::string_view value) {
  constexpr size_t kTabletBytes = 5;
  ASSIGN_OR_RETURN(std::string_view bytes, DecodeItemValue(value));
  if (bytes.size() % kTabletBytes != 0)
    return CorruptionError("An entry of dropped tablets has a wrong length.");
  std::vector<kv::Tablet> tablets;
  for (; !bytes.empty(); bytes.remove_prefix(kTabletBytes))
    tablets.push_back({static_cast<kv::Space>(bytes[0]), kv::LoadBig32(bytes.data() + 1)});
  return tablets;
}

// Holds the gates of several tables. Another change of the catalog, which holds one gate at most,
// must not run. A write of several tables that waits at one of these gates may be inside another:
// so the gates open again, for a moment, until they are all quiet at once.
class HeldGates {
 public:
  HeldGates() = default;
  HeldGates(const HeldGates&) = delete;
  HeldGates& operator=(const HeldGates&) = delete;
  ~HeldGates() { Open(); }

  Status Hold(const std::vector<TablePtr>& tables, int64_t most_wait_micros) {
    const auto until =
        std::chrono::steady_clock::now() + std::chrono::microseconds(most_wait_micros);
    for (;;) {
      const auto left = std::make_shared<Left>();
      left->count = tables.size();
      for (const TablePtr& table : tables) {
        held_.push_back(table->gate);
        table->gate->Hold([left] {
          const std::lock_guard lock(left->mutex);
          --left->count;
          left->wake.notify_all();
        });
      }
      {
        std::unique_lock lock(left->mutex);
        if (left->wake.wait_for(lock, kLongestHold, [&left] { return left->count == 0; }))
          return OkStatus();
      }
      Open();
      if (std::chrono::steady_clock::now() >= until) {
        return Error(ErrorCode::kUnavailable, "Writes are under way that do not end: try again",
                     std::make_shared<OverloadPayload>());
      }
      std::this_thread::sleep_for(kBetweenHolds);
    }
  }
  // Lets in who waits at a gate; with `retire`, to find another version of the table.
  void Release(const Gate* gate, bool retire) {
    const auto found = std::find_if(held_.begin(), held_.end(),
                                    [gate](const auto& held) { return held.get() == gate; });
    if (found == held_.end()) return;
    const std::shared_ptr<Gate> released = std::move(*found);
    held_.erase(found);
    retire ? released->Retire() : released->Open();
  }
  void Open() {
    while (!held_.empty()) Release(held_.back().get(), /*retire=*/false);
  }

 private:
  struct Left {
    std::mutex mutex;
    std::condition_variable wake;
    size_t count = 0;
  };
  std::vector<std::shared_ptr<Gate>> held_;
};

}  // namespace

// One return: its plan, and the parts of it beside the keys.
class SavedState::Way {
 public:
  explicit Way(SavedState& saved) : saved_(saved), store_(saved.store_) {}

  // Compares the account's tables, which these are, and its streams with those of the moment.
  Status Plan(std::vector<TablePtr> current) {
    current_ = std::move(current);
    for (const TablePtr& table : current_) by_id_[table->descriptor.tablet_id] = table;
    std::set<uint32_t> saved_ids;
    for (const TablePtr& table : saved_.tables_) {
      saved_ids.insert(table->descriptor.tablet_id);
      PlanTable(table);
    }
    for (const TablePtr& table : current_) {
      if (saved_ids.contains(table->descriptor.tablet_id)) continue;
      swap_.gone.push_back(table);
      for (const kv::Tablet tablet : TabletsOf(table->descriptor)) Empty(tablet);
    }
    PlanStreams();
    std::set<std::string> puts;
    for (const kv::Put& put : batch_.puts) puts.insert(put.key);
    for (const TablePtr& table : swap_.gone) Delete(puts, TableKey(table->descriptor.name));
    for (const stream::StreamPtr& stream : swap_.gone_streams) Delete(puts, StreamKey(*stream));
    return store_.space().needed() ? PlanSpace() : OkStatus();
  }

  Result<Returned> Go(HeldGates& gates) {
    Returned returned;
    returned.tables = saved_.tables_.size();
    returned.definitions = swap_.tables.size() + swap_.gone.size();
    const Result<uint64_t> applied = saved_.point_->Rewind(
        std::move(batch_), [&](kv::Tablet tablet, std::string_view key, const std::string* now,
                               const std::string* then) {
          ++returned.keys;
          Note(tablet, key, now, then);
        });
    for (const History::Recording& recording : recordings_) {
      store_.history().Settle(recording,
                              applied.ok() ? std::optional<uint64_t>(*applied) : std::nullopt);
    }
    TRY(applied);
    // The reclaimer finds by itself that entries which name what is back are not there any more.
    for (auto& [key, tablets] : dropped_) store_.space().Add(std::move(key), std::move(tablets));
    store_.catalog().Show(swap_);
    for (const Catalog::Swap::Version& version : swap_.tables) Measure(*version.next);
    for (const TablePtr& table : saved_.tables_) {
      // The mark may have passed entries that are back.
      if (const TablePtr shown = store_.Find(table->descriptor.name); shown != nullptr)
        shown->expiry_mark->Lower(INT64_MIN);
    }
    // From here on the versions that are shown are those of the moment.
    for (const Catalog::Swap::Version& version : swap_.tables) {
      for (TablePtr& table : saved_.tables_) {
        if (table->descriptor.tablet_id == version.next->descriptor.tablet_id) table = version.next;
      }
    }
    for (const TablePtr& table : current_) {
      const bool same =
          std::find(saved_.tables_.begin(), saved_.tables_.end(), table) != saved_.tables_.end();
      gates.Release(table->gate.get(), /*retire=*/!same);
    }
    return returned;
  }

 private:
  // Where the keys of a tablet belong.
  struct Place {
    const Table* table = nullptr;
    const IndexDescriptor* index = nullptr;    // null: items, and local entries
    std::shared_ptr<throughput::Meter> meter;  // that goes on; null: a new one, or none
    bool remembered = false;                   // the table has a history
  };

  void Empty(kv::Tablet tablet) { batch_.range_deletes.push_back({tablet, "", ""}); }
  void Delete(const std::set<std::string>& puts, std::string key) {
    if (!puts.contains(key)) batch_.deletes.push_back({kCatalogTablet, std::move(key)});
  }

  void PlanTable(const TablePtr& saved) {
    const TableDescriptor& descriptor = saved->descriptor;
    const auto found = by_id_.find(descriptor.tablet_id);
    const TablePtr now = found == by_id_.end() ? nullptr : found->second;
    const bool goes_on = now != nullptr && KeepsPartitions(descriptor, now->descriptor);
    AddPlaces(*saved, goes_on ? now.get() : nullptr);
    if (now == saved) return;
    if (now != nullptr) {
      const std::vector<kv::Tablet> tablets = TabletsOf(descriptor);
      for (const kv::Tablet tablet : TabletsOf(now->descriptor)) {
        if (std::find(tablets.begin(), tablets.end(), tablet) == tablets.end()) Empty(tablet);
      }
    }
    auto next = std::make_shared<Table>(descriptor, std::make_shared<Gate>());
    next->stream = saved->stream;
    next->capture = saved->capture;
    next->expiry_mark = saved->expiry_mark;
    batch_.puts.push_back(CatalogPut(TableKey(descriptor.name), descriptor.Encode()));
    swap_.tables.push_back({goes_on ? now : nullptr, std::move(next)});
  }

  // Whether the meters of `now` know no partition that the table had not: they never join any.
  static bool KeepsPartitions(const TableDescriptor& saved, const TableDescriptor& now) {
    if (saved.partitions != now.partitions) return false;
    for (const IndexDescriptor& index : saved.indexes) {
      const IndexDescriptor* const other = now.FindIndex(index.name);
      if (other != nullptr && other->tablet_id == index.tablet_id &&
          other->partitions != index.partitions)
        return false;
    }
    return true;
  }

  // The meters of `now` go on; null: none do.
  void AddPlaces(const Table& saved, const Table* now) {
    const TableDescriptor& descriptor = saved.descriptor;
    const bool remembered = store_.history().Keeps(descriptor.name);
    places_[descriptor.tablet()] = {&saved, nullptr, now != nullptr ? now->meters.table : nullptr,
                                    remembered};
    for (const IndexDescriptor& index : descriptor.indexes) {
      if (!index.is_global()) continue;
      std::shared_ptr<throughput::Meter> meter;
      for (size_t i = 0; now != nullptr && i < now->meters.indexes.size(); ++i) {
        if (now->descriptor.indexes[i].tablet_id == index.tablet_id) meter = now->meters.indexes[i];
      }
      places_[descriptor.TabletOf(index)] = {&saved, &index, std::move(meter), remembered};
    }
  }

  void PlanStreams() {
    std::map<uint32_t, stream::StreamPtr> now;
    for (const stream::StreamPtr& stream : store_.ListStreamsOf(saved_.options_.account))
      now[stream->tablet_id] = stream;
    for (const stream::StreamPtr& stream : saved_.streams_) {
      const auto found = now.find(stream->tablet_id);
      const bool same = found != now.end() && found->second == stream;
      if (found != now.end()) now.erase(found);
      if (same) continue;
      batch_.puts.push_back(CatalogPut(StreamKey(*stream), stream->Encode()));
      swap_.streams.push_back(stream);
    }
    for (const auto& [id, stream] : now) {
      swap_.gone_streams.push_back(stream);
      Empty(stream->tablet());
    }
  }

  // Takes entries of tablets that come back out of the catalog, and puts one of those that go.
  Status PlanSpace() {
    std::set<kv::Tablet> back;
    for (const TablePtr& table : saved_.tables_) {
      for (const kv::Tablet tablet : TabletsOf(table->descriptor)) back.insert(tablet);
    }
    for (const stream::StreamPtr& stream : saved_.streams_) back.insert(stream->tablet());
    std::set<std::string> gone;
    Status damaged;
    TRY(store_.engine().Scan({kCatalogTablet, kDroppedPrefix, EndOf(kDroppedPrefix)},
                             kv::Tier::kAny, [&](std::string_view key, std::string_view value) {
                               const Result<std::vector<kv::Tablet>> tablets = DecodeDropped(value);
                               if (!tablets.ok()) damaged = tablets.error();
                               if (!damaged.ok()) return false;
                               std::vector<kv::Tablet> rest;
                               for (const kv::Tablet tablet : *tablets) {
                                 if (!back.contains(tablet)) rest.push_back(tablet);
                               }
                               if (rest.size() == tablets->size()) return true;
                               gone.emplace(key);
                               if (!rest.empty())
                                 dropped_.emplace(DroppedKey(rest[0]), std::move(rest));
                               return true;
                             }));
    TRY(damaged);
    for (const std::string& key : gone) {
      if (!dropped_.contains(key)) batch_.deletes.push_back({kCatalogTablet, key});
    }
    std::vector<kv::Tablet> emptied;
    for (const kv::DeleteRange& range : batch_.range_deletes) emptied.push_back(range.tablet);
    if (!emptied.empty()) dropped_.emplace(DroppedKey(emptied[0]), std::move(emptied));
    for (const auto& [key, tablets] : dropped_)
      batch_.puts.push_back(CatalogPut(key, EncodeDropped(tablets)));
    return OkStatus();
  }

  // A key is about to go back. If it does not, because the disk fails at that moment, the sizes of
  // partitions, which are estimates, are off.
  void Note(kv::Tablet tablet, std::string_view key, const std::string* now,
            const std::string* then) {
    if (tablet != noted_ || place_ == nullptr) {
      noted_ = tablet;
      const auto found = places_.find(tablet);
      place_ = found == places_.end() ? nullptr : &found->second;
    }
    if (place_ == nullptr || key.empty()) return;
    const char kind = key.front();
    if (kind != kItemKind && kind < kLocalEntryKind) return;
    const int64_t before = SizeOf(now);
    if (place_->meter != nullptr) {
      const bool counts = kind == kItemKind;
      Grow(*place_->meter, *place_, key, SizeOf(then) - before,
           counts ? (then != nullptr ? 1 : 0) - (now != nullptr ? 1 : 0) : 0);
    }
    if (!place_->remembered) return;
    History::Before change{tablet, std::string(key), nullptr};
    if (now != nullptr) {
      if (const Result<std::string_view> item = DecodeItemValue(*now); item.ok())
        change.item = std::make_shared<const std::string>(*item);
    }
    std::vector<History::Before> changes;
    changes.push_back(std::move(change));
    recordings_.push_back(store_.history().Record(std::move(changes)));
  }

  static int64_t SizeOf(const std::string* value) {
    if (value == nullptr) return 0;
    const Result<std::string_view> item = DecodeItemValue(*value);
    return item.ok() ? static_cast<int64_t>(model::ItemView(*item).size_bytes()) : 0;
  }

  static void Grow(throughput::Meter& meter, const Place& place, std::string_view key,
                   int64_t bytes, int64_t items) {
    if (bytes == 0 && items == 0) return;
    meter.resource().AddBytes(place.index != nullptr ? PointOfEntry(*place.index, key)
                                                     : PointOfItem(place.table->key_schema(), key),
                              bytes, items);
  }

  // Tells new meters what there is.
  void Measure(const Table& table) {
    if (table.meters.table == nullptr) return;
    MeasureTablet(table.descriptor.tablet(), *table.meters.table);
    for (size_t i = 0; i < table.meters.indexes.size(); ++i) {
      if (table.meters.indexes[i] != nullptr)
        MeasureTablet(table.descriptor.TabletOf(table.descriptor.indexes[i]),
                      *table.meters.indexes[i]);
    }
  }

  void MeasureTablet(kv::Tablet tablet, throughput::Meter& meter) {
    const auto found = places_.find(tablet);
    if (found == places_.end() || found->second.meter.get() == &meter) return;
    // Sizes of partitions are estimates: an error of the engine leaves them low.
    const Status scanned = store_.engine().Scan(
        {tablet, "", ""}, kv::Tier::kAny, [&](std::string_view key, std::string_view value) {
          const char kind = key.empty() ? '\0' : key.front();
          if (kind != kItemKind && kind < kLocalEntryKind) return true;
          if (const Result<std::string_view> item = DecodeItemValue(value); item.ok()) {
            Grow(meter, found->second, key,
                 static_cast<int64_t>(model::ItemView(*item).size_bytes()),
                 kind == kItemKind ? 1 : 0);
          }
          return true;
        });
    static_cast<void>(scanned.ok());
  }

  SavedState& saved_;
  Store& store_;
  std::vector<TablePtr> current_;
  std::map<uint32_t, TablePtr> by_id_;  // of current_
  std::map<kv::Tablet, Place> places_;
  kv::Tablet noted_;
  const Place* place_ = nullptr;  // of noted_
  std::vector<History::Recording> recordings_;
  kv::Batch batch_;
  std::map<std::string, std::vector<kv::Tablet>> dropped_;  // entries that the batch puts
  Catalog::Swap swap_;
};

Result<std::unique_ptr<SavedState>> SavedState::Take(Store& store, Options options) {
  kv::Rewinder* const rewinder = store.engine().rewinder();
  if (rewinder == nullptr || store.shared()) {
    return ValidationError(
        "Snapshots are for a server with a store of its own: this one is in a pool");
  }
  std::unique_ptr<SavedState> saved(new SavedState(store, std::move(options)));
  const Catalog::Lock catalog(store.catalog());
  saved->tables_ = store.ListOf(saved->options_.account);
  saved->streams_ = store.ListStreamsOf(saved->options_.account);
  std::vector<kv::Watched> watched;
  for (const TablePtr& table : saved->tables_) {
    TRY(CheckAtRest(table->descriptor));
    for (const kv::Tablet tablet : TabletsOf(table->descriptor))
      watched.push_back({.tablet = tablet});
  }
  for (const stream::StreamPtr& stream : saved->streams_)
    watched.push_back({.tablet = stream->tablet()});
  kv::Watched tokens;
  tokens.tablet = kLedgerTablet;
  tokens.group_of = [account_of = saved->options_.account_of_token](std::string_view key) {
    return account_of(TokenInLedgerKey(key));
  };
  tokens.group = saved->options_.account;
  watched.push_back(std::move(tokens));
  saved->point_ = rewinder->SetPoint(std::move(watched), saved->options_.budget);
  return saved;
}

Result<SavedState::Returned> SavedState::Return() {
  const Catalog::Lock catalog(store_.catalog());
  HeldGates gates;
  std::vector<TablePtr> current = store_.ListOf(options_.account);
  TRY(gates.Hold(current, options_.most_wait_micros));
  Way way(*this);
  TRY(way.Plan(std::move(current)));
  return way.Go(gates);
}

}  // namespace stator::table
