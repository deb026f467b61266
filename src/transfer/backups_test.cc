#include "transfer/backups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "kv/fault_engine.h"
#include "transfer/test_place.h"

namespace stator::transfer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
namespace fs = std::filesystem;

constexpr int kItems = 300;

class BackupsTest : public testing::TestWithParam<bool> {
 protected:
  void Fill() {
    for (int i = 0; i < kItems; ++i) place_.Put(i, "first");
  }
  Place place_{GetParam()};
};

// Folders whose writers wait, so that a test can act while a backup is being written.
class WaitingFolders final : public Folders {
 public:
  explicit WaitingFolders(std::unique_ptr<Folders> inner) : inner_(std::move(inner)) {}
  Result<std::vector<std::string>> Open() override { return inner_->Open(); }
  Result<std::unique_ptr<ObjectWriter>> Write(const std::string& folder,
                                              const std::string& object) override {
    while (waits) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (fails) return Error(ErrorCode::kUnavailable, "Cannot write: No space left on device.");
    return inner_->Write(folder, object);
  }
  Status Publish(const std::string& folder) override { return inner_->Publish(folder); }
  Result<std::unique_ptr<ObjectReader>> Read(const std::string& folder,
                                             const std::string& object) override {
    return inner_->Read(folder, object);
  }
  Status Remove(const std::string& folder) override { return inner_->Remove(folder); }
  std::string place() const override { return inner_->place(); }

  std::atomic<bool> waits = true;
  std::atomic<bool> fails = false;

 private:
  const std::unique_ptr<Folders> inner_;
};

TEST_P(BackupsTest, HoldsTheTableAsItWasWhenItWasAskedFor) {
  Fill();
  auto folders = std::make_unique<WaitingFolders>(MakeMemoryFolders());
  WaitingFolders& waiting = *folders;
  const std::unique_ptr<Backups> backups = place_.Open(std::move(folders));
  const auto before = place_.Items();
  const Result<BackupPtr> begun = backups->Create(place_.table(), "mine");
  ASSERT_TRUE(begun.ok());
  EXPECT_EQ((*begun)->state, Backup::State::kCreating);
  for (int i = 0; i < kItems; i += 3) place_.Put(i, "second");
  for (int i = 1; i < kItems; i += 3) place_.Delete(i);
  for (int i = kItems; i < kItems + 50; ++i) place_.Put(i, "new");
  waiting.waits = false;
  const BackupPtr backup = Settled(*backups, (*begun)->manifest.id);
  ASSERT_NE(backup, nullptr);
  const auto items = ItemsOf(backups->folders(), backup->manifest);
  ASSERT_TRUE(items.ok()) << items.error().message();
  EXPECT_EQ(*items, before);
  EXPECT_EQ(backup->manifest.item_count, kItems);
  EXPECT_GT(backup->manifest.files.size(), 2u);
  EXPECT_GT(backup->manifest.size_bytes(), 0);
}

TEST_P(BackupsTest, OutlivesItsTable) {
  Fill();
  auto folders = std::make_unique<WaitingFolders>(MakeMemoryFolders());
  WaitingFolders& waiting = *folders;
  const std::unique_ptr<Backups> backups = place_.Open(std::move(folders));
  const auto before = place_.Items();
  const Result<BackupPtr> begun = backups->Create(place_.table(), "mine");
  ASSERT_TRUE(begun.ok());
  ASSERT_TRUE(table::Await<Result<table::TablePtr>>([&](auto done) {
                place_.world().store->Drop(
                    "tab", [](const table::TableDescriptor&) { return OkStatus(); },
                    std::move(done));
              }).ok());
  waiting.waits = false;
  const BackupPtr backup = Settled(*backups, (*begun)->manifest.id);
  ASSERT_NE(backup, nullptr);
  EXPECT_EQ(ItemsOf(backups->folders(), backup->manifest).value(), before);
}

