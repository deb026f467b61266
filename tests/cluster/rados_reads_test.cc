// Reads of single keys: many at once without a waiting thread, and from the process's caches.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <thread>

#include "cluster_under_test.h"
#include "increments.h"
#include "kv/engine.h"

namespace stator {
namespace {

using kv_rados::RadosOptions;
using testing::HasSubstr;

// Formats the result of a read: the text without its stamp, "absent", or the error's message.
std::string Text(const Result<bool>& exists, const std::string& value) {
  if (!exists.ok())
    return exists.error().code() == ErrorCode::kWouldBlock ? "would block"
                                                           : exists.error().message();
  return *exists ? value.substr(kv::kStampBytes) : "absent";
}
std::string Read(kv::Engine& engine, std::string_view key, kv::Tier tier = kv::Tier::kAny,
                 kv::Tablet tablet = kTablet) {
  std::string value;
  const Result<bool> exists = engine.Get(tablet, key, tier, &value);
  return Text(exists, value);
}
std::string Guarded(kv::Engine& engine, std::string_view key) {
  return Read(engine, key, kv::Tier::kGuarded);
}

// Starts all reads, then waits for all of them.
class LaterReads {
 public:
  explicit LaterReads(kv::Engine& engine) : engine_(engine) {}
  ~LaterReads() { Wait(); }
  void Ask(kv::Tablet tablet, std::string_view key) {
    std::unique_lock lock(mutex_);
    const size_t place = answers_.size();
    answers_.emplace_back();
    ++open_;
    lock.unlock();
    engine_.GetLater(tablet, key, [this, place](Result<std::optional<std::string>> value) {
      std::lock_guard locked(mutex_);
      answers_[place] = !value.ok() ? value.error().message()
                        : *value    ? (*value)->substr(kv::kStampBytes)
                                    : "absent";
      if (--open_ == 0) changed_.notify_all();
    });
  }
  std::vector<std::string> Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_ == 0; });
    return answers_;
  }
  size_t open() {
    std::lock_guard lock(mutex_);
    return open_;
  }

 private:
  kv::Engine& engine_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> answers_;
  size_t open_ = 0;
};

std::unique_ptr<kv::Ahead> ReadAhead(kv::Engine& engine, const kv::Range& range) {
  std::promise<std::unique_ptr<kv::Ahead>> read;
  engine.ReadAhead(range,
                   [&read](std::unique_ptr<kv::Ahead> ahead) { read.set_value(std::move(ahead)); });
  return read.get_future().get();
}
// Formats a scan: "key=value key=value", and the error that ended it.
std::string Scan(kv::Engine& engine, const kv::Range& range, kv::Tier tier) {
  std::string found;
  const Status scanned =
      engine.Scan(range, tier, [&found](std::string_view key, std::string_view value) {
        found.append(key).append("=").append(value.substr(kv::kStampBytes)).append(" ");
        return true;
      });
  return scanned.ok() ? found : found + Text(scanned.error(), {});
}

