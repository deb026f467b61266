// Messages among the processes of a store over its bulletin: a topic, optionally followed by a
// text. A message may be lost, so correctness must not depend on one.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/executor.h"
#include "base/mutex.h"
#include "base/result.h"
#include "kv/engine.h"

namespace stator::fleet {

// Delivers messages by topic. Thread-safe.
class Messages {
 public:
  // `bulletin` must outlive this object.
  explicit Messages(kv::Bulletin& bulletin) : bulletin_(bulletin) {}
  ~Messages() { Stop(); }

  // Receives the messages of a topic, one after the other, on a thread of the topic's own. The
  // announcing process waits until it returns. Call On once for each topic.
  using Heard = std::function<void(std::string_view text)>;
  void On(std::string topic, Heard heard);

  // Takes a message from the bulletin. Acknowledges a message without a registered topic at once.
  void Receive(std::string_view message, UniqueFunction<void()> acknowledge);

  // Sends a message to all processes, this one included, and waits for them as Bulletin::Announce
  // does.
  Status Announce(std::string_view topic, std::string_view text = {});

  // Waits for the messages being delivered, then stops. Later messages are acknowledged and
  // dropped.
  void Stop();

 private:
  struct Topic {
    Heard heard;
    std::unique_ptr<WorkerPool> thread;
  };
  kv::Bulletin& bulletin_;
  Mutex mutex_;
  // Topics are never removed, so they may be used without the lock.
  std::map<std::string, Topic, std::less<>> topics_ GUARDED_BY(mutex_);
  bool stopped_ GUARDED_BY(mutex_) = false;
};

}  // namespace stator::fleet