TEST_P(BackupsTest, OfAnEmptyTableHasNoFiles) {
  const std::unique_ptr<Backups> backups = place_.Open(MakeMemoryFolders());
  const Result<BackupPtr> begun = backups->Create(place_.table(), "mine");
  ASSERT_TRUE(begun.ok());
  const BackupPtr backup = Settled(*backups, (*begun)->manifest.id);
  ASSERT_NE(backup, nullptr);
  EXPECT_EQ(backup->manifest.size_bytes(), 0);
  EXPECT_TRUE(backup->manifest.files.empty());
}

TEST_P(BackupsTest, AreFoundAgainByTheirDirectoryAlone) {
  Fill();
  std::string id;
  {
    const std::unique_ptr<Backups> backups = place_.Open(place_.InDirectory());
    id = backups->Create(place_.table(), "mine").value()->manifest.id;
    ASSERT_NE(Settled(*backups, id), nullptr);
  }
  fs::create_directory(place_.backup_dir() + "/" + id + ".partial");
  fs::create_directory(place_.backup_dir() + "/00000000000001-00000001");  // without a manifest
  std::ofstream(place_.backup_dir() + "/notes.txt") << "kept";
  Place other(false);
  BackupOptions options;
  options.folders = place_.InDirectory();
  SeededRandom random(2);
  const auto backups =
      Backups::Open(*other.world().store, other.world().clock, random, std::move(options));
  ASSERT_TRUE(backups.ok());
  ASSERT_EQ((*backups)->List().size(), 1u);
  const BackupPtr backup = (*backups)->Find(id);
  ASSERT_NE(backup, nullptr);
  EXPECT_EQ(ItemsOf((*backups)->folders(), backup->manifest).value(), place_.Items());
  EXPECT_FALSE(fs::exists(place_.backup_dir() + "/" + id + ".partial"));
  EXPECT_TRUE(fs::exists(place_.backup_dir() + "/00000000000001-00000001"));
  EXPECT_TRUE(fs::exists(place_.backup_dir() + "/notes.txt"));
}

TEST_P(BackupsTest, PagesAreWhatAWalkThroughAllBackupsFinds) {
  std::vector<table::TablePtr> tables = {place_.table()};
  for (const char* name : {"123456789012/tab", "other"}) {
    table::TableDescriptor d = place_.table()->descriptor;
    d.name = name;
    d.table_id = std::string("id of ") + name;
    ASSERT_TRUE(place_.world().Create(std::move(d)).ok());
    tables.push_back(place_.world().store->Find(name));
  }
  const std::unique_ptr<Backups> backups = place_.Open(MakeMemoryFolders());
  SeededRandom random(3);
  for (int i = 0; i < 40; ++i) {
    place_.world().clock.AdvanceMicros(1'000'000);
    const table::TablePtr& table = tables[random.Below(tables.size())];
    const Result<BackupPtr> begun = random.Below(3) == 0 ? backups->CreateSystem(table, nullptr)
                                                         : backups->Create(table, "mine");
    ASSERT_TRUE(begun.ok());
    ASSERT_NE(Settled(*backups, (*begun)->manifest.id), nullptr);
    if (i % 9 == 0) {
      ASSERT_TRUE(backups->Delete((*begun)->manifest.id).ok());
    }
  }
  const std::vector<BackupPtr> all = backups->List();
  for (int round = 0; round < 500; ++round) {
    const std::string name = tables[random.Below(tables.size())]->descriptor.name;
    const auto time = [&]() -> std::optional<int64_t> {
      if (random.Below(2) == 0) return std::nullopt;
      return all[random.Below(all.size())]->manifest.created_millis + random.Below(2);
    };
    Backups::Wanted wanted;
    wanted.account = table::AccountIn(name);
    if (random.Below(2) == 0) wanted.table = name;
    wanted.user = random.Below(3) != 0;
    wanted.system = !wanted.user || random.Below(2) == 0;
    wanted.from_millis = time();
    wanted.until_millis = time();
    const std::string after =
        random.Below(2) == 0 ? "" : all[random.Below(all.size())]->manifest.id;
    const size_t most = 1 + random.Below(6);
    std::vector<BackupPtr> expected;
    for (const BackupPtr& backup : all) {
      const Manifest& manifest = backup->manifest;
      const int64_t created = manifest.created_millis;
      const bool fits = manifest.id > after &&
                        table::AccountIn(manifest.table.name) == wanted.account &&
                        (wanted.table.empty() || manifest.table.name == wanted.table) &&
                        (IsSystemId(manifest.id) ? wanted.system : wanted.user) &&
                        (!wanted.from_millis || created >= *wanted.from_millis) &&
                        (!wanted.until_millis || created < *wanted.until_millis);
      if (fits && expected.size() < most) expected.push_back(backup);
    }
    EXPECT_EQ(backups->Page(wanted, after, most), expected);
  }
  Backups::Wanted foreign;
  foreign.table = "123456789012/tab";
  EXPECT_TRUE(backups->Page(foreign, "", 10).empty()) << "a table of another account";
  EXPECT_NE(backups->FindSystem("tab", place_.table()->descriptor.table_id), nullptr);
  EXPECT_EQ(backups->FindSystem("tab", "another"), nullptr);
}

