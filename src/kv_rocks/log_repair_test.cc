#include "kv_rocks/log_repair.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "crypt/file_keys.h"
#include "kv_rocks/rocks_engine.h"
#include "kv_rocks/temporary_directory.h"

namespace stator::kv_rocks {
namespace {

namespace fs = std::filesystem;

constexpr kv::Tablet kTablet{kv::Space::kItems, 1};

class LogRepair : public testing::Test {
 protected:
  RocksOptions Options() const {
    return {.path = directory_.store(), .memory_budget_bytes = 16 << 20, .keys = keys_};
  }
  std::unique_ptr<kv::Engine> Open() {
    Result<std::unique_ptr<kv::Engine>> engine = OpenRocks(Options());
    EXPECT_TRUE(engine.ok()) << engine.error().message();
    return engine.ok() ? *std::move(engine) : nullptr;
  }
  // Puts a value without zeros, and leaves the store as a crash behind that would.
  void PutAndCrash(const std::string& key) {
    const std::string image = directory_.store() + ".image";
    {
      const std::unique_ptr<kv::Engine> engine = Open();
      ASSERT_NE(engine, nullptr);
      kv::Batch batch;
      batch.puts.push_back({kTablet, key, std::string(20'000, 'v')});
      ASSERT_TRUE(kv::ApplyAndWait(*engine, std::move(batch)).ok());
      fs::copy(directory_.store(), image, fs::copy_options::recursive);
    }
    fs::remove_all(directory_.store());
    fs::rename(image, directory_.store());
    // The damage below stands for writes that were not acknowledged, which leave no mark.
    fs::remove(directory_.store() + "/SYNCED");
  }
  std::string NewestLog() const {
    std::string found;
    for (const auto& entry : fs::directory_iterator(directory_.store())) {
      if (entry.path().extension() == ".log" && entry.file_size() > 0)
        found = std::max(found, entry.path().string());
    }
    return found;
  }

  const TemporaryDirectory directory_;
  std::shared_ptr<const crypt::FileKeys> keys_;
};

// The directory may keep a log that is not needed any more: its deletion was lost with the power.
TEST_F(LogRepair, ATornLogOfAnEarlierCrashDoesNotHinderTheRepairOfTheNewest) {
  PutAndCrash("a");
  const std::string old_log = NewestLog();
  ASSERT_FALSE(old_log.empty());
  fs::resize_file(old_log, fs::file_size(old_log) - 700);
  const std::string kept = directory_.store() + ".kept";
  fs::copy_file(old_log, kept);
  PutAndCrash("b");
  const std::string log = NewestLog();
  ASSERT_GT(log, old_log);
  fs::rename(kept, old_log);
  // A sector of the last record never reached the disk.
  std::fstream file(log, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>((fs::file_size(log) - 4000) / 512 * 512));
  file << std::string(512, '\0');
  file.close();
  const std::unique_ptr<kv::Engine> engine = Open();
  ASSERT_NE(engine, nullptr);
  std::string value;
  EXPECT_FALSE(*engine->Get(kTablet, "b", kv::Tier::kAny, &value));
  EXPECT_TRUE(engine->Health().ok());
}

// Blocks behind the last record that the file system had reserved: zeros on the disk, noise once
// they are decrypted.
TEST_F(LogRepair, AnEncryptedLogThatEndsInBlocksThatWereNeverWrittenIsCutThere) {
  keys_ = crypt::FileKeys::Make({std::string(crypt::kMasterKeyBytes, 'k')}).value();
  PutAndCrash("a");
  const std::string log = NewestLog();
  fs::resize_file(log, fs::file_size(log) + 100'000);
  const std::unique_ptr<kv::Engine> engine = Open();
  ASSERT_NE(engine, nullptr);
  std::string value;
  EXPECT_TRUE(*engine->Get(kTablet, "a", kv::Tier::kAny, &value));
}

}  // namespace
}  // namespace stator::kv_rocks
