// Backups of RocksDB stores in directories: whole, incremental, damaged, interrupted.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "crypt/file_keys.h"
#include "kv_rocks/rocks_engine.h"
#include "kv_rocks/temporary_directory.h"
#include "store_backup/keeper.h"
#include "store_backup/make.h"
#include "store_backup/restore.h"

namespace stator::store_backup {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr kv::Tablet kItems{kv::Space::kItems, 7};
constexpr kv::Tablet kLog{kv::Space::kLog, 7};

std::string Value(std::string_view text) {
  return std::string(kv::kStampBytes, '\0') + std::string(text);
}

std::string FileText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void WriteFile(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

std::shared_ptr<const crypt::FileKeys> Keys(const std::string& letters) {
  std::vector<std::string> masters;
  for (const char letter : letters) masters.emplace_back(crypt::kMasterKeyBytes, letter);
  return crypt::FileKeys::Make(masters).value();
}

// Bytes that no file shares with another.
std::string Noise(uint32_t seed, size_t bytes) {
  std::string text;
  for (uint32_t x = seed * 2654435761u + 1; text.size() < bytes;) {
    x ^= x << 13, x ^= x >> 17, x ^= x << 5;
    text.push_back(static_cast<char>(x));
  }
  return text;
}

class StoreBackup : public testing::Test {
 protected:
  std::string data() const { return directory_.path() + "/data"; }
  std::string backups() const { return directory_.path() + "/far/backups"; }
  std::string restored() const { return directory_.path() + "/restored"; }

  std::unique_ptr<kv::Engine> Open(const std::string& path) const {
    Result<std::unique_ptr<kv::Engine>> engine = kv_rocks::OpenRocks(
        {.path = path, .memory_budget_bytes = 16 << 20, .sync = false, .keys = keys_});
    EXPECT_TRUE(engine.ok()) << engine.error().message();
    return engine.ok() ? *std::move(engine) : nullptr;
  }
  void OpenData() { engine_ = Open(data()); }

  static Status Put(kv::Engine& engine, const std::string& key, std::string_view text) {
    kv::Batch batch;
    batch.puts.push_back({kItems, key, Value(text)});
    batch.puts.push_back({kLog, key, Value(text)});
    const Result<uint64_t> done = kv::ApplyAndWait(engine, std::move(batch));
    return done.ok() ? OkStatus() : Status(done.error());
  }
  void PutNoise(int from, int to) {
    for (int i = from; i < to; ++i)
      ASSERT_TRUE(Put(*engine_, fmt::format("{:06}", i), Noise(i, 10'000)).ok());
  }
  static std::map<std::string, std::string> All(kv::Engine& engine) {
    std::map<std::string, std::string> all;
    for (const kv::Tablet tablet : {kItems, kLog}) {
      EXPECT_TRUE(engine
                      .Scan({tablet, "", ""}, kv::Tier::kAny,
                            [&](std::string_view key, std::string_view value) {
                              all.emplace(fmt::format("{} {}", static_cast<int>(tablet.space), key),
                                          value.substr(kv::kStampBytes));
                              return true;
                            })
                      .ok());
    }
    return all;
  }

  Result<Backup> Make(MakeOptions options = {}) {
    return MakeBackup(*engine_, data(), *place_, clock_, options);
  }
  Status Restore(const Backup& backup) {
    fs::remove_all(restored());
    return RestoreBackup(*place_, backup, restored(), {});
  }
  std::map<std::string, std::string> Restored(const Backup& backup) {
    const Status done = Restore(backup);
    EXPECT_TRUE(done.ok()) << done.error().message();
    const std::unique_ptr<kv::Engine> engine = Open(restored());
    return engine == nullptr ? std::map<std::string, std::string>() : All(*engine);
  }
  std::set<std::string> Objects() const {
    std::set<std::string> names;
    for (const auto& each : fs::directory_iterator(backups() + "/objects"))
      names.insert(each.path().filename().string());
    return names;
  }

  Result<std::vector<Backup>> ListBackups(std::vector<std::string>* damaged = nullptr) {
    std::vector<Backup> list;
    TRY(VisitBackups(*place_, SIZE_MAX, damaged,
                     [&](Backup each) { list.push_back(std::move(each)); }));
    return list;
  }

  const kv_rocks::TemporaryDirectory directory_;
  std::shared_ptr<const crypt::FileKeys> keys_;
  ManualClock clock_{1'795'778'431'000'000};  // 2026-11-27T11:20:31Z
  std::unique_ptr<Place> place_ = MakeDirectoryPlace(backups(), 0);
  std::unique_ptr<kv::Engine> engine_;
};

TEST_F(StoreBackup, IsTheStoreOfItsMoment) {
  OpenData();
  PutNoise(0, 100);
  const auto before = All(*engine_);
  const Result<Backup> made = Make({.version = "1.2", .key_id = ""});
  ASSERT_TRUE(made.ok()) << made.error().message();
  EXPECT_EQ(made->id, "00000001-20261127T112031Z");
  EXPECT_EQ(made->new_bytes, made->bytes());
  EXPECT_GT(made->bytes(), 1'000'000u);
  PutNoise(100, 110);
  EXPECT_EQ(Restored(*made), before);
  EXPECT_FALSE(fs::exists(data() + "/store-backup.links"));
  EXPECT_FALSE(fs::exists(restored() + "/RESTORING"));
}

TEST_F(StoreBackup, CopiesWhatIsNew) {
  OpenData();
  PutNoise(0, 300);
  const Result<Backup> first = Make();
  ASSERT_TRUE(first.ok());
  const auto of_first = All(*engine_);
  clock_.AdvanceMicros(3'600'000'000);
  PutNoise(300, 310);
  const auto of_second = All(*engine_);
  const Result<Backup> second = Make();
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->id, "00000002-20261127T122031Z");
  EXPECT_LT(second->new_bytes, second->bytes() / 4) << second->bytes();
  EXPECT_GT(second->new_bytes, 10 * 10'000u);
  EXPECT_EQ(Restored(*first), of_first);
  EXPECT_EQ(Restored(*second), of_second);

  const Result<std::vector<Backup>> list = ListBackups();
  ASSERT_TRUE(list.ok());
  ASSERT_EQ(list->size(), 2u);
  EXPECT_EQ(list->back().new_bytes, second->new_bytes);
  EXPECT_EQ(FindBackup(*place_, "")->id, second->id);
  EXPECT_EQ(FindBackup(*place_, first->id)->id, first->id);
  EXPECT_EQ(FindBackup(*place_, "2026-11-27T12:00:00Z")->id, first->id);
  EXPECT_EQ(FindBackup(*place_, "2026-11-27T13:00:00Z")->id, second->id);
  EXPECT_EQ(FindBackup(*place_, "2026-11-27T11:00:00Z").error().code(),
            ErrorCode::kResourceNotFound);
  EXPECT_EQ(FindBackup(*place_, "yesterday").error().code(), ErrorCode::kValidation);
  EXPECT_EQ(FindBackup(*place_, "00000003-20261127T122031Z").error().code(),
            ErrorCode::kResourceNotFound);
}

TEST_F(StoreBackup, OfARestoredStoreGoesOn) {
  OpenData();
  PutNoise(0, 50);
  const Result<Backup> first = Make();
  ASSERT_TRUE(first.ok());
  PutNoise(50, 100);
  const auto lost = All(*engine_);
  const Result<Backup> second = Make();
  ASSERT_TRUE(second.ok());
  // The restored store writes other files under the numbers that the lost one used.
  engine_ = nullptr;
  fs::remove_all(data());
  ASSERT_TRUE(RestoreBackup(*place_, *first, data(), {}).ok());
  OpenData();
  PutNoise(1000, 1050);
  const auto now = All(*engine_);
  const Result<Backup> third = Make();
  ASSERT_TRUE(third.ok());
  EXPECT_EQ(third->number, 3u);
  EXPECT_EQ(Restored(*second), lost);
  EXPECT_EQ(Restored(*third), now);
}

TEST_F(StoreBackup, NamesTheObjectThatIsNotAsItWas) {
  OpenData();
  PutNoise(0, 100);
  const Result<Backup> made = Make();
  ASSERT_TRUE(made.ok());
  for (const File& file : made->files) {
    const std::string path = fmt::format("{}/{}", backups(), ObjectName(file));
    const std::string whole = FileText(path);
    ASSERT_EQ(whole.size(), file.bytes);
    const auto refused = [&](std::string_view why) {
      const Status status = Restore(*made);
      ASSERT_FALSE(status.ok()) << file.name;
      EXPECT_EQ(status.error().code(), ErrorCode::kCorruption);
      EXPECT_THAT(status.error().message(), HasSubstr(file.hash));
      EXPECT_THAT(status.error().message(), HasSubstr("the file " + file.name));
      EXPECT_THAT(status.error().message(), HasSubstr(std::string(why)));
      EXPECT_FALSE(VerifyBackup(*place_, *made, {}).ok());
      // The files that were written so far are no store.
      EXPECT_FALSE(kv_rocks::OpenRocks({.path = restored()}).ok());
    };
    if (!whole.empty()) {
      std::string damaged = whole;
      damaged[damaged.size() / 2] ^= 1;
      WriteFile(path, damaged);
      refused("checksum");
      // Swapped: the bytes of another one.
      std::string other = FileText(fmt::format("{}/{}", backups(), ObjectName(made->files.back())));
      if (file.name == made->files.back().name) other = std::string(1, 'x');
      other.resize(whole.size());
      WriteFile(path, other);
      refused("checksum");
      WriteFile(path, whole.substr(1));
      refused("bytes in place of");
    }
    fs::remove(path);
    refused("is missing");
    WriteFile(path, whole);
  }
  EXPECT_TRUE(VerifyBackup(*place_, *made, {}).ok());
}

TEST_F(StoreBackup, CopiesAgainWhatTheHolderLost) {
  OpenData();
  PutNoise(0, 100);
  const Result<Backup> first = Make();
  ASSERT_TRUE(first.ok());
  const auto largest =
      std::max_element(first->files.begin(), first->files.end(),
                       [](const File& a, const File& b) { return a.bytes < b.bytes; });
  fs::remove(fmt::format("{}/{}", backups(), ObjectName(*largest)));
  const Result<Backup> second = Make();
  ASSERT_TRUE(second.ok());
  EXPECT_GE(second->new_bytes, largest->bytes);
  EXPECT_TRUE(VerifyBackup(*place_, *first, {}).ok());
}

TEST_F(StoreBackup, RefusesADamagedManifest) {
  OpenData();
  PutNoise(0, 3);
  const Result<Backup> made = Make();
  ASSERT_TRUE(made.ok());
  const std::string text = FormatManifest(*made);
  const std::string name = ManifestName(made->id);
  ASSERT_TRUE(ParseManifest(text, name).ok());
  EXPECT_EQ(FormatManifest(*ParseManifest(text, name)), text);
  for (size_t i = 0; i < text.size(); ++i) {
    std::string damaged = text;
    damaged[i] ^= 1;
    EXPECT_FALSE(ParseManifest(damaged, name).ok()) << i;
    EXPECT_FALSE(ParseManifest(text.substr(0, i), name).ok()) << i;
  }
  EXPECT_FALSE(ParseManifest(text, ManifestName("00000009-20261127T112031Z")).ok());
  // A file that would leave its directory.
  Backup bad = *made;
  bad.files.front().name = "../x";
  EXPECT_FALSE(ParseManifest(FormatManifest(bad), name).ok());
}

TEST_F(StoreBackup, KeepsTheNewestAndWhatTheyNeed) {
  OpenData();
  std::vector<std::map<std::string, std::string>> states;
  std::vector<Backup> made;
  for (int i = 0; i < 5; ++i) {
    PutNoise(i * 20, i * 20 + 20);
    states.push_back(All(*engine_));
    clock_.AdvanceMicros(1'000'000);
    Result<Backup> each = Make();
    ASSERT_TRUE(each.ok());
    made.push_back(*std::move(each));
  }
  WriteFile(backups() + "/" + ObjectName({.bytes = 4, .hash = HashOf("dead")}), "dead");
  WriteFile(backups() + "/objects/holiday.jpg", "somebody else's");
  WriteFile(backups() + "/backups/notes.txt", "somebody else's");
  const Result<Removed> removed = RemoveOld(*place_, 2);
  ASSERT_TRUE(removed.ok());
  EXPECT_EQ(removed->backups, 3u);
  EXPECT_GT(removed->objects, 1u);
  EXPECT_EQ(ListBackups()->size(), 2u);
  std::set<std::string> needed;
  for (int i = 3; i < 5; ++i) {
    for (const File& file : made[i].files) needed.insert(ObjectName(file).substr(8));
    EXPECT_EQ(Restored(made[i]), states[i]);
  }
  needed.insert("holiday.jpg");
  EXPECT_EQ(Objects(), needed);
  EXPECT_TRUE(fs::exists(backups() + "/backups/notes.txt"));
  EXPECT_FALSE(Restore(made[2]).ok());
}

TEST_F(StoreBackup, RemovesNothingBesideADamagedManifest) {
  OpenData();
  PutNoise(0, 5);
  ASSERT_TRUE(Make().ok());
  const Result<Backup> second = Make();
  ASSERT_TRUE(second.ok());
  const std::set<std::string> objects = Objects();
  const std::string path = fmt::format("{}/{}", backups(), ManifestName(second->id));
  WriteFile(path, FileText(path) + "x");
  const Result<Removed> removed = RemoveOld(*place_, 1);
  ASSERT_FALSE(removed.ok());
  EXPECT_THAT(removed.error().message(), HasSubstr(second->id));
  EXPECT_EQ(Objects(), objects);
  std::vector<std::string> damaged;
  EXPECT_EQ(ListBackups(&damaged)->size(), 1u);
  ASSERT_EQ(damaged.size(), 1u);
  EXPECT_THAT(damaged[0], HasSubstr(second->id));
  // The next backup has a number of its own, and takes what the last sound one has.
  const Result<Backup> third = Make();
  ASSERT_TRUE(third.ok());
  EXPECT_EQ(third->number, 3u);
}

// A place whose writes fail behind a number of them, as if the process ended there.
class EndingPlace final : public Place {
 public:
  EndingPlace(Place& inner, int writes) : inner_(inner), writes_(writes) {}
  Status Begin() override { return inner_.Begin(); }
  void End() override { inner_.End(); }
  Result<std::vector<Entry>> List(std::string_view folder) override { return inner_.List(folder); }
  Result<std::unique_ptr<transfer::ObjectWriter>> Write(const std::string& name) override {
    if (writes_-- <= 0) return Error(ErrorCode::kUnavailable, "The place is full.");
    return inner_.Write(name);
  }
  Result<std::unique_ptr<transfer::ObjectReader>> Read(const std::string& name) override {
    return inner_.Read(name);
  }
  Status Remove(const std::string& name) override {
    if (writes_-- <= 0) return Error(ErrorCode::kUnavailable, "The place is gone.");
    return inner_.Remove(name);
  }
  bool checks_writes() const override { return inner_.checks_writes(); }
  std::string name() const override { return inner_.name(); }
  bool ended() const { return writes_ < 0; }

 private:
  Place& inner_;
  int writes_;
};

TEST_F(StoreBackup, IsThereWholeOrNotAtAll) {
  OpenData();
  PutNoise(0, 30);
  const auto state = All(*engine_);
  for (int writes = 0;; ++writes) {
    EndingPlace ending(*place_, writes);
    const Result<Backup> made = MakeBackup(*engine_, data(), ending, clock_, {});
    const size_t there = ListBackups()->size();
    EXPECT_FALSE(fs::exists(data() + "/store-backup.links"));
    if (made.ok()) {
      EXPECT_EQ(there, 1u);
      EXPECT_EQ(Restored(*made), state);
      EXPECT_GT(writes, 0);
      break;
    }
    EXPECT_EQ(there, 0u) << writes;
    EXPECT_THAT(made.error().message(), HasSubstr("full"));
    // The store is unharmed.
    ASSERT_TRUE(Put(*engine_, "x", "y").ok());
    kv::Batch batch;
    batch.deletes.push_back({kItems, "x"});
    batch.deletes.push_back({kLog, "x"});
    ASSERT_TRUE(kv::ApplyAndWait(*engine_, std::move(batch)).ok());
    // Objects of no backup go, so that each round begins alike.
    ASSERT_TRUE(RemoveOld(*place_, 0).ok());
    EXPECT_TRUE(Objects().empty());
  }
}

TEST_F(StoreBackup, RemovalThatIsCutShortLosesNothing) {
  OpenData();
  std::vector<Backup> made;
  for (int i = 0; i < 4; ++i) {
    PutNoise(i * 10, i * 10 + 10);
    made.push_back(*Make());
  }
  const auto state = All(*engine_);
  for (int steps = 0;; ++steps) {
    EndingPlace ending(*place_, steps);
    const Result<Removed> removed = RemoveOld(ending, 1);
    EXPECT_TRUE(VerifyBackup(*place_, made.back(), {}).ok()) << steps;
    const Result<std::vector<Backup>> left = ListBackups();
    ASSERT_TRUE(left.ok());
    for (const Backup& each : *left) EXPECT_TRUE(VerifyBackup(*place_, each, {}).ok()) << steps;
    if (removed.ok()) break;
  }
  EXPECT_EQ(Restored(made.back()), state);
}

TEST_F(StoreBackup, LeftLinksAndPartsGo) {
  OpenData();
  PutNoise(0, 10);
  fs::create_directories(data() + "/store-backup.links.tmp");
  WriteFile(data() + "/store-backup.links.tmp/000009.sst", "x");
  fs::create_directories(data() + "/store-backup.links");
  fs::create_directories(backups() + "/objects");
  WriteFile(backups() + "/objects/abc-3.partial", "x");
  ASSERT_TRUE(Make().ok());
  EXPECT_FALSE(fs::exists(data() + "/store-backup.links.tmp"));
  EXPECT_FALSE(fs::exists(data() + "/store-backup.links"));
  EXPECT_FALSE(fs::exists(backups() + "/objects/abc-3.partial"));
}

TEST_F(StoreBackup, RestoreWantsAnEmptyDirectory) {
  OpenData();
  PutNoise(0, 10);
  const Result<Backup> made = Make();
  ASSERT_TRUE(made.ok());
  const Status over = RestoreBackup(*place_, *made, data(), {});
  ASSERT_FALSE(over.ok());
  EXPECT_EQ(over.error().code(), ErrorCode::kValidation);
  EXPECT_THAT(over.error().message(), HasSubstr("is not empty"));
  // One that was killed is begun again; a store that is whole is not.
  std::atomic<bool> stop = false;
  FlowOptions flow;
  flow.stop = &stop;
  uint64_t moved = 0;
  flow.moved = [&](uint64_t bytes) { stop = (moved += bytes) > made->bytes() / 2; };
  ASSERT_FALSE(RestoreBackup(*place_, *made, restored(), flow).ok());
  EXPECT_TRUE(fs::exists(restored() + "/RESTORING"));
  EXPECT_FALSE(kv_rocks::OpenRocks({.path = restored()}).ok());
  ASSERT_TRUE(RestoreBackup(*place_, *made, restored(), {}).ok());
  EXPECT_EQ(All(*Open(restored())), All(*engine_));
  EXPECT_FALSE(RestoreBackup(*place_, *made, restored(), {}).ok());
}

TEST_F(StoreBackup, OneRestoreAtATime) {
  OpenData();
  PutNoise(0, 10);
  const Result<Backup> made = Make();
  ASSERT_TRUE(made.ok());
  FlowOptions flow;
  bool tried = false;
  flow.moved = [&](uint64_t) {
    if (std::exchange(tried, true)) return;
    const Status second = RestoreBackup(*place_, *made, restored(), {});
    ASSERT_FALSE(second.ok());
    EXPECT_THAT(second.error().message(), HasSubstr("Another process restores"));
  };
  ASSERT_TRUE(RestoreBackup(*place_, *made, restored(), flow).ok());
  EXPECT_TRUE(tried);
  EXPECT_EQ(All(*Open(restored())), All(*engine_));
}

TEST_F(StoreBackup, NeverWaitsForAPipe) {
  OpenData();
  PutNoise(0, 10);
  const Result<Backup> made = Make();
  ASSERT_TRUE(made.ok());
  const std::string object = fmt::format("{}/{}", backups(), ObjectName(made->files.front()));
  fs::remove(object);
  ASSERT_EQ(::mkfifo(object.c_str(), 0600), 0);
  const Status restore = Restore(*made);
  ASSERT_FALSE(restore.ok());
  EXPECT_THAT(restore.error().message(), HasSubstr("has 0 bytes in place of"));
  fs::remove(backups() + "/LOCK");
  ASSERT_EQ(::mkfifo((backups() + "/LOCK").c_str(), 0600), 0);
  EXPECT_FALSE(Make().ok());
}

TEST_F(StoreBackup, SaysThatItsNumbersAreUsedUp) {
  OpenData();
  PutNoise(0, 3);
  ASSERT_TRUE(Make().ok());
  WriteFile(backups() + "/backups/99999999-x.json", "{}");
  const Result<Backup> made = Make();
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.error().message(), HasSubstr("99999999-x.json has the last number"));
}

TEST_F(StoreBackup, OneWriterAtATime) {
  OpenData();
  PutNoise(0, 3);
  const std::unique_ptr<Place> other = MakeDirectoryPlace(backups(), 0);
  ASSERT_TRUE(other->Begin().ok());
  const Result<Backup> made = Make();
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.error().message(), HasSubstr("Another process makes a backup"));
  other->End();
  EXPECT_TRUE(Make().ok());
}

TEST_F(StoreBackup, FullDiskFailsTheBackupOnly) {
  OpenData();
  PutNoise(0, 3);
  place_ = MakeDirectoryPlace(backups(), uint64_t{1} << 60);
  const Result<Backup> made = Make();
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.error().message(), HasSubstr("not for backups of the store"));
  ASSERT_TRUE(Put(*engine_, "a", "b").ok());
  EXPECT_TRUE(ListBackups()->empty());
  EXPECT_TRUE(Objects().empty());

  // No room for the flush that a checkpoint begins with.
  engine_ = nullptr;
  std::atomic<uint64_t> free = uint64_t{1} << 40;
  engine_ = *kv_rocks::OpenRocks(
      {.path = data(),
       .memory_budget_bytes = 16 << 20,
       .sync = false,
       .reserve_free_bytes = 64 << 20,
       .free_bytes = [&free](const std::string&) { return std::optional<uint64_t>(free.load()); }});
  PutNoise(3, 6);
  free = (64 << 20) + 1000;
  place_ = MakeDirectoryPlace(backups(), 0);
  const Result<Backup> full = Make();
  ASSERT_FALSE(full.ok());
  EXPECT_THAT(full.error().message(), HasSubstr("Free some space"));
  EXPECT_TRUE(engine_->Health().ok());
  free = uint64_t{1} << 40;
  EXPECT_TRUE(Make().ok());
  engine_ = nullptr;
}

TEST_F(StoreBackup, OfAnEncryptedStoreIsEncrypted) {
  keys_ = Keys("a");
  OpenData();
  ASSERT_TRUE(Put(*engine_, "key", "the secret of the store").ok());
  const auto state = All(*engine_);
  const Result<Backup> made = Make({.version = "1", .key_id = keys_->key_id()});
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->key_id, keys_->key_id());
  for (const File& file : made->files)
    EXPECT_EQ(FileText(fmt::format("{}/{}", backups(), ObjectName(file))).find("the secret"),
              std::string::npos);
  EXPECT_EQ(Restored(*made), state);
  EXPECT_FALSE(kv_rocks::OpenRocks({.path = restored()}).ok());
  EXPECT_FALSE(kv_rocks::OpenRocks({.path = restored(), .keys = Keys("b")}).ok());
  // With a new key in front the files get new headers, and are copied once more.
  engine_ = nullptr;
  keys_ = Keys("ba");
  OpenData();
  const Result<Backup> second = Make({.version = "1", .key_id = keys_->key_id()});
  ASSERT_TRUE(second.ok());
  keys_ = Keys("b");
  EXPECT_EQ(Restored(*second), state);
  EXPECT_TRUE(VerifyBackup(*place_, *made, {}).ok());
}

// Batches move amounts between accounts of two column families while backups are made.
TEST_F(StoreBackup, IsOneMomentUnderWrites) {
  OpenData();
  constexpr int kAccounts = 8;
  constexpr int64_t kEach = 1000;
  const auto tablet_of = [](int account) { return account % 2 == 0 ? kItems : kLog; };
  const auto put = [&](kv::Batch* batch, int account, int64_t amount) {
    batch->puts.push_back(
        {tablet_of(account), fmt::format("a{}", account), Value(std::to_string(amount))});
  };
  std::vector<int64_t> amounts(kAccounts, kEach);
  kv::Batch first;
  for (int i = 0; i < kAccounts; ++i) put(&first, i, kEach);
  ASSERT_TRUE(kv::ApplyAndWait(*engine_, std::move(first)).ok());
  std::atomic<bool> stop = false;
  std::atomic<int> acknowledged = 0;
  std::thread writer([&] {
    for (int round = 1; !stop; ++round) {
      const int from = round % kAccounts, to = (round * 3 + 1) % kAccounts;
      kv::Batch batch;
      if (from != to) {
        put(&batch, from, --amounts[from]);
        put(&batch, to, ++amounts[to]);
      }
      batch.puts.push_back({kItems, "round", Value(std::to_string(round))});
      batch.puts.push_back({kLog, "noise", Value(Noise(round, 2000))});
      if (!kv::ApplyAndWait(*engine_, std::move(batch)).ok()) return;
      acknowledged = round;
    }
  });
  for (int i = 0; i < 6; ++i) {
    while (acknowledged < (i + 1) * 200) std::this_thread::yield();
    const int before = acknowledged;
    const Result<Backup> made = Make();
    ASSERT_TRUE(made.ok()) << made.error().message();
    const auto all = Restored(*made);
    int64_t sum = 0;
    for (int account = 0; account < kAccounts; ++account) {
      const int space = static_cast<int>(tablet_of(account).space);
      sum += std::stoll(all.at(fmt::format("{} a{}", space, account)));
    }
    EXPECT_EQ(sum, kAccounts * kEach);
    const auto round = all.find(fmt::format("{} round", static_cast<int>(kv::Space::kItems)));
    ASSERT_NE(round, all.end());
    EXPECT_GE(std::stoi(round->second), before);
  }
  stop = true;
  writer.join();
}

TEST_F(StoreBackup, KeeperFollowsTheClock) {
  OpenData();
  PutNoise(0, 5);
  std::atomic<int> told = 0;
  std::atomic<int> told_failures = 0;
  const auto options = [&] {
    KeeperOptions made;
    made.place = MakeDirectoryPlace(backups(), 0);
    made.data_dir = data();
    made.every_micros = 3'600'000'000;
    made.keep = 2;
    made.tell = [&](std::string_view kind, const std::string&) {
      ++(kind == "store_backup" ? told : told_failures);
    };
    return made;
  };
  const auto settle = [](Keeper& keeper) {
    while (keeper.Look()) std::this_thread::yield();
  };
  {
    Keeper keeper(*engine_, clock_, options());
    keeper.Start();
    settle(keeper);  // the first is due at once
    EXPECT_EQ(told, 1);
    clock_.AdvanceMicros(3'599'000'000);
    settle(keeper);
    EXPECT_EQ(told, 1);
    clock_.AdvanceMicros(1'000'000);
    settle(keeper);
    EXPECT_EQ(told, 2);
    // A long jump is one backup.
    clock_.AdvanceMicros(100 * int64_t{3'600'000'000});
    settle(keeper);
    EXPECT_EQ(told, 3);
    std::vector<std::string> damaged;
    EXPECT_EQ(keeper.List(&damaged)->size(), 2u);
    EXPECT_EQ(keeper.view().last->id.substr(0, 8), "00000003");
  }
  {
    // A start knows what there is.
    Keeper keeper(*engine_, clock_, options());
    keeper.Start();
    settle(keeper);
    EXPECT_EQ(told, 3);
    EXPECT_EQ(*keeper.view().next_micros,
              keeper.view().last->as_of_micros + int64_t{3'600'000'000});
    // A failure is told, and tried again a minute later.
    const std::unique_ptr<Place> other = MakeDirectoryPlace(backups(), 0);
    ASSERT_TRUE(other->Begin().ok());
    clock_.AdvanceMicros(3'600'000'000);
    settle(keeper);
    EXPECT_EQ(told_failures, 1);
    EXPECT_THAT(*keeper.view().failure, HasSubstr("Another process"));
    other->End();
    settle(keeper);
    EXPECT_EQ(told, 3);
    clock_.AdvanceMicros(60'000'000);
    settle(keeper);
    EXPECT_EQ(told, 4);
    EXPECT_FALSE(keeper.view().failure);
    EXPECT_TRUE(keeper.Begin());
    settle(keeper);
    EXPECT_EQ(told, 5);
  }
}

}  // namespace
}  // namespace stator::store_backup
