#include "triggers/archive.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "base/compress.h"
#include "stream/position.h"

namespace stator::triggers {
namespace {

constexpr int64_t kHour = int64_t{3'600'000'000};
constexpr int64_t kStart = 1'760'000'000'000'000 / kHour * kHour;  // 2025-10-09T08:00Z

class ArchiveTest : public testing::Test {
 protected:
  ArchiveTest() {
    std::string name = (std::filesystem::temp_directory_path() / "archive-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name + "/made/by/it";
  }
  ~ArchiveTest() override {
    std::filesystem::remove_all(
        std::filesystem::path(directory_).parent_path().parent_path().parent_path());
  }
  void Add(int count, int64_t at) {
    for (int i = 0; i < count; ++i) {
      const stream::Position position{changes_.size() + 1, 0};
      changes_.push_back(
          {position, at, at,
           R"({"dynamodb":{"SequenceNumber":")" + stream::SequenceNumberOf(position) + R"("}})"});
    }
  }
  Batch BatchOf(size_t from, size_t to) {
    Batch batch;
    batch.uuid = "u";
    batch.table = "Messages";
    batch.shard_id = "shardId-1";
    for (size_t i = from; i < to; ++i) batch.changes.push_back(&changes_[i]);
    return batch;
  }
  Outcome Deliver(size_t from, size_t to) {
    const Batch batch = BatchOf(from, to);
    return Archive(MakeDirectory(directory_)).Deliver(batch);
  }
  std::vector<std::string> Files() {
    std::set<std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_))
      if (entry.is_regular_file())
        files.insert(std::filesystem::relative(entry.path(), directory_).string());
    return {files.begin(), files.end()};
  }
  std::vector<std::string> Lines() {
    std::vector<std::string> lines;
    for (const std::string& name : Files()) {
      std::ifstream file(directory_ + "/" + name, std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(file), {}};
      std::string text = Decompress(Encoding::kGzip, bytes, 1 << 20).value();
      while (!text.empty()) {
        lines.push_back(text.substr(0, text.find('\n')));
        text.erase(0, text.find('\n') + 1);
      }
    }
    return lines;
  }
  void ExpectEachOnce() {
    const std::vector<std::string> lines = Lines();
    ASSERT_EQ(lines.size(), changes_.size());
    for (size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(lines[i], changes_[i].json());
  }

  std::string directory_;
  std::deque<Change> changes_;
};

TEST_F(ArchiveTest, FilesAreNamedAfterTimeShardAndFirstChange) {
  Add(3, kStart);
  Add(2, kStart + kHour);
  EXPECT_EQ(Deliver(0, 5).kind, Outcome::Kind::kDone);
  EXPECT_EQ(Files(),
            (std::vector<std::string>{"Messages/date=2025-10-09/hour=08/shardId-1-" +
                                          stream::SequenceNumberOf({1, 0}) + ".ndjson.gz",
                                      "Messages/date=2025-10-09/hour=09/shardId-1-" +
                                          stream::SequenceNumberOf({4, 0}) + ".ndjson.gz"}));
  ExpectEachOnce();
}

TEST_F(ArchiveTest, WhatIsDeliveredAgainIsThereOnce) {
  Add(10, kStart);
  EXPECT_EQ(Deliver(0, 4).kind, Outcome::Kind::kDone);
  // The checkpoint was not stored, and more has come.
  EXPECT_EQ(Deliver(0, 7).kind, Outcome::Kind::kDone);
  EXPECT_EQ(Deliver(0, 3).kind, Outcome::Kind::kDone);
  EXPECT_EQ(Deliver(0, 10).kind, Outcome::Kind::kDone);
  EXPECT_EQ(Files().size(), 3u);
  ExpectEachOnce();
}

// A short file and a long one were written before a crash, and no checkpoint. The batch that is
// delivered again ends inside the long one.
TEST_F(ArchiveTest, ABatchThatBeginsInsideAFilePassesOverTheRestOfIt) {
  Add(12, kStart);
  EXPECT_EQ(Deliver(0, 3).kind, Outcome::Kind::kDone);
  EXPECT_EQ(Deliver(3, 10).kind, Outcome::Kind::kDone);
  EXPECT_EQ(Deliver(0, 7).kind, Outcome::Kind::kDone);
  // Another crash: its checkpoint is there.
  EXPECT_EQ(Deliver(7, 12).kind, Outcome::Kind::kDone);
  EXPECT_EQ(Files().size(), 3u);
  ExpectEachOnce();
  // Now without a crash between.
  std::filesystem::remove_all(directory_);
  EXPECT_EQ(Deliver(0, 3).kind, Outcome::Kind::kDone);
  EXPECT_EQ(Deliver(3, 10).kind, Outcome::Kind::kDone);
  Archive archive(MakeDirectory(directory_));
  EXPECT_EQ(archive.Deliver(BatchOf(0, 7)).kind, Outcome::Kind::kDone);
  EXPECT_EQ(archive.Deliver(BatchOf(7, 12)).kind, Outcome::Kind::kDone);
  ExpectEachOnce();
}

// Lanes write files of their own, which lie across each other.
TEST_F(ArchiveTest, AFileOfAnotherLaneCoversNothing) {
  Add(10, kStart);
  Batch odd = BatchOf(0, 0), even = BatchOf(0, 0);
  for (size_t i = 0; i < 10; ++i) (i % 2 == 0 ? odd : even).changes.push_back(&changes_[i]);
  EXPECT_EQ(Archive(MakeDirectory(directory_)).Deliver(odd).kind, Outcome::Kind::kDone);
  EXPECT_EQ(Archive(MakeDirectory(directory_)).Deliver(even).kind, Outcome::Kind::kDone);
  EXPECT_EQ(Lines().size(), 10u);
  // A repetition of each that begins inside.
  odd.changes.erase(odd.changes.begin(), odd.changes.begin() + 2);
  even.changes.erase(even.changes.begin());
  EXPECT_EQ(Archive(MakeDirectory(directory_)).Deliver(odd).kind, Outcome::Kind::kDone);
  EXPECT_EQ(Archive(MakeDirectory(directory_)).Deliver(even).kind, Outcome::Kind::kDone);
  EXPECT_EQ(Lines().size(), 10u);
}

TEST_F(ArchiveTest, ADirectoryThatTakesNothingIsTriedAgain) {
  Add(3, kStart);
  std::filesystem::create_directories(std::filesystem::path(directory_).parent_path());
  std::ofstream(directory_) << "a file in the way";
  const Outcome outcome = Deliver(0, 3);
  EXPECT_EQ(outcome.kind, Outcome::Kind::kNotRun);
  EXPECT_NE(outcome.text.find("Not a directory"), std::string::npos) << outcome.text;
  std::filesystem::remove(directory_);
  EXPECT_EQ(Deliver(0, 3).kind, Outcome::Kind::kDone);
  ExpectEachOnce();
}

TEST_F(ArchiveTest, AFileThatIsNoneOfItsIsNotOverwritten) {
  Add(1, kStart);
  const std::string folder = directory_ + "/Messages/date=2025-10-09/hour=08";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/shardId-1-" + stream::SequenceNumberOf({1, 0}) + ".ndjson.gz") << "?";
  EXPECT_EQ(Deliver(0, 1).kind, Outcome::Kind::kNotRun);
}

}  // namespace
}  // namespace stator::triggers
