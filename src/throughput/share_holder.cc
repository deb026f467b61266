#include "throughput/share_holder.h"

#include <algorithm>
#include <utility>

namespace stator::throughput {

ShareHolder::News ShareHolder::Receive(const GrantRecord* record, int64_t ticks) {
  // Generation 0 has been heard of, and grants nothing yet.
  if (record != nullptr && record->session == session_ && record->generation > 0 &&
      record->generation >= generation_) {
    const auto asked = asked_.find(record->answers);
    const int64_t until = asked == asked_.end() ? INT64_MIN : asked->second + record->valid_micros;
    if (until > ticks) {
      valid_until_ = std::max(valid_until_, until);
      had_grant_ = true;
      return {.granted = record->generation > generation_};
    }
  }
  if (ticks < valid_until_) return {};
  const bool ended = had_grant_;
  if (had_grant_) {
    // What others may have been given since is not to be claimed by late answers to old asks.
    ++session_;
    asked_.clear();
    generation_ = 0;
    surrendered_.clear();
    had_grant_ = false;
  }
  return {.ended = ended};
}

void ShareHolder::PutInForce(const GrantRecord& record, std::map<uint32_t, Units> surrendered) {
  generation_ = record.generation;
  surrendered_ = std::move(surrendered);
}

Report ShareHolder::Ask(int64_t ticks, Use use) {
  asked_[++ask_] = ticks;
  if (asked_.size() > kMostAsks) asked_.erase(asked_.begin());
  if (last_tick_ != INT64_MIN) {
    ticks_.insert(ticks_.begin(), {std::max<int64_t>(1, ticks - last_tick_), std::move(use)});
    if (ticks_.size() > Report::kMostTicks) ticks_.pop_back();
  }
  last_tick_ = ticks;
  return {session_, ask_, generation_, surrendered_, ticks_};
}

bool ShareElection::Leads(const std::string& self, const SharePlan* plan, uint64_t version,
                          int64_t ticks) {
  if (plan == nullptr || plan->allocator.empty() || plan->allocator == self) return true;
  if (since_ == INT64_MIN || version != version_) {
    version_ = version;
    since_ = ticks;
  }
  return ticks - since_ >= settings_.takeover_micros;
}

}  // namespace stator::throughput
