#include "table/space_reclaimer.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/start_thread.h"
#include "table/catalog_entry.h"
#include "table/catalog_snapshot.h"
#include "table/item_value.h"

namespace stator::table {
namespace {

constexpr auto kFirstPause = std::chrono::milliseconds(500);
constexpr auto kLongestPause = std::chrono::milliseconds(60'000);

}  // namespace

void SpaceReclaimer::Add(std::string key, std::vector<kv::Tablet> tablets) {
  if (reclaimer_ == nullptr) return;
  MutexLock lock(mutex_);
  if (stop_) return;
  entries_.push_back({std::move(key), std::move(tablets)});
  // Without a thread they wait for the next call.
  if (!thread_.joinable()) (void)StartThread("space", &thread_, [this] { Run(); });
  wake_.notify_all();
}

void SpaceReclaimer::SetPredicate(MayReclaim may_reclaim) {
  MutexLock lock(mutex_);
  may_reclaim_ = std::move(may_reclaim);
  wake_.notify_all();
}

SpaceReclaimer::View SpaceReclaimer::view() const {
  MutexLock lock(mutex_);
  View view = view_;
  view.waiting = entries_.size();
  return view;
}

void SpaceReclaimer::Stop() {
  std::thread thread;
  {
    MutexLock lock(mutex_);
    stop_ = true;
    thread = std::move(thread_);
    wake_.notify_all();
  }
  if (thread.joinable()) thread.join();
}

void SpaceReclaimer::Run() {
  std::chrono::milliseconds pause = kFirstPause;
  while (true) {
    Entry entry;
    {
      MutexLock lock(mutex_);
      while (entries_.empty() && !stop_) wake_.wait(mutex_);
      if (stop_) return;
      entry = entries_.front();
    }
    const Status done = Work(entry);
    MutexLock lock(mutex_);
    if (stop_) return;
    if (done.ok()) {
      entries_.pop_front();
      view_.error.clear();
      pause = kFirstPause;
      continue;
    }
    // The others first: what stands in the way of one may stand in the way of it alone.
    std::rotate(entries_.begin(), entries_.begin() + 1, entries_.end());
    // A tablet to which a snapshot may return waits without a word.
    const bool news = std::exchange(view_.error, done.error().message()) != done.error().message();
    if (news && done.error().code() != ErrorCode::kResourceInUse)
      LogWarn("space_of_dropped_tablets_not_given_back",
              {{"entry", entry.key}, {"error", done.error().message()}});
    wake_.wait_for(mutex_, pause);
    pause = std::min(2 * pause, kLongestPause);
  }
}

Status SpaceReclaimer::Work(const Entry& entry) {
  // A return to a snapshot takes back entries, or part of what they name.
  std::string value;
  ASSIGN_OR_RETURN(const bool found,
                   engine_.Get(kCatalogTablet, entry.key, kv::Tier::kAny, &value));
  if (!found) return OkStatus();
  ASSIGN_OR_RETURN(const std::string_view bytes, DecodeItemValue(value));
  if (bytes != EncodeDropped(entry.tablets)) return OkStatus();
  for (const kv::Tablet tablet : entry.tablets) {
    MayReclaim may_reclaim;
    {
      MutexLock lock(mutex_);
      may_reclaim = may_reclaim_;
    }
    if (may_reclaim && !may_reclaim(tablet))
      return Error(ErrorCode::kUnavailable, "What the tablet held is still read.");
    ASSIGN_OR_RETURN(const uint64_t bytes, reclaimer_->Reclaim(tablet, &stop_));
    MutexLock lock(mutex_);
    view_.bytes += bytes;
  }
  kv::Batch batch;
  batch.deletes.push_back({kCatalogTablet, entry.key});
  const Result<uint64_t> applied = kv::ApplyAndWait(engine_, std::move(batch));
  return applied.ok() ? OkStatus() : Status(applied.error());
}

}  // namespace stator::table
