#include "table/write_batch.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "history/change_log.h"
#include "stream/record.h"
#include "stream/stream.h"
#include "table/index_entries.h"
#include "table/item_value.h"
#include "table/key_encoding.h"

namespace stator::table {
namespace {

class BatchFiller {
 public:
  BatchFiller(Store& store, const std::vector<WriteTarget>& targets,
              const std::vector<OldImage>& images, const std::shared_ptr<kv::BatchFate>& fate,
              kv::Batch* batch)
      : store_(store), targets_(targets), images_(images), fate_(fate), batch_(*batch) {}

  Result<WriteEffects> Fill(std::vector<Change>& changes) {
    for (size_t i = 0; i < changes.size(); ++i) {
      if (changes[i].kind != Change::kNone) TRY(Add(i, changes[i]));
    }
    for (const history::ChangeLog* log : logs_) history::AppendMark(*log, LogTime(), &batch_);
    TRY(CheckCollections());
    // An index build finds the entries of most items in place already. Then the batch is empty, and
    // no image is pending.
    if (batch_.puts.empty() && batch_.deletes.empty()) effects_.images.clear();
    return std::move(effects_);
  }

 private:
  Status Add(size_t i, Change& change) {
    const WriteTarget& target = targets_[i];
    const model::ItemView old_item = images_[i].view();
    auto pending = std::make_shared<PendingImage>();
    pending->fate = fate_;
    int64_t items = old_item.exists() ? -1 : 0;
    int64_t bytes = -static_cast<int64_t>(old_item.size_bytes());
    const kv::Tablet tablet = target.table->descriptor.tablet();
    // A pending image is recorded as replaced only if the batch that wrote it is recorded in the
    // history, too.
    const bool kept = store_.history().Keeps(target.table->descriptor.name) &&
                      (images_[i].pending == nullptr || images_[i].pending->kept);
    pending->kept = kept;
    pending->fence = target.table->descriptor.fence;
    if (change.kind == Change::kReindex) {
      if (!old_item.exists()) return OkStatus();
      pending->item = std::string(old_item.encoded());
      const PendingImage* before = images_[i].pending.get();
      pending->stamp = before != nullptr ? before->stamp : images_[i].stamp;
      if (before != nullptr) pending->left_by = before->left_by;
      items = 0;
      bytes = 0;
    } else if (change.kind == Change::kPut) {
      batch_.puts.push_back({tablet, target.key, EncodeItemValue(change.item)});
      items += 1;
      bytes += static_cast<int64_t>(model::ItemView(change.item).size_bytes());
      pending->item = std::move(change.item);
      pending->left_by = fate_;
    } else {
      if (!old_item.exists()) return OkStatus();
      batch_.deletes.push_back({tablet, target.key});
    }
    const model::ItemView new_item =
        pending->item ? model::ItemView(*pending->item) : model::ItemView();
    if (change.kind != Change::kReindex) {
      AddRecord(target.table->stream.get(), target, change.kind, old_item, new_item);
      AddRecord(target.table->capture.get(), target, change.kind, old_item, new_item);
    }
    if (target.table->descriptor.change_log && change.kind != Change::kReindex)
      LogChange(target, old_item, new_item);
    if (kept && change.kind != Change::kReindex) RememberItem(i);
    if (!target.table->descriptor.indexes.empty())
      TRY(AddEntries(i, new_item, change.entries, bytes, kept));
    if (target.table->descriptor.HasTimeToLive())
      AddExpiry(i, new_item, change.kind == Change::kReindex);
    AddToCounter(tablet, "count", items);
    AddToCounter(tablet, "bytes", bytes);
    if ((bytes != 0 || items != 0) && target.table->meters.table != nullptr)
      effects_.growths.push_back({&target, nullptr, {}, bytes, items});
    effects_.images.emplace_back(i, std::move(pending));
    return OkStatus();
  }

  void AddRecord(const stream::Appender* stream, const WriteTarget& target, Change::Kind kind,
                 model::ItemView old_item, model::ItemView new_item) {
    if (stream == nullptr) return;
    const auto cause = kind == Change::kExpire ? stream::Cause::kService : stream::Cause::kClient;
    const bool added = stream->Append(HashOfKey(target.key), old_item, new_item, cause,
                                      store_.clock().NowMicros(), records_, &batch_);
    if (added) ++records_;
  }

  void LogChange(const WriteTarget& target, model::ItemView old_item, model::ItemView new_item) {
    if (old_item.encoded() == new_item.encoded()) return;
    const history::ChangeLog& log = *target.table->descriptor.change_log;
    history::AppendBefore(log, target.key, old_item, LogTime(), &batch_);
    const bool marked = std::any_of(
        logs_.begin(), logs_.end(),
        [&log](const history::ChangeLog* other) { return other->tablet_id == log.tablet_id; });
    if (!marked) logs_.push_back(&log);
  }

