#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>

#include "base/random.h"
#include "crypt/encrypted_file.h"
#include "kv/conformance.h"
#include "kv/features.h"
#include "kv/reclaim.h"
#include "kv_rocks/rocks_engine.h"
#include "kv_rocks/temporary_directory.h"

namespace stator::kv_rocks {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr kv::Tablet kTablet{kv::Space::kItems, 1};

std::shared_ptr<const crypt::FileKeys> Keys(const std::string& letters) {
  std::vector<std::string> masters;
  for (const char letter : letters) masters.emplace_back(crypt::kMasterKeyBytes, letter);
  return crypt::FileKeys::Make(masters).value();
}

class EncryptedStore final : public kv::StoreUnderTest {
 public:
  explicit EncryptedStore(uint64_t seed) : seed_(seed) {}
  Result<std::unique_ptr<kv::Engine>> Open() override {
    return OpenRocks({.path = directory_.store(),
                      .memory_budget_bytes = 16 << 20,
                      .sync = seed_ == 1,
                      .items_prefix_bytes = seed_ % 4,
                      .keys = Keys("a")});
  }

 private:
  const uint64_t seed_;
  const TemporaryDirectory directory_;
};

class EncryptedConformance : public testing::TestWithParam<kv::ConformanceCase> {};

TEST_P(EncryptedConformance, Holds) {
  for (const uint64_t seed : {uint64_t{1}, SystemSeed()}) {
    const Status status = GetParam().run(
        {.make = [seed] { return std::make_unique<EncryptedStore>(seed); }, .seed = seed});
    ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status.error().message();
  }
}

INSTANTIATE_TEST_SUITE_P(Suite, EncryptedConformance, testing::ValuesIn(kv::ConformanceCases()),
                         kv::ConformanceCase::NameOf<testing::TestParamInfo<kv::ConformanceCase>>);

class EncryptedStoreTest : public testing::Test {
 protected:
  RocksOptions Options(const std::string& letters) const {
    return {.path = directory_.store(),
            .memory_budget_bytes = 16 << 20,
            .sync = sync_,
            .keys = letters.empty() ? nullptr : Keys(letters)};
  }
  static Status Put(kv::Engine& engine, const std::string& key, const std::string& text) {
    kv::Batch batch;
    batch.puts.push_back({kTablet, key, std::string(kv::kStampBytes, '\0').append(text)});
    const Result<uint64_t> stamp = kv::ApplyAndWait(engine, std::move(batch));
    if (!stamp.ok()) return stamp.error();
    return OkStatus();
  }
  static std::string Get(kv::Engine& engine, const std::string& key) {
    std::string value;
    const Result<bool> found = engine.Get(kTablet, key, kv::Tier::kAny, &value);
    if (!found.ok()) return found.error().message();
    return *found ? value.substr(kv::kStampBytes) : "(absent)";
  }
  std::string Refusal(const std::string& letters) const {
    const auto engine = OpenRocks(Options(letters));
    return engine.ok() ? "" : engine.error().message();
  }
  // The bytes of every file, by name.
  std::map<std::string, std::string> Bytes(const std::string& directory) const {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(directory)) {
      std::ifstream in(entry.path(), std::ios::binary);
      files[entry.path().filename().string()] =
          std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    }
    return files;
  }
  // A word in the logs, in tables of several levels, and deleted.
  void Fill(kv::Engine& engine) {
    for (int i = 0; i < 40; ++i) {
      kv::Batch batch;
      for (int k = 0; k < 50; ++k) {
        batch.puts.push_back({kTablet, "key-in-plain-" + std::to_string((i * 50 + k) % 1500),
                              std::string(kv::kStampBytes, '\0')
                                  .append("value-in-plain")
                                  .append(std::string(3000, 'v'))});
      }
      ASSERT_TRUE(kv::ApplyAndWait(engine, std::move(batch)).ok());
    }
    std::atomic<bool> stop = false;
    ASSERT_TRUE(engine.reclaimer()->Reclaim({kv::Space::kItems, 9}, &stop).ok());
    ASSERT_TRUE(Put(engine, "key-in-plain-last", "value-in-plain").ok());
  }

