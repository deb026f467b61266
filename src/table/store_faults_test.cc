// The store over an engine that refuses, delays and leaves outcomes unknown: acknowledged changes
// are there, refused ones are not, and the counters agree with the items.
#include <gtest/gtest.h>

#include <future>
#include <set>
#include <thread>

#include "base/random.h"
#include "table/test_fault_world.h"

namespace stator::table {
namespace {

using model::ItemView;

// --- Under faults --------------------------------------------------------------------------------

struct FaultCase {
  const char* name;
  kv::FaultOptions options;
  bool exact;  // every error means "not applied"
};
void PrintTo(const FaultCase& fault, std::ostream* out) {
  *out << fault.name << ", seed " << fault.options.seed;
}

class UnderFaults : public testing::TestWithParam<FaultCase> {};

kv::FaultOptions Options(bool delay, double unavailable, double not_applied, double applied,
                         double would_block) {
  kv::FaultOptions options;
  options.seed = 4711;
  options.delay_done = delay;
  options[kv::Fault::kUnavailable] = unavailable;
  options[kv::Fault::kUnknownNotApplied] = not_applied;
  options[kv::Fault::kUnknownApplied] = applied;
  options[kv::Fault::kWouldBlock] = would_block;
  return options;
}

INSTANTIATE_TEST_SUITE_P(
    Engines, UnderFaults,
    testing::Values(FaultCase{"Sound", Options(false, 0, 0, 0, 0), true},
                    FaultCase{"Delayed", Options(true, 0, 0, 0, 0), true},
                    FaultCase{"Cold", Options(false, 0, 0, 0, 0.5), true},
                    FaultCase{"Refusing", Options(true, 0.1, 0, 0, 0.2), true},
                    FaultCase{"RefusingInline", Options(false, 0.1, 0, 0, 0.2), true},
                    FaultCase{"Unknown", Options(true, 0.05, 0.05, 0.05, 0.2), false}),
    [](const auto& info) { return info.param.name; });

// Threads add to counters that they share, one or two at a time. Each acknowledged addition saw a
// value that no other one saw (so the counter is linearizable), and the end is the sum of those
// that were acknowledged.
TEST_P(UnderFaults, CountersAreLinearizable) {
  const FaultCase& fault = GetParam();
  const std::string where =
      std::string(fault.name) + ", seed " + std::to_string(fault.options.seed);
  FaultWorld world({.seed = fault.options.seed, .delay_done = fault.options.delay_done});
  const TablePtr table = world.Create("aaa").value();
  world.engine->SetProbabilities(fault.options.probability);
  constexpr int kThreads = 3, kEach = 700, kCounters = 3;

  struct Outcome {
    size_t counter = 0;
    std::shared_ptr<std::vector<int64_t>> saw = std::make_shared<std::vector<int64_t>>();
    std::optional<ErrorCode> error;
    bool both = false;
  };
  std::vector<Outcome> outcomes(kThreads * kEach);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      SeededRandom random(fault.options.seed + static_cast<uint64_t>(t));
      Waiting waiting;
      for (int i = 0; i < kEach; ++i) {
        // A few in flight: a refused write takes all that saw its image with it, which must not be
        // everything.
        if (i % 3 == 0) waiting.ForAll();
        Outcome& outcome = outcomes[static_cast<size_t>(t * kEach + i)];
        outcome.counter = random.Below(kCounters);
        outcome.both = random.Below(3) == 0;
        const bool conditional = random.Below(4) == 0;
        std::vector<std::string> names = {"c" + std::to_string(outcome.counter)};
        if (outcome.both) names.push_back("c" + std::to_string((outcome.counter + 1) % kCounters));
        std::vector<WriteTarget> targets;
        for (const std::string& name : names) targets.push_back({table, KeyOf(name)});
        waiting.Begin();
        world.store->Write(
            std::move(targets),
            [names, conditional, saw = outcome.saw](
                const std::vector<ItemView>& old_items) -> Result<std::vector<Change>> {
              saw->clear();
              std::vector<Change> changes(old_items.size());
              for (size_t k = 0; k < old_items.size(); ++k) {
                const int64_t n = NumberIn(old_items[k]);
                saw->push_back(n);
                changes[k] = {Change::kPut, Counter(names[k], n + 1)};
              }
              if (conditional && (*saw)[0] % 2 == 0)
                return Error(ErrorCode::kConditionalCheckFailed, "even");
              return changes;
            },
            [&outcome, &waiting](Status status) {
              if (!status.ok()) outcome.error = status.error().code();
              waiting.End();
            });
      }
      waiting.ForAll();
    });
  }
  for (std::thread& thread : threads) thread.join();
  world.engine->SetProbabilities({});

  std::vector<std::set<int64_t>> seen(kCounters);
  int acknowledged = 0;
  for (const Outcome& outcome : outcomes) {
    if (outcome.error) {
      ASSERT_TRUE(outcome.error == ErrorCode::kConditionalCheckFailed ||
                  outcome.error == ErrorCode::kUnavailable ||
                  (!fault.exact && outcome.error == ErrorCode::kOutcomeUnknown))
          << where << ": " << ErrorCodeName(*outcome.error);
      continue;
    }
    ++acknowledged;
    ASSERT_TRUE(seen[outcome.counter].insert((*outcome.saw)[0]).second)
        << where << ": a lost update";
    if (outcome.both) {
      ASSERT_TRUE(seen[(outcome.counter + 1) % kCounters].insert((*outcome.saw)[1]).second)
          << where << ": a lost update";
    }
  }
  EXPECT_GT(acknowledged, 20) << where;
  for (size_t c = 0; c < kCounters; ++c) {
    const int64_t n = std::max<int64_t>(0, world.Read(table, "c" + std::to_string(c)));
    if (fault.exact) {
      EXPECT_EQ(n, static_cast<int64_t>(seen[c].size())) << where;
      for (int64_t value = 0; value < n; ++value)
        EXPECT_TRUE(seen[c].contains(value)) << where << ": a phantom at " << value;
    } else {
      EXPECT_GE(n, static_cast<int64_t>(seen[c].size())) << where;
      for (int64_t value : seen[c]) EXPECT_LT(value, n) << where;
    }
  }
  world.ExpectCountsMatch(table, where);
  EXPECT_EQ(world.store->latches().size(), 0u) << where;
}

