// The promises of the RADOS engine beyond the conformance suite: several processes on one tablet,
// lost answers, OSDs that hang and die, and error messages for every wrong set-up.
#include "kv_rados/rados_engine.h"

#include <gmock/gmock.h>

#include <atomic>
#include <condition_variable>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/mutex.h"
#include "cluster_under_test.h"
#include "increments.h"
#include "kv/engine.h"

namespace stator {
namespace {

using kv_rados::OpenRados;
using kv_rados::RadosOptions;
using testing::HasSubstr;

TEST(RadosEngine, TwoProcessesShareATablet) {
  const RadosOptions options = ClusterUnderTest::NewStore();
  const auto first = Open(options), second = Open(options);
  ASSERT_TRUE(first && second);
  std::atomic<int64_t> unknown = 0;
  const auto races = [&] {
    return first->Statistics()["kv_rados_races"] + second->Statistics()["kv_rados_races"];
  };
  const int64_t acknowledged = Increment({first.get(), second.get()}, 4,
                                         Until(2000, 51, [&] { return races() > 0; }), &unknown);
  EXPECT_GT(acknowledged, 50);
  EXPECT_EQ(unknown, 0);
  EXPECT_EQ(NumberOf(*first), acknowledged);
  EXPECT_EQ(CountOf(*second, "count"), acknowledged);
  EXPECT_GT(races(), 0) << "they never met";
}

// A process caches what it read of a tablet. A stale cache must not refuse a batch that is based on
// newer data.
TEST(RadosEngine, StaleCacheRefusesNoValidBatch) {
  const RadosOptions options = ClusterUnderTest::NewStore();
  const auto first = Open(options), second = Open(options);
  ASSERT_TRUE(first && second);
  ASSERT_TRUE(kv::ApplyAndWait(*first, AddOne("n")).ok());
  kv::Batch guarded = PutOne("a", "1");
  guarded.guards.push_back({kTablet, "a", 77});
  EXPECT_EQ(CodeOf(kv::ApplyAndWait(*first, guarded)),
            ErrorCode::kGuardFailed);  // now `first` knows that "a" is absent

  const Result<uint64_t> put = kv::ApplyAndWait(*second, PutOne("a", "2"));
  ASSERT_TRUE(put.ok());
  const Result<uint64_t> counter = kv::ApplyAndWait(*second, PutOne("n", "no counter"));
  ASSERT_TRUE(counter.ok());
  kv::Batch newer = PutOne("a", "3");
  newer.guards = {{kTablet, "a", *put}, {kTablet, "n", *counter}};
  EXPECT_TRUE(kv::ApplyAndWait(*first, newer).ok());
  EXPECT_EQ(CodeOf(kv::ApplyAndWait(*first, AddOne("n"))), ErrorCode::kCorruption);
  ASSERT_TRUE(kv::ApplyAndWait(*second, PutOne("n", std::string_view("\5\0\0\0\0\0\0\0", 8))).ok());
  EXPECT_TRUE(kv::ApplyAndWait(*first, AddOne("n")).ok());
  EXPECT_EQ(CountOf(*second, "n"), 6);
}

// Both write the same few keys without guards.
TEST(RadosEngine, UnguardedReplacementsAreCountedOnce) {
  const RadosOptions options = ClusterUnderTest::NewStore();
  const auto first = Open(options), second = Open(options);
  ASSERT_TRUE(first && second);
  for (int i = 0; i < 30; ++i) {
    ASSERT_TRUE(kv::ApplyAndWait(*first, PutOne("one", "1")).ok());
    ASSERT_TRUE(kv::ApplyAndWait(*second, PutOne("other", "2")).ok());
  }
  const Result<std::vector<kv_rados::PartInfo>> parts = kv_rados::PartsOf(*first, kTablet);
  ASSERT_TRUE(parts.ok() && parts->size() == 1);
  EXPECT_EQ(parts->front().keys, 2u);
}

// The engine believes that such a key is absent only while no other process writes.
TEST(RadosEngine, UnusedKeyNeedsNoRead) {
  const RadosOptions options = ClusterUnderTest::NewStore();
  const auto first = Open(options), second = Open(options);
  ASSERT_TRUE(first && second);
  const auto put_new = [](kv::Engine& engine, const std::string& key) {
    kv::Batch batch = PutOne(key, "1");
    batch.guards.push_back({kTablet, key, 0});
    return kv::ApplyAndWait(engine, std::move(batch));
  };
  ASSERT_TRUE(kv::ApplyAndWait(*first, PutOne("other", "1")).ok());
  first->NoteUnused(kTablet, "a");
  EXPECT_TRUE(put_new(*first, "a").ok());
  EXPECT_EQ(CodeOf(put_new(*first, "a")), ErrorCode::kGuardFailed);

  first->NoteUnused(kTablet, "b");
  // other processes may know the key by now
  ASSERT_TRUE(kv::ApplyAndWait(*first, PutOne("other", "2")).ok());
  ASSERT_TRUE(put_new(*second, "b").ok());
  EXPECT_EQ(CodeOf(put_new(*first, "b")), ErrorCode::kGuardFailed);
  EXPECT_EQ(CodeOf(put_new(*second, "a")), ErrorCode::kGuardFailed);
}

TEST(RadosEngine, BatchOnSeveralTabletsIsRefused) {
  const auto engine = Open(ClusterUnderTest::NewStore());
  ASSERT_TRUE(engine);
  kv::Batch batch = PutOne("a", "1");
  batch.deletes.push_back({{kv::Space::kItems, 8}, "a"});
  EXPECT_THAT(kv::ApplyAndWait(*engine, batch).error().message(), HasSubstr("spans tablets"));
  const std::vector<kv::Point> points = {{kTablet, "a"}, {{kv::Space::kItems, 8}, "a"}};
  std::vector<std::optional<std::string>> values;
  EXPECT_THAT(engine->MultiGet(points, kv::Tier::kAny, &values).error().message(),
              HasSubstr("spans tablets"));
  EXPECT_EQ(engine->MultiGet({points.data(), 1}, kv::Tier::kMemory, &values).error().code(),
            ErrorCode::kWouldBlock);
}

// Returns the number of groups that the engine has written.
double GroupsOf(const kv::Engine& engine) { return engine.Statistics().at("kv_commit_groups"); }

struct Outcomes {
  void Apply(kv::Engine& engine, kv::Batch batch, int64_t may_wait_micros = 0) {
    batch.may_wait_micros = may_wait_micros;
    engine.Apply(std::move(batch), [this](const Result<uint64_t>& outcome) {
      MutexLock lock(mutex);
      ++(outcome.ok() ? good : bad);
      came.notify_all();
    });
  }
  bool Wait(int number) {
    std::unique_lock<Mutex> lock(mutex);
    return came.wait_for(lock, std::chrono::seconds(30), [&] { return good + bad >= number; }) &&
           bad == 0;
  }
  Mutex mutex;
  std::condition_variable_any came;
  int good = 0, bad = 0;
};

TEST(RadosEngine, HeldBackBatchSharesAnOperation) {
  constexpr int64_t kHour = int64_t{3600} * 1'000'000;
  Outcomes outcomes;
  auto engine = Open(ClusterUnderTest::NewStore());
  ASSERT_TRUE(engine);
  ASSERT_TRUE(kv::ApplyAndWait(*engine, PutOne("a", "1")).ok());
  const double before = GroupsOf(*engine);
  outcomes.Apply(*engine, PutOne("b", "1"), kHour);
  outcomes.Apply(*engine, PutOne("c", "1"), kHour);
  ASSERT_TRUE(kv::ApplyAndWait(*engine, {}).ok());  // a barrier
  EXPECT_TRUE(outcomes.Wait(2)) << "a barrier comes after what waits";
  EXPECT_EQ(GroupsOf(*engine), before + 1);
  outcomes.Apply(*engine, PutOne("d", "1"), kHour);
  outcomes.Apply(*engine, PutOne("e", "1"));
  EXPECT_TRUE(outcomes.Wait(4));
  EXPECT_EQ(GroupsOf(*engine), before + 2);
  outcomes.Apply(*engine, PutOne("f", "1"), 20'000);
  EXPECT_TRUE(outcomes.Wait(5)) << "nobody came";
  EXPECT_EQ(GroupsOf(*engine), before + 3);
  std::string value;
  for (const char* key : {"b", "c", "d", "e", "f"})
    EXPECT_TRUE(*engine->Get(kTablet, key, kv::Tier::kAny, &value)) << key;
  outcomes.Apply(*engine, PutOne("g", "1"), kHour);
  engine = nullptr;
  EXPECT_EQ(outcomes.good, 6) << "who closes the store does not wait for company";
}

// Many keys with values of all sizes, so that scans take several operations; forward, backward and
// cut off.
TEST(RadosEngine, LongScans) {
  const auto engine = Open(ClusterUnderTest::NewStore());
  ASSERT_TRUE(engine);
  constexpr int kKeys = 3000;
  const auto key = [](int i) {
    return std::string("key\0\x01\x02", 6) + std::to_string(10'000 + i);
  };
  for (int i = 0; i < kKeys;) {
    kv::Batch batch;
    for (const int end = i + 500; i < end; ++i) {
      batch.puts.push_back(
          {kTablet, key(i), std::string(kv::kStampBytes + static_cast<size_t>(i % 7) * 1000, 'v')});
    }
    ASSERT_TRUE(kv::ApplyAndWait(*engine, std::move(batch)).ok());
  }
  for (const bool reverse : {false, true}) {
    for (const auto& [from, to] :
         {std::pair(0, kKeys), std::pair(7, 2222), std::pair(1500, 1501)}) {
      std::vector<int> seen;
      const Status status = engine->Scan(
          {kTablet, key(from), key(to), reverse}, kv::Tier::kAny, [&](auto name, auto value) {
            seen.push_back(std::stoi(std::string(name.substr(6))) - 10'000);
            EXPECT_EQ(value.size(), kv::kStampBytes + static_cast<size_t>(seen.back() % 7) * 1000);
            return true;
          });
      ASSERT_TRUE(status.ok()) << status.error().message();
      ASSERT_EQ(seen.size(), static_cast<size_t>(to - from));
      for (size_t i = 0; i < seen.size(); ++i) {
        ASSERT_EQ(seen[i], reverse ? to - 1 - static_cast<int>(i) : from + static_cast<int>(i));
      }
    }
  }
  kv::Batch half;
  half.range_deletes.push_back({kTablet, key(0), key(kKeys / 2)});
  ASSERT_TRUE(kv::ApplyAndWait(*engine, std::move(half)).ok());
  for (const bool reverse : {false, true}) {
    int left = 0;
    ASSERT_TRUE(engine
                    ->Scan({kTablet, {}, {}, reverse}, kv::Tier::kAny,
                           [&](auto, auto) { return ++left > 0; })
                    .ok());
    EXPECT_EQ(left, kKeys / 2);
  }
}

// ---- sizes --------------------------------------------------------------------------------------

// Reads the content of a tablet. No key has bytes that are escaped.
uint64_t BytesOf(kv::Engine& engine) {
  uint64_t bytes = 0;
  EXPECT_TRUE(engine
                  .Scan({kTablet, {}, {}}, kv::Tier::kAny,
                        [&](auto key, auto value) {
                          bytes += 2 * (key.size() + 2) + value.size() + 1;
                          return true;
                        })
                  .ok());
  return bytes;
}

// A put that has read the value it replaces, as the layers above do.
kv::Batch Replace(kv::Engine& engine, const std::string& key, size_t bytes) {
  std::string value;
  const Result<bool> exists = engine.Get(kTablet, key, kv::Tier::kAny, &value);
  kv::Batch batch = PutOne(key, std::string(bytes, 'v'));
  batch.guards.push_back({kTablet, key, exists.ok() && *exists ? kv::StampOf(value) : 0});
  return batch;
}

TEST(RadosEngine, SizesFollowEveryWrite) {
  const RadosOptions options = ClusterUnderTest::NewStore();
  auto first = Open(options);
  const auto second = Open(options);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->ApproximateBytes(kTablet), 0);
  std::vector<std::thread> writers;
  for (int t = 0; t < 4; ++t) {
    writers.emplace_back([&, t] {
      kv::Engine& engine = t % 2 == 0 ? *first : *second;
      SeededRandom random(static_cast<uint64_t>(t));
      for (int i = 0; i < 100; ++i) {
        const std::string key = "key" + std::to_string(random.Below(20));
        kv::Batch batch = Replace(engine, key, random.Below(3000));
        if (random.Below(4) == 0) {
          batch.puts.clear();
          batch.deletes.push_back({kTablet, key});
        }
        batch.adds = AddOne("count" + std::to_string(random.Below(3))).adds;
        const Result<uint64_t> outcome = kv::ApplyAndWait(engine, std::move(batch));
        EXPECT_TRUE(outcome.ok() || CodeOf(outcome) == ErrorCode::kGuardFailed);
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_GT(BytesOf(*first), 1000);
  EXPECT_EQ(first->ApproximateBytes(kTablet), BytesOf(*first)) << "all sizes were known";
  EXPECT_EQ(second->ApproximateBytes(kTablet), BytesOf(*first));
  first = Open(options);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->ApproximateBytes(kTablet), BytesOf(*second)) << "after a restart";
  ASSERT_TRUE(kv::ApplyAndWait(*first, Replace(*first, "key1", 77)).ok());
  EXPECT_EQ(first->ApproximateBytes(kTablet), BytesOf(*second));
  EXPECT_EQ(first->Statistics()["kv_rados_counts"], 0) << "nothing was read for it";

  kv::Batch all;
  all.range_deletes.push_back({kTablet, {}, {}});
  all.puts = PutOne("left", "1").puts;
  ASSERT_TRUE(kv::ApplyAndWait(*second, std::move(all)).ok());
  EXPECT_EQ(first->ApproximateBytes(kTablet), BytesOf(*first));
}

TEST(RadosEngine, TabletDoesNotExceedItsLimit) {
  RadosOptions options = ClusterUnderTest::NewStore();
  options.max_tablet_bytes = 100'000;
  const auto engine = Open(options), other = Open(options);
  ASSERT_TRUE(engine && other);
  EXPECT_EQ(engine->capabilities().max_tablet_bytes, 100'000);
  constexpr char kSays[] =
      "The write was not applied: its part of the tablet would pass 100000 bytes and was not split "
      "yet, or cannot be. "
      "Reads and deletes go on.";
  // All at once, so that batches that fit and batches that do not wait for one group.
  std::atomic<int> taken = 0, refused = 0, done = 0;
  for (int i = 0; i < 30; ++i) {
    engine->Apply(PutOne("key" + std::to_string(10 + i), std::string(9900, 'v')),
                  [&](Result<uint64_t> outcome) {
                    if (outcome.ok()) {
                      ++taken;
                    } else {
                      ++refused;
                      EXPECT_EQ(outcome.error().code(), ErrorCode::kUnavailable);
                      EXPECT_EQ(outcome.error().message(), kSays);
                    }
                    ++done;
                  });
  }
  while (done < 30) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(taken, 10);
  EXPECT_EQ(refused, 20);
  EXPECT_LE(BytesOf(*engine), 100'000);
  EXPECT_TRUE(engine->Health().ok());
  EXPECT_EQ(kv::ApplyAndWait(*other, Replace(*other, "another", 9900)).error().message(), kSays);
  EXPECT_TRUE(kv::ApplyAndWait(*engine, Replace(*engine, "key10", 9000)).ok())
      << "smaller than before";
  EXPECT_EQ(kv::ApplyAndWait(*engine, Replace(*engine, "another", 9900)).error().message(), kSays);

  kv::Batch gone;
  gone.deletes = {{kTablet, "key10"}, {kTablet, "key11"}};
  ASSERT_TRUE(kv::ApplyAndWait(*other, std::move(gone)).ok()) << "deletes go on";
  EXPECT_TRUE(kv::ApplyAndWait(*engine, Replace(*engine, "another", 9900)).ok())
      << "it knows what the other process deleted";
  EXPECT_LE(BytesOf(*engine), 100'000);

  // The engine does not know what these puts replace, so it counts, but no more often than it must.
  for (int i = 0; i < 50; ++i) {
    const Result<uint64_t> outcome =
        kv::ApplyAndWait(*engine, PutOne("key12", std::string(9900, 'w')));
    ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  }
  const double counts = engine->Statistics()["kv_rados_counts"];
  EXPECT_GT(counts, 0);
  kv::Batch range;
  range.range_deletes.push_back({kTablet, "key13", "key15"});
  ASSERT_TRUE(kv::ApplyAndWait(*engine, std::move(range)).ok());
  taken = 0;
  for (int i = 0; i < 20; ++i) {
    const Result<uint64_t> outcome =
        kv::ApplyAndWait(*engine, PutOne("more" + std::to_string(i), std::string(9900, 'w')));
    taken += outcome.ok() ? 1 : 0;
  }
  EXPECT_GE(taken, 2);
  EXPECT_GT(BytesOf(*engine), 90'000);
  EXPECT_LE(BytesOf(*engine), 100'000);
  EXPECT_LT(engine->Statistics()["kv_rados_counts"], counts + 10)
      << "a refusal counts once, not each time";
}

// ---- answers that are lost ----------------------------------------------------------------------

// Every third answer to a write is lost although the write was applied, another third although it
// was refused.
TEST(RadosEngine, LostAnswersApplyNothingTwice) {
  RadosOptions options = ClusterUnderTest::NewStore();
  std::atomic<uint64_t> calls = 0;
  SeededRandom random(5);
  options.write_result = [&](int result) {
    ++calls;
    return random.Below(3) == 0 ? -ETIMEDOUT : result;
  };
  const auto first = Open(options), second = Open(options);
  ASSERT_TRUE(first && second);
  std::atomic<int64_t> unknown = 0;
  const auto found = [&] {
    return first->Statistics()["kv_rados_found_in_ledger"] +
           second->Statistics()["kv_rados_found_in_ledger"];
  };
  const int64_t acknowledged = Increment({first.get(), second.get()}, 4,
                                         Until(2000, 31, [&] { return found() > 10; }), &unknown);
  EXPECT_GT(acknowledged, 30);
  EXPECT_EQ(unknown, 0) << "all can be found out";
  EXPECT_EQ(NumberOf(*first), acknowledged);
  EXPECT_EQ(CountOf(*first, "count"), acknowledged);
  EXPECT_GT(found(), 10);
}

// The answer to a write is lost, and another process writes before the retry: the ledger still has
// the outcome.
TEST(RadosEngine, LedgerSurvivesLaterWrites) {
  for (const bool applied : {true, false}) {
    RadosOptions options = ClusterUnderTest::NewStore();
    const auto other = Open(options);
    std::atomic<bool> lose = false;
    options.write_result = [&](int result) {
      if (!lose.exchange(false)) return result;
      EXPECT_EQ(result, applied ? 0 : -ECANCELED);
      EXPECT_TRUE(kv::ApplyAndWait(*other, AddOne("n", 10)).ok());
      return -ETIMEDOUT;
    };
    const auto engine = Open(options);
    ASSERT_TRUE(other && engine);
    const Result<uint64_t> before = kv::ApplyAndWait(*engine, PutOne("a", "before"));
    ASSERT_TRUE(before.ok());
    lose = true;
    kv::Batch batch = PutOne("a", "after");
    // A guard that holds only once `other` has written: the operation whose answer is lost was
    // refused, the next one is not.
    if (!applied) batch.guards.push_back({kTablet, "n", *before + 1});
    const Result<uint64_t> outcome = kv::ApplyAndWait(*engine, batch);
    ASSERT_TRUE(outcome.ok()) << outcome.error().message();
    EXPECT_EQ(*outcome, *before + (applied ? 1 : 2));
    EXPECT_EQ(CountOf(*engine, "n"), 10);
    EXPECT_EQ(engine->Statistics()["kv_rados_found_in_ledger"], applied ? 1 : 0);
  }
}

// The answer to a write is lost, and the retry by librados is refused because the process is
// blocklisted: the first operation may have been applied.
TEST(RadosEngine, BlocklistedProcessReportsUnknownOutcome) {
  for (const int why : {-ESHUTDOWN, -EPERM}) {
    RadosOptions options = ClusterUnderTest::NewStore();
    std::atomic<bool> shut_out = false;
    options.write_result = [&](int result) { return shut_out ? why : result; };
    const auto engine = Open(options);
    ASSERT_TRUE(engine && kv::ApplyAndWait(*engine, AddOne("n")).ok());
    shut_out = true;
    const Result<uint64_t> outcome = kv::ApplyAndWait(*engine, AddOne("n"));
    EXPECT_EQ(CodeOf(outcome), ErrorCode::kOutcomeUnknown);
    EXPECT_FALSE(engine->Health().ok());
    EXPECT_EQ(CountOf(*engine, "n"), 2);
    shut_out = false;
    EXPECT_TRUE(kv::ApplyAndWait(*engine, AddOne("n")).ok());
    EXPECT_EQ(CountOf(*engine, "n"), 3);
  }
}

constexpr int64_t kHour = 3'600'000'000;

// Returns the number of processes with a ledger cell in the tablet.
int64_t LedgerCells(const RadosOptions& options) {
  std::istringstream cells(
      ClusterUnderTest::Command(RadosCommand(options) + "listomapkeys " + kObject));
  int64_t count = 0;
  for (std::string cell; std::getline(cells, cell);)
    count += cell.size() == 33 && cell[0] == 'l' ? 1 : 0;
  return count;
}

TEST(RadosEngine, LedgerCellsAreRemovedAfterADay) {
  ManualClock clock;
  RadosOptions options = ClusterUnderTest::NewStore();
  options.clock = &clock;
  const auto first = Open(options);
  ASSERT_TRUE(first && kv::ApplyAndWait(*first, AddOne("n")).ok());
  for (int i = 0; i < 3; ++i) {
    const auto gone = Open(options);
    ASSERT_TRUE(gone && kv::ApplyAndWait(*gone, AddOne("n")).ok());
  }
  clock.AdvanceMicros(23 * kHour);
  const auto second = Open(options);
  ASSERT_TRUE(second && kv::ApplyAndWait(*second, AddOne("n")).ok());
  EXPECT_EQ(LedgerCells(options), 5);
  clock.AdvanceMicros(2 * kHour);
  const auto third = Open(options);
  ASSERT_TRUE(third && kv::ApplyAndWait(*third, AddOne("n")).ok());
  EXPECT_EQ(LedgerCells(options), 2) << "of the second and the third";
  ASSERT_TRUE(kv::ApplyAndWait(*first, AddOne("n")).ok());
  EXPECT_EQ(LedgerCells(options), 3) << "the first is back";
  EXPECT_EQ(CountOf(*second, "n"), 7);
}

// The answer to a write is lost, and the process sleeps until another process may remove its ledger
// cell.
TEST(RadosEngine, MissingLedgerCellIsUnknownAfterHalfADay) {
  for (const int64_t hours : {23, 25}) {
    ManualClock clock;
    RadosOptions options = ClusterUnderTest::NewStore();
    options.clock = &clock;
    options.deadline_seconds = 1'000'000;
    const auto other = Open(options);
    std::atomic<bool> lose = false;
    options.write_result = [&](int result) {
      if (!lose.exchange(false)) return result;
      clock.AdvanceMicros(hours * kHour);
      EXPECT_TRUE(kv::ApplyAndWait(*other, AddOne("n", 10)).ok());
      return -ETIMEDOUT;
    };
    const auto engine = Open(options);
    ASSERT_TRUE(other && engine && kv::ApplyAndWait(*engine, AddOne("n", 100)).ok());
    lose = true;
    const Result<uint64_t> outcome = kv::ApplyAndWait(*engine, AddOne("n"));
    if (hours == 23) {
      EXPECT_TRUE(outcome.ok());
    } else {
      EXPECT_EQ(CodeOf(outcome), ErrorCode::kOutcomeUnknown);
    }
    EXPECT_EQ(CountOf(*engine, "n"), 111) << "once";
    EXPECT_TRUE(kv::ApplyAndWait(*engine, AddOne("n")).ok());
  }
}

// The OSDs hang for longer than an operation may take, then carry out everything sent to them
// meanwhile. The writers that race may be reading when the OSDs hang; the one that counts alone in
// a tablet of its own always has a write under way, so each freeze makes it send one again.
TEST(RadosEngine, FrozenOsdsApplyNothingTwice) {
  const RadosOptions options = Impatient();
  const auto first = Open(options), second = Open(options), alone = Open(options);
  ASSERT_TRUE(first && second && alone);
  ASSERT_TRUE(kv::ApplyAndWait(*first, AddOne("count", 0)).ok());
  kv::Batch count_alone;
  count_alone.adds.push_back({{kv::Space::kItems, 8}, "count", 1});
  ASSERT_TRUE(kv::ApplyAndWait(*alone, count_alone).ok());
  std::atomic<bool> stop = false;
  std::atomic<int64_t> unknown = 0, acknowledged = 0, of_alone = 1;
  std::thread writers([&] {
    acknowledged = Increment({first.get(), second.get()}, 4,
                             Until(0, 11, [&] { return stop.load(); }), &unknown);
  });
  std::thread writer([&] {
    while (!stop) {
      EXPECT_TRUE(kv::ApplyAndWait(*alone, count_alone).ok());
      ++of_alone;
    }
  });
  for (int round = 0; round < 2; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    const double before = alone->Statistics()["kv_rados_sent_again"];
    ClusterUnderTest::ForAllOsds("freeze-osd");
    const auto in_time = For(10'000);
    while (alone->Statistics()["kv_rados_sent_again"] == before && in_time()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    EXPECT_GT(alone->Statistics()["kv_rados_sent_again"], before);
    ClusterUnderTest::ForAllOsds("thaw-osd");
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  stop = true;
  writers.join();
  writer.join();
  EXPECT_GT(acknowledged, 10);
  EXPECT_EQ(unknown, 0) << "all can be found out";
  EXPECT_EQ(NumberOf(*first), acknowledged);
  EXPECT_EQ(CountOf(*second, "count"), acknowledged);
  std::string value;
  const Result<bool> exists = second->Get({kv::Space::kItems, 8}, "count", kv::Tier::kAny, &value);
  ASSERT_TRUE(exists.ok() && *exists);
  const Result<int64_t> counted = kv::CounterOf(value);
  ASSERT_TRUE(counted.ok());
  EXPECT_EQ(*counted, of_alone);
}

// The deadline passes before the OSDs answer: the caller gets kOutcomeUnknown, no read or write
// hangs, and afterwards everything works again.
TEST(RadosEngine, PastTheDeadlineOutcomesAreUnknown) {
  RadosOptions options = Impatient();
  options.deadline_seconds = 2;
  RadosOptions store = options;
  store.deadline_seconds = RadosOptions().deadline_seconds;
  const auto engine = Open(options), patient = Open(store);
  ASSERT_TRUE(engine && patient);
  ASSERT_TRUE(ApplyPatiently(*engine, PutOne("n", std::string_view("\1\0\0\0\0\0\0\0", 8))));
  ClusterUnderTest::ForAllOsds("freeze-osd");
  const auto in_time = For(kPatienceMilliseconds);
  const Result<uint64_t> sent = kv::ApplyAndWait(*engine, AddOne("n", 10));
  EXPECT_EQ(CodeOf(sent), ErrorCode::kOutcomeUnknown);
  EXPECT_FALSE(engine->Health().ok());
  // The process does not know the stamp any more, so this write is not even sent.
  const Result<uint64_t> waited = kv::ApplyAndWait(*engine, AddOne("n", 100));
  EXPECT_EQ(CodeOf(waited), ErrorCode::kUnavailable);
  EXPECT_EQ(CountOf(*engine, "n"), -2);
  EXPECT_TRUE(in_time());
  ClusterUnderTest::ForAllOsds("thaw-osd");
  EXPECT_TRUE(ApplyPatiently(*engine, PutOne("back", "1")));
  EXPECT_TRUE(engine->Health().ok());
  EXPECT_TRUE(kv::ApplyAndWait(*patient, AddOne("n", 1000)).ok());
  const int64_t count = CountOf(*patient, "n");
  EXPECT_TRUE(count == 1001 || count == 1011)
      << count << ": once or not at all, and the second not";
}

// The first of the tablet's OSDs dies during writes and comes back empty.
TEST(RadosEngine, KilledOsdLosesNothing) {
  const RadosOptions options = ClusterUnderTest::NewStore();
  const auto first = Open(options), second = Open(options);
  ASSERT_TRUE(first && second);
  const std::string osd = PrimaryOf(options);

  std::atomic<int64_t> unknown = 0, acknowledged = 0, before = 0;
  std::atomic<bool> stop = false;
  std::thread writers([&] {
    acknowledged = Increment(
        {first.get(), second.get()}, 2, [&](int64_t) { return !stop; }, &unknown);
  });
  const auto goes_on = [&] {
    const int64_t now = NumberOf(*first);
    return Await([&] { return NumberOf(*first) > now; });
  };
  EXPECT_TRUE(goes_on());
  ClusterUnderTest::Command("kill-osd " + osd);
  before = NumberOf(*first);  // waits until another OSD has taken over
  EXPECT_TRUE(goes_on()) << "nothing was written after it died";
  ClusterUnderTest::Command("start-osd " + osd);
  std::this_thread::sleep_for(std::chrono::milliseconds(1000));
  EXPECT_TRUE(goes_on());
  stop = true;
  writers.join();
  ClusterUnderTest::Command("wait-clean");
  EXPECT_GT(before, 0);
  EXPECT_GT(acknowledged, before);
  EXPECT_EQ(unknown, 0);
  EXPECT_EQ(NumberOf(*first), acknowledged);
  EXPECT_EQ(CountOf(*second, "count"), acknowledged);
}

// A pool that is full because of ratios that make 20 MB too much.
TEST(RadosEngine, FullPoolIsReportedAsFull) {
  RadosOptions options = Impatient();
  const auto engine = Open(options);
  ASSERT_TRUE(engine && ApplyPatiently(*engine, AddOne("n")));
  const std::string rados = RadosCommand(options);
  const std::string ballast = testing::TempDir() + "/ballast";
  std::ofstream(ballast) << std::string(20 << 20, 'b');
  ClusterUnderTest::Command(rados + "put ballast " + ballast);
  const auto set_ratios = [](const char* ratio) {
    for (const char* which : {"nearfull", "backfillfull", "full"}) {
      ClusterUnderTest::Command(std::string("ceph osd set-") + which + "-ratio " + ratio + " 2>&1");
    }
  };
  set_ratios("0.001");
  Result<uint64_t> outcome = uint64_t{0};
  for (const auto patience = For(kPatienceMilliseconds); outcome.ok() && patience();)
    outcome = kv::ApplyAndWait(*engine, AddOne("n"));
  EXPECT_EQ(CodeOf(outcome), ErrorCode::kOutcomeUnknown);
  EXPECT_THAT(outcome.error().message(),
              HasSubstr("The pool \"stator\" is full: the cluster has no space left for it"));
  const Result<uint64_t> next = kv::ApplyAndWait(*engine, AddOne("n"));
  EXPECT_EQ(CodeOf(next), ErrorCode::kUnavailable) << "known by now, so not even sent";
  EXPECT_THAT(next.error().message(), HasSubstr("is full"));
  EXPECT_FALSE(engine->Health().ok());
  EXPECT_GT(CountOf(*engine, "n"), 0) << "reads go on";
  set_ratios("0.95");
  EXPECT_TRUE(Await([&] { return kv::ApplyAndWait(*engine, AddOne("n")).ok(); }));
  EXPECT_TRUE(engine->Health().ok());
  ClusterUnderTest::Command(rados + "rm ballast");
}

// ---- errors of a wrong set-up ------------------------------------------------------------------

std::string OpenError(const RadosOptions& options) {
  const Result<std::unique_ptr<kv::Engine>> engine = OpenRados(options);
  if (engine.ok()) return "it opened";
  EXPECT_EQ(engine.error().code(), ErrorCode::kUnavailable);
  return engine.error().message();
}

TEST(RadosEngine, SaysWhyItCannotBeOpened) {
  RadosOptions options = ClusterUnderTest::NewStore();
  options.ceph_conf = "/no/such/ceph.conf";
  EXPECT_EQ(OpenError(options),
            "The Ceph configuration /no/such/ceph.conf cannot be read: No such file or directory.");

  const std::string nobody = testing::TempDir() + "/nobody.conf";
  std::ofstream(nobody) << "[global]\nmon_host = [v2:127.0.0.1:1/0]\nauth_client_required = none\n";
  options.ceph_conf = nobody;
  options.connect_timeout_seconds = 1;
  EXPECT_EQ(OpenError(options),
            "No monitor of the Ceph cluster of " + nobody + " answered within 1 s.");

  options = ClusterUnderTest::NewStore();
  options.pool = "no-such-pool";
  EXPECT_THAT(
      OpenError(options),
      HasSubstr(
          "has no pool \"no-such-pool\". Check the name, or create the pool with: ceph osd "
          "pool create no-such-pool && ceph osd pool application enable no-such-pool stator"));
  options.user = "nobody";
  EXPECT_THAT(OpenError(options),
              HasSubstr("The Ceph cluster refuses the user client.nobody: the keyring that "));
  options = ClusterUnderTest::NewStore();
  options.user = "reader";
  EXPECT_THAT(OpenError(options),
              HasSubstr("client.reader may not write to the pool \"stator\". It needs the caps mon "
                        "'allow r' and osd 'allow rwx pool=stator'"));
  options.user = "stranger";
  EXPECT_THAT(OpenError(options),
              HasSubstr("client.stranger may not read from the pool \"stator\""));
  options.user = "forged";
  EXPECT_THAT(OpenError(options), HasSubstr("The Ceph cluster refuses the user client.forged"));
  options.user = "admin";
  options.pool = "erasure";
  EXPECT_THAT(OpenError(options), HasSubstr("The pool \"erasure\" is erasure-coded"));
}

TEST(RadosEngine, RefusesNewerFormatsAndForeignObjects) {
  const RadosOptions options = ClusterUnderTest::NewStore();
  ASSERT_TRUE(Open(options));
  const std::string rados = RadosCommand(options);
  ClusterUnderTest::Command(rados + "setxattr stator format 'stator-rados 3'");
  EXPECT_EQ(OpenError(options),
            "The store in this pool has format 3, and this Stator knows formats up to 2. Start the "
            "newer Stator that wrote it.");
  ClusterUnderTest::Command(rados + "setxattr stator format 'stator-rados 2'");
  ClusterUnderTest::Command(rados + "setxattr stator features 'time-travel'");
  EXPECT_EQ(OpenError(options),
            "The store in this pool needs the feature time-travel, which this version of Stator "
            "does not know. Start the newer Stator that wrote it.");
  ClusterUnderTest::Command(rados + "rmxattr stator features");
  const Result<std::unique_ptr<kv::Engine>> nameless = OpenRados(options);
  ASSERT_FALSE(nameless.ok());
  EXPECT_EQ(nameless.error().code(), ErrorCode::kCorruption);
  EXPECT_EQ(nameless.error().message(),
            "The object \"stator\" has lost its attribute \"features\".");
  ClusterUnderTest::Command(rados + "setxattr stator format 'something else'");
  const Result<std::unique_ptr<kv::Engine>> foreign = OpenRados(options);
  ASSERT_FALSE(foreign.ok());
  EXPECT_EQ(foreign.error().code(), ErrorCode::kCorruption);
  EXPECT_EQ(foreign.error().message(), "The object \"stator\" is none that Stator made.");
}

TEST(RadosEngine, ObjectRemovedByHandIsAnError) {
  const RadosOptions options = ClusterUnderTest::NewStore();
  const auto engine = Open(options);
  ASSERT_TRUE(engine && kv::ApplyAndWait(*engine, PutOne("a", "1")).ok());
  const std::string rados = RadosCommand(options);
  ClusterUnderTest::Command(rados + "rm " + kObject);
  const auto fresh = Open(options);
  ASSERT_TRUE(fresh);
  for (kv::Engine* each : {engine.get(), fresh.get()}) {
    std::string value;
    const Result<bool> exists = each->Get(kTablet, "a", kv::Tier::kAny, &value);
    ASSERT_FALSE(exists.ok());
    EXPECT_EQ(exists.error().code(), ErrorCode::kCorruption);
    EXPECT_THAT(exists.error().message(),
                HasSubstr("The object items.00000007.0 of the pool \"stator\" is missing."));
    EXPECT_EQ(each->Scan({kTablet, {}, {}, true}, kv::Tier::kAny, [](auto, auto) { return true; })
                  .error()
                  .code(),
              ErrorCode::kCorruption);
    EXPECT_EQ(CodeOf(kv::ApplyAndWait(*each, PutOne("b", "2"))), ErrorCode::kCorruption);
    const Result<bool> other = each->Get({kv::Space::kItems, 8}, "a", kv::Tier::kAny, &value);
    EXPECT_TRUE(other.ok() && !*other) << "other tablets go on";
  }
  EXPECT_THAT(ClusterUnderTest::Command(rados + "ls"), testing::Not(HasSubstr(kObject)))
      << "no write brings it back";
}

TEST(RadosEngine, TabletOfNewerFormatIsRefused) {
  const RadosOptions options = ClusterUnderTest::NewStore();
  const auto engine = Open(options);
  ASSERT_TRUE(engine && kv::ApplyAndWait(*engine, PutOne("a", "1")).ok());
  const std::string rados = RadosCommand(options);
  ClusterUnderTest::Command(rados + "setxattr " + kObject + " header \"$(printf '\\002new')\"");
  std::string value;
  EXPECT_THAT(engine->Get(kTablet, "a", kv::Tier::kAny, &value).error().message(),
              HasSubstr("has format 2"));
  EXPECT_THAT(kv::ApplyAndWait(*engine, PutOne("a", "2")).error().message(),
              HasSubstr("has format 2"));
}

}  // namespace
}  // namespace stator
