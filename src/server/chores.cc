#include "server/chores.h"

#include <algorithm>
#include <chrono>

#include "base/log.h"

namespace stator::server {
namespace {

// The longest sleep before the clock is read again: a manual clock wakes no thread, and the
// system's clock may be set.
constexpr int64_t kLongestWaitMicros = 1'000'000;

}  // namespace

void Chores::Add(std::string name, int64_t interval_micros, Work work) {
  chores_.push_back(
      {std::move(name), interval_micros, std::move(work), clock_.NowMicros() + interval_micros});
}

void Chores::Start() {
  MutexLock lock(mutex_);
  thread_ = std::thread([this] { Run(); });
}

bool Chores::RunAll() {
  MutexLock lock(mutex_);
  if (!thread_.joinable()) return false;
  const uint64_t mine = ++asked_;
  wake_.notify_all();
  while (served_ < mine && !stopped_) served_one_.wait(mutex_);
  return served_ >= mine;
}

void Chores::Stop() {
  std::thread thread;
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    thread = std::move(thread_);
    wake_.notify_all();
    served_one_.notify_all();
  }
  if (thread.joinable()) thread.join();
}

bool Chores::stopped() const {
  MutexLock lock(mutex_);
  return stopped_;
}

int64_t Chores::MicrosToWait(int64_t now) {
  int64_t wait = kLongestWaitMicros;
  for (Chore& chore : chores_) {
    // If the system's clock was set back, the chore must not wait longer than its interval.
    chore.due_micros = std::min(chore.due_micros, now + chore.interval_micros);
    wait = std::min(wait, chore.due_micros - now);
  }
  return std::max<int64_t>(wait, 0);
}

void Chores::Run() {
  while (true) {
    uint64_t asked = 0;
    bool serve = false;
    {
      MutexLock lock(mutex_);
      while (!stopped_ && asked_ == served_) {
        const int64_t wait = MicrosToWait(clock_.NowMicros());
        if (wait == 0) break;
        wake_.wait_for(mutex_, std::chrono::microseconds(wait));
      }
      if (stopped_) return;
      asked = asked_;
      serve = asked != served_;
    }
    if (!serve) {
      RunDue(clock_.NowMicros());
      continue;
    }
    if (!RunToTheEnd()) return;
    MutexLock lock(mutex_);
    served_ = asked;
    served_one_.notify_all();
  }
}

void Chores::RunDue(int64_t now) {
  for (Chore& chore : chores_) {
    if (chore.due_micros > now) continue;
    const bool more = chore.work(Pace::kGentle);
    if (!more) chore.due_micros = clock_.NowMicros() + chore.interval_micros;
    if (stopped()) return;
  }
}

bool Chores::RunToTheEnd() {
  bool again = true;
  while (again) {
    again = false;
    for (Chore& chore : chores_) {
      LogDebug("chore", {{"name", chore.name}});
      again |= chore.work(Pace::kAtOnce);
      chore.due_micros = clock_.NowMicros() + chore.interval_micros;
      if (stopped()) return false;
    }
  }
  return true;
}

}  // namespace stator::server
