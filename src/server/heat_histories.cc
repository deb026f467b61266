#include "server/heat_histories.h"

#include <algorithm>
#include <set>

#include "base/log.h"
#include "kv/fixed_bytes.h"
#include "server/report_json.h"
#include "table/item_value.h"
#include "table/store.h"

namespace stator::server {
namespace {

using throughput::HeatHistory;

// Small enough for every engine.
constexpr size_t kPieceBytes = 128 * 1024;
constexpr size_t kBatchBytes = 4 << 20;

HeatHistory::Settings SettingsFor(bool manual_clock) {
  HeatHistory::Settings settings;
  if (manual_clock) settings.spread_micros = 0;
  return settings;
}

constexpr size_t kKeyBytes = 8;

std::string PieceKey(uint32_t tablet, uint32_t piece) {
  std::string key(kKeyBytes, '\0');
  kv::StoreBig32(key.data(), tablet);
  kv::StoreBig32(key.data() + 4, piece);
  return key;
}

}  // namespace

HeatHistories::HeatHistories(ops::Environment& environment, bool manual_clock,
                             size_t most_slot_bytes)
    : environment_(environment),
      settings_(SettingsFor(manual_clock)),
      most_slot_bytes_(most_slot_bytes),
      more_than_(most_slot_bytes) {
  if (!environment.admission.shared()) Load();
  environment.admission.Watch([this](const ops::Admission::Usage& usage) { OnUsage(usage); });
}

void HeatHistories::Load() {
  struct Stored {
    std::string bytes;
    uint32_t pieces = 0;
    bool whole = true;
  };
  std::map<uint32_t, Stored> stored;
  const Status read = environment_.store.engine().Scan(
      {kHeatTablet, {}, {}, false}, kv::Tier::kAny,
      [&](std::string_view key, std::string_view value) {
        const Result<std::string_view> piece = table::DecodeItemValue(value);
        if (key.size() != kKeyBytes) return true;
        Stored& one = stored[kv::LoadBig32(key.data())];
        const uint32_t number = kv::LoadBig32(key.data() + 4);
        one.whole = one.whole && piece.ok() && number == one.pieces;
        one.pieces = number + 1;
        if (one.whole) one.bytes += *piece;
        return true;
      });
  if (!read.ok()) LogWarn("heat_history_lost", {{"error", read.error().message()}});
  const MutexLock lock(mutex_);
  for (auto& [tablet, one] : stored) {
    Entry entry{HeatHistory(settings_), false, one.pieces};
    Result<HeatHistory> history =
        one.whole ? HeatHistory::Decode(one.bytes, settings_)
                  : CorruptionError("a piece of a heat history is missing or damaged");
    if (history.ok()) {
      entry.history = *std::move(history);
    } else {
      LogWarn("heat_history_lost", {{"tablet", tablet}, {"error", history.error().message()}});
    }
    slot_bytes_ += entry.history.SlotBytes();
    entries_.emplace(tablet, std::move(entry));
  }
}

void HeatHistories::OnUsage(const ops::Admission::Usage& usage) {
  const std::vector<throughput::PartitionCount> counts =
      throughput::CountsOf(usage.resource.meter->resource());
  const MutexLock lock(mutex_);
  const auto [at, is_new] =
      entries_.try_emplace(TabletOf(usage.resource), Entry{HeatHistory(settings_), false, 0});
  Entry& entry = at->second;
  slot_bytes_ -= entry.history.SlotBytes();
  // Time without use is not reported, so record it as idle.
  entry.history.RecordIdle(usage.from_micros);
  entry.history.Record(usage.to_micros, counts);
  entry.changed = true;
  slot_bytes_ += entry.history.SlotBytes();
  if (slot_bytes_ > more_than_) MakeRoom();
}

// A little more than needed, so that it is not needed again at once. If one turn is not enough, the
// histories are too many for the bound, and the next turn comes when there is a sixteenth more.
void HeatHistories::MakeRoom() {
  constexpr size_t kLeastSlots = 4;
  const size_t enough = most_slot_bytes_ - most_slot_bytes_ / 16;
  auto next = entries_.upper_bound(thinned_);
  for (size_t left = entries_.size(); left > 0 && slot_bytes_ > enough; --left, ++next) {
    if (next == entries_.end()) next = entries_.begin();
    throughput::HeatHistory& history = next->second.history;
    slot_bytes_ -= history.SlotBytes();
    if (history.Thin(kLeastSlots)) next->second.changed = true;
    slot_bytes_ += history.SlotBytes();
    thinned_ = next->first;
  }
  more_than_ = std::max(most_slot_bytes_, slot_bytes_ + slot_bytes_ / 16);
}

throughput::HeatMap HeatHistories::Map(uint32_t tablet_id, HeatHistory::Window window) const {
  const MutexLock lock(mutex_);
  const auto found = entries_.find(tablet_id);
  return found != entries_.end() ? found->second.history.Map(window)
                                 : HeatHistory(settings_).Map(window);
}

size_t HeatHistories::Bytes() const {
  const MutexLock lock(mutex_);
  size_t bytes = 0;
  for (const auto& [tablet, entry] : entries_) bytes += entry.history.Bytes();
  return bytes;
}

void HeatHistories::ForgetGone() {
  std::set<uint32_t> alive;
  for (const table::TablePtr& table : environment_.store.List()) {
    alive.insert(table->descriptor.tablet_id);
    for (const table::IndexDescriptor& index : table->descriptor.indexes) {
      if (index.is_global()) alive.insert(index.tablet_id);
    }
  }
  const MutexLock lock(mutex_);
  std::erase_if(entries_, [&](const auto& one) REQUIRES(mutex_) {
    const auto& [tablet, entry] = one;
    if (alive.contains(tablet)) return false;
    slot_bytes_ -= entry.history.SlotBytes();
    for (uint32_t piece = 0; piece < entry.pieces; ++piece)
      gone_.push_back({kHeatTablet, PieceKey(tablet, piece)});
    return true;
  });
}

kv::Batch HeatHistories::NextBatch(std::map<uint32_t, uint32_t>* written, size_t* gone) {
  kv::Batch batch;
  const MutexLock lock(mutex_);
  batch.deletes = std::move(gone_);
  gone_.clear();
  *gone = batch.deletes.size();
  size_t size = 0;
  for (auto& [tablet, entry] : entries_) {
    if (!entry.changed) continue;
    if (size >= kBatchBytes) break;
    entry.changed = false;
    const std::string bytes = entry.history.Encode();
    uint32_t piece = 0;
    for (size_t at = 0; at < bytes.size(); at += kPieceBytes, ++piece) {
      kv::Put put;
      put.tablet = kHeatTablet;
      put.key = PieceKey(tablet, piece);
      put.value = table::EncodeItemValue(std::string_view(bytes).substr(at, kPieceBytes));
      batch.puts.push_back(std::move(put));
    }
    for (uint32_t old = piece; old < entry.pieces; ++old)
      batch.deletes.push_back({kHeatTablet, PieceKey(tablet, old)});
    size += bytes.size();
    (*written)[tablet] = piece;
  }
  return batch;
}

void HeatHistories::Keep() {
  const MutexLock keeping(keeping_);
  ForgetGone();
  kv::Engine& engine = environment_.store.engine();
  if (!engine.capabilities().durable || environment_.admission.shared()) return;
  for (;;) {
    std::map<uint32_t, uint32_t> written;
    size_t gone = 0;
    kv::Batch batch = NextBatch(&written, &gone);
    if (batch.empty()) return;
    // Should it fail, those of histories that are still there are found again.
    const std::vector<kv::Delete> of_gone(batch.deletes.begin(),
                                          batch.deletes.begin() + static_cast<ptrdiff_t>(gone));
    const Result<uint64_t> applied = kv::ApplyAndWait(engine, std::move(batch));
    const MutexLock lock(mutex_);
    for (const auto& [tablet, pieces] : written) {
      const auto entry = entries_.find(tablet);
      if (entry == entries_.end()) continue;
      if (applied.ok()) {
        entry->second.pieces = pieces;
      } else {
        entry->second.changed = true;
        entry->second.pieces = std::max(entry->second.pieces, pieces);
      }
    }
    if (applied.ok()) continue;
    // Tried again at the next call.
    gone_.insert(gone_.end(), of_gone.begin(), of_gone.end());
    LogWarn("heat_history_not_kept", {{"error", applied.error().message()}});
    return;
  }
}

}  // namespace stator::server
