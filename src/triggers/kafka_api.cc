#include "triggers/kafka_api.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace stator::triggers {
namespace {

#ifdef STATOR_KAFKA
constexpr char kLibrary[] = "librdkafka.so.1";
// 1.6.0: idempotent producers survive what brokers call fatal.
constexpr int kLeastVersion = 0x01060000;

Result<KafkaApi> Load() {
  const auto failed = [](const char* why) {
    return Error(ErrorCode::kUnavailable,
                 fmt::format("Kafka's client library cannot be loaded ({}). Install it: Debian's "
                             "package is librdkafka1, version 1.6 or newer.",
                             why));
  };
  // RTLD_LOCAL: its dependencies shall not answer for symbols of ours.
  void* library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return failed(::dlerror());
  KafkaApi api;
#define STATOR_KAFKA_FIND(name)                                                               \
  api.name##_ = reinterpret_cast<decltype(api.name##_)>(::dlsym(library, "rd_kafka_" #name)); \
  if (api.name##_ == nullptr) return failed(::dlerror());
  STATOR_KAFKA_FUNCTIONS(STATOR_KAFKA_FIND)
#undef STATOR_KAFKA_FIND
  if (api.version_() < kLeastVersion) return failed("it is too old");
  return api;
}
#else
Result<KafkaApi> Load() {
  return Error(ErrorCode::kUnavailable,
               "This build of Stator cannot use Kafka: Debian's package librdkafka-dev was not "
               "there when it was built.");
}
#endif

}  // namespace

Result<const KafkaApi*> LoadKafka() {
  static const Result<KafkaApi> loaded = Load();
  if (!loaded.ok()) return loaded.error();
  return &*loaded;
}

}  // namespace stator::triggers
