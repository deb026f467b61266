// A write of items whose batch has more in it than items.
#pragma once

#include <vector>

#include "base/unique_function.h"
#include "kv/engine.h"
#include "table/store.h"

namespace stator::table {

// Adds to the batch of a write whose body has just decided. It may run more than once, each time
// after the body and on its thread, and must not change anything but the batch and its own outputs.
using BatchExtra = UniqueFunction<void(kv::Batch* batch)>;

// Has the contract of Store::Write, and what `extra` adds is durable exactly if the changes of the
// items are; it is written also where the body changes no item. Not where several processes share
// the store.
void WriteWith(Store& store, std::vector<WriteTarget> targets, WriteBody body, BatchExtra extra,
               WriteDone done, WriteDetour detour = nullptr);

}  // namespace stator::table
