// The store over a sound engine, and over one that refuses, delays and leaves outcomes unknown:
// what was acknowledged is there, what was refused is not, and the counters agree with the items.
#include "table/store.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "base/random.h"
#include "expr/test_notation.h"
#include "kv/fault_engine.h"
#include "kv/memory_engine.h"
#include "table/catalog_snapshot.h"
#include "table/item_value.h"
#include "table/key_encoding.h"
#include "table/test_await.h"

namespace stator::table {
namespace {

using expr::notation::Item;
using model::ItemView;

// Counts what is under way.
class Waiting {
 public:
  void Begin() {
    std::lock_guard lock(mutex_);
    ++open_;
  }
  void End() {
    std::lock_guard lock(mutex_);
    if (--open_ == 0) wake_.notify_all();
  }
  void ForAll() {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return open_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  int open_ = 0;
};

TableDescriptor Describe(const std::string& name) {
  TableDescriptor d;
  d.name = name;
  d.table_id = "id of " + name;
  d.key_schema.partition = {"pk", model::Type::kS};
  d.attribute_definitions = {d.key_schema.partition};
  return d;
}

std::string KeyOf(const std::string& pk) {
  std::string value;
  model::AppendString(&value, pk);
  return EncodePartitionPrefix(model::ValueView(value));
}

std::string Counter(const std::string& pk, int64_t n) {
  return Item("{pk: '" + pk + "', n: " + std::to_string(n) + "}");
}

int64_t NumberIn(ItemView item) {
  int64_t n = 0;
  if (item.exists()) item.Find("n").number().ToInt64(&n);
  return n;
}

// An engine with faults over memory, and a store on it.
struct World {
  explicit World(kv::FaultOptions options = {}, int threads = 2, size_t max_queued = 1000)
      : workers(threads, max_queued) {
    engine = std::make_unique<kv::FaultEngine>(std::make_unique<kv::MemoryEngine>(), options);
    store = Store::Open(*engine, clock, workers).value();
  }
  ~World() {
    workers.Stop();
    engine.reset();
  }

  Result<TablePtr> Create(const std::string& name) {
    return Await<Result<TablePtr>>(
        [&](auto done) { store->Create(Describe(name), std::move(done)); });
  }
  Result<TablePtr> Drop(const std::string& name) {
    return Await<Result<TablePtr>>([&](auto done) {
      store->Drop(
          name, [](const TableDescriptor&) { return OkStatus(); }, std::move(done));
    });
  }
  Status Write(std::vector<WriteTarget> targets, WriteBody body) {
    return Await<Status>(
        [&](auto done) { store->Write(std::move(targets), std::move(body), std::move(done)); });
  }
  Status Put(const TablePtr& table, const std::string& pk, int64_t n) {
    return Write({{table, KeyOf(pk)}},
                 [pk, n](const std::vector<ItemView>&) -> Result<std::vector<Change>> {
                   std::vector<Change> changes(1);
                   changes[0] = {Change::kPut, Counter(pk, n)};
                   return changes;
                 });
  }
  int64_t Read(const TablePtr& table, const std::string& pk) {
    std::string item;
    const Result<bool> found = store->Get(*table, KeyOf(pk), kv::Tier::kAny, &item);
    EXPECT_TRUE(found.ok());
    return found.ok() && *found ? NumberIn(ItemView(item)) : -1;
  }
  // The counters are what a scan counts.
  void ExpectCountsMatch(const TablePtr& table, const std::string& where) {
    TableCounts scanned;
    ASSERT_TRUE(store
                    ->Scan(*table, FirstKeyOfHash(0), EndOfItemKeys(), false, kv::Tier::kAny,
                           [&](std::string_view, ItemView item) {
                             ++scanned.items;
                             scanned.bytes += static_cast<int64_t>(item.size_bytes());
                             return true;
                           })
                    .ok());
    const Result<TableCounts> counts = store->Counts(*table);
    ASSERT_TRUE(counts.ok()) << where;
    EXPECT_EQ(counts->items, scanned.items) << where;
    EXPECT_EQ(counts->bytes, scanned.bytes) << where;
  }
  int KeysOf(kv::Tablet tablet) {
    int keys = 0;
    EXPECT_TRUE(engine->inner()
                    .Scan({tablet, "", "", false}, kv::Tier::kAny,
                          [&](std::string_view, std::string_view) {
                            ++keys;
                            return true;
                          })
                    .ok());
    return keys;
  }

