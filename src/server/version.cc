#include "server/version.h"

#include "stator_commit.h"  // made by cmake/commit.cmake in the build directory

namespace stator::server {

std::string_view VersionText() { return STATOR_VERSION " (" STATOR_COMMIT ")"; }

}  // namespace stator::server
