// Permits (kv/permit.h) on a simulated Ceph cluster. One process writes for another one under
// permits with a time limit, as link/ has it, and either may stand still at any moment. The other
// one gives up at the limit and writes a newer value itself, which an older one must never replace.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>

#include "base/log.h"
#include "kv/permit.h"
#include "kv_rados/contention.h"
#include "kv_rados/fake_world.h"

namespace stator::kv_rados {
namespace {

using simulation::AbandonAtEnd;
using simulation::Process;
using simulation::Verdict;
using simulation::World;

constexpr kv::Tablet kTablet = {kv::Space::kItems, 1};
constexpr int64_t kLeaseMicros = 300'000;
constexpr int kWrites = 25;

class NoObserver final : public FakeCluster::Observer {
 public:
  void OnSent(FakeCluster::Operation&) override {}
  void OnApplied(const FakeCluster::Operation&) override {}
};

struct Request {
  int number = 0;
  int64_t until = 0;
  std::shared_ptr<kv::BatchFate> permit = kv::MakePermit();
  bool ended = false;
  bool applied = false;
};

struct Tally {
  int given_up = 0, refused = 0, applied = 0, races = 0;
};

std::string Key() { return "\x01" + std::string(16, 'k'); }

kv::Batch PutOf(int number) {
  kv::Batch batch;
  kv::Put put;
  put.tablet = kTablet;
  put.key = Key();
  put.value = std::string(kv::kStampBytes, '\0') + std::to_string(number);
  batch.puts.push_back(std::move(put));
  return batch;
}

// Returns what was broken; empty: nothing. `ends_permits`: whether the hook does its duty.
std::string RunWorld(uint64_t seed, bool ends_permits, Tally* tally) {
  NoObserver observer;
  Verdict verdict;
  RadosOptions options;
  options.pool = "simulated";
  World world(seed, {.faults = {.lost_answer = 0.01, .late = 0.01, .never = 0.01}, .freeze = 0.004},
              options, Limits(), observer, verdict);
  std::deque<std::shared_ptr<Request>> mailbox;
  std::vector<std::shared_ptr<Request>> all;
  bool over = false;
  const AbandonAtEnd abandon(world);

  // Gives its writes to the owner, and makes those itself that it has given up.
  const World::Client asker = [&](Process& process) {
    SetHooks(*process.engine, {[&](const kv::Unit&) { ++tally->races; }, nullptr});
    int number = 0, least = 0;
    for (int i = 0; i < kWrites && verdict.ok(); ++i) {
      auto request = std::make_shared<Request>();
      request->number = ++number;
      request->until = world.clock.TicksMicros() + kLeaseMicros;
      mailbox.push_back(request);
      all.push_back(request);
      world.Changed();
      while (!request->ended && world.clock.TicksMicros() <= request->until) world.Sleep(10'000);
      if (request->ended) {
        ++(request->applied ? tally->applied : tally->refused);
        if (request->applied) least = request->number;
      } else {
        ++tally->given_up;
        const int mine = ++number;
        bool came = false, good = false;
        process.engine->Apply(PutOf(mine), [&](Result<uint64_t> applied) {
          good = applied.ok();
          came = true;
          world.Changed();
        });
        world.Await([&] { return came; });
        if (good) least = mine;
        world.Sleep(static_cast<int64_t>(world.random.Below(3'000'000)));
      }
      std::string value;
      const Result<bool> found = process.engine->Get(kTablet, Key(), kv::Tier::kAny, &value);
      if (!found.ok()) continue;
      const int seen = *found ? std::stoi(value.substr(kv::kStampBytes)) : 0;
      if (seen < least) verdict.Fail(fmt::format("{} has replaced {}", seen, least));
    }
    over = true;
    world.Changed();
  };

  const World::Client owner = [&](Process& process) {
    SetHooks(*process.engine, {nullptr, [&] {
                                 if (!ends_permits) return;
                                 const int64_t now = world.clock.TicksMicros();
                                 for (const auto& each : all)
                                   if (now > each->until) each->permit->failed = true;
                               }});
    size_t open = 0;
    while (!over) {
      world.Await([&] { return over || !mailbox.empty(); });
      if (over) break;
      const std::shared_ptr<Request> request = mailbox.front();
      mailbox.pop_front();
      if (world.clock.TicksMicros() > request->until) {
        request->ended = true;
        continue;
      }
      kv::Batch batch = PutOf(request->number);
      batch.after.push_back(request->permit);
      ++open;
      process.engine->Apply(std::move(batch), [&world, &open, request](Result<uint64_t> applied) {
        --open;
        // An unknown outcome is none that the asker may build on: it waits until it gives up.
        const bool unknown = !applied.ok() && applied.error().code() == ErrorCode::kOutcomeUnknown;
        request->applied = applied.ok();
        request->ended = !unknown;
        world.Changed();
      });
    }
    world.Await([&] { return open == 0; });
  };

  world.Start({owner});
  world.Start({asker});
  world.RunClients();
  return verdict.failure();
}

TEST(RadosPermit, ProcessThatStoodStillReplacesNothingNewer) {
  SetLogLevel(LogLevel::kOff);
  Tally tally;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    const std::string failure = RunWorld(seed, true, &tally);
    EXPECT_EQ(failure, "") << "seed " << seed;
    if (!failure.empty()) break;
  }
  SetLogLevel(LogLevel::kInfo);
  fmt::print("{} applied, {} refused, {} given up, {} lost races\n", tally.applied, tally.refused,
             tally.given_up, tally.races);
  EXPECT_GT(tally.applied, 0);
  EXPECT_GT(tally.given_up, 0);
  EXPECT_GT(tally.races, 0);
}

// The test above would see it.
TEST(RadosPermit, WithoutTheHookItDoes) {
  SetLogLevel(LogLevel::kOff);
  Tally tally;
  int broken = 0;
  for (uint64_t seed = 1; seed <= 150 && broken == 0; ++seed)
    broken += RunWorld(seed, false, &tally).empty() ? 0 : 1;
  SetLogLevel(LogLevel::kInfo);
  EXPECT_GT(broken, 0);
}

}  // namespace
}  // namespace stator::kv_rados
