// Scripts against three servers that share a store.
#pragma once

#include <memory>

#include "host.h"

namespace stator::scripts {

// Not opened yet.
std::unique_ptr<Host> MakeSharedHost();

}  // namespace stator::scripts
