// Damages the files of one backup in every way and reads them.
#include "transfer/data_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "kv_rocks/temporary_directory.h"

namespace stator::transfer {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

const std::string kId = "01795613126583-0a1b2c3d";
const std::string kOtherId = "01795613126583-0a1b2c3e";

class DataFileTest : public testing::Test {
 protected:
  DataFileTest() : folders_(MakeDirectoryFolders(directory_.path() + "/b", 0)) {
    manifest_ = Make(kId, "item");
    other_ = Make(kOtherId, "Item");
  }

  Manifest Make(const std::string& id, const std::string& word) {
    Manifest manifest;
    manifest.id = id;
    DataWriter writer(*folders_, id, {.block_bytes = 100, .file_bytes = 1000});
    for (int i = 0; i < 200; ++i) EXPECT_TRUE(writer.Add(word + std::to_string(1000 + i)).ok());
    manifest.files = writer.Finish().value();
    EXPECT_TRUE(folders_->Publish(id).ok());
    return manifest;
  }
  std::string PathOf(const std::string& id, size_t number) const {
    return directory_.path() + "/b/" + id + "/" + manifest_.files[number].name;
  }
  std::string Bytes(const std::string& path) const {
    std::ostringstream out;
    out << std::ifstream(path, std::ios::binary).rdbuf();
    return out.str();
  }
  void Overwrite(const std::string& path, const std::string& bytes) const {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
  // Reads all files. Returns the number of items, or the error.
  Result<int> ReadAll() {
    int items = 0;
    for (size_t i = 0; i < manifest_.files.size(); ++i) {
      TRY(ReadDataFile(*folders_, manifest_, i, [&](std::string_view item) {
        EXPECT_EQ(item, "item" + std::to_string(1000 + items));
        ++items;
        return OkStatus();
      }));
    }
    return items;
  }
  void ExpectRefused(std::string_view why) {
    const Result<int> read = ReadAll();
    ASSERT_FALSE(read.ok()) << why;
    EXPECT_EQ(read.error().code(), ErrorCode::kCorruption);
    EXPECT_THAT(read.error().message(), HasSubstr("The file data-000002 of the backup " + kId));
    EXPECT_THAT(read.error().message(), HasSubstr(std::string(why)));
  }

  const kv_rocks::TemporaryDirectory directory_;
  const std::unique_ptr<Folders> folders_;
  Manifest manifest_;
  Manifest other_;
};

TEST_F(DataFileTest, ItemsComeBackInOrder) {
  EXPECT_GT(manifest_.files.size(), 2u);
  EXPECT_EQ(ReadAll().value(), 200);
}

TEST_F(DataFileTest, EveryChangedByteIsRefused) {
  const std::string path = PathOf(kId, 1);
  const std::string bytes = Bytes(path);
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x20);
    Overwrite(path, damaged);
    // Items before the damage are sound, and none behind it is visited.
    ExpectRefused("is damaged");
    if (HasFatalFailure()) FAIL() << "byte " << i;
  }
}

TEST_F(DataFileTest, CutOffMissingAndSwappedFilesAreRefused) {
  const std::string path = PathOf(kId, 1);
  const std::string bytes = Bytes(path);
  Overwrite(path, bytes.substr(0, bytes.size() - 1));
  ExpectRefused("bytes and not");
  Overwrite(path, bytes + "x");
  ExpectRefused("bytes and not");
  ASSERT_EQ(Bytes(PathOf(kId, 0)).size(), bytes.size());
  Overwrite(path, Bytes(PathOf(kId, 0)));
  ExpectRefused("it is another data file");
  ASSERT_EQ(Bytes(PathOf(kOtherId, 1)).size(), bytes.size());
  Overwrite(path, Bytes(PathOf(kOtherId, 1)));
  ExpectRefused("one of another backup");
  fs::remove(path);
  ExpectRefused("it is missing");
}

TEST_F(DataFileTest, ManifestOfAnotherContentIsRefused) {
  manifest_.files[1].checksum[5] ^= 1;
  ExpectRefused("its checksum is wrong");
}

TEST_F(DataFileTest, ErrorOfTheVisitorEndsTheReading) {
  int visited = 0;
  const Status read = ReadDataFile(*folders_, manifest_, 0, [&](std::string_view) -> Status {
    ++visited;
    return ValidationError("enough");
  });
  EXPECT_EQ(read.error().message(), "enough");
  EXPECT_EQ(visited, 1);
}

}  // namespace
}  // namespace stator::transfer
