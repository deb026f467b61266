// Settings that all processes of a store follow; management calls set them. A setting stays until
// it is removed, even if all processes end. A process that starts later follows it from its start.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "fleet/messages.h"
#include "kv/engine.h"

namespace stator::fleet {

// Returns all settings by name. Blocks on the engine.
Result<std::map<std::string, std::string>> ReadSettings(kv::Engine& engine);

// Stores settings and follows them. Thread-safe.
class SharedSettings {
 public:
  static constexpr std::string_view kTopic = "settings";

  // Listens to kTopic. Both must outlive this object, and `messages` must be stopped before it is
  // destroyed.
  SharedSettings(kv::Engine& engine, Messages& messages);

  // Receives the text of each setting whose name begins with the prefix, or nullopt once it is
  // removed: first when the follower is registered, then after every change. One call at a time. A
  // follower must not call this object.
  using Follower =
      std::function<void(const std::string& name, const std::optional<std::string>& text)>;
  void Follow(std::string prefix, Follower follower);

  // Reads the settings and tells followers about changes. Blocks on the engine. Call it about once
  // a second, because a message may be lost.
  Status Refresh();

  // Settings by name.
  using Texts = std::map<std::string, std::string, std::less<>>;
  // Replaces the settings with this prefix by what `change` makes of them, follows them here and
  // waits until the other living processes do. `change` may run several times; its error leaves all
  // settings unchanged. Blocks on the engine.
  Status Change(std::string_view prefix, FunctionRef<Status(Texts* texts)> change);

 private:
  struct Stored {
    std::string text;
    uint64_t stamp = 0;
  };
  using Entries = std::map<std::string, Stored, std::less<>>;
  friend Result<std::map<std::string, std::string>> ReadSettings(kv::Engine& engine);
  // Reads the settings whose names begin with `prefix`.
  static Result<Entries> Read(kv::Engine& engine, std::string_view prefix);

  kv::Engine& engine_;
  Messages& messages_;
  Mutex refreshing_;  // held through Refresh
  std::vector<std::pair<std::string, Follower>> followers_ GUARDED_BY(refreshing_);
  Entries known_ GUARDED_BY(refreshing_);
};

}  // namespace stator::fleet
