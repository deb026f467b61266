// Settings that all processes of a store follow: what management calls set. They stay until they
// are taken back, also when all processes end; one that starts later follows them from its start.
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

// What is set, by name. Waits for the engine.
Result<std::map<std::string, std::string>> ReadSettings(kv::Engine& engine);

// Thread-safe.
class SharedSettings {
 public:
  static constexpr std::string_view kTopic = "settings";

  // Listens to kTopic. Both outlive this object, and messages have stopped before it goes.
  SharedSettings(kv::Engine& engine, Messages& messages);

  // Is told what each setting is whose name begins with the prefix, now and whenever that changes:
  // its text, or that it is not set any more. One call at a time. It must not call this object.
  using Follower =
      std::function<void(const std::string& name, const std::optional<std::string>& text)>;
  void Follow(std::string prefix, Follower follower);

  // Reads the settings and tells of what has changed. Waits for the engine. To be called about
  // every second, for a message may be lost.
  Status Refresh();

  // By name, without those that are not set.
  using Texts = std::map<std::string, std::string, std::less<>>;
  // Stores what `change` makes of the settings with this prefix (it may run more than once; its
  // error changes nothing), follows it here and waits until the others that live do. Waits for the
  // engine.
  Status Change(std::string_view prefix, FunctionRef<Status(Texts* texts)> change);

 private:
  struct Stored {
    std::string text;
    uint64_t stamp = 0;
  };
  using Entries = std::map<std::string, Stored, std::less<>>;
  friend Result<std::map<std::string, std::string>> ReadSettings(kv::Engine& engine);
  // Those whose names begin so.
  static Result<Entries> Read(kv::Engine& engine, std::string_view prefix);

  kv::Engine& engine_;
  Messages& messages_;
  Mutex refreshing_;  // held through Refresh
  std::vector<std::pair<std::string, Follower>> followers_ GUARDED_BY(refreshing_);
  Entries known_ GUARDED_BY(refreshing_);
};

}  // namespace stator::fleet
