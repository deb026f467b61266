// The values of one tablet that a point of the memory engine keeps. Internal to the memory engine.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/string_hash.h"
#include "kv/memory_engine.h"
#include "kv/rewind.h"

namespace stator::kv {

// The values that keys had at the moment of a point, from their first change on. Guarded by the
// engine's lock.
struct MemoryEngine::Watch {
  Rewinding* point = nullptr;
  Tablet tablet;
  std::function<bool(std::string_view key)> ours;
  // Absent: a new key.
  std::unordered_map<std::string, std::optional<std::string>, StringHash, std::equal_to<>> before;
  Watch* next = nullptr;  // of another point, of the same tablet
};

}  // namespace stator::kv
