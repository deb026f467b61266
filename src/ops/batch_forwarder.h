// Hands single writes of a batch over to other processes of the store.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "base/unique_function.h"
#include "model/value.h"
#include "ops/context.h"

namespace stator::ops {

// A WriteForwarder (Context::forwarder) that can do this too.
class BatchForwarder : public WriteForwarder {
 public:
  // The outcome of a write; nullopt: the other process refused it and changed nothing.
  using EntryDone = UniqueFunction<void(std::optional<Status>)>;
  // `item` is put or, without `put`, the item with that key is deleted. Returns false, and leaves
  // `done` untouched, if the write is to be run here. Else `done` is called once, on the thread of
  // the request's loop. The request must not be answered before.
  virtual bool TryForwardEntry(const table::Table& table, std::string_view key, bool put,
                               model::ItemView item, EntryDone& done) = 0;
};

}  // namespace stator::ops
