// The cost of admission for a request. A GetItem takes about 10 us of CPU, so 300 ns would be 3%.
//
//   admit_on_demand       one read, random key, 4 partitions, nothing refused
//   admit_provisioned     the same with a table bucket, which all threads share
//   admit_shares          the same without adaptive capacity: partition shares too
//   admit_100_partitions  the look-up in a larger layout
//   admit_hot_key         all threads on one partition
//   admit_write_2_indexes a write with two global indexes
//   refuse                a request that is refused
//   keys_alone            making the key, which is in all of the above
//   clock_ticks           the reading of the clock that goes with it
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/random.h"
#include "throughput/resource.h"

namespace stator::throughput {
namespace {

ModelSettings Roomy() {
  ModelSettings settings;
  settings.partition_read_units = 1e9;
  settings.partition_write_units = 1e9;
  settings.eventual_partition_read_units = 1e9;
  settings.table_quota_read_units = 1e9;
  settings.table_quota_write_units = 1e9;
  return settings;
}

Resource* Make(ModelSettings settings, Billing billing, int64_t partitions, double units) {
  ResourceDefinition d{.name = "t", .billing = billing, .provisioned = {units, units}};
  d.partitions = PartitionMap::Even(partitions);
  return new Resource(settings, d, 0);
}

struct Keys {
  explicit Keys(int thread) : random(static_cast<uint64_t>(thread) + 1) {}
  Draw Next(Access access) {
    return {.access = access,
            .halves = 1,
            .point = {random.Next(), "2026-11-21T00:00:00", "user#00000042"}};
  }
  SeededRandom random;
};

std::unique_ptr<Resource> shared;

void Admit(benchmark::State& state, const ModelSettings& settings, Billing billing,
           int64_t partitions, bool hot) {
  if (state.thread_index() == 0) shared.reset(Make(settings, billing, partitions, 1e9));
  Keys keys(state.thread_index());
  int64_t turn = 64 * 2'000'000;  // slowly, so that the threads' times stay close
  int64_t refused = 0;
  for (auto _ : state) {
    Draw draw = keys.Next(Access::kRead);
    if (hot) draw.point.hash = 42;
    refused += shared->Admit(++turn / 64, draw).admitted ? 0 : 1;
  }
  state.counters["refused"] = static_cast<double>(refused);
}

void admit_on_demand(benchmark::State& state) {
  Admit(state, Roomy(), Billing::kOnDemand, 4, false);
}
void admit_provisioned(benchmark::State& state) {
  Admit(state, Roomy(), Billing::kProvisioned, 4, false);
}
void admit_shares(benchmark::State& state) {
  ModelSettings settings = Roomy();
  settings.adaptive = Adaptive::kOff;
  Admit(state, settings, Billing::kProvisioned, 4, false);
}
void admit_100_partitions(benchmark::State& state) {
  Admit(state, Roomy(), Billing::kOnDemand, 100, false);
}
void admit_hot_key(benchmark::State& state) {
  Admit(state, Roomy(), Billing::kProvisioned, 4, true);
}

void admit_write_2_indexes(benchmark::State& state) {
  const std::unique_ptr<Resource> table(Make(Roomy(), Billing::kProvisioned, 4, 1e9));
  const std::unique_ptr<Resource> first(Make(Roomy(), Billing::kProvisioned, 4, 1e9));
  const std::unique_ptr<Resource> second(Make(Roomy(), Billing::kProvisioned, 4, 1e9));
  Keys keys(0);
  int64_t now = 1'000'000;
  for (auto _ : state) {
    Draw draws[3] = {keys.Next(Access::kWrite), keys.Next(Access::kWrite),
                     keys.Next(Access::kWrite)};
    draws[0].resource = table.get();
    draws[1].resource = first.get();
    draws[2].resource = second.get();
    benchmark::DoNotOptimize(throughput::Admit(now, draws));
    now += 5;
  }
}

void refuse(benchmark::State& state) {
  const std::unique_ptr<Resource> table(Make({}, Billing::kProvisioned, 4, 1));
  Keys keys(0);
  for (auto _ : state) benchmark::DoNotOptimize(table->Admit(0, keys.Next(Access::kRead)));
}

void keys_alone(benchmark::State& state) {
  Keys keys(0);
  for (auto _ : state) benchmark::DoNotOptimize(keys.Next(Access::kRead));
}

void clock_ticks(benchmark::State& state) {
  const SystemClock clock;
  const Clock& injected = clock;
  for (auto _ : state) benchmark::DoNotOptimize(injected.TicksMicros());
}

BENCHMARK(admit_on_demand)->Threads(1)->Threads(2);
BENCHMARK(admit_provisioned)->Threads(1)->Threads(2);
BENCHMARK(admit_shares)->Threads(1)->Threads(2);
BENCHMARK(admit_100_partitions)->Threads(1)->Threads(2);
BENCHMARK(admit_hot_key)->Threads(1)->Threads(2);
BENCHMARK(admit_write_2_indexes);
BENCHMARK(refuse);
BENCHMARK(keys_alone);
BENCHMARK(clock_ticks);

}  // namespace
}  // namespace stator::throughput
