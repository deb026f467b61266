// The cost of a split for concurrent writers, and the benefit of many parts. Needs a cluster:
//   ./dev cluster up && STATOR_CEPH_CONF=build/cluster/ceph.conf
//   build/release/bench/rados_split_bench
// Times are the machine's, in milliseconds. Each writer replaces items of 1 KB whose stamps it
// knows, one write at a time.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "base/random.h"
#include "kv/engine.h"
#include "kv/fixed_bytes.h"
#include "kv_rados/rados_engine.h"

namespace stator {
namespace {

using Clock = std::chrono::steady_clock;
constexpr kv::Tablet kTablet{kv::Space::kItems, 1};
constexpr size_t kValueBytes = 1024;
constexpr uint64_t kItems = 40'000;  // 47 MB of cells
constexpr size_t kWriters = 64;

kv_rados::RadosOptions Options() {
  const char* conf = std::getenv("STATOR_CEPH_CONF");
  kv_rados::RadosOptions options{.ceph_conf = conf == nullptr ? "" : conf,
                                 .pool = "stator",
                                 .user = "stator",
                                 .name_space = "bench-" + std::to_string(SystemSeed())};
  options.split_bytes = options.split_keys = UINT64_MAX;
  if (std::getenv("STATOR_BENCH_STEPS") != nullptr) {
    options.split_step = [](int step) -> Status {
      std::fprintf(
          stderr, "%.1f step %d\n",
          std::chrono::duration<double, std::milli>(Clock::now().time_since_epoch()).count(), step);
      return OkStatus();
    };
  }
  return options;
}

std::string Item(uint64_t i) {
  std::string key(17, '\x01');
  kv::StoreBig64(key.data() + 1, i * 0x9E3779B97F4A7C15ull);
  kv::StoreBig64(key.data() + 9, i);
  return key + "item";
}

struct Times {
  double per_second = 0, median = 0, high = 0, longest = 0;
  bool failed = false;
};

// Runs kWriters threads that call `write` with their number until `go_on` returns false or a write
// fails (returns false). `meanwhile` runs beside them.
template <typename GoOn, typename Write, typename Meanwhile>
Times TimeWrites(GoOn go_on, Write write, Meanwhile meanwhile) {
  std::atomic<bool> failed = false;
  std::vector<double> times;
  std::mutex mutex;
  std::vector<std::thread> threads;
  const auto started = Clock::now();
  for (size_t w = 0; w < kWriters; ++w) {
    threads.emplace_back([&, w] {
      std::vector<double> mine;
      while (!failed && go_on()) {
        const auto from = Clock::now();
        if (!write(w)) failed = true;
        mine.push_back(std::chrono::duration<double, std::milli>(Clock::now() - from).count());
        if (mine.back() > 150 && std::getenv("STATOR_BENCH_STEPS") != nullptr) {
          std::fprintf(
              stderr, "%.1f write of %zu took %.0f\n",
              std::chrono::duration<double, std::milli>(Clock::now().time_since_epoch()).count(), w,
              mine.back());
        }
      }
      const std::lock_guard lock(mutex);
      times.insert(times.end(), mine.begin(), mine.end());
    });
  }
  meanwhile();
  for (std::thread& thread : threads) thread.join();
  const double seconds = std::chrono::duration<double>(Clock::now() - started).count();
  std::sort(times.begin(), times.end());
  return {static_cast<double>(times.size()) / seconds, times[times.size() / 2],
          times[times.size() * 99 / 100], times.back(), failed};
}

class Writers {
 public:
  Writers(std::vector<kv::Engine*> engines) : engines_(std::move(engines)), stamps_(kItems, 0) {}

  Status Fill() {
    for (uint64_t i = 0; i < kItems;) {
      kv::Batch batch;
      const uint64_t first = i;
      for (; i < std::min(first + 500, kItems); ++i) batch.puts.push_back(PutOf(i));
      const Result<uint64_t> stamp = kv::ApplyAndWait(*engines_[0], std::move(batch));
      if (!stamp.ok()) return stamp.error();
      std::fill(stamps_.begin() + static_cast<std::ptrdiff_t>(first),
                stamps_.begin() + static_cast<std::ptrdiff_t>(i), *stamp);
    }
    return OkStatus();
  }

