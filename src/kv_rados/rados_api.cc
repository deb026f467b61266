#include "kv_rados/rados_api.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace stator::kv_rados {
namespace {

constexpr char kLibrary[] = "librados.so.2";

Result<RadosApi> Load() {
  const auto failed = [](const char* why) {
    return Error(ErrorCode::kUnavailable,
                 fmt::format("Ceph's client library cannot be loaded ({}). Install it: Debian's "
                             "package is librados2, version 16.2 or newer.",
                             why));
  };
  // RTLD_LOCAL: its many dependencies shall not answer for symbols of ours.
  void* library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return failed(::dlerror());
  RadosApi api;
#define STATOR_RADOS_FIND(name)                                                      \
  api.name = reinterpret_cast<decltype(api.name)>(::dlsym(library, "rados_" #name)); \
  if (api.name == nullptr) return failed(::dlerror());
  STATOR_RADOS_FUNCTIONS(STATOR_RADOS_FIND)
#undef STATOR_RADOS_FIND
  return api;
}

}  // namespace

Result<const RadosApi*> LoadRados() {
  static const Result<RadosApi> loaded = Load();
  if (!loaded.ok()) return loaded.error();
  return &*loaded;
}

}  // namespace stator::kv_rados
