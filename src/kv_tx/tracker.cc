#include "kv_tx/tracker.h"

#include <algorithm>

#include "kv/permit.h"

namespace stator::kv_tx {

struct Tracker::Entry {
  std::shared_ptr<kv::BatchFate> fate;
  bool ended = false;
  bool done = false;
  Left left;
  std::vector<UniqueFunction<void()>> waiting;
};

Tracker::EntryPtr Tracker::Begin(std::shared_ptr<kv::BatchFate> fate) {
  auto entry = std::make_shared<Entry>();
  entry->fate = std::move(fate);
  MutexLock lock(mutex_);
  Clean();
  under_way_.emplace(entry.get(), entry);
  if (entry->fate != nullptr) by_fate_[entry->fate.get()] = entry;
  active_.fetch_add(1, std::memory_order_release);
  return entry;
}

void Tracker::End(const EntryPtr& entry, bool done, Left left) {
  std::vector<UniqueFunction<void()>> waiting;
  {
    MutexLock lock(mutex_);
    entry->ended = true;
    entry->done = done;
    entry->left = std::move(left);
    waiting.swap(entry->waiting);
    under_way_.erase(entry.get());
    if (entry->fate == nullptr) {
      active_.fetch_sub(1, std::memory_order_release);
    } else {
      ended_.push_back(entry);
      Clean();
    }
  }
  for (auto& then : waiting) then();
}

// Drops ended entries whose fate is referenced nowhere else: no batch can name them any more.
// Entries are not checked in order, so one that is held for long does not keep the others.
void Tracker::Clean() {
  for (size_t looked = 0; looked < 4 && !ended_.empty(); ++looked) {
    EntryPtr entry = std::move(ended_.front());
    ended_.pop_front();
    if (entry->fate.use_count() > 1) {
      ended_.push_back(std::move(entry));
      continue;
    }
    by_fate_.erase(entry->fate.get());
    active_.fetch_sub(1, std::memory_order_release);
  }
}

Tracker::Entry* Tracker::Find(const kv::FatePtr& fate) {
  const auto found = by_fate_.find(fate.get());
  return found == by_fate_.end() ? nullptr : found->second.get();
}

bool Tracker::WaitFor(const kv::Batch& batch, UniqueFunction<void()>* then) {
  MutexLock lock(mutex_);
  for (const kv::FatePtr& fate : batch.after) {
    Entry* entry = Find(fate);
    if (entry == nullptr || entry->ended) continue;
    entry->waiting.push_back(std::move(*then));
    return true;
  }
  return false;
}

bool Tracker::KnowsAll(const kv::Batch& batch, bool in_order) {
  MutexLock lock(mutex_);
  for (const kv::FatePtr& fate : batch.after) {
    if (kv::IsPermit(fate)) continue;
    const Entry* entry = Find(fate);
    if (entry != nullptr && entry->done) continue;
    const bool guarded = std::any_of(batch.guards.begin(), batch.guards.end(),
                                     [&](const kv::Guard& guard) { return guard.left_by == fate; });
    if (!in_order || !guarded) return false;
  }
  return true;
}

std::vector<kv::FatePtr> Tracker::Translate(kv::Batch* batch) {
  std::vector<kv::FatePtr> operations;
  MutexLock lock(mutex_);
  for (kv::Guard& guard : batch->guards) {
    if (guard.left_by == nullptr) continue;
    Entry* entry = Find(guard.left_by);
    if (entry == nullptr) continue;
    const auto left = entry->left.find({guard.tablet, guard.key});
    if (left == entry->left.end()) continue;
    guard.left_by = left->second;
    // No value has the highest stamp: the guard fails, and its caller reads again.
    guard.stamp = UINT64_MAX;
    if (guard.left_by == nullptr) continue;
    batch->after.push_back(guard.left_by);
    operations.push_back(guard.left_by);
  }
  return operations;
}

void Tracker::AfterAll(UniqueFunction<void()> then) {
  struct Waiting {
    std::atomic<size_t> left = 1;
    UniqueFunction<void()> then;
  };
  auto waiting = std::make_shared<Waiting>();
  waiting->then = std::move(then);
  const auto one = [waiting] {
    if (waiting->left.fetch_sub(1) == 1) waiting->then();
  };
  {
    MutexLock lock(mutex_);
    waiting->left += under_way_.size();
    for (auto& [key, entry] : under_way_) entry->waiting.push_back(one);
  }
  one();
}

}  // namespace stator::kv_tx
