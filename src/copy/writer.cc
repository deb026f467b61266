#include "copy/writer.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/mutex_wait.h"

namespace stator::copy {
namespace {

bool MayPass(ErrorCode code) {
  return code == ErrorCode::kUnavailable || code == ErrorCode::kOutcomeUnknown ||
         code == ErrorCode::kTransactionConflict;
}

}  // namespace

Writer::~Writer() {
  UniqueMutexLock lock(flights_->mutex);
  flights_->wake.wait(lock, [this]() REQUIRES(flights_->mutex) {
    return std::ranges::none_of(flights_->batches,
                                [](const auto& batch) { return batch->state == Batch::kUnderWay; });
  });
}

Status Writer::Add(std::string_view key, std::string_view item) {
  if (next_ == nullptr) next_ = std::make_shared<Batch>();
  // A write has one change for each key: the later item of a key takes the place of the earlier.
  const auto same =
      std::ranges::find_if(next_->items, [key](const auto& entry) { return entry.first == key; });
  if (same != next_->items.end()) {
    same->second = item;
    return OkStatus();
  }
  next_->items.emplace_back(key, item);
  next_->bytes += key.size() + item.size();
  if (next_->items.size() < options_.batch_items && next_->bytes < options_.batch_bytes)
    return OkStatus();
  TRY(WaitFor(options_.in_flight - 1));
  Send(std::exchange(next_, nullptr));
  return OkStatus();
}

Status Writer::Finish() {
  if (next_ != nullptr) Send(std::exchange(next_, nullptr));
  return WaitFor(0);
}

void Writer::Send(std::shared_ptr<Batch> batch) {
  {
    const MutexLock lock(flights_->mutex);
    if (batch->attempts++ == 0) flights_->batches.push_back(batch);
    batch->state = Batch::kUnderWay;
  }
  std::vector<table::WriteTarget> targets;
  for (const auto& [key, item] : batch->items) targets.push_back({table_, key});
  store_.Write(
      std::move(targets),
      [batch](const std::vector<model::ItemView>& old_items) -> Result<std::vector<table::Change>> {
        std::vector<table::Change> changes(batch->items.size());
        for (size_t i = 0; i < changes.size(); ++i) {
          const std::string& item = batch->items[i].second;
          // An earlier run may have written the item before it ended.
          if (old_items[i].encoded() == item) continue;
          changes[i].kind = table::Change::kPut;
          changes[i].item = item;
        }
        return changes;
      },
      [batch, flights = flights_](Status outcome) {
        const MutexLock lock(flights->mutex);
        batch->state = outcome.ok() ? Batch::kDurable : Batch::kFailed;
        batch->outcome = std::move(outcome);
        flights->wake.notify_all();
      });
}

Status Writer::WaitFor(size_t under_way) {
  for (;;) {
    std::vector<std::shared_ptr<Batch>> failed;
    int attempts = 0;
    {
      UniqueMutexLock lock(flights_->mutex);
      auto& batches = flights_->batches;
      const auto is_failed = [](const auto& batch) { return batch->state == Batch::kFailed; };
      flights_->wake.wait(lock, [&]() REQUIRES(flights_->mutex) {
        while (!batches.empty() && batches.front()->state == Batch::kDurable) {
          durable_to_ = batches.front()->items.back().first + '\0';
          batches.pop_front();
        }
        return batches.size() <= under_way || std::ranges::any_of(batches, is_failed);
      });
      for (const auto& batch : batches) {
        if (!is_failed(batch)) continue;
        if (!MayPass(batch->outcome.error().code()) || batch->attempts >= options_.attempts)
          return batch->outcome;
        attempts = std::max(attempts, batch->attempts);
        failed.push_back(batch);
      }
      if (failed.empty()) return OkStatus();
    }
    std::this_thread::sleep_for(
        std::chrono::milliseconds(std::min(1000, 1 << std::min(attempts, 10))));
    for (const auto& batch : failed) Send(batch);
  }
}

}  // namespace stator::copy
