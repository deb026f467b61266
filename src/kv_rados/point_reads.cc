#include "kv_rados/point_reads.h"

#include <algorithm>
#include <cerrno>

#include "base/executor.h"
#include "base/mutex_wait.h"

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

void Fetched::ForEach(
    const std::vector<std::string>& of,
    FunctionRef<bool(std::string_view cell, std::string_view stored)> visit) const {
  const auto before = [](const auto& entry, std::string_view cell) { return entry.first < cell; };
  for (const std::string& cell : of) {
    const auto found = std::lower_bound(cells.begin(), cells.end(), std::string_view(cell), before);
    if (found != cells.end() && found->first == cell && !visit(found->first, found->second)) return;
  }
}

FetchedPtr ClusterChannel::Read(const Part& part, const KnownHeader& header,
                                const std::vector<std::string>& cells) {
  std::unique_ptr<ReadOp> read;
  size_t keys = 0;
  const int result = cluster_.Read(
      part.object,
      [&](ReadOp& op) {
        op.GuardAttribute(kHeaderAttribute, header.bytes);
        keys = op.Keys(cells);
      },
      &read);
  return MakeFetched(result, std::move(read), keys);
}

void ClusterChannel::ReadLater(const Part& part, const KnownHeader& header,
                               const std::vector<std::string>& cells,
                               UniqueFunction<void(FetchedPtr)> done) {
  auto read = std::make_shared<ReadOp>(cluster_.api());
  read->GuardAttribute(kHeaderAttribute, header.bytes);
  const size_t keys = read->Keys(cells);
  const ReadOp& op = *read;
  cluster_.ReadLater(part.object, op,
                     [read = std::move(read), keys, done = std::move(done)](int result) mutable {
                       done(MakeFetched(result, std::move(read), keys));
                     });
}

std::optional<Window::Ticket> PointReads::Begin(const PartPtr& part, int64_t now) {
  if (!line_.empty()) return std::nullopt;
  const auto found = queues_.find(part.get());
  if (found != queues_.end() && found->second.under_way >= kAtOnce) return std::nullopt;
  const auto ticket = window_.Begin(now, queues_.size() + (found == queues_.end() ? 1 : 0));
  if (ticket) ++queues_[part.get()].under_way;
  return ticket;
}

FetchedPtr PointReads::ReadAndWait(const PartPtr& part, const HeaderPtr& header,
                                   std::vector<std::string> cells) {
  std::optional<Window::Ticket> ticket;
  {
    MutexLock lock(mutex_);
    ticket = Begin(part, ticks_());
  }
  if (ticket) {
    reads_.fetch_add(1, std::memory_order_relaxed);
    operations_.fetch_add(1, std::memory_order_relaxed);
    FetchedPtr fetched = channel_.Read(*part, *header, cells);
    Ended(part, *ticket, 1);
    return fetched;
  }
  Mutex mutex;
  Signal came(host_);
  FetchedPtr answer;
  ReadLater(part, header, std::move(cells), [&](FetchedPtr fetched) {
    MutexLock lock(mutex);
    answer = std::move(fetched);
    came.NotifyOne();  // under the lock: once it is free, all this may be gone
  });
  UniqueMutexLock lock(mutex);
  came.Wait(lock, [&] { return answer != nullptr; });
  return answer;
}

void PointReads::ReadLater(const PartPtr& part, const HeaderPtr& header,
                           std::vector<std::string> cells, UniqueFunction<void(FetchedPtr)> done) {
  reads_.fetch_add(1, std::memory_order_relaxed);
  const int64_t now = ticks_();
  Waiting waiting{header, std::move(cells), std::move(done), now};
  std::optional<Window::Ticket> ticket;
  Todo todo;
  {
    MutexLock lock(mutex_);
    ticket = Begin(part, now);
    if (!ticket) {
      Queue& queue = queues_[part.get()];
      queue.waiting.push_back(std::move(waiting));
      StandInLine(part, queue);
      TakeFromLine(now, &todo);
    }
  }
  if (!ticket) return Do(std::move(todo));
  std::vector<Waiting> alone;
  alone.push_back(std::move(waiting));
  Send(part, *ticket, std::move(alone));
}

void PointReads::StandInLine(const PartPtr& part, Queue& queue) {
  if (queue.waiting.empty() || queue.under_way >= kAtOnce) return;
  if (std::exchange(queue.in_line, true)) return;
  line_.Stand(part);
  if (std::exchange(watch_sleeps_, false)) watch_.NotifyOne();
}

