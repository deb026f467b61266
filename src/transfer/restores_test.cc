#include "transfer/restores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "transfer/test_place.h"

namespace stator::transfer {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
namespace fs = std::filesystem;

constexpr int kItems = 600;

// A place with a backup of its table, in a directory.
class RestoresTest : public testing::TestWithParam<bool> {
 protected:
  RestoresTest() {
    for (int i = 0; i < kItems; ++i) place_.Put(i, "first");
    backups_ = place_.Open(place_.InDirectory(), &told_);
    id_ = backups_->Create(place_.table(), "mine").value()->manifest.id;
    EXPECT_NE(Settled(*backups_, id_), nullptr);
  }

  // Puts a table into the catalog that is to be filled from the backup.
  table::TablePtr CreateTarget(const std::string& name = "target") {
    table::TableDescriptor d = backups_->Find(id_)->manifest.table;
    d.name = name;
    d.table_id = "22345678-1234-4234-8234-123456789012";
    d.restore = table::RestoreSource{id_, "tab"};
    Result<table::TablePtr> table = place_.world().Create(std::move(d));
    EXPECT_TRUE(table.ok());
    return *table;
  }
  table::TablePtr Find(const std::string& name = "target") {
    return place_.world().store->Find(name);
  }
  // Runs what waits until no restore is left.
  void RunAll() {
    Restores restores(*place_.world().store, *backups_);
    restores.Start();
    while (restores.running() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    restores.Stop();
  }
  std::map<std::string, std::string> ItemsOfTarget() {
    return place_.world().ScanAll(Find()->descriptor.tablet(), table::kItemKind);
  }
  std::string FileOfBackup(size_t number) const {
    return place_.backup_dir() + "/" + id_ + "/" + backups_->Find(id_)->manifest.files[number].name;
  }

  std::vector<std::string> told_;
  Place place_{GetParam()};
  std::unique_ptr<Backups> backups_;
  std::string id_;
};

TEST_P(RestoresTest, FillsTheTableWithTheItemsOfTheBackup) {
  const auto before = place_.Items();
  place_.Put(kItems, "later");
  place_.Delete(3);
  CreateTarget();
  RunAll();
  ASSERT_NE(Find(), nullptr);
  EXPECT_EQ(Find()->descriptor.restore, std::nullopt);
  EXPECT_EQ(ItemsOfTarget(), before);
  EXPECT_EQ(place_.world().store->Counts(*Find()).value().items, kItems);
  ASSERT_FALSE(told_.empty());
  EXPECT_THAT(told_.back(), StartsWith("table_restored: target was restored"));
  EXPECT_TRUE(backups_->Delete(id_).ok()) << "it is still marked as used";
}

TEST_P(RestoresTest, GoesOnWhereAnEarlierProcessHasWrittenAPart) {
  const auto before = place_.Items();
  const table::TablePtr target = CreateTarget();
  // A killed process may have left some of the items.
  int written = 0;
  for (const auto& entry : before) {
    if (++written % 3 != 0) continue;
    std::vector<table::WriteTarget> targets;
    targets.push_back({target, entry.first});
    const std::string item = entry.second;
    ASSERT_TRUE(
        table::Await<Status>([&](auto done) {
          place_.world().store->Write(
              std::move(targets),
              [item](const std::vector<model::ItemView>&) -> Result<std::vector<table::Change>> {
                std::vector<table::Change> changes(1);
                changes[0].kind = table::Change::kPut;
                changes[0].item = item;
                return changes;
              },
              std::move(done));
        }).ok());
  }
  if (GetParam()) {
    backups_.reset();
    place_.world().Restart();
    backups_ = place_.Open(place_.InDirectory(), &told_);
    ASSERT_TRUE(Find()->descriptor.restore.has_value());
    EXPECT_EQ(Find()->descriptor.deleting_micros, 0);
  }
  RunAll();
  EXPECT_EQ(ItemsOfTarget(), before);
  EXPECT_EQ(place_.world().store->Counts(*Find()).value().items, kItems);
}

TEST_P(RestoresTest, DamagedFileLeavesNoTable) {
  const std::string path = FileOfBackup(1);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(500);
  file.put('\x7f');
  file.close();
  CreateTarget();
  RunAll();
  EXPECT_EQ(Find(), nullptr);
  EXPECT_THAT(told_.back(), StartsWith("restore_failed: target could not be restored"));
  EXPECT_THAT(told_.back(), HasSubstr("The file data-000002 of the backup " + id_));
  EXPECT_EQ(place_.Items().size(), size_t{kItems});
}

TEST_P(RestoresTest, MissingFileLeavesNoTable) {
  fs::remove(FileOfBackup(2));
  CreateTarget();
  RunAll();
  EXPECT_EQ(Find(), nullptr);
  EXPECT_THAT(told_.back(), HasSubstr("it is missing"));
}

TEST_P(RestoresTest, BackupThatIsGoneLeavesNoTable) {
  CreateTarget();
  ASSERT_TRUE(backups_->Delete(id_).ok());
  RunAll();
  EXPECT_EQ(Find(), nullptr);
  EXPECT_THAT(told_.back(), StartsWith("restore_failed: "));
}

TEST_P(RestoresTest, TableThatTookTheNameIsLeftAlone) {
  const table::TablePtr target = CreateTarget();
  Restores restores(*place_.world().store, *backups_);
  ASSERT_TRUE(backups_->Use(id_).ok());
  ASSERT_TRUE(restores.Reserve().ok());
  ASSERT_TRUE(table::Await<Result<table::TablePtr>>([&](auto done) {
                place_.world().store->Drop(
                    "target", [](const table::TableDescriptor&) { return OkStatus(); },
                    std::move(done));
              }).ok());
  table::TableDescriptor d = place_.table()->descriptor;
  d.name = "target";
  d.tablet_id = 0;
  ASSERT_TRUE(place_.world().Create(std::move(d)).ok());
  restores.Begin(target);
  restores.Start();
  while (restores.running() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  restores.Stop();
  ASSERT_NE(Find(), nullptr);
  EXPECT_TRUE(ItemsOfTarget().empty());
}

TEST_P(RestoresTest, TooManyAtOnceAreRefused) {
  Restores restores(*place_.world().store, *backups_);
  for (size_t i = 0; i < Restores::kMostRestores; ++i) ASSERT_TRUE(restores.Reserve().ok());
  const Status refused = restores.Reserve();
  EXPECT_EQ(refused.error().code(), ErrorCode::kLimitExceeded);
  EXPECT_THAT(refused.error().message(), HasSubstr("Only 50 restore operations"));
  restores.GiveUp();
  EXPECT_TRUE(restores.Reserve().ok());
}

INSTANTIATE_TEST_SUITE_P(Engines, RestoresTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "RocksDb" : "Memory"; });

}  // namespace
}  // namespace stator::transfer
