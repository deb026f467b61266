// The engine on RADOS beside raw operations of librados on the same cluster. Needs one:
//   ./dev cluster up && STATOR_CEPH_CONF=build/cluster/ceph.conf build/release/bench/rados_bench
// Arguments of a benchmark are writers or readers at a time, and tablets (objects) that they are spread over. One thread submits.
#include <benchmark/benchmark.h>

#include <condition_variable>
#include <cstdlib>
#include <mutex>

#include "base/random.h"
#include "kv/engine.h"
#include "kv_rados/cluster.h"
#include "kv_rados/layout.h"
#include "kv_rados/rados_engine.h"

namespace stator {
namespace {

constexpr size_t kValueBytes = 1024;
constexpr int kKeys = 1000;  // of each tablet

kv_rados::RadosOptions Options() {
  const char* conf = std::getenv("STATOR_CEPH_CONF");
  return {.ceph_conf = conf == nullptr ? "" : conf,
          .pool = "stator",
          .user = "stator",
          .name_space = "bench-" + std::to_string(SystemSeed())};
}

std::string Key(uint64_t number) { return "key" + std::to_string(100'000 + number % kKeys); }

// Keeps `at_once` operations under way and waits for the last.
class Flight {
 public:
  explicit Flight(int64_t at_once) : at_once_(at_once) {}
  void Begin() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return under_way_ < at_once_; });
    ++under_way_;
  }
  void End(bool good) {
    std::lock_guard lock(mutex_);
    --under_way_;
    failed_ += good ? 0 : 1;
    changed_.notify_one();
  }
  int64_t Wait() {  // how many failed
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return under_way_ == 0; });
    return failed_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  const int64_t at_once_;
  int64_t under_way_ = 0;
  int64_t failed_ = 0;
};

void RawGuardedPut(benchmark::State& state) {
  auto cluster = kv_rados::Cluster::Connect(Options());
  if (!cluster.ok()) return state.SkipWithError(cluster.error().message().c_str());
  const std::string value(kValueBytes, 'v');
  for (int64_t i = 0; i < state.range(1); ++i) {  // a guard needs an object to look at
    kv_rados::WriteOp create((*cluster)->api());
    create.CreateExclusively();
    if ((*cluster)->Write("object" + std::to_string(i), create) < 0) return state.SkipWithError("the objects cannot be made");
  }
  uint64_t number = 0;
  Flight flight(state.range(0));
  for (auto _ : state) {
    flight.Begin();
    kv_rados::WriteOp op((*cluster)->api());
    op.GuardAbsent("no such key");
    op.Set(Key(number), value);
    (*cluster)->WriteLater("object" + std::to_string(number % static_cast<uint64_t>(state.range(1))), op, [&flight](int result) { flight.End(result == 0); });
    ++number;
  }
  if (flight.Wait() > 0) state.SkipWithError("writes failed");
  state.SetItemsProcessed(state.iterations());
}

void EnginePut(benchmark::State& state) {
  auto engine = kv_rados::OpenRados(Options());
  if (!engine.ok()) return state.SkipWithError(engine.error().message().c_str());
  uint64_t number = 0;
  Flight flight(state.range(0));
  for (auto _ : state) {
    flight.Begin();
    kv::Batch batch;
    const kv::Tablet tablet{kv::Space::kItems, static_cast<uint32_t>(number % static_cast<uint64_t>(state.range(1)))};
    batch.guards.push_back({tablet, "no such key", 0});
    batch.puts.push_back({tablet, Key(number), std::string(kv::kStampBytes + kValueBytes, 'v')});
    (*engine)->Apply(std::move(batch), [&flight](Result<uint64_t> outcome) { flight.End(outcome.ok()); });
    ++number;
  }
  if (flight.Wait() > 0) state.SkipWithError("writes failed");
  state.SetItemsProcessed(state.iterations());
}

// A tablet with all keys in it.
std::unique_ptr<kv::Engine> Filled(benchmark::State& state, const kv_rados::RadosOptions& options, kv::Tablet tablet) {
  auto engine = kv_rados::OpenRados(options);
  if (!engine.ok()) {
    state.SkipWithError(engine.error().message().c_str());
    return nullptr;
  }
  kv::Batch batch;
  for (uint64_t i = 0; i < kKeys; ++i) batch.puts.push_back({tablet, Key(i), std::string(kv::kStampBytes + kValueBytes, 'v')});
  if (!kv::ApplyAndWait(**engine, std::move(batch)).ok()) state.SkipWithError("the tablet cannot be filled");
  return std::move(*engine);
}

constexpr kv::Tablet kTablet{kv::Space::kItems, 1};

void RawGet(benchmark::State& state) {
  const kv_rados::RadosOptions options = Options();
  const auto engine = Filled(state, options, kTablet);
  auto cluster = kv_rados::Cluster::Connect(options);
  if (!engine || !cluster.ok()) return;
  uint64_t number = 0;
  for (auto _ : state) {
    const std::string cell = kv_rados::KeyCell(Key(number++));
    std::unique_ptr<kv_rados::ReadOp> read;
    if ((*cluster)->Read(kv_rados::PartObject(kTablet, 0), [&](auto& op) { op.Keys({&cell, 1}); }, &read) < 0) {
      return state.SkipWithError("a read failed");
    }
    read->ForEach(0, [](auto, auto value) { return benchmark::DoNotOptimize(value), true; });
  }
}

void EngineGet(benchmark::State& state) {
  const auto engine = Filled(state, Options(), kTablet);
  if (!engine) return;
  uint64_t number = 0;
  std::string value;
  for (auto _ : state) {
    const Result<bool> exists = engine->Get(kTablet, Key(number++), kv::Tier::kAny, &value);
    if (!exists.ok() || !*exists) return state.SkipWithError("a read failed");
  }
}

// 100 keys of 1 KB from the middle.
void RawRange(benchmark::State& state) {
  const kv_rados::RadosOptions options = Options();
  const auto engine = Filled(state, options, kTablet);
  auto cluster = kv_rados::Cluster::Connect(options);
  if (!engine || !cluster.ok()) return;
  for (auto _ : state) {
    std::unique_ptr<kv_rados::ReadOp> read;
    const auto fill = [](kv_rados::ReadOp& op) { op.Range(kv_rados::StartAt(Key(500)), "k", 100); };
    if ((*cluster)->Read(kv_rados::PartObject(kTablet, 0), fill, &read) < 0) return state.SkipWithError("a read failed");
    read->ForEach(0, [](auto, auto value) { return benchmark::DoNotOptimize(value), true; });
  }
}

void EngineRange(benchmark::State& state) {
  const auto engine = Filled(state, Options(), kTablet);
  if (!engine) return;
  for (auto _ : state) {
    int seen = 0;
    const Status status = engine->Scan({kTablet, Key(500), Key(600), state.range(0) != 0}, kv::Tier::kAny,
                                       [&seen](auto, auto) { return ++seen < 1000; });
    if (!status.ok() || seen != 100) return state.SkipWithError("a scan failed");
  }
}

BENCHMARK(RawGuardedPut)->Args({1, 1})->Args({64, 1})->Args({64, 16})->UseRealTime();
BENCHMARK(EnginePut)->Args({1, 1})->Args({64, 1})->Args({64, 16})->UseRealTime();
BENCHMARK(RawGet)->UseRealTime();
BENCHMARK(EngineGet)->UseRealTime();
BENCHMARK(RawRange)->UseRealTime();
BENCHMARK(EngineRange)->ArgName("reverse")->Arg(0)->Arg(1)->UseRealTime();

}  // namespace
}  // namespace stator
