// The catalog of a store and its writes; store_faults_test has them under faults.
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
#include "table/test_fault_world.h"

namespace stator::table {
namespace {

using expr::notation::Item;
using model::ItemView;

// --- Catalog -------------------------------------------------------------------------------------

TEST(Catalog, ReloadsAsItWas) {
  FaultWorld world;
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
  FaultWorld world;
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
  FaultWorld world;
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
  FaultWorld world({.delay_done = true});
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
    FaultWorld world;
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
  FaultWorld world;
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
  FaultWorld world;
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
  FaultWorld world({.seed = kSeed, .delay_done = true});
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
  FaultWorld world;
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
  FaultWorld world;
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
  FaultWorld world;
  const TablePtr table = world.Create("aaa").value();
  world.engine->Trigger(kv::Fault::kCorruption);
  const Status refused = world.Put(table, "a", 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kCorruption);
  EXPECT_EQ(world.store->latches().size(), 0u);
  EXPECT_TRUE(world.Put(table, "a", 1).ok());
}

TEST(Write, ADetourTakesTheBodyToAnotherThread) {
  FaultWorld world;
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
        [&](const std::vector<ItemView>& old_items, UniqueFunction<void()> run) -> Result<bool> {
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

TEST(Write, ADetourRefuses) {
  FaultWorld world;
  const TablePtr table = world.Create("aaa").value();
  std::promise<Status> done;
  world.store->Write(
      {{table, KeyOf("a")}},
      [](const std::vector<ItemView>&) -> Result<std::vector<Change>> {
        ADD_FAILURE() << "the body ran";
        return std::vector<Change>(1);
      },
      [&](Status status) { done.set_value(std::move(status)); }, nullptr,
      [](const std::vector<ItemView>&, UniqueFunction<void()>) -> Result<bool> {
        return Error(ErrorCode::kUnavailable, "too much waits");
      });
  const Status refused = done.get_future().get();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message(), "too much waits");
  EXPECT_EQ(world.store->latches().size(), 0u);
  EXPECT_TRUE(world.Put(table, "a", 1).ok());
}

TEST(Write, ABodyThatRunsOutOfMemoryChangesNothing) {
  FaultWorld world;
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
  FaultWorld world({}, 0, 0);
  const TablePtr table = world.Create("aaa").value();
  world.engine->Trigger(kv::Fault::kWouldBlock, 3);
  EXPECT_TRUE(world.Put(table, "a", 1).ok());
  EXPECT_EQ(world.Read(table, "a"), 1);
}

// While the first write's acknowledgement is held back, later writes see its image and none of them
// answers before it.
TEST(Write, AnAnswerFromAPendingImageWaitsForIt) {
  FaultWorld world({.delay_done = true});
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
    FaultWorld world({.delay_done = true});
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
  FaultWorld world({.delay_done = true});
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
  FaultWorld world({.delay_done = true});
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

}  // namespace
}  // namespace stator::table
