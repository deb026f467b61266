// Writes with several targets of one table while indexes of that table come and go: the writes that
// entered under the old set of indexes are waited for, so none of them may wait for the new one.
#include "table/gate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <thread>

#include "base/random.h"
#include "expr/test_notation.h"
#include "kv/fault_engine.h"
#include "kv/memory_engine.h"
#include "table/key_encoding.h"
#include "table/settled_changes.h"
#include "table/store.h"
#include "table/test_await.h"

namespace stator::table {
namespace {

using expr::notation::Item;
using model::ItemView;

TEST(Gate, HoldsNewcomersUntilTheOthersHaveLeft) {
  for (const bool retire : {false, true}) {
    Gate gate;
    int turn = 0, other = 0;
    ASSERT_TRUE(gate.Enter(&turn));
    bool drained = false;
    gate.Hold([&] { drained = true; });
    EXPECT_FALSE(gate.Enter(&other));
    std::vector<Gate::Entry> entries;
    UniqueFunction<void()> never = [] { ADD_FAILURE(); };
    UniqueFunction<void()> later = [&] { entries.push_back(gate.EnterOrWait(&never, &other)); };
    EXPECT_EQ(gate.EnterOrWait(&later, &other), Gate::Entry::kLater);
    EXPECT_FALSE(drained);
    gate.Leave(turn);
    EXPECT_TRUE(drained);
    EXPECT_TRUE(entries.empty());
    retire ? gate.Retire() : gate.Open();
    ASSERT_EQ(entries.size(), 1u);
    EXPECT_EQ(entries[0], retire ? Gate::Entry::kClosed : Gate::Entry::kEntered);
    EXPECT_EQ(gate.Enter(&other), !retire);
  }
}

TEST(Gate, AClosedOneTellsWhenTheLastHasLeft) {
  Gate gate;
  int turn = 0;
  ASSERT_TRUE(gate.Enter(&turn));
  bool drained = false;
  gate.Close([&] { drained = true; });
  UniqueFunction<void()> never = [] { ADD_FAILURE(); };
  EXPECT_EQ(gate.EnterOrWait(&never, &turn), Gate::Entry::kClosed);
  EXPECT_FALSE(drained);
  gate.Leave(turn);
  EXPECT_TRUE(drained);
  gate.Open();
  EXPECT_TRUE(gate.Enter(&turn));
}

TEST(Gate, ThoseInsideAreAwaitedAndNewcomersPass) {
  Gate gate;
  int first = 0, second = 0, third = 0, left = 0;
  gate.AwaitThoseInside([&] { ++left; });
  EXPECT_EQ(left, 1) << "nobody inside: inline";
  ASSERT_TRUE(gate.Enter(&first));
  gate.AwaitThoseInside([&] { ++left; });
  ASSERT_TRUE(gate.Enter(&second));
  // It waits for both.
  gate.AwaitThoseInside([&] { left += 10; });
  ASSERT_TRUE(gate.Enter(&third));
  EXPECT_EQ(left, 1);
  gate.Leave(first);
  EXPECT_EQ(left, 2);
  int fourth = 0;
  ASSERT_TRUE(gate.Enter(&fourth));
  gate.Leave(second);
  EXPECT_EQ(left, 2) << "the third entered before the second caller's turn began";
  gate.Leave(third);
  EXPECT_EQ(left, 12);
  bool drained = false;
  gate.Hold([&] { drained = true; });
  EXPECT_FALSE(drained);
  gate.Leave(fourth);
  EXPECT_TRUE(drained);
  gate.AwaitThoseInside([&] { ++left; });
  EXPECT_EQ(left, 13);
}

// Each thread inside shows the number that it read after it had entered. A caller that raises the
// number and then waits must find no thread with an earlier one.
TEST(Gate, ThoseInsideAreAwaitedUnderThreads) {
  constexpr int kThreads = 3, kRounds = 2000;
  constexpr int64_t kNobody = INT64_MAX;
  Gate gate;
  std::atomic<int64_t> number{0};
  std::atomic<bool> stop{false};
  std::atomic<int64_t> shown[kThreads];
  for (auto& each : shown) each = kNobody;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      while (!stop) {
        int turn = 0;
        ASSERT_TRUE(gate.Enter(&turn));
        shown[t] = number.load();
        std::this_thread::yield();
        shown[t] = kNobody;
        gate.Leave(turn);
      }
    });
  }
  for (int round = 0; round < kRounds; ++round) {
    const int64_t mine = ++number;
    std::promise<void> left;
    gate.AwaitThoseInside([&] {
      for (auto& each : shown) EXPECT_GE(each.load(), mine);
      left.set_value();
    });
    left.get_future().wait();
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

TableDescriptor Describe(const std::string& name) {
  TableDescriptor d;
  d.name = name;
  d.table_id = "id of " + name;
  d.key_schema.partition = {"pk", model::Type::kS};
  d.attribute_definitions = {d.key_schema.partition, {"g", model::Type::kS}};
  return d;
}

// A write of one item per table of `tables`, all with the key `key`.
std::vector<WriteTarget> TargetsIn(Store& store, const std::vector<const char*>& tables,
                                   const std::string& key) {
  std::vector<WriteTarget> targets;
  for (const char* name : tables) {
    const TablePtr table = store.Find(name);
    targets.push_back(
        {table, EncodeItemKey(table->key_schema(), ItemView(Item("{pk: '" + key + "'}")))});
  }
  return targets;
}

// The events of writes and changes of tables, in their order, on an engine that does all inline.
class GateOrder : public testing::Test {
 protected:
  GateOrder() {
    for (const char* name : {"a", "b"}) {
      EXPECT_TRUE(Await<Result<TablePtr>>([&](auto done) {
                    store_->Create(Describe(name), std::move(done));
                  }).ok());
    }
  }
  ~GateOrder() override { workers_.Stop(); }

  void Write(const std::string& name, const std::vector<const char*>& tables,
             const std::string& key, WriteDetour detour = nullptr) {
    store_->Write(
        TargetsIn(*store_, tables, key),
        [this, name, key, n = tables.size()](const auto&) -> Result<std::vector<Change>> {
          happened_.push_back(name);
          return std::vector<Change>(n, Change{Change::kPut, Item("{pk: '" + key + "'}")});
        },
        [this, name](Status status) {
          if (!status.ok()) happened_.push_back(name + " refused");
        },
        nullptr, std::move(detour));
  }
  // A write that runs until Finish.
  void WriteThatRuns(const std::string& name, const char* table, const std::string& key) {
    Write(name, {table}, key, [this](const auto&, UniqueFunction<void()> run) {
      run_ = std::move(run);
      return true;
    });
    ASSERT_TRUE(static_cast<bool>(run_));
  }
  void Finish() { UniqueFunction<void()>(std::move(run_))(); }
  void WhileQuiet(const std::string& name, const char* table) {
    store_->WhileQuiet(
        table,
        [this, name](const TablePtr&) {
          happened_.push_back(name);
          return OkStatus();
        },
        [](Status status) { EXPECT_TRUE(status.ok()); });
  }

  ManualClock clock_;
  WorkerPool workers_{1, 100};
  kv::MemoryEngine engine_;
  std::unique_ptr<Store> store_ = Store::Open(engine_, clock_, workers_).value();
  UniqueFunction<void()> run_;
  std::vector<std::string> happened_;
};
using Order = std::vector<std::string>;

TEST_F(GateOrder, AHolderWaitsForWritesThatRunOnly) {
  WriteThatRuns("first", "a", "k");
  for (const char* name : {"second", "third"}) Write(name, {"a"}, "k");
  WhileQuiet("quiet", "a");
  Write("fourth", {"a"}, "k");
  Write("another item", {"a"}, "j");
  EXPECT_EQ(happened_, Order{});
  Finish();
  ASSERT_GE(happened_.size(), 2u);
  EXPECT_EQ(happened_[0], "first");
  EXPECT_EQ(happened_[1], "quiet");
  EXPECT_EQ(happened_.size(), 6u);
  EXPECT_EQ(store_->latches().size(), 0u);
}

TEST_F(GateOrder, AWriteThatWaitsForAnItemTakesTheVersionThatIsThere) {
  WriteThatRuns("first", "a", "k");
  Write("second", {"a"}, "k");
  store_->Alter(
      "a",
      [](TableDescriptor* d) {
        IndexDescriptor index;
        index.name = "by-g";
        index.key = {{{"g", model::Type::kS}}, {}};
        index.state = IndexDescriptor::State::kActive;
        d->indexes.push_back(index);
        return OkStatus();
      },
      [this](Result<TablePtr> altered) {
        EXPECT_TRUE(altered.ok());
        happened_.push_back("altered");
      });
  Finish();
  EXPECT_EQ(happened_, (Order{"first", "second", "altered"}));
  EXPECT_EQ(store_->latches().size(), 0u);
}

TEST_F(GateOrder, AWriteThatWaitsForAnItemOfADroppedTableIsRefused) {
  WriteThatRuns("first", "a", "k");
  for (const char* name : {"second", "third"}) Write(name, {"a"}, "k");
  store_->Drop(
      "a", [](const TableDescriptor&) { return OkStatus(); },
      [this](Result<TablePtr> last) {
        EXPECT_TRUE(last.ok());
        happened_.push_back("dropped");
      });
  Finish();
  ASSERT_EQ(happened_.size(), 4u);
  std::sort(happened_.begin() + 1, happened_.begin() + 3);
  EXPECT_EQ(happened_, (Order{"first", "second refused", "third refused", "dropped"}));
  EXPECT_EQ(store_->latches().size(), 0u);
}

// A read of the past waits for the writes under way, and no write waits for it.
TEST_F(GateOrder, AReaderOfANewMomentHoldsNoWrites) {
  clock_.AdvanceMicros(1'000'000);
  SettledChanges settled(*store_);
  constexpr uint32_t kLog = 77;
  const int64_t moment = clock_.NowMicros() - 1;
  const auto await = [&](const std::string& name) {
    settled.Await("a", kLog, moment, [this, name](Status status) {
      EXPECT_TRUE(status.ok());
      happened_.push_back(name);
    });
  };
  WriteThatRuns("first", "a", "k");
  await("settled");
  await("settled too");
  Write("another item", {"a"}, "j");
  Write("the same item", {"a"}, "k");
  EXPECT_EQ(happened_, Order{"another item"});
  Finish();
  // The write of the same item is inside before the first one has left.
  std::sort(happened_.begin() + 1, happened_.end());
  EXPECT_EQ(happened_, (Order{"another item", "first", "settled", "settled too", "the same item"}));
  await("at once");
  EXPECT_EQ(happened_.back(), "at once");
}

// The transaction is inside a's gate and has an item of a while it waits at b's.
TEST_F(GateOrder, AWriteOfTwoTablesThatWaitsAtAGateDelaysNoOtherWrite) {
  WriteThatRuns("first", "b", "j");
  WhileQuiet("quiet b", "b");
  Write("both", {"a", "b"}, "k");
  WhileQuiet("quiet a", "a");
  Write("second", {"a"}, "k");
  Write("another item", {"a"}, "l");
  EXPECT_EQ(happened_, Order{"another item"});
  Finish();
  EXPECT_EQ(happened_, (Order{"another item", "first", "quiet b", "both", "second", "quiet a"}));
  EXPECT_EQ(store_->latches().size(), 0u);
}

// Ends the test binary if the work is not done in time: threads that wait for each other cannot be
// joined.
template <typename Work>
void InTime(const char* what, Work work) {
  std::promise<void> done;
  std::thread watch([&, future = done.get_future()] {
    if (future.wait_for(std::chrono::minutes(3)) == std::future_status::ready) return;
    std::fprintf(stderr, "deadlock: %s\n", what);
    std::abort();
  });
  work();
  done.set_value();
  watch.join();
}

TEST(Gate, TransactionsOnOneTableAndItsIndexesDoNotWaitForEachOther) {
  ManualClock clock;
  WorkerPool workers(2, 10000);
  // Done on another thread, as on a disk: writes stay inside the gate for a while.
  auto engine = std::make_unique<kv::FaultEngine>(std::make_unique<kv::MemoryEngine>(),
                                                  kv::FaultOptions{.delay_done = true});
  std::unique_ptr<Store> store = Store::Open(*engine, clock, workers).value();
  for (const char* name : {"a", "b"}) {
    ASSERT_TRUE(Await<Result<TablePtr>>([&](auto done) {
                  store->Create(Describe(name), std::move(done));
                }).ok());
  }
  constexpr int kWriters = 4;
  std::vector<std::string> keys;
  for (int i = 0; i < 3000; ++i) {
    keys.push_back(EncodeItemKey(store->Find("a")->key_schema(),
                                 ItemView(Item("{pk: 'none" + std::to_string(i) + "'}"))));
  }
  std::atomic<bool> stop = false;
  std::atomic<int> written = 0;
  int changes = 0;
  InTime("writes of several targets and changes of indexes", [&] {
    std::vector<std::thread> writers;
    for (int w = 0; w < kWriters; ++w) {
      writers.emplace_back([&, w] {
        SeededRandom random(static_cast<uint64_t>(w) + 1);
        while (!stop) {
          // Half of them have so many targets that they spend most of their time on the way through
          // the gate: that is when the version must change. They change nothing. The others write
          // to both tables, in any order.
          const bool many = w % 2 == 0;
          std::vector<WriteTarget> targets;
          std::vector<std::string> items;
          const TablePtr tables[] = {store->Find("a"), store->Find("b")};
          const uint64_t only = random.Below(2);
          if (many) {
            for (const std::string& key : keys) targets.push_back({tables[only], key});
          }
          for (uint64_t i = 0; !many && i < 30; ++i) {
            items.push_back(
                Item("{pk: 'k" + std::to_string(random.Below(3) + 3 * i) + "', g: 'x'}"));
            const TablePtr& table = tables[random.Below(2)];
            targets.push_back({table, EncodeItemKey(table->key_schema(), ItemView(items.back()))});
          }
          const Status status = Await<Status>([&](auto done) {
            store->Write(
                std::move(targets),
                [&](const std::vector<ItemView>&) -> Result<std::vector<Change>> {
                  std::vector<Change> all;
                  for (const std::string& item : items) all.push_back({Change::kPut, item});
                  if (many) all.resize(keys.size());
                  return all;
                },
                std::move(done));
          });
          EXPECT_TRUE(status.ok()) << status.error().message();
          ++written;
        }
      });
    }
    const auto alter = [&](const char* name, Store::ChangeDescriptor change) {
      const auto altered = Await<Result<TablePtr>>(
          [&](auto done) { store->Alter(name, std::move(change), std::move(done)); });
      EXPECT_TRUE(altered.ok());
    };
    while (changes < 60 || written < 200) {
      const char* name = changes % 2 == 0 ? "a" : "b";
      alter(name, [](TableDescriptor* d) {
        IndexDescriptor index;
        index.name = "by-g";
        index.key = {{{"g", model::Type::kS}}, {}};
        index.state = IndexDescriptor::State::kCreating;
        d->indexes.push_back(index);
        return OkStatus();
      });
      while (store->BuildsIndexes()) std::this_thread::yield();
      alter(name, [](TableDescriptor* d) {
        for (IndexDescriptor& index : d->indexes) index.state = IndexDescriptor::State::kDeleting;
        return OkStatus();
      });
      while (store->BuildsIndexes()) std::this_thread::yield();
      ++changes;
    }
    stop = true;
    for (std::thread& writer : writers) writer.join();
  });
  EXPECT_TRUE(store->Find("a")->descriptor.indexes.empty());
  workers.Stop();
  store.reset();
}

}  // namespace
}  // namespace stator::table
