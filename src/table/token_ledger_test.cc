// A write under a token happens once: at once repeated, repeated while the first is under way,
// after a restart; and its record goes when it has expired.
#include "table/token_ledger.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "expr/test_notation.h"
#include "kv/fault_engine.h"
#include "kv/memory_engine.h"
#include "table/key_encoding.h"
#include "table/store.h"

namespace stator::table {
namespace {

using expr::notation::Item;

// A machine's clock: the date can be set while time passes.
class SettableClock final : public Clock {
 public:
  int64_t NowMicros() const override { return date; }
  int64_t TicksMicros() const override { return ticks; }
  void Pass(int64_t micros) {
    date += micros;
    ticks += micros;
  }
  std::atomic<int64_t> date = 1'700'000'000'000'000;
  std::atomic<int64_t> ticks = 0;
};

struct World {
  explicit World(kv::FaultOptions options = {}, const Clock* machine = nullptr)
      : time(machine != nullptr ? *machine : clock),
        engine(std::make_unique<kv::MemoryEngine>(), options),
        workers(1, 100) {
    Reopen();
    TableDescriptor descriptor;
    descriptor.name = "t";
    descriptor.key_schema.partition = {"pk", model::Type::kS};
    descriptor.attribute_definitions = {descriptor.key_schema.partition};
    std::promise<void> created;
    store->Create(descriptor, [&](Result<TablePtr> made) {
      EXPECT_TRUE(made.ok());
      created.set_value();
    });
    created.get_future().wait();
  }
  ~World() { workers.Stop(); }
  void Reopen() { store = Store::Open(engine, time, workers).value(); }

  // Puts {pk: 'a', n: n} under the token; the future says which record was found ("" for none) or
  // "! error".
  std::future<std::string> PutOnce(const std::string& token, int n) {
    auto use = std::make_shared<TokenUse>();
    use->token = token;
    auto answer = std::make_shared<std::promise<std::string>>();
    const std::string item = Item("{pk: 'a', n: " + std::to_string(n) + "}");
    const TablePtr table = store->Find("t");
    store->Write(
        {{table, EncodeItemKey(table->key_schema(), model::ItemView(item))}},
        [use, item, n, this](const std::vector<model::ItemView>&) -> Result<std::vector<Change>> {
          if (use->earlier) return std::vector<Change>(1);
          ++writes;
          use->record = "record " + std::to_string(n);
          return std::vector<Change>{Change{Change::kPut, item}};
        },
        [use, answer](Status status) {
          answer->set_value(status.ok() ? use->earlier.value_or("")
                                        : "! " + status.error().message());
        },
        use);
    return answer->get_future();
  }
  int Entries() {
    int entries = 0;
    EXPECT_TRUE(engine.inner()
                    .Scan({{kv::Space::kLog, 0}, "", "", false}, kv::Tier::kAny,
                          [&](std::string_view, std::string_view) { return ++entries > 0; })
                    .ok());
    return entries;
  }

