// Frees what takes long to free on a thread of its own.
#pragma once

#include <memory>

#include "base/unique_function.h"

namespace stator::kv {

// Thread-safe. Its end waits for what it was given.
class Disposal {
 public:
  Disposal();
  ~Disposal();
  // Destroys `last`, with what it holds, later. The first call makes the thread.
  void Add(UniqueFunction<void()> last);

 private:
  struct Parts;
  const std::unique_ptr<Parts> parts_;
};

}  // namespace stator::kv
