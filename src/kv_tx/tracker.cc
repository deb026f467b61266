#include "kv_tx/tracker.h"

namespace stator::kv_tx {

struct Tracker::Entry {
  std::shared_ptr<kv::BatchFate> fate;
  bool decided = false;
  bool done = false;
  bool settled = false;
  Stamps stamps;
  std::vector<UniqueFunction<void()>> on_decided;
  std::vector<UniqueFunction<void()>> on_settled;
};

Tracker::EntryPtr Tracker::Begin(std::shared_ptr<kv::BatchFate> fate) {
  auto entry = std::make_shared<Entry>();
  entry->fate = std::move(fate);
  MutexLock lock(mutex_);
  Clean();
  undecided_.emplace(entry.get(), entry);
  if (entry->fate != nullptr) by_fate_[entry->fate.get()] = entry;
  active_.fetch_add(1, std::memory_order_release);
  return entry;
}

void Tracker::Decided(const EntryPtr& entry, bool done, Stamps keys) {
  std::vector<UniqueFunction<void()>> waiting;
  {
    MutexLock lock(mutex_);
    entry->decided = true;
    entry->done = done;
    entry->stamps = std::move(keys);
    undecided_.erase(entry.get());
    waiting.swap(entry->on_decided);
  }
  for (auto& then : waiting) then();
}

void Tracker::Settled(const EntryPtr& entry, Stamps stamps) {
  std::vector<UniqueFunction<void()>> waiting;
  {
    MutexLock lock(mutex_);
    entry->settled = true;
    entry->stamps = std::move(stamps);
    waiting.swap(entry->on_settled);
    if (entry->fate == nullptr) {
      active_.fetch_sub(1, std::memory_order_release);
    } else {
      settled_.push_back(entry);
      Clean();
    }
  }
  for (auto& then : waiting) then();
}

// Entries whose fate nobody else holds cannot be named any more. (Not in order: one that is held long keeps no others.)
void Tracker::Clean() {
  for (size_t looked = 0; looked < 4 && !settled_.empty(); ++looked) {
    EntryPtr entry = std::move(settled_.front());
    settled_.pop_front();
    if (entry->fate.use_count() > 1) {
      settled_.push_back(std::move(entry));
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
    if (entry == nullptr || entry->decided) continue;
    entry->on_decided.push_back(std::move(*then));
    return true;
  }
  for (const kv::Guard& guard : batch.guards) {
    if (guard.left_by == nullptr) continue;
    Entry* entry = Find(guard.left_by);
    if (entry == nullptr) continue;
    if (!entry->decided) {
      entry->on_decided.push_back(std::move(*then));
      return true;
    }
    if (!entry->settled && entry->stamps.contains({guard.tablet, guard.key})) {
      entry->on_settled.push_back(std::move(*then));
      return true;
    }
  }
  return false;
}

void Tracker::Translate(kv::Batch* batch) {
  MutexLock lock(mutex_);
  for (kv::Guard& guard : batch->guards) {
    if (guard.left_by == nullptr) continue;
    Entry* entry = Find(guard.left_by);
    if (entry == nullptr) continue;
    const auto stamp = entry->stamps.find({guard.tablet, guard.key});
    if (stamp == entry->stamps.end()) continue;
    // Nobody has the highest stamp: the guard fails, and its owner reads again.
    guard.stamp = stamp->second == 0 ? UINT64_MAX : stamp->second;
    guard.left_by = nullptr;
  }
}

bool Tracker::AllDone(const kv::Batch& batch) {
  MutexLock lock(mutex_);
  for (const kv::FatePtr& fate : batch.after) {
    const Entry* entry = Find(fate);
    if (entry == nullptr || !entry->done) return false;
  }
  return true;
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
    waiting->left += undecided_.size();
    for (auto& [key, entry] : undecided_) entry->on_decided.push_back(one);
  }
  one();
}

}  // namespace stator::kv_tx
