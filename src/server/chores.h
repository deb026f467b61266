// Jobs that come round by themselves: what has expired goes, what is over ends.
//
// They run one after the other on a thread of their own, each when its interval has passed on the
// product's clock. When a user advances a manual clock, RunAll has everything done that the new
// time asks for before the user is answered.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"

namespace stator::server {

// Thread-safe, but for Add, which comes before Start.
class Chores {
 public:
  enum class Pace {
    kGentle,  // in the background of requests: yields to them
    kAtOnce,  // somebody waits for the end
  };
  // Does one piece of the work, in a fraction of a second, because Stop waits for it. Returns true
  // if there is more to do now. A piece that fails must return false, or RunAll might never end.
  using Work = std::function<bool(Pace pace)>;

  explicit Chores(const Clock& clock) : clock_(clock) {}
  ~Chores() { Stop(); }

  void Add(std::string name, int64_t interval_micros, Work work);
  void Start();
  // Runs every chore, due or not, until none has more to do. False if the chores were stopped
  // before that. Never from a chore.
  bool RunAll();
  // Ends after the piece of work under way. Idempotent.
  void Stop();

 private:
  struct Chore {
    std::string name;
    int64_t interval_micros;
    Work work;
    int64_t due_micros;
  };
  void Run();
  void RunDue(int64_t now);
  // False if stopped.
  bool RunToTheEnd();
  // How long nothing is due.
  int64_t MicrosToWait(int64_t now);
  bool stopped() const;

  const Clock& clock_;
  std::vector<Chore> chores_;  // the thread's own from Start on
  mutable Mutex mutex_;
  std::condition_variable_any wake_;
  std::condition_variable_any served_one_;
  uint64_t asked_ GUARDED_BY(mutex_) = 0;   // calls of RunAll,
  uint64_t served_ GUARDED_BY(mutex_) = 0;  // and how many of them have what they asked for
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::thread thread_ GUARDED_BY(mutex_);
};

}  // namespace stator::server
