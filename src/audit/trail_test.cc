#include "audit/trail.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <vector>

#include "base/log.h"

namespace stator::audit {
namespace {

namespace fs = std::filesystem;

class TrailTest : public testing::Test {
 protected:
  void SetUp() override {
    SetLogLevel(LogLevel::kOff);
    char name[] = "/tmp/stator-audit-XXXXXX";
    directory_ = mkdtemp(name);
    options_.path = directory_ / "audit";
    options_.origin = {"111122223333", "us-east-1", "localhost:1"};
  }
  void TearDown() override {
    SetLogLevel(LogLevel::kInfo);
    fs::remove_all(directory_);
  }
  static Record Named(std::string name, bool known = true) {
    Record record;
    record.source = kDynamoDb;
    record.name = std::move(name);
    if (known) {
      record.caller = std::make_shared<access::Caller>();
    } else {
      record.error_code = "UnrecognizedClientException";
    }
    return record;
  }
  std::vector<std::string> Lines(const std::string& suffix = "") const {
    std::ifstream file(options_.path + suffix);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
  static bool Has(const std::string& line, const std::string& part) {
    return line.find(part) != std::string::npos;
  }
  void Change(Trail& trail, const std::string& name) {
    Result<Trail::Slot> slot = trail.Reserve();
    ASSERT_TRUE(slot.ok()) << slot.error().message();
    trail.WriteChangeAndWait(*std::move(slot), Named(name));
  }

  SystemClock clock_;
  fs::path directory_;
  Trail::Options options_;
};

TEST_F(TrailTest, AChangeIsOnTheDiskWhenItIsAnswered) {
  auto trail = Trail::Open(options_, clock_).value();
  trail->Write(Named("ListTables"));
  Change(*trail, "CreateTable");
  const std::vector<std::string> lines = Lines();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_TRUE(Has(lines[0], "ListTables"));
  EXPECT_TRUE(Has(lines[1], "CreateTable"));
  struct stat status = {};
  ASSERT_EQ(stat(options_.path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(trail->view().written, 2);
}

TEST_F(TrailTest, ARecordOfAnotherKindIsThereAtTheEnd) {
  auto trail = Trail::Open(options_, clock_).value();
  for (int i = 0; i < 1000; ++i) trail->Write(Named("GetItem"));
  trail->Stop();
  EXPECT_EQ(Lines().size(), 1000u);
  trail->Stop();
}

TEST_F(TrailTest, ATornLineIsEndedAndTheFileGoesOn) {
  std::ofstream(options_.path) << "{\"eventVersion\":\"1.11\"}\n{\"eventVer";
  auto trail = Trail::Open(options_, clock_).value();
  Change(*trail, "DeleteTable");
  const std::vector<std::string> lines = Lines();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[1], "{\"eventVer");
  EXPECT_TRUE(Has(lines[2], "DeleteTable"));
}

TEST_F(TrailTest, FilesAreRotatedByNumber) {
  options_.most_bytes = 4096;
  options_.most_files = 3;
  auto trail = Trail::Open(options_, clock_).value();
  for (int i = 0; i < 100; ++i) Change(*trail, "Change" + std::to_string(i) + ".");
  trail->Stop();
  EXPECT_TRUE(Has(Lines().back(), "Change99."));
  int number = 99;
  for (const std::string suffix : {"", ".1", ".2"}) {
    const std::vector<std::string> lines = Lines(suffix);
    ASSERT_GT(lines.size(), 0u);
    EXPECT_LE(fs::file_size(options_.path + suffix), 4096u);
    for (auto line = lines.rbegin(); line != lines.rend(); ++line)
      EXPECT_TRUE(Has(*line, "Change" + std::to_string(number--) + ".")) << *line;
  }
  EXPECT_FALSE(fs::exists(options_.path + ".3"));
  // A full file gives back the space that it kept for a full disk.
  struct stat status = {};
  ASSERT_EQ(stat((options_.path + ".1").c_str(), &status), 0);
  EXPECT_LE(status.st_blocks * 512, 8192);
}

TEST_F(TrailTest, AFileThatWasMovedAwayIsOpenedAnew) {
  auto trail = Trail::Open(options_, clock_).value();
  Change(*trail, "First");
  fs::rename(options_.path, options_.path + ".moved");
  trail->Reopen();
  Change(*trail, "Second");
  EXPECT_EQ(Lines(".moved").size(), 1u);
  ASSERT_EQ(Lines().size(), 1u);
  EXPECT_TRUE(Has(Lines()[0], "Second"));
}

TEST_F(TrailTest, WhatTheQueueHasNoRoomForIsCountedByName) {
  options_.most_queued_bytes = 0;
  auto trail = Trail::Open(options_, clock_).value();
  for (int i = 0; i < 3; ++i) trail->Write(Named("GetItem"));
  trail->Write(Named("Query"));
  // Changes do not wait in that queue.
  Change(*trail, "CreateTable");
  trail->Stop();
  std::string all;
  for (const std::string& line : Lines()) all += line + "\n";
  EXPECT_TRUE(Has(all, "\"eventName\":\"CreateTable\""));
  EXPECT_TRUE(Has(all, "AuditRecordsDropped"));
  EXPECT_TRUE(Has(all, R"("reason":"the queue was full")"));
  EXPECT_TRUE(Has(all, R"("GetItem":3)") && Has(all, R"("Query":1)")) << all;
  EXPECT_EQ(trail->view().dropped, 4);
}

TEST_F(TrailTest, StrangersCannotFloodTheFiles) {
  ManualClock clock;
  auto trail = Trail::Open(options_, clock).value();
  for (int i = 0; i < 2 * Trail::kMostUnverified; ++i)
    trail->Write(Named("CreateTable", /*known=*/false));
  trail->Write(Named("DescribeTable"));
  trail->Stop();
  EXPECT_EQ(trail->view().dropped, Trail::kMostUnverified);
  const std::vector<std::string> lines = Lines();
  EXPECT_EQ(lines.size(), Trail::kMostUnverified + 2u);
}

TEST_F(TrailTest, AStoppedTrailLetsGo) {
  auto trail = Trail::Open(options_, clock_).value();
  Trail::Slot slot = trail->Reserve().value();
  trail->Stop();
  trail->WriteChangeAndWait(std::move(slot), Named("CreateTable"));
  trail->Write(Named("ListTables"));
  EXPECT_TRUE(Lines().empty());
}

TEST_F(TrailTest, ChangesUnderWayAreBounded) {
  auto trail = Trail::Open(options_, clock_).value();
  {
    std::vector<Trail::Slot> slots;
    for (int i = 0; i < Trail::kMostChanges; ++i) slots.push_back(trail->Reserve().value());
    EXPECT_EQ(trail->Reserve().error().code(), ErrorCode::kUnavailable);
  }
  Change(*trail, "CreateTable");
}

TEST_F(TrailTest, FilesThatCannotServeAreRefusedByName) {
  options_.path = directory_ / "missing" / "audit";
  EXPECT_TRUE(Has(Trail::Open(options_, clock_).error().message(), "cannot be opened"));
  options_.path = directory_;
  EXPECT_FALSE(Trail::Open(options_, clock_).ok());
  options_.path = directory_ / "audit";
  auto first = Trail::Open(options_, clock_).value();
  EXPECT_TRUE(
      Has(Trail::Open(options_, clock_).error().message(), "is being written by another process"));
}

}  // namespace
}  // namespace stator::audit
