// Hooks of the writer for the layers above: they hear when another process writes to the same
// parts, and are called before each group of writes.
#pragma once

#include <functional>

#include "kv/engine.h"

namespace stator::kv_rados {

// Called on the writer's strand, one at a time, with a lock held: they must be quick and must not
// call the engine. Either may be null.
struct WriterHooks {
  // An operation on this unit was refused because another process wrote to it first.
  std::function<void(const kv::Unit&)> lost;
  // A group of batches is being formed: permits (kv/permit.h) that have run out must end now.
  std::function<void()> before_group;
};

// Replaces the hooks of an engine that OpenRados gave, or of a kv_tx engine's inner one. When it
// returns, no call of the old hooks is under way. Does nothing for another engine.
void SetHooks(kv::Engine& engine, WriterHooks hooks);

// Another process has written a key for this one, which is about to say so: GetRecent gives nothing
// older from then on. Engines as above.
void NoteElsewhere(kv::Engine& engine, kv::Tablet tablet, std::string_view key);

}  // namespace stator::kv_rados