// Each thread reads its own last write, and the other process's.
TEST(RadosReads, ConcurrentReadsSeeEarlierWrites) {
  const RadosOptions options = ClusterUnderTest::NewStore();
  const auto engine = Open(options), other = Open(options);
  ASSERT_TRUE(engine && other);
  std::vector<std::thread> threads;
  for (int t = 0; t < 32; ++t) {
    threads.emplace_back([&, t] {
      const std::string key = "key" + std::to_string(t);
      for (int i = 0; i < 20; ++i) {
        kv::Engine& writer = i % 3 == 0 ? *other : *engine;
        ASSERT_TRUE(kv::ApplyAndWait(writer, PutOne(key, std::to_string(i))).ok());
        EXPECT_EQ(Read(*engine, key), std::to_string(i));
        LaterReads later(*engine);
        for (int n = 0; n < 5; ++n) later.Ask(kTablet, key);
        later.Ask(kTablet, "absent" + key);
        EXPECT_THAT(later.Wait(),
                    testing::ElementsAre(std::to_string(i), std::to_string(i), std::to_string(i),
                                         std::to_string(i), std::to_string(i), "absent"));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::map<std::string, double> statistics = engine->Statistics();
  EXPECT_EQ(statistics["kv_rados_point_reads"], 32 * 20 * 7);
  EXPECT_LT(statistics["kv_rados_point_read_operations"], statistics["kv_rados_point_reads"] / 2);
}

TEST(RadosReads, GetLaterOfAbsentKeysAndTablets) {
  const RadosOptions options = ClusterUnderTest::NewStore();
  const auto writer = Open(options), engine = Open(options);
  ASSERT_TRUE(writer && engine && kv::ApplyAndWait(*writer, PutOne("a", "1")).ok());
  const kv::Tablet never{kv::Space::kItems, 8}, dropped{kv::Space::kItems, 9};
  ASSERT_TRUE(writer->RaiseFence(dropped, kv::kDroppedFence).ok());
  LaterReads later(*engine);
  for (int i = 0; i < 50; ++i) {
    later.Ask(never, "a");
    later.Ask(kTablet, "a");
    later.Ask(dropped, "a");
  }
  const std::vector<std::string> answers = later.Wait();
  for (size_t i = 0; i < answers.size(); i += 3) {
    EXPECT_EQ(answers[i], "absent");
    EXPECT_EQ(answers[i + 1], "1");
    EXPECT_EQ(answers[i + 2], "The tablet items.00000009 was dropped.");
  }
  // The header that the operations compare changes.
  ASSERT_TRUE(writer->RaiseFence(kTablet, 5).ok());
  LaterReads again(*engine);
  for (int i = 0; i < 10; ++i) again.Ask(kTablet, "a");
  EXPECT_THAT(again.Wait(), testing::Each("1"));
  EXPECT_EQ(Read(*engine, "a"), "1");

  ClusterUnderTest::Command(RadosCommand(options) + "rm " + kObject);
  LaterReads missing(*engine);
  missing.Ask(kTablet, "a");
  EXPECT_THAT(missing.Wait(),
              testing::ElementsAre(
                  HasSubstr("The object items.00000007.0 of the pool \"stator\" is missing.")));
}

// The header that operations compare changes while many reads wait for one.
TEST(RadosReads, ConcurrentReadsWhileHeaderChanges) {
  const RadosOptions options = ClusterUnderTest::NewStore();
  const auto engine = Open(options), other = Open(options);
  ASSERT_TRUE(engine && other && kv::ApplyAndWait(*other, PutOne("a", "1")).ok());
  std::atomic<bool> stop = false;
  std::vector<std::thread> readers;
  for (int t = 0; t < 16; ++t) {
    readers.emplace_back([&] {
      while (!stop) EXPECT_EQ(Read(*engine, "a"), "1");
    });
  }
  for (uint64_t fence = 1; fence <= 20; ++fence)
    EXPECT_TRUE(other->RaiseFence(kTablet, fence).ok());
  stop = true;
  for (std::thread& reader : readers) reader.join();
}

// Before the first write, reads find nothing and create the empty tablet; a write of any process is
// visible at once.
TEST(RadosReads, ReadsOfUnwrittenTablets) {
  const RadosOptions options = ClusterUnderTest::NewStore();
  const auto engine = Open(options), other = Open(options);
  ASSERT_TRUE(engine && other);
  EXPECT_EQ(Read(*engine, "a"), "absent");
  EXPECT_TRUE(
      engine
          ->Scan({kTablet, {}, {}}, kv::Tier::kAny, [](auto, auto) { return ADD_FAILURE(), true; })
          .ok());
  while (ClusterUnderTest::Command(RadosCommand(options) + "listomapkeys stator")
             .find("items.00000007") == std::string::npos) {
  }
  // Now that the tablet exists, one operation shows that it is empty.
  EXPECT_EQ(Read(*engine, "a"), "absent");
  const double operations = engine->Statistics()["kv_rados_point_read_operations"];
  EXPECT_GE(operations, 1);
  EXPECT_EQ(Read(*engine, "a"), "absent");
  EXPECT_EQ(engine->Statistics()["kv_rados_point_read_operations"], operations + 1);
  EXPECT_EQ(Guarded(*engine, "a"), "absent");
  ASSERT_TRUE(kv::ApplyAndWait(*other, PutOne("a", "1")).ok());
  EXPECT_EQ(Read(*engine, "a"), "1");
}

TEST(RadosReads, EveryReadEndsByItsDeadline) {
  RadosOptions options = Impatient();
  options.deadline_seconds = 2;
  const auto engine = Open(options);
  auto closing = Open(options);
  ASSERT_TRUE(engine && closing && ApplyPatiently(*engine, PutOne("a", "1")));
  ASSERT_TRUE(Await([&] { return Read(*engine, "a") == "1" && Read(*closing, "a") == "1"; }));
  ClusterUnderTest::ForAllOsds("freeze-osd");
  {
    LaterReads later(*engine), of_closing(*closing);
    std::vector<std::thread> waiting;
    for (int i = 0; i < 10; ++i) {
      later.Ask(kTablet, "a");
      of_closing.Ask(kTablet, "a");
      waiting.emplace_back(
          [&] { EXPECT_EQ(Read(*engine, "a"), "The Ceph cluster did not answer in time."); });
    }
    closing.reset();
    EXPECT_EQ(of_closing.open(), 0u) << "a store closes when all is answered";
    for (std::thread& thread : waiting) thread.join();
    EXPECT_THAT(later.Wait(), testing::Each("The Ceph cluster did not answer in time."));
  }
  // A hang that is shorter than the deadline is waited out.
  ClusterUnderTest::ForAllOsds("thaw-osd");
  ClusterUnderTest::Command("wait-clean");
  ASSERT_TRUE(Await([&] { return Read(*engine, "a") == "1"; }));
  LaterReads later(*engine);
  for (int i = 0; i < 10; ++i) later.Ask(kTablet, "a");
  EXPECT_THAT(later.Wait(), testing::Each("1"));
}

// ---- ranges, read ahead -------------------------------------------------------------------------

TEST(RadosReads, ScanConsumesReadAhead) {
  const RadosOptions options = ClusterUnderTest::NewStore();
  const auto engine = Open(options), other = Open(options);
  ASSERT_TRUE(engine && other);
  for (const char* key : {"ka", "kb"}) ASSERT_TRUE(kv::ApplyAndWait(*other, PutOne(key, "1")).ok());
  kv::Range range{kTablet, "ka", "kz"};
  EXPECT_EQ(ReadAhead(*engine, range), nullptr) << "the tablet would have to be looked for";
  EXPECT_EQ(Scan(*engine, range, kv::Tier::kAny), "ka=1 kb=1 ");

  std::unique_ptr<kv::Ahead> ahead = ReadAhead(*engine, range);
  ASSERT_NE(ahead, nullptr);
  EXPECT_GT(ahead->bytes(), 0u);
  ASSERT_TRUE(kv::ApplyAndWait(*other, PutOne("ka", "2")).ok());
  range.ahead = ahead.get();
  EXPECT_EQ(Scan(*engine, {.tablet = kTablet, .begin = "kb", .end = "kz", .ahead = ahead.get()},
                 kv::Tier::kMemory),
            "would block");
  EXPECT_EQ(Scan(*engine, {.tablet = kTablet, .begin = "ka", .end = "kb", .ahead = ahead.get()},
                 kv::Tier::kMemory),
            "would block");
  EXPECT_EQ(Scan(*engine,
                 {.tablet = {kTablet.space, 99}, .begin = "ka", .end = "kz", .ahead = ahead.get()},
                 kv::Tier::kMemory),
            "would block");
  EXPECT_EQ(
      Scan(*engine,
           {.tablet = kTablet, .begin = "ka", .end = "kz", .reverse = true, .ahead = ahead.get()},
           kv::Tier::kMemory),
      "would block");
  EXPECT_EQ(Scan(*engine, range, kv::Tier::kMemory), "ka=1 kb=1 ") << "it was read before";
  EXPECT_EQ(Scan(*engine, range, kv::Tier::kMemory), "would block") << "it has been taken";
  EXPECT_EQ(Scan(*engine, range, kv::Tier::kAny), "ka=2 kb=1 ");

  // Not all of the range.
  range.expected_keys = 1;
  const auto first = ReadAhead(*engine, range), again = ReadAhead(*engine, range);
  ASSERT_TRUE(first && again);
  range.ahead = first.get();
  EXPECT_EQ(Scan(*engine, range, kv::Tier::kMemory), "ka=2 would block");
  range.ahead = again.get();
  EXPECT_EQ(Scan(*engine, range, kv::Tier::kAny), "ka=2 kb=1 ");

  // Not while the part's header has to be read first.
  ASSERT_TRUE(other->RaiseFence(kTablet, 5).ok());
  const auto refused = ReadAhead(*engine, range);
  ASSERT_NE(refused, nullptr);
  EXPECT_EQ(refused->bytes(), 0u);
  range.ahead = refused.get();
  EXPECT_EQ(Scan(*engine, range, kv::Tier::kMemory), "would block");
  EXPECT_EQ(Scan(*engine, range, kv::Tier::kAny), "ka=2 kb=1 ");

  range.reverse = true;
  EXPECT_EQ(ReadAhead(*engine, range), nullptr);
  EXPECT_EQ(ReadAhead(*engine, {{kTablet.space, 99}, "ka", "kz"}), nullptr);
  EXPECT_EQ(ReadAhead(*engine, {kTablet, "kb", "ka"}), nullptr);
}

// Keys that a split has given up stay in the object for a while.
TEST(RadosReads, ReadAheadEndsWithThePart) {
  const RadosOptions options = ClusterUnderTest::NewStore();
  const auto engine = Open(options);
  ASSERT_NE(engine, nullptr);
  std::string all;
  for (int i = 0; i < 40; ++i) {
    const std::string key = fmt::format("k{:02}", i);
    ASSERT_TRUE(kv::ApplyAndWait(*engine, PutOne(key, "1")).ok());
    all += key + "=1 ";
  }
  const kv::Range range{kTablet, "k", "l"};
  EXPECT_EQ(Scan(*engine, range, kv::Tier::kAny), all);
  ASSERT_TRUE(kv_rados::SplitPart(*engine, kTablet, "k20").ok());
  EXPECT_EQ(Scan(*engine, range, kv::Tier::kAny), all);
  const auto ahead = ReadAhead(*engine, range);
  ASSERT_NE(ahead, nullptr);
  kv::Range with = range;
  with.ahead = ahead.get();
  EXPECT_EQ(Scan(*engine, with, kv::Tier::kMemory), all.substr(0, all.size() / 2) + "would block");
}

// Reads the first keys of a range, as an operation of the server does.
std::string ScanAhead(kv::Engine& engine, kv::Range range) {
  const auto ahead = ReadAhead(engine, range);
  if (ahead == nullptr) return "nothing";
  range.ahead = ahead.get();
  return Scan(engine, range, kv::Tier::kMemory);
}

struct Remembered {
  explicit Remembered(kv::Engine& engine) {
    std::map<std::string, double> statistics = engine.Statistics();
    hits = statistics["kv_rados_range_cache_hits"];
    misses = statistics["kv_rados_range_cache_misses"];
  }
  double hits, misses;
};

TEST(RadosReads, CachedRangeIsNeverStale) {
  const RadosOptions options = ClusterUnderTest::NewStore();
  const auto engine = Open(options), other = Open(options);
  ASSERT_TRUE(engine && other);
  const auto expect = [&engine](double hits, double misses, const char* why) {
    const Remembered is(*engine);
    EXPECT_EQ(is.hits, hits) << why;
    EXPECT_EQ(is.misses, misses) << why;
  };
  for (const char* key : {"ka", "kb"}) ASSERT_TRUE(kv::ApplyAndWait(*other, PutOne(key, "1")).ok());
  const kv::Range range{kTablet, "ka", "kz"};
  EXPECT_EQ(Scan(*engine, range, kv::Tier::kAny), "ka=1 kb=1 ");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(ScanAhead(*engine, range), "ka=1 kb=1 ");
  expect(0, 0, "it is remembered when it is read for the second time");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ScanAhead(*engine, range), "ka=1 kb=1 ");
  expect(3, 0, "nothing has changed");

  ASSERT_TRUE(kv::ApplyAndWait(*other, PutOne("kb", "2")).ok());
  EXPECT_EQ(ScanAhead(*engine, range), "ka=1 kb=2 ");
  expect(3, 1, "another process has written");
  EXPECT_EQ(ScanAhead(*engine, range), "ka=1 kb=2 ");
  expect(4, 1, "and not again");
  kv::Batch remove;
  remove.deletes.push_back({kTablet, "ka"});
  ASSERT_TRUE(kv::ApplyAndWait(*other, std::move(remove)).ok());
  EXPECT_EQ(ScanAhead(*engine, range), "kb=2 ");
  ASSERT_TRUE(kv::ApplyAndWait(*engine, PutOne("elsewhere in the part", "1")).ok());
  EXPECT_EQ(ScanAhead(*engine, range), "kb=2 ");
  expect(4, 3, "whatever is written to the part");
  kv::Batch all;
  all.range_deletes.push_back({kTablet, "k", "l"});
  ASSERT_TRUE(kv::ApplyAndWait(*other, std::move(all)).ok());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(ScanAhead(*engine, range), "");
  expect(5, 4, "nothing can be remembered, too");

  // A fence changes only the header, without this process's knowledge.
  ASSERT_TRUE(kv::ApplyAndWait(*engine, PutOne("kc", "3")).ok());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(ScanAhead(*engine, range), "kc=3 ");
  ASSERT_TRUE(other->RaiseFence(kTablet, 5).ok());
  EXPECT_EQ(ScanAhead(*engine, range), "would block")
      << "it has to look what has become of the part";
  EXPECT_EQ(Scan(*engine, range, kv::Tier::kAny), "kc=3 ");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(ScanAhead(*engine, range), "kc=3 ");
  ASSERT_TRUE(other->RaiseFence(kTablet, kv::kDroppedFence).ok());
  EXPECT_EQ(ScanAhead(*engine, range), "would block");
  EXPECT_EQ(Scan(*engine, range, kv::Tier::kAny).find("kc"), std::string::npos);
}

TEST(RadosReads, ShortCachedRangeIsNotTakenForALongerOne) {
  const auto engine = Open(ClusterUnderTest::NewStore());
  ASSERT_NE(engine, nullptr);
  std::string all;
  for (int i = 0; i < 20; ++i) {
    const std::string key = fmt::format("k{:02}", i);
    ASSERT_TRUE(kv::ApplyAndWait(*engine, PutOne(key, "1")).ok());
    all += key + "=1 ";
  }
  kv::Range one{.tablet = kTablet, .begin = "k", .end = "l", .expected_keys = 1};
  EXPECT_EQ(Scan(*engine, one, kv::Tier::kAny), all);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ScanAhead(*engine, one), "k00=1 would block");
  EXPECT_EQ(Remembered(*engine).hits, 1);
  kv::Range ten = one;
  ten.expected_keys = 10;
  EXPECT_EQ(ScanAhead(*engine, ten), all.substr(0, 10 * 6) + "would block");
  EXPECT_EQ(ScanAhead(*engine, ten), all.substr(0, 10 * 6) + "would block");
  EXPECT_EQ(Remembered(*engine).hits, 2);
  EXPECT_EQ(ScanAhead(*engine, one), all.substr(0, 10 * 6) + "would block") << "more does no harm";
  EXPECT_EQ(Remembered(*engine).hits, 3);
}

// A read sees every write that was acknowledged before it began, or a later one.
TEST(RadosReads, RangesReadDuringWritesAreNeverStale) {
  const RadosOptions options = ClusterUnderTest::NewStore();
  const auto engine = Open(options), other = Open(options);
  ASSERT_TRUE(engine && other);
  ASSERT_TRUE(kv::ApplyAndWait(*other, PutOne("ka", "1000")).ok());
  const kv::Range range{kTablet, "ka", "kz"};
  EXPECT_EQ(Scan(*engine, range, kv::Tier::kAny), "ka=1000 ");
  std::atomic<int> written = 1000;
  std::atomic<bool> stop = false;
  std::vector<std::thread> readers;
  for (int t = 0; t < 4; ++t) {
    readers.emplace_back([&] {
      while (!stop) {
        const int before = written;
        const std::string found = ScanAhead(*engine, range);
        if (found == "would block" || found == "nothing") continue;  // the part has been divided
        ASSERT_EQ(found.substr(0, 3), "ka=");
        ASSERT_GE(std::stoi(found.substr(3)), before);
      }
    });
  }
  const auto seen = [&] {
    return Remembered(*engine).hits > 20 && Remembered(*engine).misses > 20;
  };
  const auto patience = For(kPatienceMilliseconds);
  for (int i = 1001; i < 1150 || (!seen() && patience()); ++i) {
    kv::Engine& writer = i % 2 == 0 ? *engine : *other;
    ASSERT_TRUE(kv::ApplyAndWait(writer, PutOne("ka", std::to_string(i))).ok());
    written = i;
    if (i % 5 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (i == 1100) {
      ASSERT_TRUE(kv::ApplyAndWait(*other, PutOne("zz", "1")).ok());
      ASSERT_TRUE(kv_rados::SplitPart(*other, kTablet, "zz").ok());
      EXPECT_EQ(Scan(*engine, range, kv::Tier::kAny).substr(0, 3), "ka=");
    }
  }
  stop = true;
  for (std::thread& thread : readers) thread.join();
  EXPECT_GT(Remembered(*engine).hits, 20);
  EXPECT_GT(Remembered(*engine).misses, 20);
}

// The first operation has used up the deadline.
TEST(RadosReads, ReadAheadCountsAgainstTheDeadlineOfTheScan) {
  RadosOptions options = Impatient();
  options.deadline_seconds = 1;
  const auto engine = Open(options);
  ASSERT_TRUE(engine && ApplyPatiently(*engine, PutOne("ka", "1")));
  kv::Range range{kTablet, "ka", "kz"};
  const auto answers = [&] { return Scan(*engine, range, kv::Tier::kAny) == "ka=1 "; };
  ASSERT_TRUE(Await(answers));
  ClusterUnderTest::ForAllOsds("freeze-osd");
  const auto ahead = ReadAhead(*engine, range);
  ASSERT_NE(ahead, nullptr);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  ClusterUnderTest::ForAllOsds("thaw-osd");
  ASSERT_TRUE(Await(answers));
  range.ahead = ahead.get();
  EXPECT_EQ(Scan(*engine, range, kv::Tier::kAny), "The Ceph cluster did not answer in time.")
      << "it sent another operation, which would be answered now";
}

TEST(RadosReads, ReadAheadIsLimited) {
  RadosOptions options = ClusterUnderTest::NewStore();
  // The operations that are sent while the OSDs hang are answered when they go on.
  options.operation_timeout_seconds = options.deadline_seconds = kPatienceMilliseconds / 1000;
  const auto engine = Open(options);
  ASSERT_TRUE(engine && kv::ApplyAndWait(*engine, PutOne("ka", "1")).ok());
  const kv::Range range{kTablet, "ka", "kz"};
  ASSERT_EQ(Scan(*engine, range, kv::Tier::kAny), "ka=1 ");
  ClusterUnderTest::ForAllOsds("freeze-osd");
  constexpr int kMany = 100;
  std::atomic<int> refused = 0, answered = 0;
  for (int i = 0; i < kMany; ++i) {
    engine->ReadAhead(range, [&](const std::unique_ptr<kv::Ahead>& ahead) {
      ++(ahead == nullptr ? refused : answered);
    });
  }
  EXPECT_EQ(answered, 0);
  EXPECT_GT(refused, kMany / 2);
  EXPECT_LT(refused, kMany);
  ClusterUnderTest::ForAllOsds("thaw-osd");
  while (answered + refused < kMany) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  while (Scan(*engine, range, kv::Tier::kAny) != "ka=1 ") {
  }
  EXPECT_NE(ReadAhead(*engine, range), nullptr);

  // A result counts until it is taken.
  std::vector<std::unique_ptr<kv::Ahead>> kept;
  do {
    kept.push_back(ReadAhead(*engine, range));
  } while (kept.back() != nullptr && kept.size() < kMany);
  ASSERT_EQ(kept.back(), nullptr);
  kept.pop_back();
  ASSERT_GT(kept.size(), 1u);
  EXPECT_EQ(
      Scan(*engine, {.tablet = kTablet, .begin = "ka", .end = "kz", .ahead = kept.front().get()},
           kv::Tier::kMemory),
      "ka=1 ");
  EXPECT_NE(ReadAhead(*engine, range), nullptr);
  kept.front() = ReadAhead(*engine, range);
  EXPECT_NE(kept.front(), nullptr);
  EXPECT_EQ(ReadAhead(*engine, range), nullptr);
  kept.pop_back();
  EXPECT_NE(ReadAhead(*engine, range), nullptr);
}

// ---- Tier::kGuarded -----------------------------------------------------------------------------

TEST(RadosReads, GuardedReadsReturnCachedValues) {
  const RadosOptions options = ClusterUnderTest::NewStore();
  const auto engine = Open(options), other = Open(options);
  ASSERT_TRUE(engine && other);
  EXPECT_EQ(Guarded(*engine, "a"), "would block");
  EXPECT_EQ(Read(*engine, "a"), "absent");
  const Result<uint64_t> first = kv::ApplyAndWait(*engine, PutOne("a", "1"));
  ASSERT_TRUE(first.ok());
  std::string value;
  ASSERT_TRUE(*engine->Get(kTablet, "a", kv::Tier::kGuarded, &value));
  EXPECT_EQ(kv::StampOf(value), *first) << "own writes are known, with their stamps";
  EXPECT_EQ(Read(*engine, "a", kv::Tier::kMemory), "would block")
      << "that asks for what is there now";
  EXPECT_EQ(Read(*engine, "b"), "absent");
  EXPECT_EQ(Guarded(*engine, "b"), "absent");

  // Another process writes: the cache is stale, and a write that depends on it is refused. Then the
  // cache entry is dropped.
  ASSERT_TRUE(kv::ApplyAndWait(*other, PutOne("a", "2")).ok());
  EXPECT_EQ(Guarded(*engine, "a"), "1");
  kv::Batch stale = PutOne("a", "3");
  stale.guards.push_back({kTablet, "a", *first});
  EXPECT_EQ(CodeOf(kv::ApplyAndWait(*engine, stale)), ErrorCode::kGuardFailed);
  EXPECT_EQ(Guarded(*engine, "a"), "would block");
  EXPECT_EQ(Read(*engine, "a"), "2");
  EXPECT_EQ(Guarded(*engine, "a"), "2");

  std::vector<std::optional<std::string>> values;
  const std::vector<kv::Point> known = {{kTablet, "a"}, {kTablet, "b"}},
                               unknown = {{kTablet, "a"}, {kTablet, "c"}};
  ASSERT_TRUE(engine->MultiGet(known, kv::Tier::kGuarded, &values).ok());
  EXPECT_TRUE(values[0] && !values[1]);
  EXPECT_EQ(engine->MultiGet(unknown, kv::Tier::kGuarded, &values).error().code(),
            ErrorCode::kWouldBlock);

  kv::Batch gone;
  gone.deletes.push_back({kTablet, "a"});
  ASSERT_TRUE(kv::ApplyAndWait(*engine, std::move(gone)).ok());
  EXPECT_EQ(Guarded(*engine, "a"), "absent");
  EXPECT_EQ(Guarded(*other, "a"), "2");
  EXPECT_EQ(engine->Scan({kTablet, {}, {}}, kv::Tier::kGuarded, [](auto, auto) { return true; })
                .error()
                .code(),
            ErrorCode::kWouldBlock);

  kv::Batch range = PutOne("kept", "1");
  range.range_deletes.push_back({kTablet, "a", "c"});
  ASSERT_TRUE(kv::ApplyAndWait(*engine, std::move(range)).ok());
  EXPECT_EQ(Guarded(*engine, "b"), "would block");
  EXPECT_EQ(Guarded(*engine, "kept"), "1");
  ASSERT_TRUE(kv::ApplyAndWait(*engine, AddOne("n")).ok());
  EXPECT_EQ(Guarded(*engine, "n"), "would block") << "counters are not";
}

// Two processes write one key by their caches, which are stale again and again; no write is lost.
TEST(RadosReads, WritesBasedOnGuardedReadsLoseNothing) {
  const RadosOptions options = ClusterUnderTest::NewStore();
  const auto first = Open(options), second = Open(options);
  ASSERT_TRUE(first && second);
  std::atomic<int64_t> unknown = 0;
  const auto hits = [&] { return first->Statistics()["kv_rados_cache_hits"]; };
  const int64_t acknowledged = Increment(
      {first.get(), second.get()}, 4, Until(2000, 51, [&] { return hits() > 0; }), &unknown, true);
  EXPECT_GT(acknowledged, 50);
  EXPECT_EQ(unknown, 0);
  EXPECT_EQ(NumberOf(*first), acknowledged);
  EXPECT_EQ(CountOf(*second, "count"), acknowledged);
  EXPECT_GT(hits(), 0);
}

// A process alone reads each key once, whatever it writes.
TEST(RadosReads, ProcessReadsItsOwnWritesFromCache) {
  const auto engine = Open(ClusterUnderTest::NewStore());
  ASSERT_TRUE(engine && kv::ApplyAndWait(*engine, PutOne("number", "0")).ok());
  std::atomic<int64_t> unknown = 0;
  const int64_t acknowledged = Increment({engine.get()}, 1, Until(500, 51), &unknown, true);
  EXPECT_GT(acknowledged, 50);
  EXPECT_EQ(engine->Statistics()["kv_rados_point_reads"], 0);
  EXPECT_EQ(engine->Statistics()["kv_rados_races"], 0);
}

}  // namespace
}  // namespace stator
