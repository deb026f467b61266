// Scripts against three servers that share a store.
#pragma once

#include <memory>
#include <string>

#include "host.h"

namespace stator::scripts {

// Both are not opened yet.
std::unique_ptr<Host> MakeSharedMemoryHost();
// In a new namespace of the pool `stator` of a cluster that tests/cluster/cluster has started.
std::unique_ptr<Host> MakeRadosHost(std::string ceph_conf);

}  // namespace stator::scripts