  // The time of the batch in change logs: one for all of its changes, so that a moment has all or
  // none of them.
  int64_t LogTime() {
    if (!log_time_) log_time_ = store_.change_clock().At(store_.clock().NowMicros());
    return *log_time_;
  }

  void Remember(kv::Tablet tablet, std::string key, std::optional<std::string> item) {
    effects_.before.push_back(
        {tablet, std::move(key),
         item ? std::make_shared<const std::string>(*std::move(item)) : nullptr});
  }

  void RememberItem(size_t i) {
    const OldImage& image = images_[i];
    std::optional<std::string> item;
    if (image.view().exists()) item = std::string(image.view().encoded());
    Remember(targets_[i].table->descriptor.tablet(), targets_[i].key, std::move(item));
  }

  // An index that is being built is left out of the history, because no request reads it yet.
  void RememberEntry(const TableDescriptor& table, const IndexDescriptor& index,
                     const EntryChange& change, const OldImage& image) {
    if (index.state != IndexDescriptor::State::kActive) return;
    const kv::Tablet tablet = table.TabletOf(index);
    if (change.had) Remember(tablet, change.old_key, ProjectEntry(table, index, image.view()));
    if (change.has && (!change.had || change.moved)) Remember(tablet, change.new_key, std::nullopt);
  }

  // What the indexes of the target's table make of the change to `new_item`. `known`: that, if the
  // body derived it; its keys and entries are taken. `item_bytes`: by how much the item itself
  // grows. `kept`: the table has a history.
  Status AddEntries(size_t i, model::ItemView new_item, EntryChanges& known, int64_t item_bytes,
                    bool kept) {
    const WriteTarget& target = targets_[i];
    const TableDescriptor& table = target.table->descriptor;
    const OldImage& image = images_[i];
    int64_t collection_bytes = item_bytes;
    // The gate may have let us in at a later version of the table than the body knew.
    const bool derived = known.AreFrom(table, image.view());
    for (size_t k = 0; k < table.indexes.size(); ++k) {
      const IndexDescriptor& index = table.indexes[k];
      if (index.state == IndexDescriptor::State::kDeleting) continue;
      if (derived) {
        TRY(AddEntry(i, index, known.by_index[k], kept, &collection_bytes));
      } else {
        EntryChange change = ChangeOfEntry(table, index, image.view(), new_item);
        TRY(AddEntry(i, index, change, kept, &collection_bytes));
      }
    }
    if (table.HasLocalIndexes()) {
      AddToCounterKey(table.tablet(), EncodeCollectionKey(table.key_schema, target.key),
                      collection_bytes);
      if (collection_bytes != item_bytes && target.table->meters.table != nullptr)
        effects_.growths.push_back({&target, nullptr, {}, collection_bytes - item_bytes, 0});
    }
    return OkStatus();
  }

  // One of these. What the batch needs is taken from `change`.
  Status AddEntry(size_t i, const IndexDescriptor& index, EntryChange& change, bool kept,
                  int64_t* collection_bytes) {
    const WriteTarget& target = targets_[i];
    const TableDescriptor& table = target.table->descriptor;
    const OldImage& image = images_[i];
    const kv::Tablet tablet = table.TabletOf(index);
    if (index.state == IndexDescriptor::State::kCreating && change.had &&
        (image.pending == nullptr || image.pending->fence != table.fence)) {
      // An image that is pending was written by somebody who knew the index; a durable one may be
      // older than the index.
      std::string entry;
      ASSIGN_OR_RETURN(change.had,
                       store_.engine().Get(tablet, change.old_key, kv::Tier::kAny, &entry));
      if (store_.shared())
        batch_.guards.push_back({tablet, change.old_key, change.had ? kv::StampOf(entry) : 0});
      if (!change.had) change.moved = change.rewritten = false;
    }
    if (!change.changes()) return OkStatus();
    if (kept) RememberEntry(table, index, change, image);
    if (index.is_global() && target.table->meters.table != nullptr)
      AddGrowths(target, index, change);
    if (change.deletes()) batch_.deletes.push_back({tablet, std::move(change.old_key)});
    if (change.puts()) {
      batch_.puts.push_back({tablet, std::move(change.new_key), EncodeItemValue(change.new_entry)});
      change.new_entry =
          std::string();  // not to have large ones twice until the whole batch is there
    }
    const int64_t bytes = (change.has ? change.new_bytes : 0) - (change.had ? change.old_bytes : 0);
    AddToCounterKey(tablet, EncodeIndexCounterKey(index, "count"),
                    (change.has ? 1 : 0) - (change.had ? 1 : 0));
    AddToCounterKey(tablet, EncodeIndexCounterKey(index, "bytes"), bytes);
    if (!index.is_global()) *collection_bytes += bytes;
    return OkStatus();
  }

  void AddGrowths(const WriteTarget& target, const IndexDescriptor& index,
                  const EntryChange& change) {
    if (change.deletes())
      effects_.growths.push_back({&target, &index, change.old_key, -change.old_bytes, -1});
    const bool stays = change.had && !change.moved;
    const int64_t grown = change.new_bytes - (stays ? change.old_bytes : 0);
    if (change.puts() && (grown != 0 || !stays))
      effects_.growths.push_back({&target, &index, change.new_key, grown, stays ? 0 : 1});
  }