  ManualClock clock;
  WorkerPool workers;
  std::unique_ptr<kv::FaultEngine> engine;
  std::unique_ptr<Store> store;
};

// Body of "n = n + delta", remembering what it saw.
WriteBody AddTo(const std::string& pk, int64_t delta, std::shared_ptr<int64_t> saw = nullptr) {
  return [pk, delta, saw](const std::vector<ItemView>& old_items) -> Result<std::vector<Change>> {
    const int64_t n = NumberIn(old_items[0]);
    if (saw != nullptr) *saw = n;
    std::vector<Change> changes(1);
    changes[0] = {Change::kPut, Counter(pk, n + delta)};
    return changes;
  };
}

// --- Catalog -------------------------------------------------------------------------------------

TEST(Catalog, ReloadsAsItWas) {
  World world;
  const TablePtr a = world.Create("aaa").value();
  const TablePtr b = world.Create("bbb").value();
  ASSERT_TRUE(world.Drop("aaa").ok());
  const Result<TablePtr> altered = Await<Result<TablePtr>>([&](auto done) {
    world.store->Alter(
        "bbb",
        [](TableDescriptor* d) {
          d->tags["k"] = "v";
          return OkStatus();
        },
        std::move(done));
  });
  ASSERT_TRUE(altered.ok());
  EXPECT_EQ((*altered)->descriptor.tablet_id, b->descriptor.tablet_id);
  EXPECT_EQ((*altered)->gate, b->gate) << "all versions share the gate";
  ASSERT_TRUE(world.Put(*altered, "x", 7).ok());

  const std::unique_ptr<Store> again =
      Store::Open(*world.engine, world.clock, world.workers).value();
  ASSERT_EQ(again->List().size(), 1u);
  EXPECT_EQ(again->Find("aaa"), nullptr);
  ASSERT_NE(again->Find("bbb"), nullptr);
  EXPECT_EQ(again->Find("bbb")->descriptor.Encode(), (*altered)->descriptor.Encode());
  // Tablets are never reused, whatever was dropped and however often the store is opened.
  const Result<TablePtr> c =
      Await<Result<TablePtr>>([&](auto done) { again->Create(Describe("ccc"), std::move(done)); });
  ASSERT_TRUE(c.ok());
  EXPECT_GT((*c)->descriptor.tablet_id, std::max(a->descriptor.tablet_id, b->descriptor.tablet_id));
}

// Names of the default account that begin with digits stand among those of others, and 12 letters
// are no account.
TEST(Catalog, AnAccountsTablesAreARange) {
  World world;
  for (const char* name : {"zzz", "123456789012/b", "123456789012/a", "222222222222/a",
                           "12345678901", "1234567890123", "123456789012", "aaa", "123456789012/c"})
    ASSERT_TRUE(world.Create(name).ok()) << name;
  const auto names = [&world](std::string_view account, std::string_view after = {},
                              size_t most = SIZE_MAX) {
    std::string all;
    for (const TablePtr& table : world.store->ListOf(account, after, most))
      all += std::string(ShownName(table->descriptor.name)) + " ";
    return all;
  };
  EXPECT_EQ(names(""), "12345678901 123456789012 1234567890123 aaa zzz ");
  EXPECT_EQ(names("123456789012"), "a b c ");
  EXPECT_EQ(names("222222222222"), "a ");
  EXPECT_EQ(names("222222222221"), "");
  EXPECT_EQ(names("123456789012", "a", 1), "b ");
  EXPECT_EQ(names("123456789012", "bb"), "c ");
  EXPECT_EQ(names("123456789012", "c"), "");
  EXPECT_EQ(names("", "123456789012", 2), "1234567890123 aaa ");
  EXPECT_EQ(world.store->List().size(), 9u);
  const Result<TablePtr> again = world.Create("123456789012/a");
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().message(), "Table already exists: a");
  const auto reopened = Store::Open(*world.engine, world.clock, world.workers).value();
  EXPECT_EQ(reopened->ListOf("123456789012").size(), 3u);
  EXPECT_EQ(reopened->ListOf("").size(), 5u);
}

TEST(Catalog, DroppingTheNewestTableDoesNotFreeItsTablet) {
  World world;
  const uint32_t first = world.Create("aaa").value()->descriptor.tablet_id;
  ASSERT_TRUE(world.Drop("aaa").ok());
  const std::unique_ptr<Store> again =
      Store::Open(*world.engine, world.clock, world.workers).value();
  const Result<TablePtr> second =
      Await<Result<TablePtr>>([&](auto done) { again->Create(Describe("aaa"), std::move(done)); });
  EXPECT_GT((*second)->descriptor.tablet_id, first);
}

// Else a client could be told that it is gone, and find it again after a crash.
TEST(Catalog, ATableIsThereUntilItIsSurelyGone) {
  World world({.delay_done = true});
  const TablePtr table = world.Create("aaa").value();
  world.engine->HoldDone();
  Waiting waiting;
  waiting.Begin();
  world.store->Drop(
      "aaa", [](const TableDescriptor&) { return OkStatus(); },
      [&](const Result<TablePtr>& dropped) {
        EXPECT_TRUE(dropped.ok());
        waiting.End();
      });
  EXPECT_EQ(world.store->Find("aaa"), table);
  // A write that is under way waits, and learns that it is gone.
  waiting.Begin();
  world.store->Write({{table, KeyOf("k")}}, AddTo("k", 1), [&](Status status) {
    EXPECT_EQ(status.error().code(), ErrorCode::kResourceNotFound);
    waiting.End();
  });
  world.engine->ReleaseDone();
  waiting.ForAll();
  EXPECT_EQ(world.store->Find("aaa"), nullptr);
}

// Memory and store agree, whatever was said of the outcome.
TEST(Catalog, AnUnknownOutcomeIsReadFromTheStore) {
  for (const bool applied : {true, false}) {
    World world;
    const kv::Fault fault = applied ? kv::Fault::kUnknownApplied : kv::Fault::kUnknownNotApplied;
    const auto tag = [&] {
      return Await<Result<TablePtr>>([&](auto done) {
        world.store->Alter(
            "aaa",
            [](TableDescriptor* d) {
              d->tags["x"] = "y";
              return OkStatus();
            },
            std::move(done));
      });
    };
    const auto is_as_stored = [&] {
      const CatalogSnapshot stored = ReadCatalog(*world.engine).value();
      const std::vector<TablePtr> shown = world.store->List();
      ASSERT_EQ(stored.tables.size(), shown.size());
      for (size_t i = 0; i < shown.size(); ++i)
        EXPECT_EQ(stored.tables[i].descriptor.Encode(), shown[i]->descriptor.Encode());
    };
    world.engine->Trigger(fault);
    EXPECT_EQ(world.Create("aaa").ok(), applied);
    is_as_stored();
    if (!applied) {
      ASSERT_TRUE(world.Create("aaa").ok());
    }
    world.engine->Trigger(fault);
    EXPECT_EQ(tag().ok(), applied);
    is_as_stored();
    EXPECT_TRUE(world.Put(world.store->Find("aaa"), "x", 1).ok());
    world.engine->Trigger(fault);
    EXPECT_EQ(world.Drop("aaa").ok(), applied);
    is_as_stored();
    EXPECT_EQ(world.store->Find("aaa") == nullptr, applied);
  }
}

TEST(Catalog, RefusalsChangeNothing) {
  World world;
  const TablePtr table = world.Create("aaa").value();
  EXPECT_EQ(world.Create("aaa").error().code(), ErrorCode::kResourceInUse);
  EXPECT_EQ(world.Drop("zzz").error().code(), ErrorCode::kResourceNotFound);
  const auto refuse = [](auto) -> Status { return ValidationError("no"); };
  EXPECT_EQ(Await<Result<TablePtr>>(
                [&](auto done) { world.store->Alter("aaa", refuse, std::move(done)); })
                .error()
                .message(),
            "no");
  EXPECT_EQ(
      Await<Result<TablePtr>>([&](auto done) { world.store->Drop("aaa", refuse, std::move(done)); })
          .error()
          .message(),
      "no");
  for (int i = 0; i < 3; ++i) {
    world.engine->Trigger(kv::Fault::kUnavailable);
    const Result<TablePtr> refused = i == 0   ? world.Create("bbb")
                                     : i == 1 ? world.Drop("aaa")
                                              : Await<Result<TablePtr>>([&](auto done) {
                                                  world.store->Alter(
                                                      "aaa",
                                                      [](TableDescriptor* d) {
                                                        d->tags["x"] = "y";
                                                        return OkStatus();
                                                      },
                                                      std::move(done));
                                                });
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code(), ErrorCode::kUnavailable);
  }
  ASSERT_EQ(world.store->List().size(), 1u);
  EXPECT_TRUE(world.store->Find("aaa")->descriptor.tags.empty());
  EXPECT_TRUE(world.Put(table, "x", 1).ok()) << "a failed drop opens the gate again";
  EXPECT_EQ(world.store->latches().size(), 0u);
}

TEST(Catalog, ADamagedEntryIsNamedAndNoTableIsTakenForAbsent) {
  World world;
  ASSERT_TRUE(world.Create("aaa").ok());
  kv::Batch batch;
  batch.puts.push_back({{kv::Space::kCatalog, 0}, "table/bbb", EncodeItemValue("rubbish")});
  ASSERT_TRUE(kv::ApplyAndWait(*world.engine, std::move(batch)).ok());
  const Result<std::unique_ptr<Store>> again =
      Store::Open(*world.engine, world.clock, world.workers);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code(), ErrorCode::kCorruption);
  EXPECT_NE(again.error().message().find("table/bbb"), std::string::npos);
}