  ManualClock clock;
  const Clock& time;
  kv::FaultEngine engine;
  WorkerPool workers;
  std::unique_ptr<Store> store;
  std::atomic<int> writes{0};
};

constexpr int64_t kMinute = 60'000'000;

TEST(TokenLedger, ARepeatedWriteFindsTheRecordForTenMinutes) {
  for (const int64_t minutes_into_period : {0, 5, 9}) {
    World world;
    const int64_t into = world.clock.NowMicros() % kTokenLifeMicros;
    world.clock.AdvanceMicros(kTokenLifeMicros - into + minutes_into_period * kMinute);
    EXPECT_EQ(world.PutOnce("token", 1).get(), "");
    EXPECT_EQ(world.PutOnce("token", 2).get(), "record 1");
    EXPECT_EQ(world.PutOnce("another", 3).get(), "");
    world.clock.AdvanceMicros(kTokenLifeMicros - 1);
    world.Reopen();
    EXPECT_EQ(world.PutOnce("token", 4).get(), "record 1");
    world.clock.AdvanceMicros(1);
    EXPECT_EQ(world.PutOnce("token", 5).get(), "");
    EXPECT_EQ(world.writes, 3);
  }
}

TEST(TokenLedger, ColdReadsFindItToo) {
  World world;
  EXPECT_EQ(world.PutOnce("token", 1).get(), "");
  world.engine.Trigger(kv::Fault::kWouldBlock, 1);
  EXPECT_EQ(world.PutOnce("token", 2).get(), "record 1");
  world.engine.Trigger(kv::Fault::kCorruption, 1);
  EXPECT_EQ(world.PutOnce("token", 2).get().substr(0, 1), "!");
  EXPECT_EQ(world.writes, 1);
}

TEST(TokenLedger, ExpiredEntriesGo) {
  World world;
  for (int period = 0; period < 5; ++period) {
    for (int i = 0; i < 20; ++i) EXPECT_EQ(world.PutOnce(std::to_string(i), i).get(), "");
    EXPECT_EQ(world.Entries(), period == 0 ? 20 : 40);
    world.clock.AdvanceMicros(kTokenLifeMicros);
  }
}

TEST(TokenLedger, WhoRepeatsAWriteUnderWayIsAnsweredWithIt) {
  kv::FaultOptions options;
  options.delay_done = true;
  World world(options);
  world.engine.HoldDone();
  std::future<std::string> first = world.PutOnce("token", 1);
  std::future<std::string> second = world.PutOnce("token", 2);
  EXPECT_EQ(second.wait_for(std::chrono::milliseconds(0)), std::future_status::timeout);
  world.engine.ReleaseDone();
  EXPECT_EQ(first.get(), "");
  EXPECT_EQ(second.get(), "record 1");
  EXPECT_EQ(world.writes, 1);
}

TEST(TokenLedger, ARefusedWriteLeavesNoRecord) {
  kv::FaultOptions options;
  options.delay_done = true;
  World world(options);
  world.engine.HoldDone();
  world.engine.Trigger(kv::Fault::kUnavailable, 1);
  std::future<std::string> first = world.PutOnce("token", 1);
  std::future<std::string> second =
      world.PutOnce("token", 2);  // on the pending record: refused with it
  world.engine.ReleaseDone();
  EXPECT_EQ(first.get().substr(0, 1), "!");
  EXPECT_EQ(second.get().substr(0, 1), "!");
  EXPECT_EQ(world.PutOnce("token", 3).get(), "");
  EXPECT_EQ(world.PutOnce("token", 4).get(), "record 3");
}

// NTP or an operator sets the date while the server runs, or while it is down.
TEST(TokenLedger, StepsOfTheDateChangeNoLife) {
  constexpr int64_t kHour = 60 * kMinute;
  for (const int64_t step :
       {-24 * kHour, -kHour, -11 * kMinute, -kMinute, kMinute, 11 * kMinute, kHour, 24 * kHour}) {
    SCOPED_TRACE(step / kMinute);
    SettableClock machine;
    World world({}, &machine);
    EXPECT_EQ(world.PutOnce("token", 1).get(), "");
    machine.date += step;
    EXPECT_EQ(world.PutOnce("token", 2).get(), "record 1");
    EXPECT_EQ(world.PutOnce("other", 3).get(), "");
    machine.Pass(9 * kMinute);
    EXPECT_EQ(world.PutOnce("token", 4).get(), "record 1");
    machine.date -= step;
    EXPECT_EQ(world.PutOnce("other", 5).get(), "record 3");
    machine.Pass(kMinute);
    EXPECT_EQ(world.PutOnce("token", 6).get(), "") << "ten minutes are over";
  }
}

TEST(TokenLedger, DateSetBackWhileTheServerIsDownHidesNoRecord) {
  for (const int64_t minutes : {1, 11, 60, 1440}) {
    SettableClock machine;
    World world({}, &machine);
    EXPECT_EQ(world.PutOnce("token", 1).get(), "");
    machine.date -= minutes * kMinute;
    world.Reopen();
    EXPECT_EQ(world.PutOnce("token", 2).get(), "record 1") << minutes;
    machine.Pass(kMinute);
    EXPECT_EQ(world.PutOnce("next", 3).get(), "");
    world.Reopen();
    EXPECT_EQ(world.PutOnce("token", 4).get(), "record 1") << minutes;
    EXPECT_EQ(world.PutOnce("next", 5).get(), "record 3") << minutes;
  }
}

}  // namespace
}  // namespace stator::table
