// Progress files: a run that goes on after a cut at any byte ends with the same files.
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/clock.h"
#include "bulk/export_state.h"
#include "bulk/files.h"
#include "bulk/import_file.h"
#include "exchange/gzip_stream.h"

namespace stator::bulk {
namespace {

namespace fs = std::filesystem;

class ProgressTest : public testing::Test {
 protected:
  ProgressTest() {
    std::string name = (fs::temp_directory_path() / "stator-bulk-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~ProgressTest() override { fs::remove_all(folder_); }
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  std::string Read(const std::string& name) const {
    std::ifstream in(Path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void Write(const std::string& name, std::string_view text) const {
    std::ofstream(Path(name), std::ios::binary) << text;
  }
  fs::path folder_;
};

std::string Member(std::string_view text) {
  std::string out;
  exchange::GzipWriter writer;
  writer.Add(text, &out);
  writer.Finish(&out);
  return out;
}

ExportState StateOf(size_t pages, const std::string& bytes) {
  ExportState state;
  state.table = "T";
  state.table_id = "id";
  state.format = Format::kCsv;
  state.mask = "m";
  state.columns = {"pk", "a,\"b"};
  state.segments = {{R"({"pk":{"S":"\"x"}})", false}, {"", true}};
  state.outputs = {{bytes.size(), static_cast<int64_t>(pages)}};
  return state;
}

TEST_F(ProgressTest, ExportGoesOnAfterACutAtEveryByte) {
  const std::string pages[] = {Member("one\n"), Member("two\n"), Member("three\n")};
  const std::string whole = pages[0] + pages[1] + pages[2];
  std::string counted;
  for (size_t done = 0; done < std::size(pages); ++done) {
    for (size_t more = counted.size(); more <= counted.size() + pages[done].size(); ++more) {
      Write("out", whole.substr(0, more));
      Write("out.progress", EncodeState(StateOf(done, counted), ""));
      const Result<ExportState> state = DecodeState(Read("out.progress"), "");
      ASSERT_TRUE(state.ok()) << state.error().message();
      auto file = AppendedFile::Open(Path("out"), state->outputs[0].bytes);
      ASSERT_TRUE(file.ok()) << file.error().message();
      for (auto page = static_cast<size_t>(state->items()); page < std::size(pages); ++page)
        ASSERT_TRUE((*file)->Append(pages[page]).ok());
      EXPECT_EQ(Read("out"), whole) << more;
    }
    counted += pages[done];
  }
}

TEST_F(ProgressTest, OutputThatIsShorterThanCountedIsRefused) {
  Write("out", "12345");
  const auto file = AppendedFile::Open(Path("out"), 6);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code(), ErrorCode::kCorruption);
  EXPECT_NE(file.error().message().find(Path("out")), std::string::npos);
  EXPECT_EQ(Read("out"), "12345");
}

TEST_F(ProgressTest, FullDiskLeavesTheFileAsItWas) {
  auto file = AppendedFile::Open(Path("out"), 0);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->Append("first").ok());
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 8;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status failed = (*file)->Append("second");
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.error().message().find(Path("out")), std::string::npos);
  EXPECT_EQ(Read("out"), "first");
  ASSERT_TRUE((*file)->Append(" third").ok());
  EXPECT_EQ(Read("out"), "first third");
}

TEST_F(ProgressTest, TwoProcessesDoNotWriteOneFile) {
  const auto first = AppendedFile::Open(Path("out"), 0);
  ASSERT_TRUE(first.ok());
  EXPECT_FALSE(AppendedFile::Open(Path("out"), 0).ok());
}

TEST_F(ProgressTest, StateThatIsCutAtAnyByteIsRefused) {
  const std::string text = EncodeState(StateOf(3, "abc"), "");
  // Without its line feed it is whole.
  for (size_t size = 0; size + 1 < text.size(); ++size)
    EXPECT_FALSE(DecodeState(text.substr(0, size), "").ok()) << size;
  const Result<ExportState> state = DecodeState(text, "");
  ASSERT_TRUE(state.ok());
  EXPECT_EQ(EncodeState(*state, ""), text);
}

TEST_F(ProgressTest, KeysUnderAMaskAreSealed) {
  const std::string key(32, 'k');
  const std::string text = EncodeState(StateOf(3, "abc"), key);
  EXPECT_EQ(text.find("pk\":{"), std::string::npos) << text;
  const Result<ExportState> state = DecodeState(text, key);
  ASSERT_TRUE(state.ok()) << state.error().message();
  EXPECT_EQ(state->segments[0].start, R"({"pk":{"S":"\"x"}})");
  EXPECT_FALSE(DecodeState(text, std::string(32, 'l')).ok());
  EXPECT_FALSE(DecodeState(text, "").ok());
}

