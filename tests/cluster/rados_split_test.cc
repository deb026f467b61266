// Parts are split during reads and writes, by processes that may die or stand still at any step.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <deque>
#include <fstream>
#include <latch>
#include <map>
#include <mutex>
#include <set>

#include "cluster_under_test.h"
#include "increments.h"
#include "kv/fixed_bytes.h"
#include "kv_rados/layout.h"

namespace stator {
namespace {

using kv_rados::PartInfo;
using kv_rados::RadosOptions;
using testing::HasSubstr;

constexpr kv::Tablet kLog{kv::Space::kLog, 7};
constexpr int kSteps = 9;

// Returns 16 bytes that do not show i, like a hash.
std::string HashOf(uint64_t i) {
  std::string hash(16, '\0');
  kv::StoreBig64(hash.data(), i * 0x9E3779B97F4A7C15ull);
  kv::StoreBig64(hash.data() + 8, i * 0xC2B2AE3D27D4EB4Full);
  return hash;
}
std::string Item(uint64_t i, char kind = '\x01') {
  return std::string(1, kind) + HashOf(i) + "item" + std::to_string(i);
}
const std::string kCounter = std::string("\x02") + "count";

std::string Value(std::string_view text) { return std::string(kv::kStampBytes, '\0').append(text); }

// The tablet is split only where the test says so.
RadosOptions Quiet() {
  RadosOptions options = ClusterUnderTest::NewStore();
  options.split_bytes = options.split_keys = UINT64_MAX;
  options.split_takeover_seconds = 1;
  return options;
}

using Contents = std::map<std::string, std::string>;  // without stamps

Contents Scan(kv::Engine& engine, bool reverse = false, kv::Tablet tablet = kTablet,
              const std::string& begin = "", const std::string& end = "") {
  Contents contents;
  std::string last;
  const Status status =
      engine.Scan({tablet, begin, end, reverse}, kv::Tier::kAny,
                  [&](std::string_view key, std::string_view value) {
                    EXPECT_TRUE(contents.empty() || (reverse ? key < last : key > last))
                        << "in order, none twice";
                    last = key;
                    contents.emplace(key, value.substr(kv::kStampBytes));
                    return true;
                  });
  EXPECT_TRUE(status.ok()) << status.error().message();
  return contents;
}

std::vector<PartInfo> Parts(kv::Engine& engine, kv::Tablet tablet = kTablet) {
  Result<std::vector<PartInfo>> parts = kv_rados::PartsOf(engine, tablet);
  if (parts.ok()) return std::move(*parts);
  ADD_FAILURE() << parts.error().message();
  return {};
}

Status Split(kv::Engine& engine, const std::string& key, kv::Tablet tablet = kTablet) {
  return kv_rados::SplitPart(engine, tablet, key);
}

// Items of all kinds, and a counter.
Contents Fill(kv::Engine& engine, int items) {
  Contents contents;
  kv::Batch batch;
  for (int i = 0; i < items; ++i) {
    for (const char kind : {'\x01', '\x03', '\x10', '\x14'}) {
      const std::string key = Item(static_cast<uint64_t>(i), kind),
                        text(static_cast<size_t>(i % 50), 'v');
      batch.puts.push_back({kTablet, key, Value(text)});
      contents[key] = text;
    }
    batch.adds = AddOne(kCounter, 4).adds;
    contents[kCounter] = kv::EncodeCounter(0, 4 * (i + 1)).substr(kv::kStampBytes);
    const Result<uint64_t> outcome = kv::ApplyAndWait(engine, std::exchange(batch, {}));
    EXPECT_TRUE(outcome.ok()) << outcome.error().message();
  }
  return contents;
}

// Content that no split may change.
void ExpectWhole(const std::vector<kv::Engine*>& engines, const Contents& contents, size_t parts) {
  for (kv::Engine* engine : engines) {
    for (const bool reverse : {false, true}) EXPECT_TRUE(Scan(*engine, reverse) == contents);
    for (const char kind : {'\x01', '\x10'}) {
      const std::string begin(1, kind), end(1, static_cast<char>(kind + 1));
      const Contents expected(contents.lower_bound(begin), contents.lower_bound(end));
      for (const bool reverse : {false, true})
        EXPECT_TRUE(Scan(*engine, reverse, kTablet, begin, end) == expected);
    }
    uint64_t bytes = 0, number = 0;
    for (const auto& [key, text] : contents) {
      bytes += kv_rados::CellBytes(key, kv::kStampBytes + text.size());
      if (number++ % 7 != 0) continue;
      std::string value = "old";
      const Result<bool> exists = engine->Get(kTablet, key, kv::Tier::kAny, &value);
      ASSERT_TRUE(exists.ok()) << exists.error().message();
      EXPECT_TRUE(*exists && value.substr(kv::kStampBytes) == text);
    }
    const std::vector<PartInfo> now = Parts(*engine);
    EXPECT_EQ(now.size(), parts);
    uint64_t keys = 0, sum = 0;
    for (const PartInfo& part : now) keys += part.keys, sum += part.bytes;
    EXPECT_GE(keys, contents.size()) << "a counter may be in every part";
    EXPECT_LE(keys, contents.size() + parts);
    EXPECT_GE(sum, bytes);
    EXPECT_LE(sum, bytes + 100 * parts);
  }
}

TEST(RadosSplit, KeepsEverything) {
  const RadosOptions options = Quiet();
  const auto first = Open(options), second = Open(options);
  ASSERT_TRUE(first && second);
  Contents contents = Fill(*first, 300);
  ExpectWhole({first.get(), second.get()}, contents, 1);
  for (size_t parts = 2; parts <= 5; ++parts) {
    kv::Engine& splits = parts % 2 == 0 ? *first : *second;
    const Status status = Split(splits, Item(parts));
    ASSERT_TRUE(status.ok()) << status.error().message();
    const auto fresh = Open(options);
    ASSERT_TRUE(fresh);
    ExpectWhole({&splits, first.get(), second.get(), fresh.get()}, contents, parts);
    for (kv::Engine* engine : {first.get(), second.get(), fresh.get()}) {  // all parts take writes
      kv::Batch batch;
      for (uint64_t i = 0; i < 300; i += 11) {
        const std::string text = std::to_string(parts) + "." + std::to_string(i);
        std::string value;
        ASSERT_TRUE(*engine->Get(kTablet, Item(i), kv::Tier::kAny, &value));
        batch.guards.push_back({kTablet, Item(i), kv::StampOf(value)});
        batch.puts.push_back({kTablet, Item(i), Value(text)});
        contents[Item(i)] = text;
        ASSERT_TRUE(kv::ApplyAndWait(*engine, std::exchange(batch, {})).ok());
      }
    }
  }
  EXPECT_EQ(first->Statistics()["kv_rados_splits"] + second->Statistics()["kv_rados_splits"], 4);
  EXPECT_EQ(second->Statistics()["kv_rados_splits_taken_over"], 0);
}

TEST(RadosSplit, UnitsArePartsAndCountersAreInAllUnits) {
  const RadosOptions options = Quiet();
  const auto engine = Open(options), other = Open(options);
  ASSERT_TRUE(engine && other);
  const Contents contents = Fill(*engine, 100);
  const auto unit = [](kv::Engine& of, const std::string& key) {
    return of.UnitOf(kTablet, key, kv::Tier::kAny)->part;
  };
  EXPECT_EQ(unit(*engine, Item(1)), unit(*other, Item(2)));
  ASSERT_TRUE(Split(*engine, Item(0)).ok() && Split(*engine, Item(0)).ok());
  std::map<std::string, std::vector<uint64_t>> units;
  for (uint64_t i = 0; i < 100; ++i) {
    units[unit(*engine, Item(i))].push_back(i);
    EXPECT_EQ(unit(*engine, Item(i)), unit(*engine, Item(i, '\x10')))
        << "what has one hash stays together";
    EXPECT_EQ(unit(*engine, Item(i)), unit(*engine, "\xfft" + Item(i) + std::string(16, 'x')));
  }
  ASSERT_EQ(units.size(), 3);
  EXPECT_EQ(unit(*engine, kCounter), "");
  const uint64_t here = units.begin()->second[0], near = units.begin()->second[1],
                 far = units.rbegin()->second[0];

  // one engine knows the units, the other has to read them
  for (kv::Engine* each : {engine.get(), other.get()}) {
    kv::Batch spans;
    for (const uint64_t i : {here, far}) spans.puts.push_back({kTablet, Item(i), Value("x")});
    EXPECT_EQ(CodeOf(kv::ApplyAndWait(*each, spans)), ErrorCode::kSpansUnits);
    kv::Batch counter = AddOne(kCounter);
    counter.guards = {{kTablet, kCounter, 1}};
    EXPECT_EQ(CodeOf(kv::ApplyAndWait(*each, counter)), ErrorCode::kSpansUnits);
    std::vector<std::optional<std::string>> values;
    const std::string keys[] = {Item(here), Item(near), Item(far), kCounter};
    const std::vector<kv::Point> far_apart = {{kTablet, keys[0]}, {kTablet, keys[2]}};
    EXPECT_EQ(each->MultiGet(far_apart, kv::Tier::kAny, &values).error().code(),
              ErrorCode::kSpansUnits);
    const std::vector<kv::Point> together = {
        {kTablet, keys[0]}, {kTablet, keys[1]}, {kTablet, keys[3]}};
    ASSERT_TRUE(each->MultiGet(together, kv::Tier::kAny, &values).ok());
    EXPECT_TRUE(values[0] && values[1] && values[2]);
    EXPECT_EQ(*kv::CounterOf(*values[2]), 400);
  }
  // An add goes to the unit of the rest of its batch.
  uint64_t highest = 0;
  for (const auto& [name, items] : units) {
    kv::Batch batch = AddOne(kCounter, 10);
    batch.puts.push_back({kTablet, Item(items[0]), Value("x")});
    for (kv::Engine* each : {engine.get(), other.get()}) {
      const Result<uint64_t> stamp = kv::ApplyAndWait(*each, batch);
      ASSERT_TRUE(stamp.ok()) << stamp.error().message();
      highest = std::max(highest, *stamp);
    }
  }
  ASSERT_TRUE(kv::ApplyAndWait(*other, AddOne(kCounter, 1)).ok()) << "an add alone";
  EXPECT_EQ(CountOf(*engine, kCounter), 461);
  std::string value;
  ASSERT_TRUE(engine->Get(kTablet, kCounter, kv::Tier::kAny, &value).ok());
  EXPECT_GE(kv::StampOf(value), highest);

  // Range deletes reach every part.
  kv::Batch kind;
  kind.range_deletes.push_back({kTablet, "\x10", "\x11"});
  ASSERT_TRUE(kv::ApplyAndWait(*other, std::move(kind)).ok());
  EXPECT_EQ(Scan(*engine, false, kTablet, "\x10", "\x11").size(), 0);
  EXPECT_EQ(Scan(*engine, false, kTablet, "\x14", "\x15").size(), 100);
  kv::Batch all;
  all.range_deletes.push_back({kTablet, "", ""});
  kv::Batch more = all;
  more.puts.push_back({kTablet, Item(0), Value("x")});
  EXPECT_EQ(CodeOf(kv::ApplyAndWait(*engine, std::move(more))), ErrorCode::kSpansUnits)
      << "not with what is in one part alone";
  ASSERT_TRUE(kv::ApplyAndWait(*engine, std::move(all)).ok());
  EXPECT_EQ(Scan(*other).size(), 0);
  EXPECT_EQ(CountOf(*other, kCounter), -1);
}

TEST(RadosSplit, IndivisiblePartIsNotSplit) {
  const RadosOptions options = Quiet();
  const auto engine = Open(options);
  ASSERT_TRUE(engine);
  EXPECT_THAT(Split(*engine, "a").error().message(), HasSubstr("never written to"));
  kv::Batch one;
  for (const char kind : {'\x01', '\x03', '\x10'})
    one.puts.push_back({kTablet, Item(5, kind), Value("x")});
  one.puts.push_back({kTablet, Item(5) + "more", Value("x")});
  ASSERT_TRUE(kv::ApplyAndWait(*engine, std::move(one)).ok());
  EXPECT_THAT(Split(*engine, Item(5)).error().message(), HasSubstr("cannot be divided"))
      << "all have one hash";
  constexpr kv::Tablet kCatalog{kv::Space::kCatalog, 0}, kPlain{kv::Space::kItems, 9};
  for (const kv::Tablet tablet : {kCatalog, kPlain}) {
    kv::Batch two;
    for (const char* more : {"a", "b"}) two.puts.push_back({tablet, Item(5) + more, Value("x")});
    ASSERT_TRUE(kv::ApplyAndWait(*engine, std::move(two)).ok());
  }
  EXPECT_FALSE(Split(*engine, "a", kCatalog).ok());
  EXPECT_TRUE(Split(*engine, Item(5), kPlain).ok())
      << "without other kinds a collection may be divided";
}

// ---- while writes go on -------------------------------------------------------------------------

// Writes its own items, each with an entry of a local index, counts them, and records the expected
// content.
class Worker {
 public:
  Worker(kv::Engine& engine, uint64_t number, uint64_t items, size_t text_bytes)
      : engine_(engine),
        number_(number),
        items_(items),
        text_bytes_(text_bytes),
        random_(number + 100) {}

