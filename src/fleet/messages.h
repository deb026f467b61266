// What the processes of a store call to one another on its bulletin: a topic, perhaps with a text behind it. It makes things fast,
// never right: a message may be lost.
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

// Thread-safe, but for On.
class Messages {
 public:
  // `bulletin` outlives it.
  explicit Messages(kv::Bulletin& bulletin) : bulletin_(bulletin) {}
  ~Messages() { Stop(); }

  // What hears the messages of a topic: one after the other, on a thread of the topic's own; whoever announced them waits until
  // it returns. Before Hear.
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
  std::map<std::string, Topic, std::less<>> topics_;
};

}  // namespace stator::fleet
