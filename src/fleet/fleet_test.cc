#include "fleet/fleet.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "base/log.h"
#include "kv/shared_memory.h"

namespace stator::fleet {
namespace {

constexpr int64_t kSecond = 1'000'000;

// A connection to the store on which a test can run code before each call.
class Path final : public kv::Engine {
 public:
  explicit Path(kv::SharedMemory& store) : inner_(store.Attach()) {}
  std::function<void()> before = [] {};
  std::function<bool()> fails = [] { return false; };

  kv::Capabilities capabilities() const override { return inner_->capabilities(); }
  Result<bool> Get(kv::Tablet tablet, std::string_view key, kv::Tier tier,
                   std::string* value) override {
    before();
    return inner_->Get(tablet, key, tier, value);
  }
  Status MultiGet(std::span<const kv::Point> points, kv::Tier tier,
                  std::vector<std::optional<std::string>>* values) override {
    before();
    return inner_->MultiGet(points, tier, values);
  }
  Status Scan(const kv::Range& range, kv::Tier tier,
              FunctionRef<bool(std::string_view key, std::string_view value)> visit) override {
    before();
    if (fails()) return Error(ErrorCode::kUnavailable, "no answer");
    return inner_->Scan(range, tier, visit);
  }
  void Apply(kv::Batch batch, kv::ApplyDone done) override {
    before();
    if (fails()) return done(Error(ErrorCode::kUnavailable, "no answer"));
    inner_->Apply(std::move(batch), std::move(done));
  }
  Status Health() const override { return inner_->Health(); }
  uint64_t ApproximateBytes(kv::Tablet tablet) const override {
    return inner_->ApproximateBytes(tablet);
  }
  std::map<std::string, double> Statistics() const override { return inner_->Statistics(); }
  Status Checkpoint(const std::string& directory) override { return inner_->Checkpoint(directory); }

 private:
  const std::unique_ptr<kv::Engine> inner_;
};

const std::vector<std::string> kNames = {"table/0", "table/1", "table/2", "table/3",
                                         "table/4", "table/5", "table/6", "table/7"};

// One process with its own clock.
struct Process {
  Process(kv::SharedMemory& store, const std::string& id,
          const std::vector<std::string>& names = kNames, const std::string& features = {})
      : path(store),
        fleet(path, clock, {id, {0, "host:" + id, "1", "system", 0, 0, features}, names}) {}
  ManualClock clock;
  Path path;
  Fleet fleet;
};

class FleetTest : public testing::Test {
 protected:
  FleetTest() { SetLogLevel(LogLevel::kOff); }
  ~FleetTest() override { SetLogLevel(LogLevel::kInfo); }

  Process& Start(const std::string& id) {
    processes_.push_back(std::make_unique<Process>(store_, id));
    return *processes_.back();
  }
  // Advances all clocks by a second, and steps the processes in `stepping`.
  static void Round(const std::vector<Process*>& all, const std::vector<Process*>& stepping) {
    for (Process* process : all) process->clock.AdvanceMicros(kSecond);
    for (Process* process : stepping) ASSERT_TRUE(process->fleet.Step().ok());
  }
  static int Held(const Process& process) {
    int held = 0;
    for (const std::string& name : kNames) held += process.fleet.Holds(name) ? 1 : 0;
    return held;
  }

