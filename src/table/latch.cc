#include "table/latch.h"

#include <algorithm>
#include <deque>

#include "base/go_on_later.h"

namespace stator::table {
namespace {

// Continuations granted while another one runs on this thread wait for it to return: a long queue
// on one key must not become a deep stack.
thread_local std::deque<UniqueFunction<void()>>* running_on_this_thread = nullptr;

// Continuations that a thread runs before it turns to its other work. Many clients that write one
// item queue as fast as they are answered, so that the queue of its key may never be empty.
constexpr int kInOneTurn = 8;

void RunQueue(std::deque<UniqueFunction<void()>> queue) {
  running_on_this_thread = &queue;
  // What has run is dropped at once: a key that always has waiters must not make the queue grow for
  // ever.
  for (int run = 0; !queue.empty(); ++run) {
    if (run >= kInOneTurn) {
      const auto left = std::make_shared<std::deque<UniqueFunction<void()>>>(std::move(queue));
      UniqueFunction<void()> rest = [left] { RunQueue(std::move(*left)); };
      if (GoOnLater::TryPost(rest)) break;
      queue = std::move(*left);
      run = 0;
    }
    UniqueFunction<void()> next = std::move(queue.front());
    queue.pop_front();
    next();
  }
  running_on_this_thread = nullptr;
}

void RunGranted(UniqueFunction<void()> granted) {
  if (running_on_this_thread != nullptr) {
    running_on_this_thread->push_back(std::move(granted));
    return;
  }
  std::deque<UniqueFunction<void()>> queue;
  queue.push_back(std::move(granted));
  RunQueue(std::move(queue));
}

}  // namespace

bool LatchTable::Acquire(std::string_view key, UniqueFunction<void()>* granted) {
  Shard& shard = ShardOf(key);
  MutexLock lock(shard.mutex);
  auto it = shard.entries.find(key);
  if (it == shard.entries.end()) it = shard.entries.emplace(std::string(key), Entry()).first;
  if (!it->second.held) {
    it->second.held = true;
    return true;
  }
  auto& waiting = it->second.waiting;
  if (waiting == nullptr) waiting = std::make_unique<std::deque<UniqueFunction<void()>>>();
  waiting->push_back(std::move(*granted));
  return false;
}

void LatchTable::Release(std::string_view key) {
  UniqueFunction<void()> granted;
  {
    Shard& shard = ShardOf(key);
    MutexLock lock(shard.mutex);
    auto it = shard.entries.find(key);
    if (it == shard.entries.end()) return;
    Entry& entry = it->second;
    if (entry.contended()) {
      granted = std::move(entry.waiting->front());
      entry.waiting->pop_front();
    } else {
      entry.held = false;
      if (entry.images.empty()) shard.entries.erase(it);
    }
  }
  if (granted) RunGranted(std::move(granted));
}

std::shared_ptr<const PendingImage> LatchTable::Pending(std::string_view key) {
  Shard& shard = ShardOf(key);
  MutexLock lock(shard.mutex);
  auto it = shard.entries.find(key);
  return it == shard.entries.end() || it->second.images.empty() ? nullptr
                                                                : it->second.images.back();
}

void LatchTable::SetPending(std::string_view key, std::shared_ptr<const PendingImage> image) {
  Shard& shard = ShardOf(key);
  MutexLock lock(shard.mutex);
  shard.entries.find(key)->second.images.push_back(std::move(image));
}

void LatchTable::CommitOrDrop(std::string_view key, const PendingImage* image, bool applied) {
  Shard& shard = ShardOf(key);
  MutexLock lock(shard.mutex);
  auto it = shard.entries.find(key);
  if (it == shard.entries.end()) return;
  Entry& entry = it->second;
  const auto settled =
      std::find_if(entry.images.begin(), entry.images.end(),
                   [image](const auto& candidate) { return candidate.get() == image; });
  if (settled == entry.images.end()) return;
  entry.images.erase(settled, applied ? settled + 1 : entry.images.end());
  if (!entry.held && !entry.contended() && entry.images.empty()) shard.entries.erase(it);
}

size_t LatchTable::size() {
  size_t total = 0;
  for (Shard& shard : shards_) {
    MutexLock lock(shard.mutex);
    total += shard.entries.size();
  }
  return total;
}

}  // namespace stator::table
