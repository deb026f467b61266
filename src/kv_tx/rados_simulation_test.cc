// Transactions on the engine on RADOS, on a simulated Ceph cluster (kv_rados/fake_world.h): clients
// of several processes move money between accounts in different units, while units are divided,
// processes die, and answers are lost. Every snapshot has the same sum, and a transfer that was
// accepted is there, one that was refused is not. STATOR_SIM_SEEDS=N runs N seeds,
// STATOR_SIM_FIRST_SEED=N begins with N.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <map>
#include <string>

#include "base/log.h"
#include "base/mutex_wait.h"
#include "kv_rados/fake_world.h"
#include "kv_tx/scheduler.h"
#include "kv_tx/transaction_engine.h"

namespace stator::kv_tx {
namespace {

using kv_rados::FakeCluster;
using kv_rados::Host;
using kv_rados::Limits;
using kv_rados::RadosOptions;
using kv_rados::Signal;
using kv_rados::Thread;
using kv_rados::simulation::AbandonAtEnd;
using kv_rados::simulation::Process;
using kv_rados::simulation::Trouble;
using kv_rados::simulation::Verdict;
using kv_rados::simulation::World;

constexpr kv::Tablet kAccounts = {kv::Space::kItems, 1};
constexpr kv::Tablet kTransfers = {kv::Space::kItems, 2};
constexpr int kAccountCount = 6;
constexpr int64_t kBalance = 1000;  // of an account at first

// A ThreadScheduler on the fibers of a process.
class FiberScheduler final : public Scheduler {
 public:
  FiberScheduler(Host& host, const Clock& clock, int threads)
      : clock_(clock), wake_(&host), waiting_(&host) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back(&host, [this] { Run(); });
  }

  void Post(UniqueFunction<void()> task, int64_t delay_micros) override {
    if (stopped_) return;
    const bool later = delay_micros > 0 && !hurrying_;
    tasks_.emplace(later ? clock_.TicksMicros() + delay_micros : 0, std::move(task));
    wake_.NotifyAll();
  }
  void Await(FunctionRef<bool()> ready) override {
    UniqueMutexLock lock(mutex_);
    while (!ready()) waiting_.Wait(lock);
  }
  void Wake() override { waiting_.NotifyAll(); }
  void Hurry() override {
    hurrying_ = true;
    std::multimap<int64_t, UniqueFunction<void()>> tasks;
    for (auto& [time, task] : tasks_) tasks.emplace(0, std::move(task));
    tasks_ = std::move(tasks);
    wake_.NotifyAll();
  }
  void Stop() override {
    stopped_ = true;
    tasks_.clear();
    wake_.NotifyAll();
    for (Thread& thread : threads_) {
      if (thread.joinable()) thread.Join();
    }
  }

 private:
  void Run() {
    UniqueMutexLock lock(mutex_);
    while (!stopped_) {
      if (tasks_.empty()) {
        wake_.Wait(lock);
      } else if (const int64_t wait = tasks_.begin()->first - clock_.TicksMicros(); wait > 0) {
        wake_.WaitFor(lock, wait);
      } else {
        UniqueFunction<void()> task = std::move(tasks_.begin()->second);
        tasks_.erase(tasks_.begin());
        lock.unlock();
        task();
        task = nullptr;
        lock.lock();
      }
    }
  }

  const Clock& clock_;
  Mutex mutex_;  // all fibers are on one thread: it keeps Signal's form only
  Signal wake_, waiting_;
  std::multimap<int64_t, UniqueFunction<void()>> tasks_;  // by the time from which they may run
  bool hurrying_ = false, stopped_ = false;
  std::deque<Thread> threads_;
};

// An engine whose scheduler lives as long as it.
class OwnedEngine final : public kv::Engine {
 public:
  OwnedEngine(Process& process, std::unique_ptr<kv::Engine> inner)
      : scheduler_(process.host, process.world.clock, 3),
        engine_(std::move(inner), {.clock = &process.world.clock,
                                   .seed = process.world.random.Next() | 1,
                                   .scheduler = &scheduler_}) {}