  void Step() {
    const uint64_t i = number_ * 1'000'000 + random_.Below(items_);
    const std::string item = Item(i), entry = Item(i, '\x10');
    uint64_t& stamp = stamps_[i];
    kv::Batch batch;
    batch.guards.push_back({kTablet, item, stamp});
    const bool gone = stamp != 0 && random_.Below(8) == 0;
    const std::string text =
        std::to_string(++steps_) + std::string(random_.Below(text_bytes_), 't');
    if (gone) {
      batch.deletes = {{kTablet, item}, {kTablet, entry}};
    } else {
      batch.puts = {{kTablet, item, Value(text)}, {kTablet, entry, Value(text)}};
    }
    batch.adds = AddOne(kCounter, stamp == 0 ? 1 : gone ? -1 : 0).adds;
    const auto started = std::chrono::steady_clock::now();
    const Result<uint64_t> outcome = kv::ApplyAndWait(engine_, std::move(batch));
    longest_ = std::max(longest_, std::chrono::steady_clock::now() - started);
    if (!outcome.ok()) {
      failed_ = true;
      ADD_FAILURE() << static_cast<int>(outcome.error().code()) << " " << outcome.error().message();
      return;
    }
    count_ += stamp == 0 ? 1 : gone ? -1 : 0;
    stamp = gone ? 0 : *outcome;
    if (gone) {
      has_.erase(item), has_.erase(entry);
    } else {
      has_[item] = has_[entry] = text;
    }
    // It reads its own writes.
    std::string value;
    const Result<bool> exists = engine_.Get(kTablet, entry, kv::Tier::kAny, &value);
    EXPECT_TRUE(exists.ok() && *exists == !gone && (gone || value.substr(kv::kStampBytes) == text));
  }
  bool failed() const { return failed_; }
  const Contents& has() const { return has_; }
  int64_t count() const { return count_; }
  double longest_milliseconds() const {
    return std::chrono::duration<double, std::milli>(longest_).count();
  }