  kv::SharedMemory store_;
  std::vector<std::unique_ptr<Process>> processes_;
};

TEST_F(FleetTest, FirstProcessTakesAllLeasesAtOnce) {
  Process& a = Start("a");
  EXPECT_FALSE(a.fleet.Holds("table/0"));
  ASSERT_TRUE(a.fleet.Step().ok());
  EXPECT_EQ(Held(a), 8);
  EXPECT_FALSE(a.fleet.Holds("another"));
  const Membership membership = ReadMembership(a.path).value();
  ASSERT_EQ(membership.members.size(), 1u);
  EXPECT_EQ(membership.members.at("a").beat.endpoint, "host:a");
  EXPECT_EQ(membership.members.at("a").beat.sequence, 1u);
  ASSERT_EQ(membership.leases.size(), 8u);
  EXPECT_EQ(membership.leases.at("table/3").lease, (Lease{"a", 1}));
}

TEST_F(FleetTest, NewProcessesGetTheirShareOfLeases) {
  Process& a = Start("a");
  Process& b = Start("b");
  Process& c = Start("c");
  ASSERT_TRUE(a.fleet.Step().ok());
  for (int i = 0; i < 2; ++i) Round({&a, &b, &c}, {&a, &b, &c});
  EXPECT_GT(Held(a), 0);
  EXPECT_GT(Held(b), 0);
  EXPECT_GT(Held(c), 0);
  for (const std::string& name : kNames) {
    const std::string owner = PreferredOwner(name, {"a", "b", "c"});
    EXPECT_EQ(a.fleet.Holds(name), owner == "a");
    EXPECT_EQ(b.fleet.Holds(name), owner == "b");
    EXPECT_EQ(c.fleet.Holds(name), owner == "c");
  }
  // No lease moves any more, so only beats are written.
  const Membership before = ReadMembership(a.path).value();
  for (int i = 0; i < 5; ++i) Round({&a, &b, &c}, {&a, &b, &c});
  const Membership after = ReadMembership(a.path).value();
  for (const auto& [name, entry] : before.leases)
    EXPECT_EQ(after.leases.at(name).stamp, entry.stamp);
}

TEST_F(FleetTest, LeavingProcessFreesItsLeasesAtOnce) {
  Process& a = Start("a");
  Process& b = Start("b");
  for (int i = 0; i < 3; ++i) Round({&a, &b}, {&a, &b});
  ASSERT_TRUE(a.fleet.Leave().ok());
  EXPECT_EQ(Held(a), 0);
  Round({&a, &b}, {&a, &b});
  EXPECT_EQ(Held(a), 0) << "it has left for good";
  EXPECT_EQ(Held(b), 8);
  EXPECT_EQ(ReadMembership(b.path)->members.size(), 1u);
}

TEST_F(FleetTest, FrozenOwnerLosesItsLeasesAfterFiveSeconds) {
  Process& a = Start("a");
  Process& b = Start("b");
  for (int i = 0; i < 3; ++i) Round({&a, &b}, {&a, &b});
  const int held = Held(a);
  ASSERT_GT(held, 0);
  int rounds = 0;
  for (; Held(b) < 8; ++rounds) {
    ASSERT_LT(rounds, 20);
    if (rounds >= 3) {
      EXPECT_EQ(Held(a), 0) << "gives up by its own clock before others take over";
    }
    Round({&a, &b}, {&b});
  }
  EXPECT_EQ(rounds, 5) << "five seconds after the read that saw the last beat";
  EXPECT_FALSE(b.fleet.membership().members.at("a").alive);
  // After the thaw it trusts nothing before it has beaten and read.
  EXPECT_EQ(Held(a), 0);
  Round({&a, &b}, {&a});
  EXPECT_EQ(Held(a), 0) << "all is b's now";
  Round({&a, &b}, {&b});
  Round({&a, &b}, {&a});
  EXPECT_EQ(Held(a), held) << "and b gives back what is to be a's";
  EXPECT_EQ(Held(b), 8 - held);
}

TEST_F(FleetTest, EntryOfDeadProcessIsDeleted) {
  Process& a = Start("a");
  Process& b = Start("b");
  for (int i = 0; i < 3; ++i) Round({&a, &b}, {&a, &b});
  for (int i = 0; i < 600; ++i) Round({&b}, {&b});
  EXPECT_EQ(b.fleet.membership().members.size(), 2u);
  for (int i = 0; i < 3; ++i) Round({&b}, {&b});
  EXPECT_EQ(b.fleet.membership().members.size(), 1u);
  Round({&a, &b}, {&a, &b});
  EXPECT_EQ(b.fleet.membership().members.size(), 2u) << "should it come back, it is there again";
}

TEST_F(FleetTest, BeatInTimeKeepsTheLease) {
  Process& a = Start("a");
  Process& b = Start("b");
  for (int i = 0; i < 3; ++i) Round({&a, &b}, {&a, &b});
  const int held = Held(a);
  for (int i = 0; i < 4; ++i) Round({&a, &b}, {&b});
  // b has read that a is silent and is about to take over; a beats just before.
  int calls = 0;
  b.path.before = [&] {
    if (++calls == 3) {  // beat, read, take
      EXPECT_TRUE(a.fleet.Step().ok());
    }
  };
  Round({&a, &b}, {&b});
  ASSERT_GE(calls, 3);
  EXPECT_EQ(Held(a), held);
  EXPECT_EQ(Held(b), 8 - held);
}

TEST_F(FleetTest, OneOfTwoClaimantsGetsTheLease) {
  Process& a = Start("a");
  Process& b = Start("b");
  int calls = 0;
  a.path.before = [&] {
    if (++calls == 3) {  // a has read that all leases are free, and knows no other process
      EXPECT_TRUE(b.fleet.Step().ok());
    }
  };
  ASSERT_TRUE(a.fleet.Step().ok());
  for (const std::string& name : kNames)
    EXPECT_NE(a.fleet.Holds(name), b.fleet.Holds(name)) << name;
}

TEST_F(FleetTest, HangingStoreLeavesAllProcessesAlive) {
  Process& a = Start("a");
  Process& b = Start("b");
  for (int i = 0; i < 3; ++i) Round({&a, &b}, {&a, &b});
  const int held = Held(a);
  // The store hangs for a minute. Then b steps first.
  a.clock.AdvanceMicros(60 * kSecond);
  b.clock.AdvanceMicros(60 * kSecond);
  EXPECT_EQ(Held(a), 0);
  EXPECT_EQ(Held(b), 0);
  Round({&a, &b}, {&b});
  EXPECT_EQ(Held(b), 8 - held);
  Round({&a, &b}, {&a});
  EXPECT_EQ(Held(a), held);
}

TEST_F(FleetTest, MicrosSinceContactCountsSuccessfulStepsOnly) {
  Process& a = Start("a");
  a.clock.AdvanceMicros(kSecond);
  EXPECT_EQ(a.fleet.MicrosSinceContact(), kSecond);
  ASSERT_TRUE(a.fleet.Step().ok());
  EXPECT_EQ(a.fleet.MicrosSinceContact(), 0);
  a.path.fails = [] { return true; };
  a.clock.AdvanceMicros(4 * kSecond);
  EXPECT_EQ(a.fleet.Step().error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(a.fleet.MicrosSinceContact(), 4 * kSecond);
  EXPECT_EQ(Held(a), 0);
  a.path.fails = [] { return false; };
  ASSERT_TRUE(a.fleet.Step().ok());
  EXPECT_EQ(Held(a), 8);
}

// Five processes that freeze, come and go, with clocks that run up to 10% off. Steps of other
// processes run in the middle of a step. No lease is ever held twice.
TEST_F(FleetTest, LeaseIsNeverHeldTwice) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SeededRandom random(seed);
    kv::SharedMemory store;
    struct Player {
      std::unique_ptr<Process> process;
      double speed;
      double asleep_until = 0;
      double next = 0;
      bool running = false;
    };
    std::vector<Player> players(5);
    int names = 0;
    double now = 0;
    const auto check = [&] {
      for (const std::string& name : kNames) {
        int holders = 0;
        for (const Player& player : players) holders += player.process->fleet.Holds(name) ? 1 : 0;
        EXPECT_LE(holders, 1) << name << " at " << now;
      }
    };
    int depth = 0;
    std::function<void(double)> pass;
    const auto enter = [&](Player& player) {
      player.process = std::make_unique<Process>(store, "p" + std::to_string(names++));
      player.speed = 0.9 + 0.2 * random.Unit();
      player.process->path.before = [&] {
        if (depth < 3 && random.Below(3) == 0)
          pass(random.Below(4) == 0 ? 4.0 * random.Unit() : 0.01);
      };
      player.process->path.fails = [&] { return random.Below(30) == 0; };
      player.next = now + random.Unit();
      player.asleep_until = 0;
    };
    pass = [&](double seconds) {
      ++depth;
      now += seconds;
      for (Player& player : players)
        player.process->clock.AdvanceMicros(static_cast<int64_t>(seconds * player.speed * 1e6));
      check();
      for (Player& player : players) {
        if (player.running || player.next > now || player.asleep_until > now) continue;
        player.running = true;
        (void)player.process->fleet.Step();
        check();
        player.running = false;
        player.next = now + 1;
        if (random.Below(20) == 0) player.asleep_until = now + 10 * random.Unit();
      }
      --depth;
    };
    for (Player& player : players) enter(player);
    int owned = 0;
    for (int i = 0; i < 600 && !HasFailure(); ++i) {
      pass(0.1 + 0.2 * random.Unit());
      for (const Player& player : players) owned += Held(*player.process);
      if (random.Below(100) == 0) {
        Player& player = players[random.Below(players.size())];
        player.running = true;
        if (random.Below(2) == 0) (void)player.process->fleet.Leave();
        player.running = false;
        enter(player);
      }
    }
    EXPECT_GT(owned, 1000) << "most are held most of the time";
    if (HasFailure()) return;
  }
}

// A process of a version without features, an older one, says nothing of them in its beat.
TEST_F(FleetTest, FeatureIsRefusedWhileALivingProcessDoesNotKnowIt) {
  Process mine(store_, "a", kNames, "colours shapes");
  Process other(store_, "b", kNames, "shapes");
  ASSERT_TRUE(mine.fleet.Step().ok());
  EXPECT_TRUE(mine.fleet.CheckFeature("colours").ok()) << "alone";
  ASSERT_TRUE(other.fleet.Step().ok());
  EXPECT_TRUE(mine.fleet.CheckFeature("shapes").ok());
  // Read from the store: this process has not watched the other one yet.
  EXPECT_EQ(mine.fleet.CheckFeature("colours").error().message(),
            "The process at host:b (version 1) serves this store and does not know the feature "
            "colours. Upgrade it first.");
  for (int second = 0; second < 4; ++second) {
    mine.clock.AdvanceMicros(kSecond);
    ASSERT_TRUE(mine.fleet.Step().ok());
  }
  EXPECT_FALSE(mine.fleet.CheckFeature("colours").ok()) << "silent for four seconds";
  for (int second = 0; second < 4; ++second) {
    mine.clock.AdvanceMicros(kSecond);
    ASSERT_TRUE(mine.fleet.Step().ok());
  }
  EXPECT_TRUE(mine.fleet.CheckFeature("colours").ok()) << "the other process is dead";
  ASSERT_TRUE(other.fleet.Step().ok());
  EXPECT_FALSE(mine.fleet.CheckFeature("colours").ok()) << "it beats again";
  ASSERT_TRUE(other.fleet.Leave().ok());
  EXPECT_TRUE(mine.fleet.CheckFeature("colours").ok()) << "it has left";
}

}  // namespace
}  // namespace stator::fleet
