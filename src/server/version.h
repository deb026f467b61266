// The version of this program.
#pragma once

#include <string_view>

namespace stator::server {

// Returns the version, the commit that it was built from, the processor and the compiler, for
// example "0.1.0 (09ff5a1d3c2b, x86-64, GCC 12.2.0)". "-dirty" follows the commit if the source
// tree had uncommitted changes; the commit is "unknown" outside of a git repository.
std::string_view VersionText();

}  // namespace stator::server