  bool sync_ = false;
  const TemporaryDirectory directory_;
};

TEST_F(EncryptedStoreTest, NoPlainTextIsInAnyFile) {
  const std::string copy = directory_.path() + "/copy";
  {
    const auto engine = OpenRocks(Options("a")).value();
    Fill(*engine);
    ASSERT_TRUE(engine->Checkpoint(copy).ok());
  }
  {
    RocksOptions there = Options("a");
    there.path = copy;
    EXPECT_EQ(Get(*OpenRocks(there).value(), "key-in-plain-last"), "value-in-plain");
  }
  size_t tables = 0;
  for (const std::string& directory : {directory_.store(), copy}) {
    for (const auto& [name, bytes] : Bytes(directory)) {
      tables += name.ends_with(".sst") ? 1 : 0;
      for (const char* word : {"in-plain", "vvvvvvvv", "MANIFEST-", "last_stamp", "rocksdb"})
        EXPECT_EQ(bytes.find(word), std::string::npos) << word << " in " << name;
    }
  }
  EXPECT_GT(tables, 0u);
  // The check can fail: a plain store has them.
  RocksOptions plain = Options("");
  plain.path = directory_.path() + "/plain";
  Fill(*OpenRocks(plain).value());
  size_t found = 0;
  for (const auto& [name, bytes] : Bytes(plain.path))
    found += bytes.find("in-plain") != std::string::npos ? 1 : 0;
  EXPECT_GT(found, 0u);
}

TEST_F(EncryptedStoreTest, WrongMissingAndNeedlessKeysAreRefusedAndChangeNothing) {
  ASSERT_TRUE(Put(*OpenRocks(Options("a")).value(), "k", "v").ok());
  const auto before = Bytes(directory_.store());
  EXPECT_EQ(before.at("FORMAT"), "stator-store 3\nfeatures encryption\n");
  EXPECT_THAT(Refusal("b"), HasSubstr("is encrypted with the key " + Keys("a")->key_id() +
                                      ", and the key that was given is " + Keys("b")->key_id()));
  EXPECT_EQ(Refusal(""), "The store in " + directory_.store() +
                             " is encrypted. Give its key with --encryption-key-file.");
  EXPECT_EQ(Bytes(directory_.store()), before);
  RocksOptions older = Options("a");
  older.known_features = {"identities", "table-settings"};
  EXPECT_THAT(OpenRocks(older).error().message(), HasSubstr("needs the feature encryption, which"));
  EXPECT_EQ(Get(*OpenRocks(Options("a")).value(), "k"), "v");

  RocksOptions plain = Options("");
  plain.path = directory_.path() + "/plain";
  ASSERT_TRUE(Put(*OpenRocks(plain).value(), "k", "v").ok());
  const auto plain_before = Bytes(plain.path);
  plain.keys = Keys("a");
  EXPECT_THAT(OpenRocks(plain).error().message(), HasSubstr("is not encrypted"));
  EXPECT_THAT(OpenRocks(plain).error().message(), HasSubstr("--to-encryption-key-file"));
  EXPECT_EQ(Bytes(plain.path), plain_before);
}

TEST_F(EncryptedStoreTest, NewKeyTakesOverAtAStart) {
  {
    const auto engine = OpenRocks(Options("a")).value();
    Fill(*engine);
  }
  {
    const auto engine = OpenRocks(Options("ba")).value();
    EXPECT_EQ(Get(*engine, "key-in-plain-last"), "value-in-plain");
    ASSERT_TRUE(Put(*engine, "later", "v").ok());
  }
  EXPECT_NE(Refusal("a"), "");
  const auto engine = OpenRocks(Options("b")).value();
  EXPECT_EQ(Get(*engine, "key-in-plain-7").substr(0, 8), "value-in");
  EXPECT_EQ(Get(*engine, "later"), "v");
}

