#include "kv_rados/point_reads.h"

#include <algorithm>
#include <cerrno>

namespace stator::kv_rados {
namespace {

FetchedPtr MakeFetched(int result, std::shared_ptr<ReadOp> op, size_t keys) {
  auto fetched = std::make_shared<Fetched>();
  fetched->result = result;
  if (result >= 0) {
    op->ForEach(keys, [&fetched](std::string_view cell, std::string_view stored) {
      fetched->cells.emplace_back(cell, stored);
      return true;
    });
    fetched->owner = std::move(op);
  }
  return fetched;
}

FetchedPtr Failed(int result) {
  auto fetched = std::make_shared<Fetched>();
  fetched->result = result;
  return fetched;
}

}  // namespace

void Fetched::ForEach(const std::vector<std::string>& of, FunctionRef<bool(std::string_view cell, std::string_view stored)> visit) const {
  const auto before = [](const auto& entry, std::string_view cell) { return entry.first < cell; };
  for (const std::string& cell : of) {
    const auto found = std::lower_bound(cells.begin(), cells.end(), std::string_view(cell), before);
    if (found != cells.end() && found->first == cell && !visit(found->first, found->second)) return;
  }
}

FetchedPtr ClusterChannel::Read(const Part& part, const KnownHeader& header, const std::vector<std::string>& cells) {
  std::unique_ptr<ReadOp> read;
  size_t keys = 0;
  const int result = cluster_.Read(part.object, [&](ReadOp& op) {
    op.GuardAttribute(kHeaderAttribute, header.bytes);
    keys = op.Keys(cells);
  }, &read);
  return MakeFetched(result, std::move(read), keys);
}

void ClusterChannel::ReadLater(const Part& part, const KnownHeader& header, const std::vector<std::string>& cells,
                               UniqueFunction<void(FetchedPtr)> done) {
  auto read = std::make_shared<ReadOp>(cluster_.api());
  read->GuardAttribute(kHeaderAttribute, header.bytes);
  const size_t keys = read->Keys(cells);
  const ReadOp& op = *read;
  cluster_.ReadLater(part.object, op, [read = std::move(read), keys, done = std::move(done)](int result) mutable {
    done(MakeFetched(result, std::move(read), keys));
  });
}

bool PointReads::Begin(const Part& part) {
  MutexLock lock(mutex_);
  Queue& queue = queues_[&part];
  if (queue.under_way >= kAtOnce) return false;
  ++queue.under_way;
  return true;
}

FetchedPtr PointReads::ReadAndWait(const PartPtr& part, const HeaderPtr& header, std::vector<std::string> cells) {
  if (Begin(*part)) {
    reads_.fetch_add(1, std::memory_order_relaxed);
    operations_.fetch_add(1, std::memory_order_relaxed);
    FetchedPtr fetched = channel_.Read(*part, *header, cells);
    Ended(part);
    return fetched;
  }
  Mutex mutex;
  std::condition_variable_any came;
  FetchedPtr answer;
  ReadLater(part, header, std::move(cells), [&](FetchedPtr fetched) {
    MutexLock lock(mutex);
    answer = std::move(fetched);
    came.notify_one();  // under the lock: once it is free, all this may be gone
  });
  std::unique_lock<Mutex> lock(mutex);
  came.wait(lock, [&] { return answer != nullptr; });
  return answer;
}

void PointReads::ReadLater(const PartPtr& part, const HeaderPtr& header, std::vector<std::string> cells,
                           UniqueFunction<void(FetchedPtr)> done) {
  reads_.fetch_add(1, std::memory_order_relaxed);
  Waiting waiting{header, std::move(cells), std::move(done), ticks_()};
  {
    MutexLock lock(mutex_);
    Queue& queue = queues_[part.get()];
    if (queue.under_way >= kAtOnce) {
      queue.waiting.push_back(std::move(waiting));
      return;
    }
    ++queue.under_way;
  }
  std::vector<Waiting> alone;
  alone.push_back(std::move(waiting));
  Send(part, std::move(alone));
}

void PointReads::Ended(const PartPtr& part) {
  std::vector<Waiting> next, late;
  {
    MutexLock lock(mutex_);
    Queue& queue = queues_[part.get()];
    // As many as a long read would fetch; but what one asked for belongs together.
    size_t cells = 0;
    const size_t most = part->KeysFor(kReadBytes);
    while (!queue.waiting.empty()) {
      Waiting& first = queue.waiting.front();
      if (expired_(first.arrived)) {
        late.push_back(std::move(first));
      } else if (next.empty() || (first.header == next.front().header && cells + first.cells.size() <= most)) {
        cells += first.cells.size();
        next.push_back(std::move(first));
      } else {
        break;
      }
      queue.waiting.pop_front();
    }
    if (next.empty() && --queue.under_way == 0) queues_.erase(part.get());
  }
  if (!next.empty()) Send(part, std::move(next));
  for (Waiting& waiting : late) waiting.done(Failed(-ETIMEDOUT));
}

void PointReads::Send(const PartPtr& part, std::vector<Waiting> together) {
  {
    MutexLock lock(mutex_);
    ++calls_;
  }
  operations_.fetch_add(1, std::memory_order_relaxed);
  std::vector<std::string> all;
  const bool alone = together.size() == 1;
  if (!alone) {
    for (const Waiting& waiting : together) all.insert(all.end(), waiting.cells.begin(), waiting.cells.end());
  }
  const HeaderPtr header = together.front().header;
  const std::vector<std::string>& cells = alone ? together.front().cells : all;
  // The vector keeps its elements where they are when it is moved.
  channel_.ReadLater(*part, *header, cells, [this, part, together = std::move(together)](const FetchedPtr& fetched) mutable {
    OnFetched(part, std::move(together), fetched);
    MutexLock lock(mutex_);
    if (--calls_ == 0) idle_.notify_all();
  });
}

void PointReads::OnFetched(const PartPtr& part, std::vector<Waiting> together, const FetchedPtr& fetched) {
  if (fetched->result == -ETIMEDOUT) {
    // Those who can still wait go first into the next operation.
    MutexLock lock(mutex_);
    std::deque<Waiting>& queue = queues_[part.get()].waiting;
    queue.insert(queue.begin(), std::make_move_iterator(together.begin()), std::make_move_iterator(together.end()));
    together.clear();
  }
  Ended(part);
  for (Waiting& waiting : together) waiting.done(fetched);
}

void PointReads::Stop() {
  std::unique_lock<Mutex> lock(mutex_);
  idle_.wait(lock, [this]() NO_THREAD_SAFETY_ANALYSIS { return calls_ == 0; });
}

}  // namespace stator::kv_rados
