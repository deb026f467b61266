// Reads a range as it was at one moment, while writes go on.
#pragma once

#include <memory>
#include <string_view>

#include "base/result.h"
#include "base/unique_function.h"
#include "kv/engine.h"

namespace stator::kv {

// The keys of a range at the moment of Pinner::Pin. They are read once, from the first to the last.
// Not thread-safe. It costs the engine disk or memory for what is overwritten meanwhile, so it
// should not live long. Must be destroyed before its engine.
class PinnedRange {
 public:
  virtual ~PinnedRange() = default;
  // Visits the next keys in order: a stretch of about a megabyte. Returns false once every key was
  // visited. The views are valid during the call of `visit` only; its error ends the stretch and is
  // returned, and so does every later call. Holds no lock of the engine during `visit`. Errors as
  // of Engine::Get; kUnavailable if the engine could not keep the state any longer. Blocks.
  using Visit = FunctionRef<Status(std::string_view key, std::string_view value)>;
  virtual Result<bool> Next(Visit visit) = 0;
};

// An engine that keeps old states readable. Thread-safe.
class Pinner {
 public:
  virtual ~Pinner() = default;
  // Pins the durable state of this moment of a forward range. Never waits. The tablet may be
  // dropped afterwards. Range::expected_bytes is a hint for the length of a stretch.
  virtual Result<std::unique_ptr<PinnedRange>> Pin(const Range& range) = 0;
};

}  // namespace stator::kv
