// Asks the Kinesis endpoint whether streams are there, on a thread of its own: an endpoint that
// hangs holds up nothing but these questions.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "base/result.h"

namespace stator::triggers {

// Thread-safe.
class KinesisChecker {
 public:
  // `check` asks once; it may wait, on the checker's thread. `cancel` ends it early, on any thread.
  KinesisChecker(std::function<Status(const std::string& arn)> check, std::function<void()> cancel)
      : check_(std::move(check)), cancel_(std::move(cancel)) {}
  ~KinesisChecker() { Stop(); }

  void Start();
  // Idempotent.
  void Stop();

  // Has the stream looked for once, unless it is being looked for. The one that was looked for
  // least often comes first, so a new one does not wait for those that were found to hang.
  void Ask(const std::string& id, const std::string& arn);
  // Returns what became of Ask, once; nullopt: it is not known yet.
  std::optional<Status> Take(const std::string& id);
  // Forgets all others.
  void Keep(const std::set<std::string>& ids);

 private:
  struct Question {
    std::string arn;
    int asked = 0;  // times that it was looked for
    uint64_t turn = 0;
    bool waits = false;
    std::optional<Status> outcome;
  };
  void Run();
  // Returns the id whose turn it is; empty: none waits.
  std::string Next() const REQUIRES(mutex_);

  const std::function<Status(const std::string&)> check_;
  const std::function<void()> cancel_;
  Mutex mutex_;
  std::condition_variable_any wake_;
  std::map<std::string, Question> questions_ GUARDED_BY(mutex_);  // by id
  uint64_t turns_ GUARDED_BY(mutex_) = 0;
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace stator::triggers