// Random puts and deletes on a few keys; the item counters must be a full scan's in the end.
TEST_P(UnderFaults, CountsMatchAFullScan) {
  const FaultCase& fault = GetParam();
  FaultWorld world({.seed = fault.options.seed, .delay_done = fault.options.delay_done});
  const TablePtr table = world.Create("aaa").value();
  world.engine->SetProbabilities(fault.options.probability);
  Waiting waiting;
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      SeededRandom random(fault.options.seed * 31 + t);
      for (int i = 0; i < 600; ++i) {
        const std::string a = "k" + std::to_string(random.Below(8));
        std::string b = "k" + std::to_string(random.Below(8));
        const bool two = a != b;
        const bool put = random.Below(2) == 0;
        const int64_t n = static_cast<int64_t>(random.Next() >> random.Below(60) >> 1);
        std::vector<WriteTarget> targets = {{table, KeyOf(a)}};
        if (two) targets.push_back({table, KeyOf(b)});
        waiting.Begin();
        world.store->Write(
            std::move(targets),
            [=](const std::vector<ItemView>& old_items) -> Result<std::vector<Change>> {
              std::vector<Change> changes(old_items.size());
              if (put) {
                changes[0] = {Change::kPut, Counter(a, n)};
              } else {
                changes[0].kind = Change::kDelete;
              }
              if (two)
                changes[1] = old_items[1].exists() ? Change{Change::kDelete, ""}
                                                   : Change{Change::kPut, Counter(b, n / 7)};
              return changes;
            },
            [&waiting](Status) { waiting.End(); });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  waiting.ForAll();
  world.engine->SetProbabilities({});
  world.ExpectCountsMatch(table,
                          std::string(fault.name) + ", seed " + std::to_string(fault.options.seed));
  EXPECT_EQ(world.store->latches().size(), 0u);
}

// Writers race a Drop: after it nothing of the tablet is left, and each writer was either first or
// refused.
TEST_P(UnderFaults, DropLeavesNoKeyBehind) {
  const FaultCase& fault = GetParam();
  FaultWorld world({.seed = fault.options.seed, .delay_done = fault.options.delay_done});
  for (int round = 0; round < 20; ++round) {
    const TablePtr table = world.Create("aaa").value();
    kv::FaultOptions only_reads;
    only_reads[kv::Fault::kWouldBlock] =
        fault.options.probability[static_cast<size_t>(kv::Fault::kWouldBlock)];
    world.engine->SetProbabilities(only_reads.probability);
    Waiting waiting;
    std::atomic<int> refused{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 60; ++i) {
          const std::string pk = "k" + std::to_string((t + i) % 5);
          waiting.Begin();
          world.store->Write({{table, KeyOf(pk)}}, AddTo(pk, 1), [&](Status status) {
            if (!status.ok()) {
              EXPECT_EQ(status.error().code(), ErrorCode::kResourceNotFound);
              ++refused;
            }
            waiting.End();
          });
        }
      });
    }
    const Result<TablePtr> dropped = world.Drop("aaa");
    ASSERT_TRUE(dropped.ok());
    EXPECT_EQ(world.KeysOf(table->descriptor.tablet()), 0);
    for (std::thread& thread : threads) thread.join();
    waiting.ForAll();
    EXPECT_EQ(world.KeysOf(table->descriptor.tablet()), 0)
        << fault.name << ", seed " << fault.options.seed;
    EXPECT_EQ(world.Put(table, "late", 1).error().code(), ErrorCode::kResourceNotFound);
  }
  EXPECT_EQ(world.store->latches().size(), 0u);
}