// As a kill between two headers leaves them.
TEST_F(EncryptedStoreTest, HalfRenewedStoreIsRenewedAtTheNextStart) {
  {
    const auto engine = OpenRocks(Options("a")).value();
    Fill(*engine);
  }
  size_t number = 0;
  for (const auto& entry : fs::directory_iterator(directory_.store())) {
    if (++number % 2 == 0) {
      ASSERT_TRUE(crypt::RenewHeader(entry.path().string(), *Keys("ba")).ok());
    }
  }
  EXPECT_NE(Refusal("a"), "");
  EXPECT_NE(Refusal("b"), "");
  EXPECT_EQ(Get(*OpenRocks(Options("ba")).value(), "key-in-plain-last"), "value-in-plain");
  EXPECT_EQ(Refusal("b"), "");
}

TEST_F(EncryptedStoreTest, DamagedHeaderIsRefusedByName) {
  ASSERT_TRUE(Put(*OpenRocks(Options("a")).value(), "k", "v").ok());
  size_t checked = 0;
  for (const auto& [name, bytes] : Bytes(directory_.store())) {
    if (name == "LOCK" || name == "SYNCED" || name == "FORMAT" || name.starts_with("LOG")) continue;
    const std::string path = directory_.store() + "/" + name;
    std::string flipped = bytes;
    flipped[70] = static_cast<char>(flipped[70] ^ 1);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << flipped;
    const auto refused = OpenRocks(Options("a"));
    ASSERT_FALSE(refused.ok()) << name;
    EXPECT_EQ(refused.error().code(), ErrorCode::kCorruption);
    EXPECT_THAT(refused.error().message(), HasSubstr(path));
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    ++checked;
  }
  EXPECT_GE(checked, 4u);
  EXPECT_EQ(Get(*OpenRocks(Options("a")).value(), "k"), "v");
}

TEST_F(EncryptedStoreTest, AcknowledgedWritesSurviveKill) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto engine = OpenRocks(Options("a"));
    bool good = engine.ok();
    for (int i = 0; good && i < 300; ++i)
      good = Put(**engine, "k" + std::to_string(i), std::string(2000, 'x')).ok();
    ::_exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  const auto engine = OpenRocks(Options("a")).value();
  for (int i = 0; i < 300; ++i)
    ASSERT_EQ(Get(*engine, "k" + std::to_string(i)), std::string(2000, 'x'));
}

TEST_F(EncryptedStoreTest, DamageAndLossOfTheLogAreSeen) {
  sync_ = true;
  {
    const auto engine = OpenRocks(Options("a")).value();
    for (int i = 0; i < 200; ++i)
      ASSERT_TRUE(Put(*engine, "k" + std::to_string(i), std::string(2000, 'x')).ok());
  }
  std::string log;
  for (const auto& [name, bytes] : Bytes(directory_.store()))
    if (name.ends_with(".log") && bytes.size() > 100'000) log = directory_.store() + "/" + name;
  ASSERT_NE(log, "");
  const std::string bytes = Bytes(directory_.store()).at(fs::path(log).filename().string());
  const auto put = [&](const std::string& text) {
    std::ofstream(log, std::ios::binary | std::ios::trunc) << text;
  };
  std::string damaged = bytes;
  damaged[bytes.size() / 2] = static_cast<char>(damaged[bytes.size() / 2] ^ 1);
  put(damaged);
  EXPECT_THAT(Refusal("a"), HasSubstr("is damaged at byte"));
  for (const size_t left : {size_t{0}, size_t{100}, crypt::kHeaderBytes, bytes.size() / 2}) {
    put(bytes.substr(0, left));
    EXPECT_THAT(Refusal("a"), HasSubstr("writes that were acknowledged")) << left;
  }
  put(bytes);
  EXPECT_EQ(Get(*OpenRocks(Options("a")).value(), "k199"), std::string(2000, 'x'));
}

}  // namespace
}  // namespace stator::kv_rocks
