#include "kv_rocks/rocks_engine.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <future>
#include <thread>

#include "base/random.h"
#include "kv/conformance.h"
#include "kv/features.h"
#include "kv/pin.h"
#include "kv/pin_conformance.h"
#include "kv/reclaim.h"
#include "kv_rocks/power_cut_disk.h"
#include "kv_rocks/store_directory.h"
#include "kv_rocks/temporary_directory.h"

namespace stator::kv_rocks {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr kv::Tablet kTablet{kv::Space::kItems, 1};

class RocksStore final : public kv::StoreUnderTest {
 public:
  RocksStore(bool sync, size_t prefix_bytes) : sync_(sync), prefix_bytes_(prefix_bytes) {}
  Result<std::unique_ptr<kv::Engine>> Open() override {
    return OpenRocks({.path = directory_.store(),
                      .memory_budget_bytes = 16 << 20,
                      .sync = sync_,
                      .items_prefix_bytes = prefix_bytes_});
  }

 private:
  const bool sync_;
  const size_t prefix_bytes_;
  const TemporaryDirectory directory_;
};

class RocksConformance : public testing::TestWithParam<kv::ConformanceCase> {};

TEST_P(RocksConformance, Holds) {
  for (const uint64_t seed : {uint64_t{1}, SystemSeed()}) {
    const Status status = GetParam().run(
        {.make = [seed] { return std::make_unique<RocksStore>(seed == 1, seed % 4); },
         .seed = seed});
    ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status.error().message();
  }
}

INSTANTIATE_TEST_SUITE_P(Suite, RocksConformance, testing::ValuesIn(kv::ConformanceCases()),
                         kv::ConformanceCase::NameOf<testing::TestParamInfo<kv::ConformanceCase>>);

kv::Batch PutOne(std::string key, std::string_view text) {
  kv::Batch batch;
  batch.puts.push_back({kTablet, std::move(key), std::string(kv::kStampBytes, '\0').append(text)});
  return batch;
}

std::string Key(int number) { return "key" + std::to_string(10'000 + number); }

// Text that does not compress away.
std::string Noise(uint64_t seed, size_t bytes) {
  SeededRandom random(seed);
  std::string text;
  while (text.size() < bytes) text.push_back(static_cast<char>('!' + random.Below(90)));
  return text;
}

class RocksEngineTest : public testing::Test {
 protected:
  RocksOptions Options() {
    return {.path = directory_.store(), .memory_budget_bytes = 16 << 20, .items_prefix_bytes = 3};
  }

  std::unique_ptr<kv::Engine> Open(const RocksOptions& options) {
    Result<std::unique_ptr<kv::Engine>> engine = OpenRocks(options);
    EXPECT_TRUE(engine.ok()) << engine.error().message();
    return engine.ok() ? std::move(*engine) : nullptr;
  }
  void WriteFile(const std::string& name, const std::string& text) {
    fs::create_directories(directory_.store());
    std::ofstream(directory_.store() + "/" + name) << text;
  }
  static std::string ReadFile(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  }
  // The newest file with the extension.
  std::string FindFile(const std::string& extension) {
    std::string found;
    for (const auto& entry : fs::directory_iterator(directory_.store())) {
      if (entry.path().extension() == extension && entry.file_size() > 0)
        found = std::max(found, entry.path().string());
    }
    return found;
  }
  static void FlipByte(const std::string& file, uint64_t at) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(at));
    const char byte = static_cast<char>(stream.get());
    stream.seekp(static_cast<std::streamoff>(at));
    stream.put(static_cast<char>(byte ^ 0x40));
  }
  // Writes `count` batches and dies without closing, as by kill -9, so that they are in the log
  // only.
  void WriteAndDie(int count) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Result<std::unique_ptr<kv::Engine>> engine = OpenRocks(Options());
      bool good = engine.ok();
      for (int i = 0; good && i < count; ++i)
        good = kv::ApplyAndWait(**engine, PutOne(Key(i), Noise(i, 2000))).ok();
      ::_exit(good ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }

  const TemporaryDirectory directory_;
};

// Behind the first key of a prefix may stand one that is shorter than the prefix.
TEST_F(RocksEngineTest, ScansBackInOnePrefixStopAtItsFirstKey) {
  const std::unique_ptr<kv::Engine> engine = Open(Options());
  constexpr kv::Tablet kBefore{kv::Space::kItems, 0};
  kv::Batch batch = PutOne("abc1", "first");
  batch.puts.push_back({kTablet, "abc2", std::string(kv::kStampBytes, '\0')});
  batch.puts.push_back({kTablet, "a", std::string(kv::kStampBytes, '\0')});
  batch.adds.push_back({kBefore, "n", 1});
  ASSERT_TRUE(kv::ApplyAndWait(*engine, std::move(batch)).ok());
  std::vector<std::string> keys;
  const Status status = engine->Scan({kTablet, "abc", "abc3", true}, kv::Tier::kAny,
                                     [&keys](std::string_view key, std::string_view) {
                                       keys.emplace_back(key);
                                       return true;
                                     });
  ASSERT_TRUE(status.ok());
  EXPECT_THAT(keys, testing::ElementsAre("abc2", "abc1"));
}

TEST_F(RocksEngineTest, PinnedRangesAreOfOneMoment) {
  for (const uint64_t seed : {uint64_t{1}, SystemSeed()}) {
    const TemporaryDirectory directory;
    const auto engine = OpenRocks({.path = directory.store(),
                                   .memory_budget_bytes = 16 << 20,
                                   .sync = false,
                                   .items_prefix_bytes = 3})
                            .value();
    const Status status = kv::CheckPins(*engine, seed, 2000);
    EXPECT_TRUE(status.ok()) << status.error().message();
  }
}

TEST_F(RocksEngineTest, AcknowledgedWritesSurviveKill) {
  WriteAndDie(200);
  const auto engine = Open(Options());
  ASSERT_NE(engine, nullptr);
  for (int i = 0; i < 200; ++i) {
    std::string value;
    const Result<bool> exists = engine->Get(kTablet, Key(i), kv::Tier::kAny, &value);
    ASSERT_TRUE(exists.ok() && *exists) << i;
    EXPECT_EQ(value.substr(kv::kStampBytes), Noise(i, 2000));
  }
}

TEST_F(RocksEngineTest, SecondOpenIsRefused) {
  const auto engine = Open(Options());
  const auto second = OpenRocks(Options());
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code(), ErrorCode::kUnavailable);
  EXPECT_THAT(second.error().message(),
              HasSubstr("Another process has the store in " + directory_.store()));
}

