// The values of one tablet that a point of the memory engine keeps. Internal to the memory engine.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/string_hash.h"
#include "kv/memory_engine.h"
#include "kv/rewind.h"

namespace stator::kv {

// The values that keys had at the moment of a point, from their first change on. Guarded by the
// engine's lock.
struct MemoryEngine::Watch {
  Rewinding* point = nullptr;
  Tablet tablet;
  bool grouped = false;
  std::string group;
  // Values that keys had at the moment, from their first change on. Those of `gone`, which was the
  // whole tablet once, count for the keys that `before` does not have.
  Kept before;
  std::shared_ptr<const OrderedEntries> gone;
  std::string next_gone;    // while the point returns: the first key that has not gone back
  Watch* next = nullptr;    // of another point, of the same tablet and group
  Watch** place = nullptr;  // what points to this one; null: nothing does any more

  void Link(Watch** head) {
    next = std::exchange(*head, this);
    place = head;
    if (next != nullptr) next->place = &next;
  }
  // `next` stays, for whoever is on the way along the list.
  void Unlink() {
    *place = next;
    if (next != nullptr) next->place = place;
    place = nullptr;
  }
};

// The watches of a tablet by groups of its keys.
struct MemoryEngine::Groups {
  std::function<std::string_view(std::string_view key)> group_of;
  std::map<std::string, Watch*, std::less<>> first;  // none is null
};

}  // namespace stator::kv
