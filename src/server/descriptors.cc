#include "server/descriptors.h"

#include <sys/resource.h>

#include <algorithm>

namespace stator::server {
namespace {

constexpr int64_t kLeastEngine = 96;
constexpr int64_t kMostEngine = 8192;
// Sockets that listen, epoll sets, logs, recordings, and connections that http answers beyond its
// limit (kExtraConnections of http/server.h).
constexpr int64_t kRest = 96;

}  // namespace

// RocksDB keeps every table file open. It could be told to keep fewer (max_open_files), but then a
// read that is told to stay in memory answers an empty value for a key in a closed file (RocksDB
// 7.8: TableCache::Get marks the key as one that may exist), which reads as damage.
DescriptorPlan DivideDescriptors(int64_t limit, int64_t files, int wanted) {
  DescriptorPlan plan;
  plan.limit = limit;
  const int64_t engine = std::max(std::clamp(limit / 4, kLeastEngine, kMostEngine), 2 * files);
  const int64_t connections = std::clamp<int64_t>(limit - engine - kRest, 1, std::max(1, wanted));
  plan.engine = static_cast<int>(engine);
  plan.connections = static_cast<int>(connections);
  return plan;
}

int64_t RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  if (limit.rlim_cur != limit.rlim_max) {
    rlimit raised = limit;
    raised.rlim_cur = raised.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  return static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur, INT32_MAX));
}

}  // namespace stator::server