TEST_P(BackupsTest, DirectoryIsForOneProcess) {
  Fill();
  const std::unique_ptr<Backups> backups = place_.Open(place_.InDirectory());
  ASSERT_NE(Settled(*backups, backups->Create(place_.table(), "one").value()->manifest.id),
            nullptr);
  const auto second = place_.InDirectory()->Open();
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().message(), HasSubstr("Another process keeps its backups in"));
}

TEST_P(BackupsTest, FailedOneLeavesNothing) {
  Fill();
  std::vector<std::string> told;
  auto folders = std::make_unique<WaitingFolders>(place_.InDirectory());
  WaitingFolders& waiting = *folders;
  waiting.waits = false;
  const auto before = place_.Items();
  {
    const std::unique_ptr<Backups> backups = place_.Open(std::move(folders), &told);
    const std::string good = backups->Create(place_.table(), "good").value()->manifest.id;
    ASSERT_NE(Settled(*backups, good), nullptr);
    waiting.fails = true;
    const std::string bad = backups->Create(place_.table(), "bad").value()->manifest.id;
    EXPECT_EQ(Settled(*backups, bad), nullptr);
    EXPECT_EQ(backups->List().size(), 1u);
    backups->Stop();
    EXPECT_FALSE(fs::exists(place_.backup_dir() + "/" + bad + ".partial"));
  }
  ASSERT_EQ(told.size(), 2u);
  EXPECT_THAT(told[0], StartsWith("backup_made: The backup good"));
  EXPECT_THAT(told[1], StartsWith("backup_failed: The backup bad"));
  EXPECT_THAT(told[1], HasSubstr("No space left on device"));
  EXPECT_EQ(place_.Items(), before);
}

TEST_P(BackupsTest, FullDiskIsNotFilled) {
  Fill();
  std::vector<std::string> told;
  const std::unique_ptr<Backups> backups =
      place_.Open(place_.InDirectory(uint64_t{1} << 60), &told);
  EXPECT_EQ(Settled(*backups, backups->Create(place_.table(), "mine").value()->manifest.id),
            nullptr);
  backups->Stop();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_THAT(told[0], HasSubstr("MB of them are not for backups"));
}

