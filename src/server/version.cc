#include "server/version.h"

#include <string>

#include "stator_commit.h"  // made by cmake/commit.cmake in the build directory

namespace stator::server {

namespace {

#if defined(__x86_64__)
constexpr char kProcessor[] = "x86-64";
#elif defined(__aarch64__)
constexpr char kProcessor[] = "arm64";
#else
constexpr char kProcessor[] = "other processor";
#endif

#if defined(__clang__)
constexpr char kCompiler[] = "clang " __clang_version__;
#else
constexpr char kCompiler[] = "GCC " __VERSION__;
#endif

}  // namespace

std::string_view VersionText() {
  static const std::string text =
      std::string(STATOR_VERSION " (" STATOR_COMMIT ", ") + kProcessor + ", " + kCompiler + ")";
  return text;
}

}  // namespace stator::server