TEST_F(ProgressTest, ReplacedFileIsOldOrNew) {
  ASSERT_TRUE(ReplaceFile(Path("state"), "old").ok());
  ASSERT_TRUE(ReplaceFile(Path("state"), "new").ok());
  EXPECT_EQ(Read("state"), "new");
  EXPECT_EQ(*ReadSmallFile(Path("state")).value(), "new");
  EXPECT_FALSE(ReadSmallFile(Path("none")).value());
  const Status failed = ReplaceFile(Path("no/such/folder"), "x");
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.error().message().find("no/such/folder"), std::string::npos);
}

class FileProgressTest : public ProgressTest {
 protected:
  Result<std::unique_ptr<FileProgress>> Open() {
    return FileProgress::Open("items.json", Path("items.json"), identity_, clock_);
  }
  FileProgress::Identity identity_{"T", "id", "", 100, 7};
  ManualClock clock_;
};

TEST_F(FileProgressTest, CountsRangesThatFollowEachOther) {
  auto progress = Open();
  ASSERT_TRUE(progress.ok()) << progress.error().message();
  ASSERT_TRUE((*progress)->Done(25, 50, {{30, "later"}}).ok());
  EXPECT_EQ((*progress)->durable(), 0);
  EXPECT_EQ((*progress)->errors(), 0);
  ASSERT_TRUE((*progress)->Done(0, 25, {{3, "first"}}).ok());
  EXPECT_EQ((*progress)->durable(), 50);
  EXPECT_EQ((*progress)->errors(), 2);
  ASSERT_TRUE((*progress)->Save(false).ok());
  progress->reset();
  EXPECT_EQ(Read("items.json.errors"),
            "{\"file\":\"items.json\",\"itemIndex\":3,\"errorMessages\":[\"first\"]}\n"
            "{\"file\":\"items.json\",\"itemIndex\":30,\"errorMessages\":[\"later\"]}\n");
  auto again = Open();
  ASSERT_TRUE(again.ok()) << again.error().message();
  EXPECT_EQ((*again)->durable(), 50);
  EXPECT_FALSE((*again)->finished());
}

TEST_F(FileProgressTest, WhatWasNotSavedIsDoneAgain) {
  auto progress = Open();
  ASSERT_TRUE(progress.ok());
  ASSERT_TRUE((*progress)->Done(0, 25, {{3, "first"}}).ok());
  ASSERT_TRUE((*progress)->Save(false).ok());
  clock_.AdvanceMicros(1);
  ASSERT_TRUE((*progress)->Done(25, 50, {{30, "later"}}).ok());
  progress->reset();
  // A line that a crash has left behind is cut.
  std::ofstream(Path("items.json.errors"), std::ios::app) << "{\"file\":\"ite";
  auto again = Open();
  ASSERT_TRUE(again.ok()) << again.error().message();
  EXPECT_EQ((*again)->durable(), 25);
  ASSERT_TRUE((*again)->Done(25, 50, {{30, "later"}}).ok());
  ASSERT_TRUE((*again)->Save(true).ok());
  EXPECT_TRUE((*again)->finished());
  EXPECT_EQ((*again)->errors(), 2);
  const std::string log = Read("items.json.errors");
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 2);
}

TEST_F(FileProgressTest, SavesOnceASecond) {
  auto progress = Open();
  ASSERT_TRUE(progress.ok());
  const std::string before = Read("items.json.import-progress");
  ASSERT_TRUE((*progress)->Done(0, 25, {}).ok());
  EXPECT_EQ(Read("items.json.import-progress"), before);
  clock_.AdvanceMicros(1'000'000);
  ASSERT_TRUE((*progress)->Done(25, 50, {}).ok());
  EXPECT_NE(Read("items.json.import-progress").find("\"items\":50"), std::string::npos);
}

TEST_F(FileProgressTest, AnotherImportIsRefused) {
  ASSERT_TRUE(Open().ok());
  const FileProgress::Identity same = identity_;
  const auto refused = [&] {
    const auto progress = Open();
    identity_ = same;
    return !progress.ok() &&
           progress.error().message().find("items.json.import-progress") != std::string::npos;
  };
  identity_.table = "U";
  EXPECT_TRUE(refused());
  identity_.table_id = "other";
  EXPECT_TRUE(refused());
  identity_.mask = "m";
  EXPECT_TRUE(refused());
  identity_.file_bytes = 101;
  EXPECT_TRUE(refused());
  identity_.file_changed_micros = 8;
  EXPECT_TRUE(refused());
  EXPECT_TRUE(Open().ok());
  Write("items.json.import-progress", "{");
  EXPECT_TRUE(refused());
}

}  // namespace
}  // namespace stator::bulk