TEST_P(BackupsTest, DeleteRemovesItAndRefusesWhatIsInUse) {
  Fill();
  auto folders = std::make_unique<WaitingFolders>(place_.InDirectory());
  WaitingFolders& waiting = *folders;
  const std::unique_ptr<Backups> backups = place_.Open(std::move(folders));
  const std::string id = backups->Create(place_.table(), "mine").value()->manifest.id;
  EXPECT_EQ(backups->Delete(id).error().code(), ErrorCode::kResourceInUse);
  EXPECT_EQ(backups->Use(id).error().code(), ErrorCode::kResourceInUse);
  waiting.waits = false;
  ASSERT_NE(Settled(*backups, id), nullptr);
  ASSERT_TRUE(backups->Use(id).ok());
  EXPECT_EQ(backups->Use(id).error().code(), ErrorCode::kResourceInUse);
  EXPECT_EQ(backups->Delete(id).error().code(), ErrorCode::kResourceInUse);
  backups->Release(id);
  ASSERT_TRUE(backups->Delete(id).ok());
  EXPECT_EQ(backups->Delete(id).error().code(), ErrorCode::kResourceNotFound);
  EXPECT_EQ(backups->Find(id), nullptr);
  EXPECT_FALSE(fs::exists(place_.backup_dir() + "/" + id));
}

TEST_P(BackupsTest, TooManyAtOnceAreRefused) {
  Fill();
  auto folders = std::make_unique<WaitingFolders>(MakeMemoryFolders());
  WaitingFolders& waiting = *folders;
  const std::unique_ptr<Backups> backups = place_.Open(std::move(folders));
  for (size_t i = 0; i < Backups::kMostCreating; ++i)
    ASSERT_TRUE(backups->Create(place_.table(), "mine").ok());
  EXPECT_EQ(backups->Create(place_.table(), "mine").error().code(), ErrorCode::kLimitExceeded);
  EXPECT_EQ(backups->List().size(), Backups::kMostCreating);
  waiting.waits = false;
  while (backups->creating() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(backups->Create(place_.table(), "mine").ok());
}

TEST_P(BackupsTest, TooManyManifestsAreRefused) {
  const std::unique_ptr<Backups> backups = place_.Open(MakeMemoryFolders(), nullptr, 5000);
  std::vector<std::string> ids;
  Result<BackupPtr> last = backups->Create(place_.table(), "mine");
  for (; last.ok() && ids.size() < 100; last = backups->Create(place_.table(), "mine")) {
    ids.push_back((*last)->manifest.id);
    while (backups->creating() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ASSERT_FALSE(last.ok());
  EXPECT_EQ(last.error().code(), ErrorCode::kLimitExceeded);
  EXPECT_GT(ids.size(), 2u);
  // A table can be deleted all the same, and what is deleted makes room.
  EXPECT_TRUE(backups->CreateSystem(place_.table(), nullptr).ok());
  while (backups->creating() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  for (const std::string& id : ids) ASSERT_TRUE(backups->Delete(id).ok());
  EXPECT_TRUE(backups->Create(place_.table(), "mine").ok());
}

TEST_P(BackupsTest, StopLeavesNoUnfinishedBackup) {
  Fill();
  auto folders = std::make_unique<WaitingFolders>(place_.InDirectory());
  WaitingFolders& waiting = *folders;
  const std::unique_ptr<Backups> backups = place_.Open(std::move(folders));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(backups->Create(place_.table(), "mine").ok());
  std::thread stopper([&] { backups->Stop(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  waiting.waits = false;
  stopper.join();
  EXPECT_EQ(backups->Create(place_.table(), "late").error().code(), ErrorCode::kUnavailable);
  std::error_code none;  // there may be no directory
  for (const auto& entry : fs::directory_iterator(place_.backup_dir(), none))
    EXPECT_EQ(entry.path().filename(), "LOCK");
}

INSTANTIATE_TEST_SUITE_P(Engines, BackupsTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "RocksDb" : "Memory"; });

TEST(Backups, EngineWithoutPinsIsRefused) {
  ManualClock clock(1'000'000);
  WorkerPool workers(1, 10);
  kv::FaultEngine engine(std::make_unique<kv::MemoryEngine>(), {});
  const auto store = table::Store::Open(engine, clock, workers).value();
  SeededRandom random(1);
  BackupOptions options;
  options.folders = MakeMemoryFolders();
  EXPECT_EQ(Backups::Open(*store, clock, random, std::move(options)).error().code(),
            ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace stator::transfer