 private:
  kv::Engine& engine_;
  const uint64_t number_, items_;
  const size_t text_bytes_;
  SeededRandom random_;
  std::map<uint64_t, uint64_t> stamps_;
  Contents has_;
  int64_t count_ = 0;
  int steps_ = 0;
  bool failed_ = false;
  std::chrono::steady_clock::duration longest_{};
};

// Runs workers on the engines in turn, and one that scans. Each runs for `enough` steps. Returns
// the duration of the longest write.
double Work(const std::vector<kv::Engine*>& engines, std::deque<Worker>& workers,
            const std::function<bool(int step)>& enough) {
  std::atomic<int> running = static_cast<int>(workers.size());
  std::vector<std::thread> threads;
  for (Worker& worker : workers) {
    threads.emplace_back([&] {
      for (int step = 0; !enough(step) && !worker.failed(); ++step) worker.Step();
      --running;
    });
  }
  int scans = 0;
  do {
    kv::Engine& engine = *engines[static_cast<size_t>(scans) % engines.size()];
    Scan(engine, scans % 2 == 1);
    Scan(engine, scans % 2 == 1, kTablet, "\x01", "\x02");
    ++scans;
  } while (running > 0);
  for (std::thread& thread : threads) thread.join();
  double longest = 0;
  for (const Worker& worker : workers) longest = std::max(longest, worker.longest_milliseconds());
  return longest;
}

void ExpectAll(const std::vector<kv::Engine*>& engines, const std::deque<Worker>& workers,
               const Contents& others = {}) {
  Contents contents = others;
  int64_t count = 0;
  if (others.count(kCounter) > 0)
    count = *kv::CounterOf(std::string(kv::kStampBytes, '\0') + others.at(kCounter));
  for (const Worker& worker : workers) {
    contents.insert(worker.has().begin(), worker.has().end());
    count += worker.count();
  }
  contents[kCounter] = kv::EncodeCounter(0, count).substr(kv::kStampBytes);
  for (kv::Engine* engine : engines) {
    EXPECT_TRUE(Scan(*engine) == contents);
    EXPECT_TRUE(Scan(*engine, true) == contents);
    EXPECT_EQ(CountOf(*engine, kCounter), count);
  }
}

TEST(RadosSplit, GoesOnWhileThreeProcessesWrite) {
  RadosOptions options = ClusterUnderTest::NewStore();
  options.split_bytes = 60'000;
  options.split_keys = 250;
  const auto first = Open(options), second = Open(options), third = Open(options);
  ASSERT_TRUE(first && second && third);
  const std::vector<kv::Engine*> engines = {first.get(), second.get(), third.get()};
  std::deque<Worker> workers;
  for (uint64_t i = 0; i < 6; ++i) workers.emplace_back(*engines[i % 3], i, 400, 300);
  const auto splits = [&] {
    double sum = 0;
    for (kv::Engine* engine : engines)
      sum += engine->Statistics()["kv_rados_splits"] +
             engine->Statistics()["kv_rados_splits_taken_over"];
    return sum;
  };
  // Splits may come behind the writes.
  const auto patience = For(kPatienceMilliseconds);
  const double longest = Work(
      engines, workers, [&](int step) { return step >= 400 && (splits() >= 7 || !patience()); });
  const auto fresh = Open(options);
  ASSERT_TRUE(fresh);
  ExpectAll({first.get(), second.get(), third.get(), fresh.get()}, workers);
  const std::vector<PartInfo> parts = Parts(*fresh);
  EXPECT_GE(parts.size(), 8);
  EXPECT_GE(splits(), 7);
  std::printf("%zu parts, %.0f splits, the longest write took %.0f ms\n", parts.size(), splits(),
              longest);
}

// Answers to writes are lost all the time, also to operations that a split made void.
TEST(RadosSplit, LostAnswersApplyNothingTwice) {
  RadosOptions options = ClusterUnderTest::NewStore();
  options.split_keys = 100;
  std::mutex mutex;
  SeededRandom random(6);
  options.write_result = [&](int result) {
    const std::lock_guard lock(mutex);
    return random.Below(4) == 0 ? -ETIMEDOUT : result;
  };
  const auto first = Open(options), second = Open(options);
  ASSERT_TRUE(first && second);
  const std::vector<kv::Engine*> engines = {first.get(), second.get()};
  std::deque<Worker> workers;
  for (uint64_t i = 0; i < 4; ++i) workers.emplace_back(*engines[i % 2], i, 200, 50);
  const auto found = [&] {
    return first->Statistics()["kv_rados_found_in_ledger"] +
           second->Statistics()["kv_rados_found_in_ledger"];
  };
  const auto patience = For(kPatienceMilliseconds);
  Work(engines, workers, [&](int step) {
    return step >= 250 && ((Parts(*first).size() >= 5 && found() > 10) || !patience());
  });
  ExpectAll(engines, workers);
  EXPECT_GE(Parts(*first).size(), 5);
  EXPECT_GT(found(), 10);
}

// Batches that are queued one behind the other, each computed from the one before, keep their order
// when their part is split.
TEST(RadosSplit, QueuedBatchesStayInOrder) {
  const RadosOptions options = Quiet();
  const auto engine = Open(options), other = Open(options);
  ASSERT_TRUE(engine && other);
  Fill(*engine, 64);
  std::atomic<bool> stop = false;
  std::atomic<int> splits = 0;
  std::thread splitter([&] {
    for (uint64_t i = 0; i < 40 && !stop; ++i) {
      if (Split(i % 2 == 0 ? *engine : *other, Item(i % 64)).ok()) ++splits;
    }
    stop = true;
  });
  constexpr uint64_t kChains = 16;
  std::map<uint64_t, std::shared_ptr<kv::BatchFate>> last;
  std::map<uint64_t, int> order;
  std::atomic<int> refused = 0;
  int round = 0;
  for (; !stop || round % 50 != 0; ++round) {
    for (uint64_t i = 0; i < kChains; ++i) {
      kv::Batch batch;
      std::shared_ptr<kv::BatchFate>& before = last[i];
      if (before == nullptr) {
        std::string value;
        ASSERT_TRUE(*engine->Get(kTablet, Item(i), kv::Tier::kAny, &value));
        batch.guards.push_back({kTablet, Item(i), kv::StampOf(value)});
      } else {
        batch.guards.push_back({kTablet, Item(i), 0, before});
        batch.after = {before};
      }
      batch.puts.push_back({kTablet, Item(i), Value(std::to_string(round))});
      before = batch.fate = std::make_shared<kv::BatchFate>();
      engine->Apply(std::move(batch), [&, i, round, fate = before](Result<uint64_t> outcome) {
        if (!outcome.ok()) ++refused;
        fate->failed = !outcome.ok();
        EXPECT_LE(order[i], round) << "done in order";
        order[i] = round;
      });
    }
    if (round % 10 == 9) {
      ASSERT_TRUE(kv::ApplyAndWait(*engine, {}).ok());
    }
  }
  splitter.join();
  ASSERT_TRUE(kv::ApplyAndWait(*engine, {}).ok());
  EXPECT_EQ(refused, 0);
  EXPECT_GT(splits, 5);
  for (uint64_t i = 0; i < kChains; ++i) {
    std::string value;
    ASSERT_TRUE(*other->Get(kTablet, Item(i), kv::Tier::kAny, &value));
    EXPECT_EQ(value.substr(kv::kStampBytes), std::to_string(round - 1));
  }
}

// A queue whose keys rise for ever is split too, and new keys come last.
TEST(RadosSplit, SplitsALog) {
  RadosOptions options = ClusterUnderTest::NewStore();
  options.split_keys = 200;
  const auto first = Open(options), second = Open(options);
  ASSERT_TRUE(first && second);
  std::mutex mutex;
  std::map<std::string, std::string> expected;  // by key
  const auto append = [&](kv::Engine& engine, char shard, const std::string& text) {
    kv::Batch batch;
    const std::string key = std::string("sh") + shard + std::string(kv::kStampBytes, '\0');
    for (const char index : {'a', 'b'}) batch.puts.push_back({kLog, key + index, Value(text), 3});
    const Result<uint64_t> stamp = kv::ApplyAndWait(engine, std::move(batch));
    ASSERT_TRUE(stamp.ok()) << stamp.error().message();
    const std::lock_guard lock(mutex);
    for (const char index : {'a', 'b'}) {
      std::string written = key + index;
      kv::SetKeyStamp(&written, 3, *stamp);
      EXPECT_TRUE(expected.emplace(written, text).second) << "no stamp twice";
    }
  };
  // Engine keys beside some of them.
  kv::Batch above;
  for (const std::string about : {"sh", "sh1", "sh2", "zzz"}) {
    const std::string key = "\xffx" + about + std::string(16, 'i');
    above.puts.push_back({kLog, key, Value("record")});
    expected[key] = "record";
  }
  ASSERT_TRUE(kv::ApplyAndWait(*first, std::move(above)).ok());
  std::vector<std::thread> writers;
  for (int t = 0; t < 4; ++t) {
    writers.emplace_back([&, t] {
      for (int i = 0; i < 250; ++i)
        append(t % 2 == 0 ? *first : *second, static_cast<char>('1' + t % 3), std::to_string(i));
    });
  }
  for (std::thread& writer : writers) writer.join();
  const auto fresh = Open(options);
  ASSERT_TRUE(fresh);
  // Splits may come behind the writes.
  for (const auto patience = For(kPatienceMilliseconds);
       Parts(*fresh, kLog).size() < 4 && patience();)
    append(*first, '1', "more");
  EXPECT_GE(Parts(*fresh, kLog).size(), 4);
  for (kv::Engine* engine : {first.get(), second.get(), fresh.get()}) {
    for (const bool reverse : {false, true}) EXPECT_TRUE(Scan(*engine, reverse, kLog) == expected);
  }
  // Trims across parts.
  const std::string to = std::next(expected.begin(), 700)->first;
  kv::Batch trim;
  trim.range_deletes.push_back({kLog, "", to});
  ASSERT_TRUE(kv::ApplyAndWait(*second, std::move(trim)).ok());
  expected.erase(expected.begin(), expected.lower_bound(to));
  for (kv::Engine* engine : {first.get(), fresh.get()}) {
    for (const bool reverse : {false, true}) EXPECT_TRUE(Scan(*engine, reverse, kLog) == expected);
  }
}

// Its parts are left nearly full, and their keys are not divided again.
TEST(RadosSplit, SplitOfAQueueLeavesFullParts) {
  RadosOptions options = ClusterUnderTest::NewStore();
  options.split_keys = 200;
  const auto engine = Open(options);
  ASSERT_TRUE(engine);
  for (int i = 0; i < 200; ++i) {
    kv::Batch batch;
    for (int index = 10; index < 20; ++index) {
      batch.puts.push_back({kLog,
                            "shard" + std::string(kv::kStampBytes, '\0') + std::to_string(index),
                            Value("record"), 5});
    }
    ASSERT_TRUE(kv::ApplyAndWait(*engine, std::move(batch)).ok());
    const auto too_large = [&] {
      const std::vector<PartInfo> parts = Parts(*engine, kLog);
      return std::any_of(parts.begin(), parts.end(),
                         [](const PartInfo& part) { return part.keys >= 200; });
    };
    ASSERT_TRUE(Await([&] { return !too_large(); }));
  }
  const std::vector<PartInfo> parts = Parts(*engine, kLog);
  EXPECT_LE(parts.size(), 13) << "in halves it were twenty";
  for (size_t i = 0; i + 1 < parts.size(); ++i) EXPECT_GE(parts[i].keys, 150) << i;
  EXPECT_EQ(Scan(*engine, false, kLog).size(), 2000);
  EXPECT_EQ(engine->Statistics()["kv_rados_splits"], static_cast<double>(parts.size() - 1));
}

// ---- processes that stop at a step --------------------------------------------------------------

class RadosSplitAt : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Step, RadosSplitAt, testing::Range(1, kSteps + 1));

// Holds a split of its engine at a step.
class Hold {
 public:
  explicit Hold(int step) : step_(step) {}
  std::function<Status(int)> hook() {
    return [this](int step) {
      if (step != step_ || held_.exchange(true)) return OkStatus();
      reached_.count_down();
      release_.wait();
      return OkStatus();
    };
  }
  void AwaitReached() { reached_.wait(); }
  void Release() { release_.count_down(); }

