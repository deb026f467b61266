// Divides the file descriptors of the process among connections, the engine and the rest.
#pragma once

#include <cstdint>

namespace stator::server {

struct DescriptorPlan {
  int64_t limit = 0;    // descriptors that the process may have open
  int engine = 0;       // descriptors kept for files of the engine
  int connections = 0;  // client connections open at once
};

// Divides `limit` descriptors among an engine that has `files` files now, the rest of the process,
// and up to `wanted` connections. The engine gets a quarter (at least 96, at most 8192), or twice
// its files if that is more. There is always one connection.
DescriptorPlan DivideDescriptors(int64_t limit, int64_t files, int wanted);

// Raises the soft limit of open files to the hard one and returns the limit in force.
int64_t RaiseDescriptorLimit();

}  // namespace stator::server