// Create, Alter and Drop of one name from several threads: every answer is one that some order
// explains, and in the end the catalog in memory is the one on the engine.
TEST(Catalog, RacesEndInOneState) {
  constexpr uint64_t kSeed = 11;
  World world({.seed = kSeed, .delay_done = true});
  Waiting waiting;
  std::atomic<int> created{0}, dropped{0};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      SeededRandom random(kSeed + t);
      for (int i = 0; i < 200; ++i) {
        const std::string name = random.Below(2) == 0 ? "aaa" : "bbb";
        waiting.Begin();
        switch (random.Below(3)) {
          case 0:
            world.store->Create(Describe(name), [&](Result<TablePtr> r) {
              created += r.ok();
              EXPECT_TRUE(r.ok() || r.error().code() == ErrorCode::kResourceInUse);
              waiting.End();
            });
            break;
          case 1:
            world.store->Drop(
                name, [](const TableDescriptor&) { return OkStatus(); },
                [&](Result<TablePtr> r) {
                  dropped += r.ok();
                  EXPECT_TRUE(r.ok() || r.error().code() == ErrorCode::kResourceNotFound);
                  waiting.End();
                });
            break;
          default:
            world.store->Alter(
                name,
                [](TableDescriptor* d) {
                  ++d->read_units;
                  return OkStatus();
                },
                [&](Result<TablePtr>) { waiting.End(); });
        }
        if (const TablePtr table = world.store->Find(name)) {
          waiting.Begin();
          world.store->Write({{table, KeyOf("x")}}, AddTo("x", 1), [&](Status) { waiting.End(); });
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  waiting.ForAll();
  EXPECT_EQ(static_cast<int>(world.store->List().size()), created - dropped) << "seed " << kSeed;
  const std::unique_ptr<Store> again =
      Store::Open(*world.engine, world.clock, world.workers).value();
  ASSERT_EQ(again->List().size(), world.store->List().size());
  for (const TablePtr& table : world.store->List()) {
    EXPECT_EQ(again->Find(table->descriptor.name)->descriptor.Encode(), table->descriptor.Encode());
    world.ExpectCountsMatch(table, table->descriptor.name);
  }
  EXPECT_EQ(world.store->latches().size(), 0u);
}

// --- Writes --------------------------------------------------------------------------------------

TEST(Write, CountsFollowEveryKindOfChange) {
  World world;
  const TablePtr table = world.Create("aaa").value();
  ASSERT_TRUE(world.Put(table, "a", 1).ok());
  ASSERT_TRUE(world.Put(table, "a", 1234567).ok());
  ASSERT_TRUE(world.Put(table, "b", 1).ok());
  world.ExpectCountsMatch(table, "after puts");
  const auto remove = [](const std::vector<ItemView>&) -> Result<std::vector<Change>> {
    std::vector<Change> changes(1);
    changes[0].kind = Change::kDelete;
    return changes;
  };
  ASSERT_TRUE(world.Write({{table, KeyOf("a")}}, remove).ok());
  ASSERT_TRUE(world.Write({{table, KeyOf("never there")}}, remove).ok());
  world.ExpectCountsMatch(table, "after deletes");
  EXPECT_EQ(world.store->Counts(*table)->items, 1);
  ASSERT_TRUE(world.Write({{table, KeyOf("b")}}, remove).ok());
  EXPECT_EQ(world.store->Counts(*table)->items, 0);
  EXPECT_EQ(world.store->Counts(*table)->bytes, 0);
  EXPECT_EQ(world.store->latches().size(), 0u);
}

TEST(Write, ABodysErrorChangesNothing) {
  World world;
  const TablePtr table = world.Create("aaa").value();
  ASSERT_TRUE(world.Put(table, "a", 1).ok());
  const Status refused =
      world.Write({{table, KeyOf("a")}, {table, KeyOf("b")}},
                  [](const std::vector<ItemView>& old_items) -> Result<std::vector<Change>> {
                    EXPECT_TRUE(old_items[0].exists());
                    EXPECT_FALSE(old_items[1].exists());
                    return Error(ErrorCode::kConditionalCheckFailed, "no");
                  });
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kConditionalCheckFailed);
  EXPECT_EQ(world.Read(table, "a"), 1);
  EXPECT_EQ(world.store->latches().size(), 0u);
}

TEST(Write, ADamagedOldImageIsCorruptionNotAbsence) {
  World world;
  const TablePtr table = world.Create("aaa").value();
  world.engine->Trigger(kv::Fault::kCorruption);
  const Status refused = world.Put(table, "a", 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kCorruption);
  EXPECT_EQ(world.store->latches().size(), 0u);
  EXPECT_TRUE(world.Put(table, "a", 1).ok());
}

TEST(Write, ADetourTakesTheBodyToAnotherThread) {
  World world;
  const TablePtr table = world.Create("aaa").value();
  ASSERT_TRUE(world.Put(table, "a", 1).ok());
  std::thread::id body_thread;
  std::thread other;
  const auto write = [&](bool detours) {
    std::promise<Status> done;
    world.store->Write(
        {{table, KeyOf("a")}},
        [&](const std::vector<ItemView>& old_items) -> Result<std::vector<Change>> {
          EXPECT_TRUE(old_items[0].exists());
          body_thread = std::this_thread::get_id();
          return std::vector<Change>(1);
        },
        [&](Status status) { done.set_value(std::move(status)); }, nullptr,
        [&](const std::vector<ItemView>& old_items, UniqueFunction<void()> run) {
          EXPECT_TRUE(old_items[0].exists());
          if (detours) other = std::thread([run = std::move(run)]() mutable { run(); });
          return detours;
        });
    EXPECT_TRUE(done.get_future().get().ok());
  };
  write(false);
  EXPECT_EQ(body_thread, std::this_thread::get_id());
  write(true);
  EXPECT_EQ(body_thread, other.get_id());
  other.join();
  EXPECT_EQ(world.store->latches().size(), 0u);
}

TEST(Write, ABodyThatRunsOutOfMemoryChangesNothing) {
  World world;
  const TablePtr table = world.Create("aaa").value();
  ASSERT_TRUE(world.Put(table, "a", 1).ok());
  const Status failed = world.Write(
      {{table, KeyOf("a")}},
      [](const std::vector<ItemView>&) -> Result<std::vector<Change>> { throw std::bad_alloc(); });
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code(), ErrorCode::kInternal);
  EXPECT_EQ(world.Read(table, "a"), 1);
  EXPECT_EQ(world.store->latches().size(), 0u);
}

