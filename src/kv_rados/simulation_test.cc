// Engines on a simulated Ceph cluster: groups, races, splits, dead processes and unknown outcomes,
// from seeds. STATOR_SIM_SEEDS=N runs N seeds of each class, STATOR_SIM_FIRST_SEED=N begins with N,
// STATOR_SIM_TRACE=1 prints what happens, STATOR_SIM_IGNORE=TEXT goes on after failures with the
// text, STATOR_SIM_STOP=1 ends a class with its first failure.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>

#include "base/log.h"
#include "kv_rados/fake_world.h"
#include "kv_rados/simulation_clients.h"
#include "kv_rados/simulation_model.h"

namespace stator::kv_rados {
namespace {

using simulation::AbandonAtEnd;
using simulation::Clients;
using simulation::Mix;
using simulation::Model;
using simulation::Process;
using simulation::Trouble;
using simulation::Verdict;
using simulation::World;

uint64_t Setting(const char* name, uint64_t otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

// A class of seeds.
struct Class {
  const char* name;
  Trouble trouble;
  Mix mix = {};
  int processes = 2;
  int clients = 2;
  int actions = 12;
  uint64_t split_keys = 50'000;
};

struct Tally {
  uint64_t seeds = 0, events = 0, batches = 0, groups = 0, races = 0, splits = 0, takeovers = 0,
           unknown = 0, unknown_applied = 0, late = 0, kills = 0, found_in_ledger = 0, counts = 0,
           guard_failures = 0, reads = 0, scans = 0, recent = 0, remembered = 0;
};

// Small where a large one would never be reached.
template <typename T>
T Draw(Random& random, std::initializer_list<T> of) {
  return *(of.begin() + random.Below(of.size()));
}

Limits DrawLimits(Random& random) {
  Limits limits;
  limits.group_batches = Draw<size_t>(random, {1, 2, 5, 1000});
  limits.group_bytes = Draw<size_t>(random, {500, 8 << 20});
  limits.known_keys = Draw<size_t>(random, {0, 3, 20, 200'000});
  limits.unsure_bytes = Draw<uint64_t>(random, {50, 1000, 8 << 20});
  limits.read_bytes = Draw<size_t>(random, {100, 1000, 1 << 20});
  limits.first_read_bytes = Draw<size_t>(random, {100, 500, 128 << 10});
  limits.copy_bytes = Draw<size_t>(random, {100, 500, 512 << 10});
  limits.keys_at_once = Draw<size_t>(random, {1, 2, 3, 500});
  limits.few_keys = Draw<size_t>(random, {0, 1, 3, 300});
  limits.operation_bytes = Draw<size_t>(random, {200, 1000, 16 << 20});
  return limits;
}

// Returns what was broken; empty: nothing.
std::string Run(uint64_t seed, const Class& of, Tally* tally) {
  SeededRandom draw(seed * 1000 + 7);
  RadosOptions options;
  options.pool = "simulated";
  options.operation_timeout_seconds = 5;
  options.deadline_seconds = Draw(draw, {6, 20});
  options.split_keys = of.split_keys;
  options.guarded_cache_bytes = Draw<size_t>(draw, {0, 2000, 20'000, 1 << 20});
  options.recent_micros = Draw<int64_t>(draw, {0, 2'000, 100'000, 3'000'000});
  options.range_cache_bytes = Draw<size_t>(draw, {0, 1 << 20});
  const Limits limits = DrawLimits(draw);
  Verdict verdict;
  if (const char* const text = std::getenv("STATOR_SIM_IGNORE")) verdict.ignored = text;
  Model model(verdict);
  World world(seed, of.trouble, options, limits, model, verdict);
  model.Watch(world.cluster);
  world.on_kill = [&model](Process& process) { model.Kill(process.number); };
  world.cluster.objects.max_entries = Draw<uint64_t>(draw, {2, 3, 10, 1024});
  model.traces = Setting("STATOR_SIM_TRACE", 0) != 0;
  Clients clients(world, model, of.mix);
  const auto start = [&] {
    std::vector<World::Client> each;
    for (int i = 0; i < of.clients; ++i) each.push_back(clients.Make(of.actions));
    world.Start(std::move(each));
  };
  int replaced = 0;
  const AbandonAtEnd abandon(world);
  world.on_end = [&](Process&) {
    if (++replaced <= 3) start();
  };
  const int processes = draw.Below(4) == 0 ? 1 : of.processes;
  model.counts_meanwhile = limits.unsure_bytes < 1'000'000;
  for (int i = 0; i < processes; ++i) start();
  world.RunClients();
  if (verdict.ok()) world.Settle(clients.MakeCheck());
  if (verdict.ok()) model.CheckEnd();
  if (!verdict.ok()) return verdict.failure();
  const auto statistic = [&](const char* name) {
    return static_cast<uint64_t>(world.statistics[name]);
  };
  ++tally->seeds;
  tally->events += world.events;
  tally->batches += model.batches;
  tally->groups += model.groups;
  tally->unknown += model.unknown;
  tally->unknown_applied += model.unknown_applied;
  tally->late += world.cluster.applied_late;
  tally->kills += world.kills;
  tally->races += statistic("kv_rados_races");
  tally->splits += statistic("kv_rados_splits") + statistic("kv_rados_splits_taken_over");
  tally->takeovers += statistic("kv_rados_splits_taken_over");
  tally->found_in_ledger += statistic("kv_rados_found_in_ledger");
  tally->counts += statistic("kv_rados_counts");
  tally->guard_failures += clients.guard_failures;
  tally->reads += clients.reads;
  tally->scans += clients.scans;
  tally->recent += clients.recent_reads;
  tally->remembered += statistic("kv_rados_recent_reads");
  return {};
}

// Messages that differ in numbers only are one kind.
std::string KindOf(const std::string& failure) {
  std::string kind;
  for (const char letter : failure) {
    if (letter < '0' || letter > '9') kind.push_back(letter);
  }
  return kind.substr(0, 60);
}

void RunClass(const Class& of) {
  SetLogLevel(LogLevel::kOff);
  const uint64_t first = Setting("STATOR_SIM_FIRST_SEED", 1);
  const uint64_t seeds = Setting("STATOR_SIM_SEEDS", 200);
  Tally tally;
  std::map<std::string, std::pair<int, std::string>> failures;
  const auto began = std::chrono::steady_clock::now();
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    const std::string failure = Run(seed, of, &tally);
    if (failure.empty()) continue;
    auto& [count, first_of_kind] = failures[KindOf(failure)];
    if (count++ == 0) first_of_kind = fmt::format("seed {}, {}", seed, failure);
    if (Setting("STATOR_SIM_STOP", 0) != 0) break;
  }
  for (const auto& [kind, failure] : failures)
    ADD_FAILURE() << of.name << ": " << failure.first << " times, first with " << failure.second;
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  SetLogLevel(LogLevel::kInfo);
  fmt::print(
      "{}: {} seeds, {:.0f} a second; {} events, {} batches in {} groups, {} reads, {} recent ones "
      "({} from memory), {} scans, {} "
      "races, {} guards failed, {} splits, {} taken over, {} unknown ({} applied, {} found in the "
      "ledger), {} late, {} kills, {} counts\n",
      of.name, tally.seeds, static_cast<double>(tally.seeds) / seconds, tally.events, tally.batches,
      tally.groups, tally.reads, tally.recent, tally.remembered, tally.scans, tally.races,
      tally.guard_failures, tally.splits, tally.takeovers, tally.unknown, tally.unknown_applied,
      tally.found_in_ledger, tally.late, tally.kills, tally.counts);
  if (seeds < 200) return;
  EXPECT_GT(tally.races, 0u);
  EXPECT_GT(tally.splits, 0u);
  EXPECT_GT(tally.takeovers, 0u);
  EXPECT_GT(tally.unknown, 0u);
  EXPECT_GT(tally.unknown_applied, 0u);
  EXPECT_GT(tally.found_in_ledger, 0u);
  EXPECT_GT(tally.late, 0u);
  EXPECT_GT(tally.counts, 0u);
  EXPECT_GT(tally.guard_failures, 0u);
  EXPECT_GT(tally.remembered, 0u);
}

constexpr FakeFaults kFewFaults = {.lost_answer = 0.004, .late = 0.002, .never = 0.002};
constexpr FakeFaults kManyFaults = {.lost_answer = 0.04, .late = 0.02, .never = 0.02};
constexpr Trouble kLittleTrouble = {
    .faults = kFewFaults, .kill = 0.0002, .freeze = 0.0001, .silence = 0.0002};

// Three processes change the same few keys.
TEST(RadosSimulation, Races) {
  RunClass({.name = "races",
            .trouble = kLittleTrouble,
            .mix = {.split = 0.03, .hashes = 3},
            .processes = 3});
}

// Parts are split again and again while they are used.
TEST(RadosSimulation, Splits) {
  RunClass({.name = "splits",
            .trouble = kLittleTrouble,
            .mix = {.split = 0.1, .log = 0.3, .range = 0.1, .local = 0.3, .hashes = 12},
            .actions = 20,
            .split_keys = 12});
}

// Processes die, stand still, and are shut out.
TEST(RadosSimulation, Deaths) {
  RunClass({.name = "deaths",
            .trouble = {.faults = kFewFaults, .kill = 0.001, .freeze = 0.001, .shut_out = 0.0003},
            .mix = {.split = 0.08, .local = 0.3},
            .processes = 3,
            .split_keys = 20});
}

// Answers are lost, operations come late or never, the pool is full.
TEST(RadosSimulation, UnknownOutcomes) {
  RunClass({.name = "unknown outcomes",
            .trouble = {.faults = kManyFaults, .kill = 0.0003, .freeze = 0.0003, .fill = 0.0003},
            .mix = {.split = 0.05, .hashes = 5},
            .split_keys = 20});
}

// More is read than written, by every way of reading.
TEST(RadosSimulation, Reads) {
  RunClass(
      {.name = "reads",
       .trouble = kLittleTrouble,
       .mix = {.split = 0.06, .scan = 0.4, .again = 0.3, .read = 0.2, .local = 0.3, .hashes = 12},
       .actions = 20,
       .split_keys = 20});
}

// A few keys are read again and again, from memory where that may be.
TEST(RadosSimulation, RecentReads) {
  RunClass({.name = "recent reads",
            .trouble = kLittleTrouble,
            .mix = {.split = 0.03, .scan = 0.02, .read = 0.6, .recent = 0.8, .hashes = 1},
            .processes = 3,
            .actions = 25});
}

// Fences rise while batches that name them are under way.
TEST(RadosSimulation, Fences) {
  RunClass({.name = "fences",
            .trouble = kLittleTrouble,
            .mix = {.split = 0.06, .fence = 0.05, .drop = 0.003, .hashes = 5},
            .processes = 3,
            .split_keys = 20});
}

}  // namespace
}  // namespace stator::kv_rados
