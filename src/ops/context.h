// What every operation is handed: where the data is, what time it is, and on which loop its answer is awaited.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/executor.h"
#include "base/random.h"
#include "base/result.h"
#include "base/unique_function.h"

namespace stator::table {
class Store;
}

namespace stator::ops {

// Settings that show in answers.
struct Settings {
  std::string account = "000000000000";
  std::string region = "us-east-1";
  std::string endpoint = "127.0.0.1:8000";  // what DescribeEndpoints answers
  bool delay_transient_statuses = false;    // tables stay CREATING and DELETING for a while, as in the cloud
};

// Shared by all requests; thread-safe parts only.
struct Environment {
  table::Store& store;
  const Clock& clock;
  Random& random;
  WorkerPool& workers;
  Settings settings;
};

// One request. `loop` is the executor of the connection; operations answer through their callback on that executor's thread.
struct Context {
  Environment& env;
  Executor& loop;
};

// Called exactly once, on the thread of Context::loop; inline when nothing had to be waited for.
template <typename T>
using Callback = UniqueFunction<void(Result<T>)>;

}  // namespace stator::ops