  // Runs until `enough` returns.
  template <typename Fn>
  Times Run(Fn enough) {
    std::atomic<bool> stop = false;
    std::deque<SeededRandom> randoms;
    for (size_t w = 0; w < kWriters; ++w) randoms.emplace_back(w);
    const auto write = [&](size_t w) {
      const uint64_t i = randoms[w].Below(kItems / kWriters) * kWriters + w;
      kv::Batch batch;
      batch.guards.push_back({kTablet, Item(i), stamps_[i]});
      batch.puts.push_back(PutOf(i));
      const Result<uint64_t> stamp =
          kv::ApplyAndWait(*engines_[w % engines_.size()], std::move(batch));
      stamps_[i] = stamp.ok() ? *stamp : 0;
      return stamp.ok();
    };
    return TimeWrites([&stop] { return !stop; }, write,
                      [&] {
                        enough();
                        stop = true;
                      });
  }

 private:
  kv::Put PutOf(uint64_t i) const {
    return {kTablet, Item(i), std::string(kv::kStampBytes + kValueBytes, 'v')};
  }

  const std::vector<kv::Engine*> engines_;
  std::vector<uint64_t> stamps_;
};

// range(0): number of processes.
void Split(benchmark::State& state) {
  const kv_rados::RadosOptions options = Options();
  std::vector<std::unique_ptr<kv::Engine>> engines;
  std::vector<kv::Engine*> all;
  for (int64_t i = 0; i < state.range(0); ++i) {
    auto engine = kv_rados::OpenRados(options);
    if (!engine.ok()) return state.SkipWithError(engine.error().message().c_str());
    all.push_back(engine->get());
    engines.push_back(std::move(*engine));
  }
  Writers writers(all);
  if (const Status filled = writers.Fill(); !filled.ok())
    return state.SkipWithError(filled.error().message().c_str());
  bool failed = false;
  const auto note = [&](const std::string& name, const Times& times) {
    state.counters[name + "_per_s"] = times.per_second;
    state.counters[name + "_p50"] = times.median;
    state.counters[name + "_p99"] = times.high;
    state.counters[name + "_max"] = times.longest;
    failed |= times.failed;
  };
  const auto seconds = [](int count) {
    return [count] { std::this_thread::sleep_for(std::chrono::seconds(count)); };
  };
  for (auto _ : state) {
    note("1_part", writers.Run(seconds(5)));
    const auto started = Clock::now();
    note("splitting",
         writers.Run([&] { failed |= !kv_rados::SplitPart(*all[0], kTablet, Item(0)).ok(); }));
    state.counters["split_ms"] =
        std::chrono::duration<double, std::milli>(Clock::now() - started).count();
    note("2_parts", writers.Run(seconds(5)));
    for (int rounds = 0; rounds < 3; ++rounds) {
      const auto parts = kv_rados::PartsOf(*all[0], kTablet);
      for (const kv_rados::PartInfo& part : *parts)
        failed |= !kv_rados::SplitPart(*all[0], kTablet, "\x01" + part.begin).ok();
    }
    state.counters["parts"] = static_cast<double>(kv_rados::PartsOf(*all[0], kTablet)->size());
    note("parts", writers.Run(seconds(5)));
  }
  if (failed) state.SkipWithError("something failed");
}

// A queue that grows to 200 MB of records of 1 KB, 64 of them under way: the cost of its splits,
// and the number of parts that it leaves.
void Queue(benchmark::State& state) {
  kv_rados::RadosOptions options = Options();
  options.split_bytes = 8 << 20;
  auto engine = kv_rados::OpenRados(options);
  if (!engine.ok()) return state.SkipWithError(engine.error().message().c_str());
  constexpr kv::Tablet kLog{kv::Space::kLog, 1};
  constexpr int kRecords = 200'000;
  std::atomic<int> next = 0;
  const auto write = [&](size_t) {
    kv::Batch batch;
    batch.puts.push_back({kLog, "queue" + std::string(kv::kStampBytes, '\0'),
                          std::string(kv::kStampBytes + kValueBytes, 'v'), 5});
    return kv::ApplyAndWait(**engine, std::move(batch)).ok();
  };
  Times times;
  for (auto _ : state) times = TimeWrites([&next] { return next++ < kRecords; }, write, [] {});
  if (times.failed) return state.SkipWithError("a write failed");
  state.SetItemsProcessed(kRecords);
  state.counters["p50"] = times.median;
  state.counters["p99"] = times.high;
  state.counters["max"] = times.longest;
  const auto parts = kv_rados::PartsOf(**engine, kLog);
  if (parts.ok()) state.counters["parts"] = static_cast<double>(parts->size());
}

BENCHMARK(Queue)->Iterations(1)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(Split)
    ->ArgName("processes")
    ->Arg(1)
    ->Arg(3)
    ->Iterations(1)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace stator