TEST(Write, AFullPoolIsNoReasonToFail) {
  World world({}, 0, 0);
  const TablePtr table = world.Create("aaa").value();
  world.engine->Trigger(kv::Fault::kWouldBlock, 3);
  EXPECT_TRUE(world.Put(table, "a", 1).ok());
  EXPECT_EQ(world.Read(table, "a"), 1);
}

// While the first write's acknowledgement is held back, later writes see its image and none of them
// answers before it.
TEST(Write, AnAnswerFromAPendingImageWaitsForIt) {
  World world({.delay_done = true});
  const TablePtr table = world.Create("aaa").value();
  world.engine->HoldDone();
  Waiting waiting;
  std::mutex mutex;
  std::vector<std::string> answers;
  const auto note = [&](const char* name) {
    return [&, name](Status status) {
      std::lock_guard lock(mutex);
      answers.push_back(
          std::string(name) +
          (status.ok() ? " ok" : " " + std::string(ErrorCodeName(status.error().code()))));
      waiting.End();
    };
  };
  auto saw = std::make_shared<int64_t>(-1);
  for (int i = 0; i < 4; ++i) waiting.Begin();
  world.store->Write({{table, KeyOf("k")}}, AddTo("k", 1), note("put"));
  world.store->Write({{table, KeyOf("k")}}, AddTo("k", 10, saw), note("dependent"));
  world.store->Write(
      {{table, KeyOf("k")}},
      [](const std::vector<ItemView>& old_items) -> Result<std::vector<Change>> {
        EXPECT_EQ(NumberIn(old_items[0]), 11);
        return Error(ErrorCode::kConditionalCheckFailed, "no");
      },
      note("condition"));
  world.store->Write(
      {{table, KeyOf("k")}},
      [](const std::vector<ItemView>&) -> Result<std::vector<Change>> {
        return std::vector<Change>(1);
      },
      note("nothing"));
  EXPECT_EQ(*saw, 1);
  {
    std::lock_guard lock(mutex);
    EXPECT_TRUE(answers.empty()) << answers[0];
  }
  world.engine->ReleaseDone();
  waiting.ForAll();
  EXPECT_EQ(answers, (std::vector<std::string>{"put ok", "dependent ok",
                                               "condition ConditionalCheckFailed", "nothing ok"}));
  EXPECT_EQ(world.Read(table, "k"), 11);
  EXPECT_EQ(world.store->latches().size(), 0u);
}

