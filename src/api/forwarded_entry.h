// Writes of a batch that another process of the store runs, each as a request of its own.
#pragma once

#include <string_view>

#include "api/forwarding.h"
#include "base/executor.h"
#include "model/value.h"
#include "ops/context.h"

namespace stator::api {

// Sends one write of a batch to the process that should run it, as ops::WriteForwarder says. The
// loop outlives the request.
bool ForwardEntry(Forwarding& forwarding, Executor& loop, const table::Table& table,
                  std::string_view key, bool put, model::ItemView item,
                  ops::WriteForwarder::EntryDone& done);

}  // namespace stator::api
