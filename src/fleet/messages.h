// What the processes of a store call to one another on its bulletin: a topic, perhaps with a text
// behind it. It makes things fast, never right: a message may be lost.
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

// Thread-safe.
class Messages {
 public:
  // `bulletin` outlives it.
  explicit Messages(kv::Bulletin& bulletin) : bulletin_(bulletin) {}
  ~Messages() { Stop(); }

  // What hears the messages of a topic: one after the other, on a thread of the topic's own;
  // whoever announced them waits until it returns. Once for each topic.
  using Heard = std::function<void(std::string_view text)>;
  void On(std::string topic, Heard heard);

  // Takes a message from the bulletin; acknowledges at once what nobody asked for.
  void Hear(std::string_view message, UniqueFunction<void()> acknowledge);

  // Tells all processes, this one too, and waits for them as Bulletin::Announce does.
  Status Announce(std::string_view topic, std::string_view text = {});

  // Ends after the messages that are being heard. Later ones are acknowledged and not heard.
  void Stop();

 private:
  struct Topic {
    Heard heard;
    std::unique_ptr<WorkerPool> thread;
  };
  kv::Bulletin& bulletin_;
  Mutex mutex_;
  // Topics stay, so they may be used without the lock.
  std::map<std::string, Topic, std::less<>> topics_ GUARDED_BY(mutex_);
  bool stopped_ GUARDED_BY(mutex_) = false;
};

}  // namespace stator::fleet
