#include "kv_rados/bulletin.h"

#include <cerrno>
#include <cstring>
#include <optional>

#include "base/log.h"
#include "base/mutex_wait.h"
#include "kv_rados/layout.h"

namespace stator::kv_rados {
namespace {

constexpr int kAnswerSeconds = 3;  // for those who listen; librados takes whole seconds
constexpr size_t kMaxMessages = 1000;
constexpr int64_t kRetryMicros = 1'000'000;

// Shared by the thread that waits for an answer and the callback that brings it; the one that ends
// last frees it.
struct Answer {
  explicit Answer(Host* host) : came(host) {}
  Mutex mutex;
  Signal came;
  std::optional<int> result GUARDED_BY(mutex);
};

// Waits until `ready` returns true, at most `micros`.
template <typename Ready>
void Await(Signal& signal, UniqueMutexLock& lock, const Clock& clock, int64_t micros,
           Ready ready) NO_THREAD_SAFETY_ANALYSIS {
  const int64_t until = clock.TicksMicros() + micros;
  while (!ready()) {
    const int64_t left = until - clock.TicksMicros();
    if (left <= 0) return;
    signal.WaitFor(lock, left);
  }
}

}  // namespace

RadosBulletin::RadosBulletin(Cluster& cluster)
    : cluster_(cluster), acknowledger_(std::make_shared<Acknowledger>()), changed_(cluster.host()) {
  MutexLock lock(acknowledger_->mutex);
  acknowledger_->cluster = &cluster;
}

// ---- sending ------------------------------------------------------------------------------------

Status RadosBulletin::Announce(std::string_view message) {
  {
    MutexLock lock(mutex_);
    if (stopping_) return Error(ErrorCode::kUnavailable, "The store is closing.");
  }
  const auto answer = std::make_shared<Answer>(cluster_.host());
  cluster_.NotifyLater(kBulletinObject, message, kAnswerSeconds, [answer](int result) {
    MutexLock lock(answer->mutex);
    answer->result = result;
    answer->came.NotifyAll();
  });
  UniqueMutexLock lock(answer->mutex);
  const int64_t longest =
      (kAnswerSeconds + cluster_.options().operation_timeout_seconds) * 1'000'000LL;
  Await(answer->came, lock, cluster_.clock(), longest,
        [&]() REQUIRES(answer->mutex) { return answer->result.has_value(); });
  switch (const int result = answer->result.value_or(-ETIMEDOUT)) {
    case 0: return OkStatus();
    case -ENOENT: return OkStatus();  // nobody has ever listened
    case -ETIMEDOUT:                  // of a process, or of the OSD
      return Error(ErrorCode::kUnavailable, "Not every process has acknowledged the message.");
    default: return cluster_.ErrorOf(result, kBulletinObject, false);
  }
}

// ---- hearing ------------------------------------------------------------------------------------

void RadosBulletin::OnMessage(uint64_t notification, uint64_t watch, std::string_view message) {
  MutexLock lock(mutex_);
  // A dropped message is not acknowledged, so its sender learns that it was not delivered.
  if (stopping_ || messages_.size() >= kMaxMessages) return;
  messages_.push_back({notification, watch, std::string(message)});
  changed_.NotifyAll();
}

void RadosBulletin::OnLost(uint64_t watch, int result) {
  LogDebug("watch lost", {{"reason", std::strerror(-result)}});
  MutexLock lock(mutex_);
  ended_.insert(watch);
  changed_.NotifyAll();
}

void RadosBulletin::Listen(Listener listener) {
  Lock lock(mutex_);
  if (stopping_) return;
  listener_ = listener ? std::make_shared<const Listener>(std::move(listener)) : nullptr;
  const bool wanted = listener_ != nullptr;
  if (!thread_.joinable()) {
    if (!wanted) return;
    thread_ = Thread(cluster_.host(), [this] { Run(); });
  }
  changed_.NotifyAll();
  if (wanted) {
    const int64_t longest = cluster_.options().operation_timeout_seconds * 1'000'000LL;
    Await(changed_, lock, cluster_.clock(), longest, [this]() REQUIRES(mutex_) {
      return state_ == Watch::kStands || stopping_ || listener_ == nullptr;
    });
  } else {
    changed_.Wait(lock, [this]() REQUIRES(mutex_) { return !calling_; });
  }
}

void RadosBulletin::Stop() {
  Thread thread;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    thread = std::move(thread_);
    changed_.NotifyAll();
  }
  if (thread.joinable()) {
    thread.Join();
    cluster_.FlushWatches();
  }
  MutexLock lock(acknowledger_->mutex);
  acknowledger_->cluster = nullptr;
}

