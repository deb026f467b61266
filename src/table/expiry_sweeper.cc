#include "table/expiry_sweeper.h"

#include <algorithm>
#include <atomic>
#include <memory>

#include "base/log.h"
#include "table/outcomes.h"

namespace stator::table {
namespace {

constexpr int64_t kSecond = 1'000'000;

bool HasSweep(const TableDescriptor& table) {
  return table.HasTimeToLive() && table.deleting_micros == 0;
}

}  // namespace

bool ExpirySweeper::Waits() const {
  // A store that takes no writes fills no index.
  if (!store_.engine().Health().ok()) return false;
  for (const TablePtr& table : store_.List()) {
    const std::optional<ExpiryIndex>& expiry = table->descriptor.expiry;
    if (expiry && expiry->state != IndexDescriptor::State::kActive && store_.MayWork(*table))
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
  const int64_t seconds = now / kSecond;
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
  if (!progress->under_way) Begin(table, now, progress);
  std::vector<std::string> keys;
  const kv::Range range = {table->descriptor.expiry->tablet(), progress->next, progress->end, false,
                           items};
  Status status =
      store_.engine().Scan(range, kv::Tier::kAny, [&](std::string_view key, std::string_view) {
        keys.emplace_back(key);
        return keys.size() < items;
      });
  int64_t deleted = 0;
  double backlog_seconds = 0;
  if (status.ok() && !keys.empty()) {
    if (const Result<ExpiryEntry> last = DecodeExpiryKey(keys.back()); last.ok()) {
      backlog_seconds = std::max(0.0, static_cast<double>(now) / 1e6 - last->time.ToDouble());
    }
    Result<int64_t> done = Delete(table, keys);
    if (done.ok()) {
      deleted = *done;
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
  const bool more = keys.size() == items;
  if (more) progress->next = keys.back() + std::string(1, '\0');
  progress->under_way = more;
  Tell(progress, deleted, more ? backlog_seconds : 0);
  return more;
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
    // What the last run of the body decided; nobody reads it before the write is done.
    auto expired = std::make_shared<std::atomic<bool>>(false);
    store_.Write(
        std::move(targets),
        [this, expired, attribute = table->descriptor.expiry->attribute](
            const std::vector<model::ItemView>& old_items) -> Result<std::vector<Change>> {
          const std::optional<model::Number> time = ExpiryOf(old_items[0], attribute);
          *expired = time && IsExpired(*time, clock_.NowMicros());
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