  // A collection may shrink, however large it is.
  Status CheckCollections() {
    for (const auto& [i, image] : effects_.images) {
      const Table& table = *targets_[i].table;
      if (!table.descriptor.HasLocalIndexes()) continue;
      const kv::Tablet tablet = table.descriptor.tablet();
      const std::string key = EncodeCollectionKey(table.key_schema(), targets_[i].key);
      const kv::Add* const add = FindAdd(tablet, key);
      if (add != nullptr && add->delta > 0 &&
          images_[i].collection_bytes + add->delta > store_.max_collection_bytes())
        return Error(ErrorCode::kItemCollectionTooLarge, "Collection size exceeded.",
                     std::make_shared<TargetPayload>(i));
    }
    return OkStatus();
  }

  // The entry of the hidden index of time to live. Its key says all, so that to put one that is
  // there, or to delete one that is not, does no harm: nothing need be looked up while the index is
  // being filled.
  void AddExpiry(size_t i, model::ItemView new_item, bool reindex) {
    const WriteTarget& target = targets_[i];
    const ExpiryIndex& expiry = *target.table->descriptor.expiry;
    const std::optional<model::Number> before = ExpiryOf(images_[i].view(), expiry.attribute);
    const std::optional<model::Number> after = ExpiryOf(new_item, expiry.attribute);
    if (before == after && !reindex) return;
    if (before && before != after)
      batch_.deletes.push_back({expiry.tablet(), EncodeExpiryKey(*before, target.key)});
    if (!after) return;
    kv::Put put;
    put.tablet = expiry.tablet();
    put.key = EncodeExpiryKey(*after, target.key);
    put.value.assign(kv::kStampBytes, '\0');
    batch_.puts.push_back(std::move(put));
    effects_.expiries.emplace_back(target.table->expiry_mark, *after);
  }

  // A key may stand in a batch once.
  void AddToCounter(kv::Tablet tablet, std::string_view name, int64_t delta) {
    if (delta != 0) AddToCounterKey(tablet, EncodeCounterKey(name), delta);
  }

  void AddToCounterKey(kv::Tablet tablet, std::string key, int64_t delta) {
    if (delta == 0) return;
    if (kv::Add* const add = FindAdd(tablet, key); add != nullptr) {
      add->delta += delta;
      return;
    }
    if (batch_.adds.size() >= kFewAdds) adds_[tablet].emplace(key, batch_.adds.size());
    batch_.adds.push_back({tablet, std::move(key), delta});
  }

  // The first few are looked through. A transaction of 100 tables of 20 indexes has 4,200.
  kv::Add* FindAdd(kv::Tablet tablet, std::string_view key) {
    const size_t few = std::min(batch_.adds.size(), kFewAdds);
    for (size_t i = 0; i < few; ++i) {
      kv::Add& add = batch_.adds[i];
      if (add.tablet == tablet && add.key == key) return &add;
    }
    if (batch_.adds.size() <= kFewAdds) return nullptr;
    const auto in_tablet = adds_.find(tablet);
    if (in_tablet == adds_.end()) return nullptr;
    const auto found = in_tablet->second.find(key);
    return found == in_tablet->second.end() ? nullptr : &batch_.adds[found->second];
  }

  Store& store_;
  const std::vector<WriteTarget>& targets_;
  const std::vector<OldImage>& images_;
  const std::shared_ptr<kv::BatchFate>& fate_;
  kv::Batch& batch_;
  WriteEffects effects_;
  static constexpr size_t kFewAdds = 16;
  // Where the adds beyond the first few stand in the batch.
  std::map<kv::Tablet, std::map<std::string, size_t, std::less<>>> adds_;
  uint32_t records_ = 0;                         // of streams, in the batch
  std::vector<const history::ChangeLog*> logs_;  // that have records in the batch
  std::optional<int64_t> log_time_;
};

}  // namespace

void WriteEffects::CountGrowths() const {
  for (const Growth& growth : growths) {
    const Table& table = *growth.target->table;
    if (growth.index == nullptr) {
      table.meters.table->resource().AddBytes(PointOfItem(table.key_schema(), growth.target->key),
                                              growth.bytes, growth.items);
    } else {
      table.MeterOf(*growth.index)
          .resource()
          .AddBytes(PointOfEntry(*growth.index, growth.key), growth.bytes, growth.items);
    }
  }
}

Result<WriteEffects> FillBatch(Store& store, const std::vector<WriteTarget>& targets,
                               const std::vector<OldImage>& images, std::vector<Change>& changes,
                               const std::shared_ptr<kv::BatchFate>& fate, kv::Batch* batch) {
  return BatchFiller(store, targets, images, fate, batch).Fill(changes);
}

}  // namespace stator::table