TEST_F(RocksEngineTest, NewerFormatIsRefused) {
  Open(Options()).reset();
  WriteFile("FORMAT", "stator-store 99\n");
  const auto refused = OpenRocks(Options());
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message(),
              HasSubstr("has format 99; this version of Stator reads formats up to 3"));
  WriteFile("FORMAT", "nonsense");
  EXPECT_EQ(OpenRocks(Options()).error().code(), ErrorCode::kCorruption);
  std::filesystem::remove(directory_.store() + "/FORMAT");
  std::filesystem::create_symlink("FORMAT", directory_.store() + "/FORMAT");  // leads nowhere
  EXPECT_THAT(OpenRocks(Options()).error().message(),
              HasSubstr("Cannot read " + directory_.store() + "/FORMAT: "));
}

// So that the older Stator refuses what this one may have written.
TEST_F(RocksEngineTest, AnOlderFormatBecomesThisOne) {
  Open(Options()).reset();
  WriteFile("FORMAT", "stator-store 1\n");
  Open(Options()).reset();
  std::ifstream format(directory_.store() + "/FORMAT");
  std::string line;
  std::getline(format, line);
  EXPECT_EQ(line, "stator-store 2");
}

// An older Stator, which knows no features, reads the first line alone and refuses version 3.
TEST_F(RocksEngineTest, RequiredFeatureIsKeptAndRefusedByVersionsWithoutIt) {
  RocksOptions options = Options();
  options.known_features = {"shapes", "colours"};
  const std::string file = directory_.store() + "/FORMAT";
  {
    const auto engine = Open(options);
    EXPECT_EQ(ReadFile(file), "stator-store 2\n");
    ASSERT_TRUE(kv::RequireFeature(*engine, "shapes").ok());
    EXPECT_EQ(ReadFile(file), "stator-store 3\nfeatures shapes\n");
    ASSERT_TRUE(kv::RequireFeature(*engine, "colours").ok());
    ASSERT_TRUE(kv::RequireFeature(*engine, "shapes").ok());
    EXPECT_EQ(ReadFile(file), "stator-store 3\nfeatures colours shapes\n");
    EXPECT_EQ(kv::RequireFeature(*engine, "sounds").error().code(), ErrorCode::kInternal);
    EXPECT_EQ(kv::RequiredFeatures(*engine), (kv::Features{"colours", "shapes"}));
    ASSERT_TRUE(engine->Checkpoint(directory_.store() + "-copy").ok());
    EXPECT_EQ(ReadFile(directory_.store() + "-copy/FORMAT"), ReadFile(file));
  }
  EXPECT_EQ(kv::RequiredFeatures(*Open(options)), (kv::Features{"colours", "shapes"}));
  options.known_features = {"shapes"};
  const auto refused = OpenRocks(options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(refused.error().message(),
            "The store in " + directory_.store() +
                " needs the feature colours, which this version of Stator does not know. Start "
                "the newer Stator that wrote it.");
  EXPECT_EQ(ReadFile(file), "stator-store 3\nfeatures colours shapes\n");
}

TEST_F(RocksEngineTest, DamagedListOfFeaturesIsRefused) {
  Open(Options()).reset();
  for (const char* text :
       {"stator-store 3\n", "stator-store 3\nfeatures \n", "stator-store 3\nfeatures sha",
        "stator-store 3\nneeds shapes\n", "stator-store 3\nfeatures shapes \n"}) {
    WriteFile("FORMAT", text);
    const auto refused = OpenRocks(Options());
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_EQ(refused.error().code(), ErrorCode::kCorruption) << text;
    EXPECT_THAT(refused.error().message(), HasSubstr("FORMAT is damaged"));
  }
}

// Writes items with fsync, dies, and does `harm` to the newest log: whether the start refuses by
// name and says how many writes are missing.
class LostLog : public RocksEngineTest {
 protected:
  RocksOptions Durable() {
    RocksOptions options = Options();
    options.sync = true;
    return options;
  }
  void Write(kv::Engine& engine, int from, int to) {
    for (int i = from; i < to; ++i) ASSERT_TRUE(kv::ApplyAndWait(engine, PutOnce(i)).ok());
  }
  static kv::Batch PutOnce(int i) { return PutOne(Key(i), Noise(static_cast<uint64_t>(i), 500)); }
  std::string Message(const RocksOptions& options) {
    const auto engine = OpenRocks(options);
    return engine.ok() ? "" : engine.error().message();
  }
  int Count(kv::Engine& engine) {
    int count = 0;
    EXPECT_TRUE(engine
                    .Scan({kTablet, "", "", false}, kv::Tier::kAny,
                          [&](std::string_view, std::string_view) { return ++count > 0; })
                    .ok());
    return count;
  }
};

TEST_F(LostLog, MissingEmptyAndCutLogsAreRefusedByName) {
  Write(*Open(Durable()), 0, 100);
  Write(*Open(Durable()), 100, 200);  // the first hundred are in tables now
  const std::string log = FindFile(".log");
  const std::string bytes = ReadFile(log);
  const auto put_back = [&] { std::ofstream(log, std::ios::binary) << bytes; };
  const auto expect_refused = [&](const std::string& missing) {
    const std::string message = Message(Durable());
    EXPECT_THAT(message, HasSubstr("has lost the last " + missing +
                                   " writes that were acknowledged: its log ends at write "));
    EXPECT_THAT(message, HasSubstr("--accept-lost-writes"));
    EXPECT_EQ(OpenRocks(Durable()).error().code(), ErrorCode::kCorruption);
  };
  fs::remove(log);
  expect_refused("100");
  put_back();
  fs::resize_file(log, 0);
  expect_refused("100");
  for (const double part : {0.25, 0.5, 0.9}) {
    put_back();
    fs::resize_file(log, static_cast<uint64_t>(part * static_cast<double>(bytes.size())));
    EXPECT_THAT(Message(Durable()), HasSubstr("writes that were acknowledged")) << part;
  }
  // Nothing was changed: the log that turns up again is as good as before.
  put_back();
  EXPECT_EQ(Count(*Open(Durable())), 200);
}

TEST_F(LostLog, LossIsAcceptedOnceAndStampsAreNotUsedAgain) {
  uint64_t last = 0;
  {
    const auto engine = Open(Durable());
    Write(*engine, 0, 49);
    last = *kv::ApplyAndWait(*engine, PutOnce(49));
  }
  fs::resize_file(FindFile(".log"), fs::file_size(FindFile(".log")) / 2);
  EXPECT_NE(Message(Durable()), "");
  RocksOptions accepting = Durable();
  accepting.accept_lost_writes = true;
  int left = 0;
  {
    const auto engine = Open(accepting);
    left = Count(*engine);
    EXPECT_GT(left, 15);
    EXPECT_LT(left, 35);
  }
  const auto engine = Open(Durable());
  EXPECT_EQ(Count(*engine), left);
  EXPECT_GT(*kv::ApplyAndWait(*engine, PutOnce(1000)), last);
}

TEST_F(LostLog, WithoutFsyncTheLossIsAWarning) {
  RocksOptions options = Durable();
  options.sync = false;
  Write(*Open(options), 0, 50);
  fs::remove(FindFile(".log"));
  EXPECT_EQ(Count(*Open(options)), 0);
  EXPECT_EQ(Count(*Open(options)), 0);
}

// A flush leaves an empty log behind it, and an older mark, or none, proves nothing.
TEST_F(LostLog, FlushedStoresAndOlderMarksOpen) {
  {
    RocksOptions options = Durable();
    const auto engine = Open(options);
    for (int i = 0; i < 40; ++i)
      ASSERT_TRUE(kv::ApplyAndWait(*engine, PutOne(Key(i), Noise(1, 300'000))).ok());
  }
  const std::string mark = directory_.store() + "/SYNCED";
  const std::string bytes = ReadFile(mark);
  ASSERT_EQ(bytes.size(), 32u);
  EXPECT_EQ(Count(*Open(Durable())), 40);
  Write(*Open(Durable()), 100, 110);
  std::ofstream(mark, std::ios::binary) << bytes;
  EXPECT_EQ(Count(*Open(Durable())), 50);
  std::ofstream(mark, std::ios::binary) << "STATSYNC torn";
  EXPECT_EQ(Count(*Open(Durable())), 50);
  fs::remove(mark);
  EXPECT_EQ(Count(*Open(Durable())), 50);
}

TEST_F(RocksEngineTest, ForeignDirectoryIsRefused) {
  WriteFile("thesis.txt", "important");
  const auto refused = OpenRocks(Options());
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message(),
              HasSubstr("holds other files (thesis.txt) and no Stator store"));
  EXPECT_FALSE(fs::exists(directory_.store() + "/CURRENT"));
}

TEST_F(RocksEngineTest, LostCurrentFileIsNoEmptyStore) {
  WriteAndDie(3);
  fs::remove(directory_.store() + "/CURRENT");
  const auto refused = OpenRocks(Options());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kCorruption);
  EXPECT_THAT(refused.error().message(), HasSubstr("has lost its file CURRENT"));
}

TEST_F(RocksEngineTest, DamagedLogIsRefusedByName) {
  WriteAndDie(100);
  const std::string log = FindFile(".log");
  ASSERT_FALSE(log.empty());
  for (const double place : {0.5, 0.999}) {  // in the middle, and in the last record
    const auto at = static_cast<uint64_t>(place * static_cast<double>(fs::file_size(log)));
    FlipByte(log, at);
    const auto refused = OpenRocks(Options());
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code(), ErrorCode::kCorruption);
    EXPECT_THAT(refused.error().message(), HasSubstr("The log " + log + " is damaged"));
    FlipByte(log, at);
  }
  EXPECT_NE(Open(Options()), nullptr);
}

TEST_F(RocksEngineTest, TornTailOfTheLogIsCutOff) {
  WriteAndDie(100);
  const std::string log = FindFile(".log");
  fs::resize_file(log, fs::file_size(log) - 700);
  // A write that was not acknowledged has left no mark.
  fs::remove(directory_.store() + "/SYNCED");
  const auto engine = Open(Options());
  ASSERT_NE(engine, nullptr);
  std::string value;
  EXPECT_TRUE(*engine->Get(kTablet, Key(98), kv::Tier::kAny, &value));
  EXPECT_FALSE(*engine->Get(kTablet, Key(99), kv::Tier::kAny, &value));
}

TEST_F(RocksEngineTest, DamagedFileIsAnErrorByNameAndNeverAbsence) {
  WriteAndDie(400);
  Open(Options()).reset();  // recovery writes the log into a file
  std::string file;
  for (const auto& entry : fs::directory_iterator(directory_.store())) {
    if (entry.path().extension() == ".sst" && entry.file_size() > 500'000)
      file = entry.path().string();
  }
  ASSERT_FALSE(file.empty());
  FlipByte(file, fs::file_size(file) / 2);
  const auto engine = Open(Options());
  ASSERT_NE(engine, nullptr);
  int damaged = 0;
  for (int i = 0; i < 400; ++i) {
    std::string value;
    const Result<bool> exists = engine->Get(kTablet, Key(i), kv::Tier::kAny, &value);
    if (exists.ok()) {
      EXPECT_TRUE(*exists);
      continue;
    }
    ++damaged;
    EXPECT_EQ(exists.error().code(), ErrorCode::kCorruption);
    EXPECT_THAT(exists.error().message(), HasSubstr(file));
  }
  EXPECT_GT(damaged, 0);
  int seen = 0;
  const Status scanned =
      engine->Scan({kTablet, {}, {}}, kv::Tier::kAny, [&seen](auto, auto) { return ++seen > 0; });
  ASSERT_FALSE(scanned.ok());
  EXPECT_EQ(scanned.error().code(), ErrorCode::kCorruption);
  EXPECT_LT(seen, 400);
}

TEST_F(RocksEngineTest, FullDiskRefusesAndRecovers) {
  std::atomic<uint64_t> free = 1 << 30;
  RocksOptions options = Options();
  options.free_bytes = [&free](const std::string&) { return free.load(); };
  options.free_bytes_interval_micros = 0;
  const auto engine = Open(options);
  ASSERT_TRUE(kv::ApplyAndWait(*engine, PutOne("a", "1")).ok());
  free = options.reserve_free_bytes - 1;
  const Result<uint64_t> refused = kv::ApplyAndWait(*engine, PutOne("a", "2"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kUnavailable);
  EXPECT_THAT(refused.error().message(), HasSubstr("The disk is full"));
  EXPECT_FALSE(engine->Health().ok());
  EXPECT_TRUE(kv::ApplyAndWait(*engine, kv::Batch()).ok());  // a barrier writes nothing
  std::string value;
  EXPECT_TRUE(*engine->Get(kTablet, "a", kv::Tier::kAny, &value));
  EXPECT_EQ(value.substr(kv::kStampBytes), "1");
  free = 1 << 30;
  EXPECT_TRUE(kv::ApplyAndWait(*engine, PutOne("a", "3")).ok());
  EXPECT_TRUE(engine->Health().ok());
}

// A disk of its own, whose free space follows the ballast.
class SmallDisk : public RocksEngineTest {
 protected:
  static constexpr uint64_t kMiB = 1 << 20;
  RocksOptions Small() {
    RocksOptions options = Options();
    options.ballast_bytes = 2 * kMiB;
    options.reserve_free_bytes = 10 * kMiB;
    options.free_bytes_interval_micros = 0;
    options.free_bytes = [this](const std::string& path) {
      const bool ballast = fs::exists(path + "/BALLAST");
      return free_ - (ballast ? std::min<uint64_t>(free_, 2 * kMiB) : 0);
    };
    return options;
  }
  bool HasBallast() { return fs::exists(directory_.store() + "/BALLAST"); }
  template <typename Condition>
  static void WaitFor(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!condition() && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_TRUE(condition());
  }
  static kv::Batch DeleteOne(std::string key, uint64_t record_bytes = 100) {
    kv::Batch batch;
    batch.deletes.push_back({kTablet, std::move(key)});
    batch.puts.push_back({{kv::Space::kLog, 1}, "record", std::string(record_bytes, 'r')});
    batch.adds.push_back({kTablet, "counter", -1});
    return batch;
  }

  std::atomic<uint64_t> free_ = 100 * kMiB;
};

TEST_F(SmallDisk, DeletesAndDropsAreTakenWhereNothingElseIs) {
  const auto engine = Open(Small());
  for (const char* key : {"a", "b", "c", "d"})
    ASSERT_TRUE(kv::ApplyAndWait(*engine, PutOne(key, "1")).ok());
  WaitFor([this] { return HasBallast(); });
  free_ = 9 * kMiB;  // 7 with the ballast
  EXPECT_THAT(kv::ApplyAndWait(*engine, PutOne("e", "1")).error().message(),
              HasSubstr("Delete items or tables"));
  EXPECT_TRUE(kv::ApplyAndWait(*engine, DeleteOne("a")).ok());
  EXPECT_TRUE(HasBallast());
  kv::Batch replaced = DeleteOne("b");
  replaced.puts.push_back({kTablet, "z", std::string(20, 'z')});
  EXPECT_FALSE(kv::ApplyAndWait(*engine, std::move(replaced)).ok());
  free_ = 5 * kMiB;  // 3 with the ballast, which is given up now
  EXPECT_TRUE(kv::ApplyAndWait(*engine, DeleteOne("b")).ok());
  EXPECT_FALSE(HasBallast());
  kv::Batch drop;
  drop.range_deletes.push_back({kTablet, "c", "d"});
  drop.puts.push_back({{kv::Space::kCatalog, 1}, "dropped", std::string(20, 'd')});
  EXPECT_TRUE(kv::ApplyAndWait(*engine, std::move(drop)).ok());
  EXPECT_FALSE(kv::ApplyAndWait(*engine, DeleteOne("d", 2 * kMiB)).ok()) << "its record";
  free_ = 3 * kMiB;
  EXPECT_THAT(kv::ApplyAndWait(*engine, DeleteOne("d")).error().message(),
              HasSubstr("The disk is full"));
  std::string value;
  EXPECT_FALSE(*engine->Get(kTablet, "c", kv::Tier::kAny, &value));
  EXPECT_TRUE(*engine->Get(kTablet, "d", kv::Tier::kAny, &value));
}

TEST_F(SmallDisk, AnOldLookAtTheDiskRefusesNoDelete) {
  RocksOptions options = Small();
  options.ballast_bytes = 0;
  options.free_bytes_interval_micros = 3'600'000'000;
  const auto engine = Open(std::move(options));
  free_ = 3 * kMiB;
  WaitFor([&] { return !engine->Health().ok(); });
  EXPECT_FALSE(kv::ApplyAndWait(*engine, DeleteOne("a")).ok());
  free_ = 6 * kMiB;
  EXPECT_TRUE(kv::ApplyAndWait(*engine, DeleteOne("a")).ok());
}

TEST_F(SmallDisk, BallastOfAProcessThatWasKilledBeforeItReservedSpaceIsMadeAgain) {
  { const auto engine = Open(Small()); }
  fs::remove(directory_.store() + "/BALLAST");
  std::ofstream(directory_.store() + "/BALLAST").close();
  std::ofstream(directory_.store() + "/BALLAST.new").close();
  const auto engine = Open(Small());
  ASSERT_TRUE(kv::ApplyAndWait(*engine, PutOne("a", "1")).ok());
  WaitFor([this] { return fs::file_size(directory_.store() + "/BALLAST") == 2 * kMiB; });
  EXPECT_FALSE(fs::exists(directory_.store() + "/BALLAST.new"));
}

TEST_F(SmallDisk, IdleStoreNoticesThatSpaceCameAndWent) {
  const auto engine = Open(Small());
  ASSERT_TRUE(kv::ApplyAndWait(*engine, PutOne("a", "1")).ok());
  free_ = 5 * kMiB;
  WaitFor([&] { return !engine->Health().ok(); });
  EXPECT_TRUE(kv::ApplyAndWait(*engine, DeleteOne("a")).ok());
  free_ = 100 * kMiB;
  WaitFor([&] { return engine->Health().ok(); });
  WaitFor([this] { return HasBallast(); });
}

TEST_F(SmallDisk, StartOnAFullDiskReadsAndRefusesWrites) {
  {
    const auto engine = Open(Small());
    ASSERT_TRUE(kv::ApplyAndWait(*engine, PutOne("a", "1")).ok());
    WaitFor([this] { return HasBallast(); });
  }
  free_ = 9 * kMiB;  // enough once the ballast is gone
  Open(Small()).reset();
  EXPECT_FALSE(HasBallast());
  free_ = 2 * kMiB;
  {
    const auto engine = Open(Small());
    ASSERT_NE(engine, nullptr);
    EXPECT_THAT(engine->Health().error().message(), HasSubstr("then restart the server"));
    std::string value;
    EXPECT_TRUE(*engine->Get(kTablet, "a", kv::Tier::kAny, &value));
    int seen = 0;
    EXPECT_TRUE(
        engine->Scan({kTablet, {}, {}}, kv::Tier::kAny, [&](auto, auto) { return ++seen > 0; })
            .ok());
    EXPECT_EQ(seen, 1);
    EXPECT_EQ(kv::ApplyAndWait(*engine, DeleteOne("a")).error().code(), ErrorCode::kUnavailable);
    std::vector<std::optional<std::string>> values;
    const kv::Point points[] = {{kTablet, "a"}, {kTablet, "b"}};
    EXPECT_TRUE(engine->MultiGet(points, kv::Tier::kAny, &values).ok());
    EXPECT_TRUE(values[0].has_value());
    EXPECT_FALSE(values[1].has_value());
    EXPECT_FALSE(engine->Statistics().empty());
    EXPECT_THAT(OpenRocks(Small()).error().message(), HasSubstr("Another process has the store"));
  }
  free_ = 100 * kMiB;
  EXPECT_TRUE(kv::ApplyAndWait(*Open(Small()), DeleteOne("a")).ok());
  fs::remove_all(directory_.store());
  free_ = 2 * kMiB;
  const auto refused = OpenRocks(Small());
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message(), HasSubstr("The disk is full"));
}

// The bytes of the files of the store, after those that are not needed any more are gone.
uint64_t BytesOfTables(const std::string& directory) {
  uint64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(directory)) {
    std::error_code gone;
    if (entry.path().extension() == ".sst") bytes += entry.file_size(gone);
  }
  return bytes;
}

TEST_F(RocksEngineTest, ReclaimGivesTheDiskBackAndTouchesNoOtherTablet) {
  const kv::Tablet before{kv::Space::kItems, 1}, dropped{kv::Space::kItems, 2},
      behind{kv::Space::kItems, 3};
  const auto engine = Open(Options());
  constexpr int kItems = 200;
  for (const kv::Tablet tablet : {before, dropped, behind, dropped}) {  // old versions, too
    for (int i = 0; i < kItems; ++i) {
      kv::Batch batch;
      batch.puts.push_back(
          {tablet, Key(i),
           std::string(kv::kStampBytes, '\0') + Noise(static_cast<uint64_t>(i), 50'000)});
      ASSERT_TRUE(kv::ApplyAndWait(*engine, std::move(batch)).ok());
    }
  }
  const auto count = [&](kv::Tablet tablet) {
    int seen = 0;
    EXPECT_TRUE(
        engine->Scan({tablet, "", ""}, kv::Tier::kAny, [&](auto, auto) { return ++seen > 0; })
            .ok());
    return seen;
  };
  EXPECT_EQ(count(dropped), kItems);
  kv::Batch drop;
  drop.range_deletes.push_back({dropped, "", ""});
  ASSERT_TRUE(kv::ApplyAndWait(*engine, std::move(drop)).ok());
  EXPECT_GT(BytesOfTables(directory_.store()), 30u << 20);
  std::atomic<bool> stop = false;
  const Result<uint64_t> freed = engine->reclaimer()->Reclaim(dropped, &stop);
  ASSERT_TRUE(freed.ok()) << freed.error().message();
  EXPECT_EQ(count(dropped), 0);
  EXPECT_EQ(count(before), kItems);
  EXPECT_EQ(count(behind), kItems);
  EXPECT_LT(engine->ApproximateBytes(dropped), 1u << 20);
  // Two tablets of 10 MB are left, some of it in memory.
  EXPECT_LT(BytesOfTables(directory_.store()), 23u << 20);
  EXPECT_TRUE(engine->reclaimer()->Reclaim(dropped, &stop).ok()) << "repeated";
}

// Connections may have every descriptor when RocksDB begins its next log.
TEST_F(RocksEngineTest, WritesGoOnWhenThereAreNoDescriptorsLeft) {
  const auto engine = Open(Options());
  ASSERT_TRUE(kv::ApplyAndWait(*engine, PutOne("a", "1")).ok());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 256;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  std::vector<int> taken;
  const auto take = [&taken] {
    for (int fd; (fd = ::open("/dev/null", O_RDONLY)) >= 0;) taken.push_back(fd);
  };
  const std::string first_log = FindFile(".log");
  take();
  EXPECT_EQ(errno, EMFILE);
  for (int i = 0; i < 40; ++i) {  // 12 MB: memtables of 4 MB are flushed
    const Result<uint64_t> written =
        kv::ApplyAndWait(*engine, PutOne(Key(i), Noise(static_cast<uint64_t>(i), 300'000)));
    EXPECT_TRUE(written.ok()) << i << ": " << written.error().message();
    take();
  }
  EXPECT_TRUE(engine->Health().ok());
  std::string value;
  EXPECT_TRUE(*engine->Get(kTablet, Key(3), kv::Tier::kAny, &value));
  for (const int fd : taken) ::close(fd);
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_NE(FindFile(".log"), first_log) << "no new log was begun";
  EXPECT_TRUE(kv::ApplyAndWait(*engine, PutOne("a", "2")).ok());
}

TEST_F(RocksEngineTest, FailedSyncMakesTheStoreReadOnlyUntilRestart) {
  const auto disk = PowerCutDisk::Make(directory_.store());
  RocksOptions options = Options();
  options.env = disk->env();
  auto engine = Open(options);
  ASSERT_TRUE(kv::ApplyAndWait(*engine, PutOne("a", "1")).ok());
  disk->FailLogSyncs(1);
  EXPECT_EQ(kv::ApplyAndWait(*engine, PutOne("a", "2")).error().code(), ErrorCode::kOutcomeUnknown);
  const Result<uint64_t> later = kv::ApplyAndWait(*engine, PutOne("b", "3"));
  EXPECT_EQ(later.error().code(), ErrorCode::kUnavailable);
  EXPECT_THAT(later.error().message(), HasSubstr("restart the server"));
  EXPECT_EQ(kv::ApplyAndWait(*engine, kv::Batch()).error().code(), ErrorCode::kUnavailable);
  EXPECT_FALSE(engine->Health().ok());
  std::string value;
  EXPECT_TRUE(*engine->Get(kTablet, "a", kv::Tier::kAny, &value));
  EXPECT_EQ(value.substr(kv::kStampBytes), "1");

  engine.reset();
  engine = Open(options);
  ASSERT_NE(engine, nullptr);
  EXPECT_FALSE(*engine->Get(kTablet, "b", kv::Tier::kAny, &value));
  EXPECT_TRUE(kv::ApplyAndWait(*engine, PutOne("b", "4")).ok());
}

// The first batch's `done` holds the committer while the others are queued. It then takes small
// batches first, but for those that name a large one.
TEST_F(RocksEngineTest, SmallWritesPassLargeOnesThatTheyDoNotName) {
  const auto engine = Open(Options());
  std::promise<void> held, queued;
  engine->Apply(PutOne("first", "x"), [&](Result<uint64_t>) {
    held.set_value();
    queued.get_future().wait();
  });
  held.get_future().wait();
  std::vector<std::string> order;
  const auto apply = [&](kv::Batch batch, std::string name) {
    engine->Apply(std::move(batch), [&order, name](Result<uint64_t> stamp) {
      EXPECT_TRUE(stamp.ok()) << name;
      order.push_back(name);
    });
  };
  kv::Batch named = PutOne("key", Noise(1, 3 << 20));
  named.fate = std::make_shared<kv::BatchFate>();
  kv::Batch child = PutOne("key", "of the child");
  child.after = {named.fate};
  apply(std::move(named), "named");
  apply(PutOne("large", Noise(2, 3 << 20)), "large");
  apply(std::move(child), "child");
  apply(PutOne("small", "x"), "small");
  queued.set_value();
  ASSERT_TRUE(kv::ApplyAndWait(*engine, kv::Batch()).ok());
  EXPECT_EQ(order, (std::vector<std::string>{"small", "named", "large", "child"}));
  std::string value;
  ASSERT_TRUE(engine->Get(kTablet, "key", kv::Tier::kAny, &value).ok());
  EXPECT_EQ(value.substr(kv::kStampBytes), "of the child");
}

TEST_F(RocksEngineTest, MemoryTierDoesNotReadFiles) {
  WriteAndDie(200);
  const auto engine = Open(Options());
  std::string value;
  // Recovery may have put the blocks into the cache; absent they are in no case.
  const Result<bool> cold = engine->Get(kTablet, Key(150), kv::Tier::kMemory, &value);
  EXPECT_TRUE(cold.ok() ? *cold : cold.error().code() == ErrorCode::kWouldBlock);
  EXPECT_TRUE(*engine->Get(kTablet, Key(150), kv::Tier::kAny, &value));
  const Result<bool> warm = engine->Get(kTablet, Key(150), kv::Tier::kMemory, &value);
  ASSERT_TRUE(warm.ok());
  EXPECT_TRUE(*warm);
}

TEST_F(RocksEngineTest, ColdReadsBlock) {
  WriteAndDie(200);
  Open(Options()).reset();
  const auto engine = Open(Options());  // nothing to recover: the cache is empty
  std::string value;
  EXPECT_EQ(engine->Get(kTablet, Key(150), kv::Tier::kMemory, &value).error().code(),
            ErrorCode::kWouldBlock);
  const std::string name = Key(150);
  const kv::Point point{kTablet, name};
  std::vector<std::optional<std::string>> values;
  const Status several = engine->MultiGet({&point, 1}, kv::Tier::kMemory, &values);
  ASSERT_FALSE(several.ok());
  EXPECT_EQ(several.error().code(), ErrorCode::kWouldBlock);
  const Status scanned =
      engine->Scan({kTablet, {}, {}}, kv::Tier::kMemory, [](auto, auto) { return true; });
  ASSERT_FALSE(scanned.ok());
  EXPECT_EQ(scanned.error().code(), ErrorCode::kWouldBlock);
  EXPECT_TRUE(*engine->Get(kTablet, Key(150), kv::Tier::kAny, &value));
}

TEST_F(RocksEngineTest, CheckpointIsAStoreOfItsOwn) {
  auto engine = Open(Options());
  ASSERT_TRUE(kv::ApplyAndWait(*engine, PutOne("a", "1")).ok());
  const std::string copy = directory_.path() + "/copy";
  ASSERT_TRUE(engine->Checkpoint(copy).ok());
  EXPECT_FALSE(engine->Checkpoint(copy).ok());  // it must be new
  ASSERT_TRUE(kv::ApplyAndWait(*engine, PutOne("a", "2")).ok());
  const auto copied = OpenRocks({.path = copy, .memory_budget_bytes = 16 << 20});
  ASSERT_TRUE(copied.ok()) << copied.error().message();
  std::string value;
  EXPECT_TRUE(*(*copied)->Get(kTablet, "a", kv::Tier::kAny, &value));
  EXPECT_EQ(value.substr(kv::kStampBytes), "1");
}

TEST_F(RocksEngineTest, StatisticsAndSizes) {
  const auto engine = Open(Options());
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(kv::ApplyAndWait(*engine, PutOne(Key(i), Noise(i, 10'000))).ok());
  const auto statistics = engine->Statistics();
  EXPECT_EQ(statistics.at("kv_commit_batches"), 100);
  EXPECT_EQ(statistics.at("kv_writable"), 1);
  EXPECT_GT(statistics.at("kv_memtable_bytes"), 0);
  EXPECT_GT(engine->ApproximateBytes(kTablet), 500'000);
  EXPECT_EQ(engine->ApproximateBytes({kv::Space::kItems, 2}), 0);
}

}  // namespace
}  // namespace stator::kv_rocks
