#include "server/store_secret.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/mutex.h"
#include "base/seal.h"
#include "kv/fault_engine.h"
#include "kv/memory_engine.h"
#include "kv/shared_memory.h"
#include "server/instance.h"
#include "table/item_value.h"

namespace stator::server {
namespace {

TEST(StoreSecret, IsMadeOnceAndKept) {
  kv::MemoryEngine engine;
  const Result<std::string> first = StoreSecret(engine);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->size(), Seal::kSecretBytes);
  EXPECT_EQ(*StoreSecret(engine), *first);
  kv::MemoryEngine other;
  EXPECT_NE(*StoreSecret(other), *first);
}

TEST(StoreSecret, ProcessesThatStartAtOnceAgree) {
  kv::SharedMemory memory;
  Mutex mutex;
  std::set<std::string> secrets;
  {
    std::vector<std::jthread> processes;
    for (int i = 0; i < 4; ++i) {
      processes.emplace_back([&] {
        const std::unique_ptr<kv::Engine> engine = memory.Attach();
        const Result<std::string> secret = StoreSecret(*engine);
        EXPECT_TRUE(secret.ok());
        const MutexLock lock(mutex);
        if (secret.ok()) secrets.insert(*secret);
      });
    }
  }
  EXPECT_EQ(secrets.size(), 1u);
}

TEST(StoreSecret, IsNeverMadeUpInPlaceOfADamagedOne) {
  kv::MemoryEngine engine;
  kv::Batch batch;
  batch.puts.push_back({kSecretTablet, "seal", table::EncodeItemValue("short")});
  ASSERT_TRUE(kv::ApplyAndWait(engine, std::move(batch)).ok());
  const Result<std::string> secret = StoreSecret(engine);
  ASSERT_FALSE(secret.ok());
  EXPECT_EQ(secret.error().code(), ErrorCode::kCorruption);
}

TEST(StoreSecret, AnUnknownOutcomeIsLookedUp) {
  kv::FaultEngine engine(std::make_unique<kv::MemoryEngine>(), {});
  engine.Trigger(kv::Fault::kUnknownApplied);
  const Result<std::string> first = StoreSecret(engine);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(*StoreSecret(engine), *first);
  kv::FaultEngine other(std::make_unique<kv::MemoryEngine>(), {});
  other.Trigger(kv::Fault::kUnknownNotApplied);
  const Result<std::string> second = StoreSecret(other);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(*StoreSecret(other), *second);
}

TEST(StoreSecret, AServerStartsOnAStoreThatTakesNoWrites) {
  auto full =
      std::make_unique<kv::FaultEngine>(std::make_unique<kv::MemoryEngine>(), kv::FaultOptions{});
  full->Trigger(kv::Fault::kUnavailable, 1000);
  EXPECT_EQ(StoreSecret(*full).error().code(), ErrorCode::kUnavailable);
  ServeSettings settings;
  settings.engine = EngineKind::kMemory;
  Instance::Options options;
  options.sockets = [] { return http::ServerState(); };
  SetLogLevel(LogLevel::kOff);
  Result<std::unique_ptr<Instance>> instance =
      Instance::Open(settings, std::move(full), std::move(options));
  ASSERT_TRUE(instance.ok()) << instance.error().message();
  const Seal& seal = (*instance)->environment().seal;
  EXPECT_TRUE(seal.Holds("x", "y", seal.Of("x", "y"))) << "with a secret of its own";
  instance->reset();
  SetLogLevel(LogLevel::kInfo);
}

}  // namespace
}  // namespace stator::server