// Sums are kept by transfers between accounts of two tables, read back at the end.
TEST_P(UnderFaults, TransfersKeepTheSum) {
  const FaultCase& fault = GetParam();
  FaultWorld world({.seed = fault.options.seed, .delay_done = fault.options.delay_done});
  const TablePtr tables[] = {world.Create("aaa").value(), world.Create("bbb").value()};
  constexpr int kAccounts = 6;
  const auto place = [&](uint64_t account) {
    return WriteTarget{tables[account % 2], KeyOf(std::to_string(account))};
  };
  for (uint64_t a = 0; a < kAccounts; ++a)
    ASSERT_TRUE(world.Put(tables[a % 2], std::to_string(a), 1000).ok());
  world.engine->SetProbabilities(fault.options.probability);
  Waiting waiting;
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      SeededRandom random(fault.options.seed * 17 + t);
      for (int i = 0; i < 400; ++i) {
        const uint64_t from = random.Below(kAccounts);
        const uint64_t to = (from + 1 + random.Below(kAccounts - 1)) % kAccounts;
        const auto amount = static_cast<int64_t>(random.Below(50));
        waiting.Begin();
        world.store->Write(
            {place(from), place(to)},
            [=](const std::vector<ItemView>& old_items) -> Result<std::vector<Change>> {
              std::vector<Change> changes(2);
              changes[0] = {Change::kPut,
                            Counter(std::to_string(from), NumberIn(old_items[0]) - amount)};
              changes[1] = {Change::kPut,
                            Counter(std::to_string(to), NumberIn(old_items[1]) + amount)};
              return changes;
            },
            [&waiting](Status) { waiting.End(); });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  waiting.ForAll();
  world.engine->SetProbabilities({});
  int64_t sum = 0;
  for (uint64_t a = 0; a < kAccounts; ++a) sum += world.Read(tables[a % 2], std::to_string(a));
  EXPECT_EQ(sum, kAccounts * 1000) << fault.name << ", seed " << fault.options.seed;
  for (const TablePtr& table : tables) world.ExpectCountsMatch(table, fault.name);
  EXPECT_EQ(world.store->latches().size(), 0u);
}

}  // namespace
}  // namespace stator::table