void RadosBulletin::Run() {
  Lock lock(mutex_);
  std::optional<int64_t> give_up;  // ticks
  while (true) {
    const bool wanted = listener_ != nullptr && !stopping_;
    const int64_t now = cluster_.clock().TicksMicros();
    if (!messages_.empty() && !stopping_) {
      Deliver(lock);
    } else if (state_ == Watch::kStands && (!wanted || ended_.count(watch_) > 0)) {
      EndWatch(lock);
    } else if (state_ == Watch::kNone && wanted && now >= retry_at_) {
      BeginWatch(lock);
    } else if (stopping_) {
      // A watch that begins stands or fails when its time limit passes; should it not, closing the
      // cluster ends it.
      if (!give_up) give_up = now + cluster_.options().operation_timeout_seconds * 1'000'000LL;
      if (state_ == Watch::kNone || (state_ == Watch::kBegins && now >= *give_up)) return;
      changed_.WaitFor(lock, std::max(*give_up - now, kRetryMicros));
    } else if (state_ == Watch::kNone && wanted) {
      changed_.WaitFor(lock, retry_at_ - now);
    } else {
      changed_.Wait(lock);
    }
  }
}

void RadosBulletin::Deliver(Lock& lock) {
  const Message message = std::move(messages_.front());
  messages_.pop_front();
  const std::shared_ptr<const Listener> listener = listener_;
  calling_ = true;
  lock.unlock();
  if (listener == nullptr) {
    Acknowledge(*acknowledger_, message);
  } else {
    (*listener)(message.text, [acknowledger = acknowledger_,
                               receipt = Message{message.notification, message.watch, {}}] {
      Acknowledge(*acknowledger, receipt);
    });
  }
  lock.lock();
  calling_ = false;
  changed_.NotifyAll();
}

void RadosBulletin::Acknowledge(Acknowledger& acknowledger, const Message& message) {
  MutexLock lock(acknowledger.mutex);
  if (acknowledger.cluster != nullptr)
    acknowledger.cluster->Acknowledge(kBulletinObject, message.notification, message.watch);
}

void RadosBulletin::BeginWatch(Lock& lock) {
  state_ = Watch::kBegins;
  const bool create = std::exchange(object_missing_, false);
  ended_.clear();
  lock.unlock();
  int result = 0;
  if (create) {
    WriteOp op(cluster_.api());
    op.Create();
    result = cluster_.Write(kBulletinObject, op);
  }
  uint64_t watch = 0;
  if (result < 0) {
    OnWatched(result);
  } else {
    cluster_.WatchLater(kBulletinObject, this, cluster_.options().watch_timeout_seconds, &watch,
                        [this](int watched) { OnWatched(watched); });
  }
  lock.lock();
  if (watch != 0) watch_ = watch;
}

void RadosBulletin::OnWatched(int result) {
  MutexLock lock(mutex_);
  state_ = result < 0 ? Watch::kNone : Watch::kStands;
  object_missing_ = result == -ENOENT;
  retry_at_ = cluster_.clock().TicksMicros() + (object_missing_ ? 0 : kRetryMicros);
  if (result < 0 && !object_missing_ && !std::exchange(warned_, true)) {
    LogWarn("messages of other processes are not heard",
            {{"reason", cluster_.ErrorOf(result, kBulletinObject, false).message()}});
  } else if (result >= 0 && std::exchange(warned_, false)) {
    LogInfo("messages of other processes are heard again");
  }
  changed_.NotifyAll();
}

void RadosBulletin::EndWatch(Lock& lock) {
  const uint64_t watch = watch_;
  if (ended_.count(watch) > 0) {
    lost_.fetch_add(1, std::memory_order_relaxed);
    if (!std::exchange(warned_, true))
      LogWarn("messages of other processes are not heard", {{"reason", "the watch was lost"}});
  }
  state_ = Watch::kEnds;
  lock.unlock();
  cluster_.UnwatchLater(watch, [this](int) {
    MutexLock locked(mutex_);
    state_ = Watch::kNone;
    retry_at_ = 0;
    changed_.NotifyAll();
  });
  lock.lock();
}

}  // namespace stator::kv_rados
