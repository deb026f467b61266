// The engine on RADOS beside raw operations of librados on the same cluster. Needs one:
//   ./dev cluster up && STATOR_CEPH_CONF=build/cluster/ceph.conf build/release/bench/rados_bench
// CPU is that of this process, all threads, without the OSDs. The arguments of a benchmark are the
// number of concurrent writers or readers, and the number of tablets (objects) that they are spread
// over. One thread submits.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/random.h"
#include "kv/engine.h"
#include "kv_rados/cluster.h"
#include "kv_rados/layout.h"
#include "kv_rados/rados_engine.h"

namespace stator {
namespace {

constexpr size_t kValueBytes = 1024;
constexpr uint64_t kKeys = 1000;  // in each tablet
constexpr uint64_t kRangeKeys =
    16'000;  // in the tablet of range reads: the 16 MB that bench/cluster.mjs queries

kv_rados::RadosOptions Options() {
  const char* conf = std::getenv("STATOR_CEPH_CONF");
  return {.ceph_conf = conf == nullptr ? "" : conf,
          .pool = "stator",
          .user = "stator",
          .name_space = "bench-" + std::to_string(SystemSeed())};
}

// As long as the keys of the items in bench/cluster.mjs: a byte, the hash, "user#00000001" and its
// end. A raw read of a hundred keys of 9 bytes is 5 % faster, because a longer key allocates memory
// at every step.
std::string Key(uint64_t number, uint64_t keys = kKeys) {
  return "key of 32 bytes, as items: " + std::to_string(10'000 + number % keys);
}

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
  int64_t Wait() {  // returns how many failed
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
  // Writes into as many keys as a table of bench/cluster.mjs has: the same operation on new objects
  // is 4 to 5 % faster.
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < kKeys; ++i) keys.push_back(Key(i));
  const std::vector<std::string> values(keys.size(), value);
  for (int64_t i = 0; i < state.range(1); ++i) {
    kv_rados::WriteOp create((*cluster)->api());
    create.CreateExclusively();
    create.Set(keys, values);
    if ((*cluster)->Write("object" + std::to_string(i), create) < 0)
      return state.SkipWithError("the objects cannot be made");
  }
  uint64_t number = 0;
  Flight flight(state.range(0));
  for (auto _ : state) {
    flight.Begin();
    kv_rados::WriteOp op((*cluster)->api());
    op.GuardAbsent("no such key");
    op.Set(Key(number), value);
    (*cluster)->WriteLater(
        "object" + std::to_string(number % static_cast<uint64_t>(state.range(1))), op,
        [&flight](int result) { flight.End(result == 0); });
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
    const kv::Tablet tablet{kv::Space::kItems,
                            static_cast<uint32_t>(number % static_cast<uint64_t>(state.range(1)))};
    batch.guards.push_back({tablet, "no such key", 0});
    batch.puts.push_back({tablet, Key(number), std::string(kv::kStampBytes + kValueBytes, 'v')});
    (*engine)->Apply(std::move(batch),
                     [&flight](Result<uint64_t> outcome) { flight.End(outcome.ok()); });
    ++number;
  }
  if (flight.Wait() > 0) state.SkipWithError("writes failed");
  state.SetItemsProcessed(state.iterations());
}

constexpr kv::Tablet kTablet{kv::Space::kItems, 1};

kv::Tablet TabletOf(uint64_t number, int64_t tablets) {
  return {kv::Space::kItems, static_cast<uint32_t>(1 + number % static_cast<uint64_t>(tablets))};
}

// Creates tablets with all keys in them, or more, and removes them at the end.
class Filled {
 public:
  explicit Filled(benchmark::State& state, const kv_rados::RadosOptions& options,
                  int64_t tablets = 1, uint64_t keys = kKeys) {
    auto engine = kv_rados::OpenRados(options);
    if (!engine.ok()) {
      state.SkipWithError(engine.error().message().c_str());
      return;
    }
    engine_ = std::move(*engine);
    for (int64_t t = 0; t < tablets; ++t) {
      tablets_.push_back(TabletOf(static_cast<uint64_t>(t), tablets));
      for (uint64_t first = 0; first < keys; first += kKeys) {
        kv::Batch batch;
        for (uint64_t i = first; i < first + kKeys; ++i)
          batch.puts.push_back(
              {tablets_.back(), Key(i, keys), std::string(kv::kStampBytes + kValueBytes, 'v')});
        if (!kv::ApplyAndWait(*engine_, std::move(batch)).ok())
          state.SkipWithError("the tablet cannot be filled");
      }
    }
  }
  // The next benchmark must not run beside that.
  ~Filled() {
    for (const kv::Tablet tablet : tablets_)
      (void)engine_->RaiseFence(tablet, kv::kDroppedFence).ok();
  }
  kv::Engine& operator*() const { return *engine_; }
  kv::Engine* operator->() const { return engine_.get(); }
  explicit operator bool() const { return engine_ != nullptr; }