void PointReads::TakeFromLine(int64_t now, Todo* todo) {
  while (!line_.empty()) {
    const auto ticket = window_.Begin(now, queues_.size());
    if (!ticket) return;
    const PartPtr part = line_.Take(line_.Next([this](const PartPtr& each) {
      AssertHeld(mutex_);
      return queues_[each.get()].waiting.size();
    }));
    Queue& queue = queues_[part.get()];
    queue.in_line = false;
    std::vector<Waiting> group = TakeGroup(*part, queue, &todo->late);
    if (group.empty()) {
      window_.GiveBack(*ticket);
      if (queue.under_way == 0) queues_.erase(part.get());
      continue;
    }
    ++queue.under_way;
    todo->groups.push_back({part, *ticket, std::move(group)});
    StandInLine(part, queue);
  }
}

// None if all have waited too long. As many as a long read would fetch; but what one asked for
// belongs together.
std::vector<PointReads::Waiting> PointReads::TakeGroup(const Part& part, Queue& queue,
                                                       std::vector<Waiting>* late) {
  std::vector<Waiting> group;
  size_t cells = 0;
  const size_t most = part.KeysFor(kReadBytes);
  while (!queue.waiting.empty()) {
    Waiting& next = queue.waiting.front();
    if (expired_(next.arrived)) {
      late->push_back(std::move(next));
    } else if (group.empty() ||
               (next.header == group.front().header && cells + next.cells.size() <= most)) {
      cells += next.cells.size();
      group.push_back(std::move(next));
    } else {
      break;
    }
    queue.waiting.pop_front();
  }
  return group;
}

void PointReads::Ended(const PartPtr& part, Window::Ticket ticket, size_t reads) {
  const int64_t now = ticks_();
  Todo todo;
  {
    MutexLock lock(mutex_);
    window_.Ended(ticket, now, reads);
    const auto found = queues_.find(part.get());
    if (--found->second.under_way == 0 && found->second.waiting.empty()) {
      queues_.erase(found);
    } else {
      StandInLine(part, found->second);
    }
    TakeFromLine(now, &todo);
  }
  Do(std::move(todo));
}

void PointReads::GoOn() {
  const int64_t now = ticks_();
  Todo todo;
  {
    MutexLock lock(mutex_);
    TakeFromLine(now, &todo);
  }
  Do(std::move(todo));
}

void PointReads::Do(Todo todo) {
  for (Todo::Group& group : todo.groups) Send(group.part, group.ticket, std::move(group.together));
  for (Waiting& waiting : todo.late) waiting.done(Failed(-ETIMEDOUT));
}

void PointReads::Send(const PartPtr& part, Window::Ticket ticket, std::vector<Waiting> together) {
  {
    MutexLock lock(mutex_);
    ++calls_;
  }
  operations_.fetch_add(1, std::memory_order_relaxed);
  std::vector<std::string> all;
  const bool alone = together.size() == 1;
  if (!alone) {
    for (const Waiting& waiting : together) {
      all.insert(all.end(), waiting.cells.begin(), waiting.cells.end());
    }
  }
  const HeaderPtr header = together.front().header;
  const std::vector<std::string>& cells = alone ? together.front().cells : all;
  // The vector keeps its elements where they are when it is moved.
  channel_.ReadLater(
      *part, *header, cells,
      [this, part, ticket, together = std::move(together)](const FetchedPtr& fetched) mutable {
        OnFetched(part, ticket, std::move(together), fetched);
        MutexLock lock(mutex_);
        if (--calls_ == 0) idle_.NotifyAll();
      });
}

void PointReads::OnFetched(const PartPtr& part, Window::Ticket ticket,
                           std::vector<Waiting> together, const FetchedPtr& fetched) {
  size_t served = together.size();
  if (fetched->result == -ETIMEDOUT) {
    // Those who can still wait go first into the next operation.
    served = 0;
    MutexLock lock(mutex_);
    std::deque<Waiting>& queue = queues_[part.get()].waiting;
    queue.insert(queue.begin(), std::make_move_iterator(together.begin()),
                 std::make_move_iterator(together.end()));
    together.clear();
  }
  Ended(part, ticket, served);
  const WakeUps once;  // of whom they go on with
  for (Waiting& waiting : together) waiting.done(fetched);
}

void PointReads::StartWatching() {
  watcher_ = Thread(host_, [this] { Watch(); });
}

void PointReads::Watch() {
  UniqueMutexLock lock(mutex_);
  while (!stop_watching_) {
    if (line_.empty()) {
      watch_sleeps_ = true;
      watch_.Wait(lock);
      continue;
    }
    watch_.WaitFor(lock, Window::kPatienceMicros);
    lock.unlock();
    GoOn();
    lock.lock();
  }
}

void PointReads::Stop() {
  {
    UniqueMutexLock lock(mutex_);
    idle_.Wait(lock, [this]() REQUIRES(mutex_) { return calls_ == 0; });
  }
  {
    MutexLock lock(mutex_);
    stop_watching_ = true;
    watch_.NotifyOne();
  }
  if (watcher_.joinable()) watcher_.Join();
}

}  // namespace stator::kv_rados