// The same, but the first write is refused: everything that saw its image fails with it, and
// nothing else does.
TEST(Write, AnAnswerFromAPendingImageFailsWithIt) {
  for (const kv::Fault fault : {kv::Fault::kUnavailable, kv::Fault::kUnknownNotApplied}) {
    World world({.delay_done = true});
    const TablePtr table = world.Create("aaa").value();
    ASSERT_TRUE(world.Put(table, "k", 100).ok());
    world.engine->HoldDone();
    Waiting waiting;
    std::mutex mutex;
    std::map<std::string, std::optional<ErrorCode>> answers;
    const auto note = [&](const char* name) {
      waiting.Begin();
      return [&, name](Status status) {
        std::lock_guard lock(mutex);
        answers[name] = status.ok() ? std::nullopt : std::optional(status.error().code());
        waiting.End();
      };
    };
    world.engine->Trigger(fault);
    world.store->Write({{table, KeyOf("k")}}, AddTo("k", 1), note("refused"));
    world.store->Write({{table, KeyOf("k")}}, AddTo("k", 10), note("dependent"));
    world.store->Write({{table, KeyOf("k")}}, AddTo("k", 10), note("dependent of dependent"));
    world.store->Write(
        {{table, KeyOf("k")}},
        [](const std::vector<ItemView>&) -> Result<std::vector<Change>> {
          return Error(ErrorCode::kConditionalCheckFailed, "said of an image that never was");
        },
        note("condition"));
    world.store->Write(
        {{table, KeyOf("j")}, {table, KeyOf("k")}},
        [](const std::vector<ItemView>&) -> Result<std::vector<Change>> {
          std::vector<Change> changes(2);
          changes[0] = {Change::kPut, Counter("j", 1)};
          return changes;
        },
        note("saw k, wrote j"));
    world.store->Write({{table, KeyOf("other")}}, AddTo("other", 5), note("other"));
    world.engine->ReleaseDone();
    waiting.ForAll();
    EXPECT_EQ(answers["refused"], fault == kv::Fault::kUnavailable ? ErrorCode::kUnavailable
                                                                   : ErrorCode::kOutcomeUnknown);
    EXPECT_EQ(answers["dependent"], ErrorCode::kUnavailable);
    EXPECT_EQ(answers["dependent of dependent"], ErrorCode::kUnavailable);
    EXPECT_EQ(answers["condition"], ErrorCode::kUnavailable);
    EXPECT_EQ(answers["saw k, wrote j"], ErrorCode::kUnavailable);
    EXPECT_EQ(answers["other"], std::nullopt);
    EXPECT_EQ(world.Read(table, "k"), 100);
    EXPECT_EQ(world.Read(table, "j"), -1);
    EXPECT_EQ(world.store->latches().size(), 0u);
    world.ExpectCountsMatch(table, "after refusals");
    ASSERT_TRUE(world.Write({{table, KeyOf("k")}}, AddTo("k", 1)).ok());
    EXPECT_EQ(world.Read(table, "k"), 101);
  }
}