 private:
  const int step_;
  std::atomic<bool> held_ = false;
  std::latch reached_{1}, release_{1};
};

// A process whose split of a filled tablet is held at a step, and another process.
class HeldSplit {
 public:
  HeldSplit(int step, RadosOptions options, uint64_t items) : other(Open(options)), hold_(step) {
    options.split_step = hold_.hook();
    slow = Open(options);
    if (!slow || !other) return;
    contents = Fill(*slow, items);
    splitter_ = std::thread([this] { status_ = Split(*slow, Item(1)); });
    hold_.AwaitReached();
  }
  ~HeldSplit() {
    if (splitter_.joinable()) Release();
  }
  bool ok() const { return slow && other; }
  // Lets the split go on, and returns how it ended.
  const Status& Release() {
    hold_.Release();
    splitter_.join();
    return status_;
  }

  std::unique_ptr<kv::Engine> slow, other;
  Contents contents;

 private:
  Hold hold_;
  Status status_;
  std::thread splitter_;
};

void AwaitSplitsDone(kv::Engine& engine, const RadosOptions& options, size_t parts) {
  // The parent's header ends in 00 (open), or in 02 and the child's number.
  const std::string command =
      RadosCommand(options) + "getxattr " + kObject + " header | od -An -tx1 -v | tr -d ' \\n'";
  std::string header;
  const bool done = Await([&] {
    header = ClusterUnderTest::Command(command);
    return Parts(engine).size() == parts && header.size() > 2 &&
           header.substr(header.size() - 2) == "00" &&
           header.substr(header.size() - 10, 2) != "01" &&
           header.substr(header.size() - 10, 2) != "02";
  });
  EXPECT_TRUE(done) << "the split does not end: " << header;
}

// The splitting process stands still for longer than the others wait, then goes on as if nothing
// had happened.
TEST_P(RadosSplitAt, FrozenProcessIsReplaced) {
  const RadosOptions options = Quiet();
  HeldSplit split(GetParam(), options, 200);
  const auto third = Open(options);
  ASSERT_TRUE(split.ok() && third);
  const auto &slow = split.slow, &second = split.other;
  std::deque<Worker> workers;
  for (uint64_t i = 0; i < 4; ++i)
    workers.emplace_back(i % 2 == 0 ? *second : *third, 1 + i, 50, 50);
  const auto both_go_on = [&](int step) { return step >= 60; };
  Work({second.get(), third.get()}, workers, both_go_on);
  AwaitSplitsDone(*third, options, 2);
  const Status& status = split.Release();
  EXPECT_TRUE(status.ok() || status.error().code() == ErrorCode::kUnavailable)
      << status.error().message();
  Work({second.get(), third.get(), slow.get()}, workers, [](int step) { return step == 30; });
  ExpectAll({slow.get(), second.get(), third.get()}, workers, split.contents);
  const double taken_over = second->Statistics()["kv_rados_splits_taken_over"] +
                            third->Statistics()["kv_rados_splits_taken_over"];
  EXPECT_EQ(taken_over > 0, GetParam() < kSteps);
}

// Runs in a process of its own, which dies at a step.
TEST(RadosSplitVictim, DISABLED_DiesAtAStep) {
  RadosOptions options = Quiet();
  options.name_space = std::getenv("STATOR_VICTIM_NAMESPACE");
  const int die_at = std::atoi(std::getenv("STATOR_VICTIM_STEP"));
  options.split_step = [die_at](int step) {
    if (step == die_at) ::kill(::getpid(), SIGKILL);
    return OkStatus();
  };
  const auto engine = Open(options);
  ASSERT_TRUE(engine);
  const Status status = Split(*engine, Item(1));
  FAIL() << "it lives: " << (status.ok() ? "the split ended" : status.error().message());
}

TEST_P(RadosSplitAt, DeadProcessIsReplaced) {
  const RadosOptions options = Quiet();
  const auto first = Open(options), second = Open(options);
  ASSERT_TRUE(first && second);
  const Contents contents = Fill(*first, 200);
  const std::string name_space = "STATOR_VICTIM_NAMESPACE=" + options.name_space;
  const std::string step = "STATOR_VICTIM_STEP=" + std::to_string(GetParam());
  const std::string conf = "STATOR_CEPH_CONF=" + ClusterUnderTest::Conf();
  const std::atomic<pid_t> victim = ::fork();
  if (victim == 0) {
    const char* arguments[] = {"victim", "--gtest_filter=RadosSplitVictim.*",
                               "--gtest_also_run_disabled_tests", nullptr};
    const char* environment[] = {name_space.c_str(), step.c_str(), conf.c_str(), nullptr};
    ::dup2(::open("/dev/null", O_WRONLY), STDOUT_FILENO);
    ::execve("/proc/self/exe", const_cast<char**>(arguments), const_cast<char**>(environment));
    ::_exit(1);
  }
  std::atomic<int> code = -1;
  std::thread waiter([&] {
    int status = 0;
    ::waitpid(victim, &status, 0);
    code = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  });
  std::deque<Worker> workers;
  for (uint64_t i = 0; i < 4; ++i)
    workers.emplace_back(i % 2 == 0 ? *first : *second, 1 + i, 50, 50);
  Work({first.get(), second.get()}, workers, [&](int at) { return at >= 60 && code >= 0; });
  waiter.join();
  EXPECT_EQ(code, SIGKILL);
  AwaitSplitsDone(*second, options, 2);
  const auto fresh = Open(options);
  ASSERT_TRUE(fresh);
  ExpectAll({fresh.get(), first.get(), second.get()}, workers, contents);
}

// Only the splitting process itself can continue after an error has ended its split.
TEST_P(RadosSplitAt, FailedSplitIsRetried) {
  RadosOptions options = Quiet();
  std::atomic<bool> failed = false;
  options.split_step = [&](int step) -> Status {
    if (step != GetParam() || failed.exchange(true)) return OkStatus();
    return Error(ErrorCode::kUnavailable, "The Ceph cluster did not answer in time.");
  };
  const auto engine = Open(options);
  ASSERT_TRUE(engine);
  const Contents contents = Fill(*engine, 200);
  EXPECT_EQ(Split(*engine, Item(1)).ok(), false);
  EXPECT_TRUE(failed);
  AwaitSplitsDone(*engine, options, 2);  // no write or read triggers it
  std::deque<Worker> workers;
  workers.emplace_back(*engine, 1, 50, 50);
  Work({engine.get()}, workers, [](int step) { return step == 30; });
  ExpectAll({engine.get()}, workers, contents);
  EXPECT_EQ(engine->Statistics()["kv_rados_splits_taken_over"], GetParam() < kSteps ? 1 : 0);
}

// RaiseFence reads the header before any other operation that would notice the split.
TEST_P(RadosSplitAt, RaiseFenceContinuesTheSplit) {
  const RadosOptions options = Quiet();
  HeldSplit split(GetParam(), options, 100);
  ASSERT_TRUE(split.ok());
  EXPECT_TRUE(split.other->RaiseFence(kTablet, 3).ok());
  AwaitSplitsDone(*split.other, options, 2);
  split.Release();
  EXPECT_TRUE(Scan(*split.other, false) == split.contents);
}

// A fence that is raised at any step holds for both halves.
TEST_P(RadosSplitAt, FenceAppliesToBothHalves) {
  RadosOptions patient = Quiet();
  patient.split_takeover_seconds = 1000;
  HeldSplit split(GetParam(), patient, 100);
  ASSERT_TRUE(split.ok());
  const Status raised = split.other->RaiseFence(kTablet, 5);
  EXPECT_TRUE(raised.ok()) << raised.error().message();
  const Status& status = split.Release();
  EXPECT_TRUE(status.ok()) << status.error().message();
  for (kv::Engine* engine : {split.slow.get(), split.other.get()}) {
    for (uint64_t i = 0; i < 100; i += 9) {
      kv::Batch batch;
      batch.puts.push_back({kTablet, Item(i), Value("x")});
      batch.fences = {{kTablet, 4}};
      EXPECT_EQ(CodeOf(kv::ApplyAndWait(*engine, batch)), ErrorCode::kFenced);
    }
  }
  ExpectWhole({split.slow.get(), split.other.get()}, split.contents, 2);
}

// A tablet that is dropped at any step leaves nothing but ledger cells.
TEST_P(RadosSplitAt, DroppedTabletIsNotSplit) {
  const RadosOptions options = Quiet();
  HeldSplit split(GetParam(), options, 100);
  ASSERT_TRUE(split.ok());
  const Status dropped = split.other->RaiseFence(kTablet, kv::kDroppedFence);
  EXPECT_TRUE(dropped.ok()) << dropped.error().message();
  split.Release();
  for (kv::Engine* engine : {split.slow.get(), split.other.get()}) {
    for (uint64_t i = 0; i < 100; i += 9) {
      kv::Batch batch;
      batch.puts.push_back({kTablet, Item(i), Value("x")});
      EXPECT_EQ(CodeOf(kv::ApplyAndWait(*engine, batch)), ErrorCode::kFenced);
      std::string value;
      EXPECT_EQ(engine->Get(kTablet, Item(i), kv::Tier::kAny, &value).error().code(),
                ErrorCode::kFenced);
    }
  }
  const std::string rados = RadosCommand(options);
  const std::string cells = ClusterUnderTest::Command(
      "rados -n client.admin -p stator -N " + options.name_space +
      " ls | grep -a items. | while read o; do " + std::getenv("STATOR_CLUSTER") + " " + rados +
      "listomapkeys $o; done | cut -c1 | sort | uniq -c");
  EXPECT_THAT(cells, testing::Not(testing::ContainsRegex("[kmnr]"))) << cells;
}

}  // namespace
}  // namespace stator