 private:
  std::unique_ptr<kv::Engine> engine_;
  std::vector<kv::Tablet> tablets_;
};

// One thread keeps all reads under way.
void RawGet(benchmark::State& state) {
  const kv_rados::RadosOptions options = Options();
  const Filled engine(state, options, state.range(1));
  auto cluster = kv_rados::Cluster::Connect(options);
  if (!engine || !cluster.ok()) return;
  uint64_t number = 0;
  Flight flight(state.range(0));
  for (auto _ : state) {
    flight.Begin();
    const std::string cell = kv_rados::KeyCell(Key(number * 7));
    auto read = std::make_shared<kv_rados::ReadOp>((*cluster)->api());
    read->Keys({&cell, 1});
    (*cluster)->ReadLater(
        kv_rados::PartObject(TabletOf(number, state.range(1)), 0), *read,
        [read, &flight](int result) {
          read->ForEach(0, [](auto, auto value) { return benchmark::DoNotOptimize(value), true; });
          flight.End(result == 0);
        });
    ++number;
  }
  if (flight.Wait() > 0) state.SkipWithError("reads failed");
  state.SetItemsProcessed(state.iterations());
}

// As many threads as concurrent reads, each of which waits, in librados or in the engine.
struct Shared {
  std::unique_ptr<Filled> engine;
  std::unique_ptr<kv_rados::Cluster> cluster;
} shared;

void Setup(benchmark::State& state) {
  if (state.thread_index() != 0) return;
  const kv_rados::RadosOptions options = Options();
  shared.engine = std::make_unique<Filled>(state, options, state.range(0));
  auto cluster = kv_rados::Cluster::Connect(options);
  if (cluster.ok()) shared.cluster = std::move(*cluster);
}

// Returns how many reads of the engine went into one operation.
void CountTogether(benchmark::State& state, kv::Engine& engine) {
  std::map<std::string, double> statistics = engine.Statistics();
  state.counters["together"] = statistics["kv_rados_point_reads"] /
                               std::max(1.0, statistics["kv_rados_point_read_operations"]);
}

void TearDown(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations());
  if (state.thread_index() != 0) return;
  if (shared.engine != nullptr) CountTogether(state, **shared.engine);
  shared = {};
}

void RawGetAndWait(benchmark::State& state) {
  Setup(state);
  auto number = static_cast<uint64_t>(state.thread_index());
  for (auto _ : state) {
    const std::string cell = kv_rados::KeyCell(Key(number * 7));
    std::unique_ptr<kv_rados::ReadOp> read;
    if (shared.cluster->Read(
            kv_rados::PartObject(TabletOf(number, state.range(0)), 0),
            [&](auto& op) {
              op.Keys({&cell, 1});
            },
            &read) < 0) {
      state.SkipWithError("a read failed");
      break;
    }
    read->ForEach(0, [](auto, auto value) { return benchmark::DoNotOptimize(value), true; });
    number += static_cast<uint64_t>(state.threads());
  }
  TearDown(state);
}

void EngineGet(benchmark::State& state) {
  Setup(state);
  auto number = static_cast<uint64_t>(state.thread_index());
  std::string value;
  for (auto _ : state) {
    const Result<bool> exists =
        (*shared.engine)
            ->Get(TabletOf(number, state.range(0)), Key(number * 7), kv::Tier::kAny, &value);
    if (!exists.ok() || !*exists) {
      state.SkipWithError("a read failed");
      break;
    }
    number += static_cast<uint64_t>(state.threads());
  }
  TearDown(state);
}

void EngineGetLater(benchmark::State& state) {
  const Filled engine(state, Options(), state.range(1));
  if (!engine) return;
  uint64_t number = 0;
  Flight flight(state.range(0));
  for (auto _ : state) {
    flight.Begin();
    engine->GetLater(
        TabletOf(number, state.range(1)), Key(number * 7),
        [&flight](Result<std::optional<std::string>> value) { flight.End(value.ok() && *value); });
    ++number;
  }
  if (flight.Wait() > 0) state.SkipWithError("reads failed");
  CountTogether(state, *engine);
  state.SetItemsProcessed(state.iterations());
}

// Another 100 keys of 1 KB each time.
uint64_t RangeStart(uint64_t number) { return number * 37 % (kRangeKeys / 100) * 100; }

void RawRange(benchmark::State& state) {
  const kv_rados::RadosOptions options = Options();
  const Filled engine(state, options, 1, kRangeKeys);
  auto cluster = kv_rados::Cluster::Connect(options);
  if (!engine || !cluster.ok()) return;
  uint64_t number = 0;
  for (auto _ : state) {
    std::unique_ptr<kv_rados::ReadOp> read;
    const std::string start = kv_rados::StartAt(Key(RangeStart(number++), kRangeKeys));
    const auto fill = [&start](kv_rados::ReadOp& op) { op.Range(start, "k", 100); };
    if ((*cluster)->Read(kv_rados::PartObject(kTablet, 0), fill, &read) < 0)
      return state.SkipWithError("a read failed");
    read->ForEach(0, [](auto, auto value) { return benchmark::DoNotOptimize(value), true; });
  }
}

void EngineRange(benchmark::State& state) {
  const Filled engine(state, Options(), 1, kRangeKeys);
  if (!engine) return;
  uint64_t number = 0;
  for (auto _ : state) {
    int seen = 0;
    const uint64_t start = RangeStart(number++);
    const Status status = engine->Scan(
        {kTablet, Key(start, kRangeKeys), Key(start + 100, UINT64_MAX), state.range(0) != 0},
        kv::Tier::kAny, [&seen](auto, auto) { return ++seen < 1000; });
    if (!status.ok() || seen != 100) return state.SkipWithError("a scan failed");
  }
}

BENCHMARK(RawGuardedPut)
    ->Args({1, 1})
    ->Args({64, 1})
    ->Args({64, 16})
    ->MeasureProcessCPUTime()
    ->UseRealTime();
BENCHMARK(EnginePut)
    ->Args({1, 1})
    ->Args({64, 1})
    ->Args({64, 16})
    ->MeasureProcessCPUTime()
    ->UseRealTime();
BENCHMARK(RawGet)
    ->Args({1, 1})
    ->Args({64, 1})
    ->Args({64, 16})
    ->MeasureProcessCPUTime()
    ->UseRealTime();
BENCHMARK(RawGetAndWait)
    ->ArgName("tablets")
    ->Arg(1)
    ->Threads(1)
    ->Threads(64)
    ->MeasureProcessCPUTime()
    ->UseRealTime();
BENCHMARK(RawGetAndWait)
    ->ArgName("tablets")
    ->Arg(16)
    ->Threads(64)
    ->MeasureProcessCPUTime()
    ->UseRealTime();
BENCHMARK(EngineGet)
    ->ArgName("tablets")
    ->Arg(1)
    ->Threads(1)
    ->Threads(64)
    ->MeasureProcessCPUTime()
    ->UseRealTime();
BENCHMARK(EngineGet)
    ->ArgName("tablets")
    ->Arg(16)
    ->Threads(64)
    ->MeasureProcessCPUTime()
    ->UseRealTime();
BENCHMARK(EngineGetLater)
    ->Args({1, 1})
    ->Args({64, 1})
    ->Args({64, 16})
    ->MeasureProcessCPUTime()
    ->UseRealTime();
BENCHMARK(RawRange)->MeasureProcessCPUTime()->UseRealTime();
BENCHMARK(EngineRange)->ArgName("reverse")->Arg(0)->Arg(1)->MeasureProcessCPUTime()->UseRealTime();

}  // namespace
}  // namespace stator
