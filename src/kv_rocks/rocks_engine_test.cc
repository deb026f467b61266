#include "kv_rocks/rocks_engine.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>

#include "base/random.h"
#include "kv/conformance.h"
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
              HasSubstr("has format 99; this version of Stator reads formats up to 2"));
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