// A key that always has a write in flight recovers from one refusal: what was computed from the
// refused image fails, what comes after the refusal does not.
TEST(Write, ABusyKeyRecoversFromARefusal) {
  World world({.delay_done = true});
  const TablePtr table = world.Create("aaa").value();
  Waiting waiting;
  std::atomic<int> succeeded{0}, failed{0};
  int left = 2000;  // touched by the engine's thread only, once the writes are under way
  std::function<void()> write = [&] {
    waiting.Begin();
    world.store->Write({{table, KeyOf("k")}}, AddTo("k", 1), [&](Status status) {
      ++(status.ok() ? succeeded : failed);
      // The next one starts while the others in flight are not settled.
      if (--left > 0) write();
      waiting.End();
    });
  };
  world.engine->HoldDone();
  world.engine->Trigger(kv::Fault::kUnavailable);
  for (int i = 0; i < 4; ++i) write();
  world.engine->ReleaseDone();
  waiting.ForAll();
  EXPECT_GT(failed, 0);
  EXPECT_LE(failed, 8);
  EXPECT_EQ(world.Read(table, "k"), succeeded);
  EXPECT_EQ(world.store->latches().size(), 0u);
}

TEST(Write, ALongQueueOnOneKey) {
  World world({.delay_done = true});
  const TablePtr table = world.Create("aaa").value();
  constexpr int kWrites = 20'000;
  Waiting waiting;
  std::atomic<int> failed{0};
  for (int i = 0; i < kWrites; ++i) {
    waiting.Begin();
    world.store->Write({{table, KeyOf("k")}}, AddTo("k", 1), [&](Status status) {
      failed += !status.ok();
      waiting.End();
    });
  }
  waiting.ForAll();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(world.Read(table, "k"), kWrites);
  EXPECT_EQ(world.store->latches().size(), 0u);
}

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
// value nobody else saw (so the counter is linearizable), and the end is the sum of what was
// acknowledged.
TEST_P(UnderFaults, CountersAreLinearizable) {
  const FaultCase& fault = GetParam();
  const std::string where =
      std::string(fault.name) + ", seed " + std::to_string(fault.options.seed);
  World world({.seed = fault.options.seed, .delay_done = fault.options.delay_done});
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
  World world({.seed = fault.options.seed, .delay_done = fault.options.delay_done});
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
  World world({.seed = fault.options.seed, .delay_done = fault.options.delay_done});
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
  World world({.seed = fault.options.seed, .delay_done = fault.options.delay_done});
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
