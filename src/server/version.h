// The version of this program.
#pragma once

#include <string_view>

namespace stator::server {

// Returns the version and the commit that it was built from, for example "0.1.0 (09ff5a1d3c2b)".
// "-dirty" follows the commit if the source tree had uncommitted changes; the commit is "unknown"
// outside of a git repository.
std::string_view VersionText();

}  // namespace stator::server