  TransactionEngine& transactions() { return engine_; }
  kv::Capabilities capabilities() const override { return engine_.capabilities(); }
  Result<bool> Get(kv::Tablet tablet, std::string_view key, kv::Tier tier,
                   std::string* value) override {
    return engine_.Get(tablet, key, tier, value);
  }
  Status MultiGet(std::span<const kv::Point> points, kv::Tier tier,
                  std::vector<std::optional<std::string>>* values) override {
    return engine_.MultiGet(points, tier, values);
  }
  Status Scan(const kv::Range& range, kv::Tier tier,
              FunctionRef<bool(std::string_view, std::string_view)> visit) override {
    return engine_.Scan(range, tier, visit);
  }
  void Apply(kv::Batch batch, kv::ApplyDone done) override {
    engine_.Apply(std::move(batch), std::move(done));
  }
  Status Health() const override { return engine_.Health(); }
  uint64_t ApproximateBytes(kv::Tablet tablet) const override {
    return engine_.ApproximateBytes(tablet);
  }
  std::map<std::string, double> Statistics() const override { return engine_.Statistics(); }
  Status Checkpoint(const std::string& directory) override { return engine_.Checkpoint(directory); }

 private:
  FiberScheduler scheduler_;
  TransactionEngine engine_;
};

// The cluster need not tell what it applies.
class Silent final : public FakeCluster::Observer {
 public:
  void OnSent(FakeCluster::Operation&) override {}
  void OnApplied(const FakeCluster::Operation&) override {}
};

std::string AccountKey(int account) {
  return fmt::format("\x01{:016}", account * 1'000'003 % 1'000'000'007);
}
std::string TransferKey(uint64_t number) {
  return fmt::format("\x01{:016}", number * 7'777'777 % 1'000'000'007) + std::to_string(number);
}
std::string ValueOf(int64_t balance) {
  return std::string(kv::kStampBytes, '\0') + std::to_string(balance);
}
int64_t BalanceOf(const std::string& value) {
  return std::strtoll(value.c_str() + kv::kStampBytes, nullptr, 10);
}

struct Tally {
  uint64_t seeds = 0, transfers = 0, accepted = 0, refused = 0, unknown = 0, snapshots = 0,
           splits = 0, takeovers = 0, races = 0, kills = 0, resolved = 0, conflicts = 0;
};

class Bank {
 public:
  Bank(World& world, Verdict& verdict) : world_(world), verdict_(verdict) {}

  World::Client Make(int actions, bool opens) {
    return [this, actions, opens](Process& process) {
      if (opens) Open(process);
      world_.Await([this] { return open_ || !verdict_.ok(); });
      for (int i = 0; i < actions && !process.dead && verdict_.ok(); ++i) {
        const double chance = world_.random.Unit();
        if (chance < 0.06) {
          const auto key = AccountKey(static_cast<int>(world_.random.Below(kAccountCount)));
          auto& engine = static_cast<OwnedEngine&>(*process.engine).transactions().inner();
          (void)kv_rados::SplitPart(engine, kAccounts, key).ok();
        } else if (chance < 0.3) {
          (void)Snapshot(process, nullptr, nullptr);
        } else {
          Transfer(process);
        }
      }
    };
  }

  // Without any more trouble, what is there agrees with what clients were told.
  World::Client MakeCheck() {
    return [this](Process& process) {
      std::vector<int64_t> balances;
      for (int attempt = 0; !Snapshot(process, &balances, nullptr); ++attempt) {
        if (attempt == 50) return verdict_.Fail("without trouble no snapshot is to be had");
        world_.Sleep(500'000);
      }
      std::map<std::string, bool> there;
      const Status read = process.engine->Scan({.tablet = kTransfers}, kv::Tier::kAny,
                                               [&](std::string_view key, std::string_view) {
                                                 there[std::string(key)] = true;
                                                 return true;
                                               });
      if (!read.ok()) return verdict_.Fail("transfers cannot be read");
      std::vector<int64_t> wanted(kAccountCount, kBalance);
      for (const auto& [number, transfer] : transfers_) {
        const bool is = there.contains(TransferKey(number));
        if (transfer.outcome == Outcome::kAccepted && !is)
          verdict_.Fail(fmt::format("transfer {} was accepted and is not there", number));
        if (transfer.outcome == Outcome::kRefused && is)
          verdict_.Fail(fmt::format("transfer {} was refused and is there", number));
        if (!is) continue;
        wanted[static_cast<size_t>(transfer.from)] -= transfer.amount;
        wanted[static_cast<size_t>(transfer.to)] += transfer.amount;
      }
      if (balances != wanted) verdict_.Fail("balances are not what the transfers make of them");
    };
  }

  void Count(Tally* tally) const {
    for (const auto& [number, transfer] : transfers_) {
      ++tally->transfers;
      tally->accepted += transfer.outcome == Outcome::kAccepted ? 1 : 0;
      tally->refused += transfer.outcome == Outcome::kRefused ? 1 : 0;
      tally->unknown += transfer.outcome == Outcome::kUnknown ? 1 : 0;
    }
    tally->snapshots += snapshots_;
  }

 private:
  enum class Outcome { kUnknown, kAccepted, kRefused };
  struct Transferred {
    int from, to;
    int64_t amount;
    Outcome outcome = Outcome::kUnknown;
  };

  // Applies a batch and waits. A process that is killed learns nothing.
  Result<uint64_t> ApplyAndWait(Process& process, kv::Batch batch) {
    std::optional<Result<uint64_t>> outcome;
    process.engine->Apply(std::move(batch), [&](Result<uint64_t> result) {
      outcome = std::move(result);
      world_.Changed();
    });
    world_.Await([&] { return outcome.has_value(); });
    if (process.dead) return Error(ErrorCode::kOutcomeUnknown, "dead");
    return *outcome;
  }

  void Open(Process& process) {
    for (int attempt = 0; attempt < 100 && !process.dead && verdict_.ok(); ++attempt) {
      kv::Batch batch;
      for (int i = 0; i < kAccountCount; ++i) {
        batch.guards.push_back({kAccounts, AccountKey(i), 0});
        batch.puts.push_back({kAccounts, AccountKey(i), ValueOf(kBalance)});
      }
      const Result<uint64_t> done = ApplyAndWait(process, std::move(batch));
      std::string value;
      const Result<bool> exists =
          process.engine->Get(kAccounts, AccountKey(0), kv::Tier::kAny, &value);
      if (done.ok() || (exists.ok() && *exists)) {
        open_ = true;
        world_.Changed();
        return;
      }
    }
    if (!process.dead) verdict_.Fail("accounts cannot be opened");
  }

  // False: it cannot be had now.
  bool Snapshot(Process& process, std::vector<int64_t>* balances, std::vector<uint64_t>* stamps) {
    std::vector<std::string> keys;
    for (int i = 0; i < kAccountCount; ++i) keys.push_back(AccountKey(i));
    std::vector<kv::Point> points;
    for (const std::string& key : keys) points.push_back({kAccounts, key});
    std::vector<std::optional<std::string>> values;
    const Status read = process.engine->MultiGet(points, kv::Tier::kAny, &values);
    if (process.dead) return false;
    if (!read.ok()) {
      if (read.error().code() == ErrorCode::kCorruption) verdict_.Fail(read.error().message());
      return false;
    }
    ++snapshots_;
    int64_t sum = 0;
    if (balances != nullptr) balances->clear();
    for (const std::optional<std::string>& value : values) {
      if (!value) return verdict_.Fail("an account is gone"), false;
      sum += BalanceOf(*value);
      if (balances != nullptr) balances->push_back(BalanceOf(*value));
      if (stamps != nullptr) stamps->push_back(kv::StampOf(*value));
    }
    if (sum != kAccountCount * kBalance)
      verdict_.Fail(fmt::format("a snapshot has the sum {}", sum));
    return true;
  }

  void Transfer(Process& process) {
    const int from = static_cast<int>(world_.random.Below(kAccountCount));
    const int to =
        static_cast<int>((from + 1 + world_.random.Below(kAccountCount - 1)) % kAccountCount);
    const std::string from_key = AccountKey(from), to_key = AccountKey(to);
    const kv::Point points[] = {{kAccounts, from_key}, {kAccounts, to_key}};
    std::vector<std::optional<std::string>> values;
    if (!process.engine->MultiGet(points, kv::Tier::kAny, &values).ok() || process.dead) return;
    if (!values[0] || !values[1]) return verdict_.Fail("an account is gone");
    const auto amount = static_cast<int64_t>(world_.random.Below(10)) + 1;
    const uint64_t number = ++last_;
    transfers_[number] = {from, to, amount};
    kv::Batch batch;
    batch.guards = {{kAccounts, from_key, kv::StampOf(*values[0])},
                    {kAccounts, to_key, kv::StampOf(*values[1])}};
    batch.puts = {{kAccounts, from_key, ValueOf(BalanceOf(*values[0]) - amount)},
                  {kAccounts, to_key, ValueOf(BalanceOf(*values[1]) + amount)},
                  {kTransfers, TransferKey(number), ValueOf(amount)}};
    const Result<uint64_t> done = ApplyAndWait(process, std::move(batch));
    Outcome& outcome = transfers_[number].outcome;
    if (done.ok()) {
      outcome = Outcome::kAccepted;
    } else if (done.error().code() != ErrorCode::kOutcomeUnknown) {
      outcome = Outcome::kRefused;
    }
  }

  World& world_;
  Verdict& verdict_;
  bool open_ = false;
  uint64_t last_ = 0, snapshots_ = 0;
  std::map<uint64_t, Transferred> transfers_;
};

// Returns what was broken; empty: nothing.
std::string RunSeed(uint64_t seed, Tally* tally) {
  Trouble trouble{.faults = {.lost_answer = 0.006, .late = 0.003, .never = 0.003},
                  .kill = 0.0003,
                  .freeze = 0.0002};
  RadosOptions options;
  options.pool = "simulated";
  options.split_keys = 20;
  Verdict verdict;
  Silent silent;
  World world(seed, trouble, options, Limits{.keys_at_once = 2, .few_keys = 1}, silent, verdict);
  world.cluster.objects.max_entries = 2 + world.random.Below(20);
  world.wrap = [](Process& process, std::unique_ptr<kv::Engine> inner) {
    return std::make_unique<OwnedEngine>(process, std::move(inner));
  };
  Bank bank(world, verdict);
  int replaced = 0;
  const AbandonAtEnd abandon(world);
  world.on_end = [&](Process&) {
    if (++replaced <= 3) world.Start({bank.Make(8, true)});
  };
  world.Start({bank.Make(8, true), bank.Make(8, false)});
  world.Start({bank.Make(8, true), bank.Make(8, false)});
  world.RunClients();
  if (verdict.ok()) world.Settle(bank.MakeCheck());
  if (!verdict.ok()) return verdict.failure();
  bank.Count(tally);
  ++tally->seeds;
  tally->kills += world.kills;
  const auto statistic = [&](const char* name) {
    return static_cast<uint64_t>(world.statistics[name]);
  };
  tally->splits += statistic("kv_rados_splits");
  tally->takeovers += statistic("kv_rados_splits_taken_over");
  tally->races += statistic("kv_rados_races");
  tally->resolved += statistic("kv_tx_resolved");
  tally->conflicts += statistic("kv_tx_conflicts");
  return {};
}

uint64_t Setting(const char* name, uint64_t otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

TEST(TransactionsOnSimulatedRados, MoneyIsNeitherMadeNorLost) {
  SetLogLevel(LogLevel::kOff);
  const uint64_t first = Setting("STATOR_SIM_FIRST_SEED", 1);
  const uint64_t seeds = Setting("STATOR_SIM_SEEDS", 200);
  Tally tally;
  int failed = 0;
  const auto began = std::chrono::steady_clock::now();
  for (uint64_t seed = first; seed < first + seeds && failed < 3; ++seed) {
    const std::string failure = RunSeed(seed, &tally);
    if (failure.empty()) continue;
    ++failed;
    ADD_FAILURE() << "seed " << seed << ": " << failure;
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  SetLogLevel(LogLevel::kInfo);
  fmt::print(
      "{} seeds, {:.0f} a second; {} transfers ({} accepted, {} refused, {} unknown), {} "
      "snapshots, {} conflicts, {} units resolved for others, {} races, {} splits, {} taken over, "
      "{} kills\n",
      tally.seeds, static_cast<double>(tally.seeds) / seconds, tally.transfers, tally.accepted,
      tally.refused, tally.unknown, tally.snapshots, tally.conflicts, tally.resolved, tally.races,
      tally.splits, tally.takeovers, tally.kills);
  if (seeds < 200) return;
  EXPECT_GT(tally.accepted, 0u);
  EXPECT_GT(tally.refused, 0u);
  EXPECT_GT(tally.unknown, 0u);
  EXPECT_GT(tally.conflicts, 0u);
  EXPECT_GT(tally.resolved, 0u);
  EXPECT_GT(tally.races, 0u);
  EXPECT_GT(tally.splits, 0u);
  EXPECT_GT(tally.takeovers, 0u);
}

}  // namespace
}  // namespace stator::kv_tx
