#include "table/expiry_sweeper.h"

#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <memory>

#include "base/log.h"
#include "table/outcomes.h"

namespace stator::table {
namespace {

constexpr int64_t kSecond = 1'000'000;

// With a delay of deletions, each pass reads the waiting entries again. So a pass is made only once
// in 1/256 of the delay.
constexpr int64_t kPassesPerDelay = 256;

bool HasSweep(const TableDescriptor& table) {
  return table.HasTimeToLive() && table.deleting_micros == 0;
}

}  // namespace

int64_t ExpiryDelay::SecondsOf(const model::Number& time, std::string_view item_key) const {
  if (max_seconds <= 0) return 0;
  const std::string of = time.ToString().append(item_key);
  return static_cast<int64_t>(XXH3_64bits_withSeed(of.data(), of.size(), seed) %
                              static_cast<uint64_t>(max_seconds + 1));
}

bool ExpirySweeper::Waits() const {
  // A store that takes no writes fills no index.
  if (!store_.engine().Health().ok()) return false;
  const std::map<std::string, std::string> damaged = store_.DamagedTables();
  for (const TablePtr& table : store_.List()) {
    const std::optional<ExpiryIndex>& expiry = table->descriptor.expiry;
    if (expiry && expiry->state != IndexDescriptor::State::kActive && store_.MayWork(*table) &&
        damaged.count(table->descriptor.name) == 0)
      return true;
  }
  return false;
}

bool ExpirySweeper::Step(size_t items) {
  bool more = false;
  std::map<uint32_t, Progress> before;
  before.swap(progress_);
  for (const TablePtr& table : store_.List()) {
    if (!HasSweep(table->descriptor) || !store_.MayWork(*table)) continue;
    const uint32_t tablet_id = table->descriptor.expiry->tablet_id;
    Progress& progress = progress_[tablet_id];
    if (const auto known = before.find(tablet_id); known != before.end()) {
      progress = std::move(known->second);
      before.erase(known);
    }
    progress.name = table->descriptor.name;
    more |= StepTable(table, items, &progress);
  }
  // Tables that are gone, or have no time to live any more, leave no backlog behind.
  for (auto& [tablet_id, progress] : before) {
    if (progress.backlog) Tell(&progress, 0, 0);
  }
  return more;
}

void ExpirySweeper::Begin(const TablePtr& table, int64_t now, Progress* progress) {
  // Entries within the delay are looked for again, so the mark stays before them.
  const int64_t seconds = now / kSecond - delay_.max_seconds;
  progress->begun_micros = now;
  // First the mark, then the look: an entry that becomes durable behind the look takes it down.
  progress->from_seconds = table->expiry_mark->Raise(seconds);
  const int64_t oldest = std::max<int64_t>(0, now - kLongestExpiredSeconds * kSecond);
  model::Number from = SecondsOf(oldest);
  // The mark knows nothing of entries that other processes have put.
  if (progress->from_seconds > oldest / kSecond && !store_.shared()) {
    from = model::Number::FromInt(progress->from_seconds);
  }
  progress->next = FirstExpiryKey(from);
  progress->end = FirstExpiryKey(SecondsOf(now));
  progress->under_way = true;
}

bool ExpirySweeper::StepTable(const TablePtr& table, size_t items, Progress* progress) {
  const int64_t now = clock_.NowMicros();
  if (!progress->under_way) {
    const int64_t pause = delay_.max_seconds * kSecond / kPassesPerDelay;
    if (now >= progress->begun_micros && now - progress->begun_micros < pause) return false;
    Begin(table, now, progress);
  }
  std::vector<std::string> keys;
  std::string last;
  size_t seen = 0;
  const kv::Range range = {table->descriptor.expiry->tablet(), progress->next, progress->end, false,
                           items};
  Status status =
      store_.engine().Scan(range, kv::Tier::kAny, [&](std::string_view key, std::string_view) {
        last = key;
        ++seen;
        if (delay_.max_seconds == 0 || IsDue(key, now)) keys.emplace_back(key);
        return seen < items;
      });
  int64_t deleted = 0;
  double backlog_seconds = 0;
  if (status.ok() && !keys.empty()) {
    if (const Result<ExpiryEntry> entry = DecodeExpiryKey(keys.back()); entry.ok()) {
      backlog_seconds = std::max(0.0, static_cast<double>(now) / 1e6 - entry->time.ToDouble());
    }
    Result<int64_t> done = Delete(table, keys);
    if (done.ok()) {
      deleted = *done;
    } else if (done.error().code() == ErrorCode::kCorruption) {
      // The other items of the step were deleted. The damaged ones are tried again after a restart.
      LogError("expired_item_damaged",
               {{"table", progress->name}, {"error", done.error().message()}});
    } else {
      status = std::move(done).error();
    }
  }
  if (!status.ok()) {
    // The next pass starts where this one did.
    table->expiry_mark->Lower(progress->from_seconds);
    progress->under_way = false;
    if (status.error().code() != ErrorCode::kResourceNotFound) {
      LogWarn("expired items not deleted",
              {{"table", progress->name}, {"error", status.error().message()}});
    }
    Tell(progress, 0, backlog_seconds);
    return false;
  }
  const bool more = seen == items;
  if (more) progress->next = last + std::string(1, '\0');
  progress->under_way = more;
  Tell(progress, deleted, more ? backlog_seconds : 0);
  return more;
}

bool ExpirySweeper::IsDue(std::string_view entry_key, int64_t now_micros) const {
  const Result<ExpiryEntry> entry = DecodeExpiryKey(entry_key);
  if (!entry.ok()) return true;  // Delete says so
  return IsExpired(entry->time,
                   now_micros - delay_.SecondsOf(entry->time, entry->item_key) * kSecond);
}

void ExpirySweeper::Tell(Progress* progress, int64_t deleted, double backlog_seconds) {
  if (deleted == 0 && backlog_seconds == 0 && !progress->backlog) return;
  progress->backlog = backlog_seconds > 0;
  observer_({progress->name, deleted, backlog_seconds});
}

Result<int64_t> ExpirySweeper::Delete(const TablePtr& table,
                                      const std::vector<std::string>& entry_keys) {
  auto outcomes = std::make_shared<Outcomes>(entry_keys.size());
  auto deleted = std::make_shared<std::atomic<int64_t>>(0);
  for (const std::string& entry_key : entry_keys) {
    const Result<ExpiryEntry> entry = DecodeExpiryKey(entry_key);
    if (!entry.ok()) {
      outcomes->Add(entry.error());
      continue;
    }
    std::vector<WriteTarget> targets;
    targets.push_back({table, std::string(entry->item_key)});
    // The decision of the last run of the body, read when the write is done.
    auto expired = std::make_shared<std::atomic<bool>>(false);
    store_.Write(
        std::move(targets),
        [this, expired, attribute = table->descriptor.expiry->attribute,
         item_key = std::string(entry->item_key)](
            const std::vector<model::ItemView>& old_items) -> Result<std::vector<Change>> {
          const std::optional<model::Number> time = ExpiryOf(old_items[0], attribute);
          const int64_t now = clock_.NowMicros();
          *expired = time && IsExpired(*time, now) &&
                     (delay_.max_seconds == 0 ||
                      IsExpired(*time, now - delay_.SecondsOf(*time, item_key) * kSecond));
          std::vector<Change> changes(1);
          if (*expired) changes[0].kind = Change::kExpire;
          return changes;
        },
        [outcomes, expired, deleted](Status status) {
          if (status.ok() && *expired) ++*deleted;
          outcomes->Add(std::move(status));
        });
  }
  TRY(outcomes->Wait());
  return deleted->load();
}

}  // namespace stator::table
