#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "bulk/import_file.h"
#include "bulk/import_run.h"
#include "bulk/test_items.h"
#include "exchange/gzip_stream.h"

namespace stator::bulk {
namespace {

namespace fs = std::filesystem;
using Found = std::vector<std::string>;

class InputTest : public testing::Test {
 protected:
  InputTest() {
    std::string name = (fs::temp_directory_path() / "stator-input-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    key_.partition = {"pk", model::Type::kS};
  }
  ~InputTest() override { fs::remove_all(folder_); }
  std::string Write(const std::string& name, std::string_view text) const {
    const fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }
  // Returns the items of a file, and its errors.
  Found Read(const std::string& path, const InputOptions& options = {}) const {
    Found found;
    int64_t bytes = 0;
    const Status read = ReadFileItems(
        InputFile::Open(path).value(), path, options, key_,
        [&](Result<std::string> item) {
          found.push_back(item.ok() ? JsonOf(*item) : "error: " + item.error().message());
          return OkStatus();
        },
        &bytes, nullptr);
    if (!read.ok()) found.push_back("failed: " + read.error().message());
    return found;
  }

  fs::path folder_;
  model::KeySchema key_;
};

TEST_F(InputTest, EachJsonObjectShowsItsForm) {
  const Found wanted = {R"({"pk":{"S":"a"}})", R"({"Item":{"M":{"x":{"N":"1"}}},"pk":{"S":"b"}})"};
  EXPECT_EQ(Read(Write("x.json",
                       "{\"Item\":{\"pk\":{\"S\":\"a\"}}}\n"
                       "{\"Item\":{\"x\":1},\"pk\":\"b\"}\n")),
            wanted);
}

TEST_F(InputTest, NumbersKeepTheirDigits) {
  const Found wanted = {R"({"n":{"N":"12345678901234567890123456789012345678"},"pk":{"S":"a"}})"};
  EXPECT_EQ(Read(Write("x.json", R"({"pk":"a","n":12345678901234567890123456789012345678})")),
            wanted);
}

TEST_F(InputTest, CompressionIsKnownByTheFirstBytes) {
  std::string packed;
  for (const char* line : {"{\"pk\":\"a\"}\n", "{\"pk\":\"b\"}\n"}) {
    exchange::GzipWriter writer;
    writer.Add(line, &packed);
    writer.Finish(&packed);
  }
  const Found wanted = {R"({"pk":{"S":"a"}})", R"({"pk":{"S":"b"}})"};
  EXPECT_EQ(Read(Write("x.jsonl", packed)), wanted);
  const Found cut = Read(Write("y.jsonl.gz", packed.substr(0, packed.size() - 3)));
  ASSERT_FALSE(cut.empty());
  EXPECT_EQ(cut.back().substr(0, 7), "error: ");
}

TEST_F(InputTest, CsvTellsAbsentFromEmpty) {
  InputOptions options;
  options.types = {{"n", model::Type::kN}};
  const Found wanted = {R"({"n":{"N":"1"},"pk":{"S":"a"},"t":{"S":""}})", R"({"pk":{"S":"b"}})"};
  EXPECT_EQ(Read(Write("x.csv", "pk,n,t\na,1,\"\"\nb,,\n"), options), wanted);
}

TEST_F(InputTest, FileWithoutAKnownNameNeedsAFormat) {
  const Found read = Read(Write("x.txt", "{}"));
  ASSERT_EQ(read.size(), 1);
  EXPECT_NE(read[0].find("--format"), std::string::npos);
}

TEST_F(InputTest, DirectoryGivesItsDataFiles) {
  Write("out/b.json.gz", "");
  Write("out/a.csv", "");
  Write("out/a.csv.errors", "");
  Write("out/a.csv.import-progress", "");
  Write("out/T.progress", "");
  const Result<std::vector<std::string>> files = FilesOf((folder_ / "out").string());
  ASSERT_TRUE(files.ok()) << files.error().message();
  ASSERT_EQ(files->size(), 2);
  EXPECT_EQ(fs::path((*files)[0]).filename(), "a.csv");
  EXPECT_EQ(fs::path((*files)[1]).filename(), "b.json.gz");
}

TEST_F(InputTest, MissingFileOfAManifestIsNamed) {
  Write("export/data/abc.json.gz", "");
  Write("export/manifest-files.json", "{\"dataFileS3Key\":\"p/AWSDynamoDB/1/data/abc.json.gz\"}\n");
  EXPECT_TRUE(FilesOf((folder_ / "export").string()).ok());
  Write("export/manifest-files.json", "{\"dataFileS3Key\":\"p/AWSDynamoDB/1/data/def.json.gz\"}\n");
  const Result<std::vector<std::string>> files = FilesOf((folder_ / "export").string());
  ASSERT_FALSE(files.ok());
  EXPECT_NE(files.error().message().find("def.json.gz"), std::string::npos);
}

TEST_F(InputTest, PlacesWithoutDataAreNamed) {
  Write("empty/readme.txt", "");
  EXPECT_FALSE(FilesOf((folder_ / "empty").string()).ok());
  EXPECT_FALSE(FilesOf((folder_ / "nowhere").string()).ok());
}

TEST(Key, IsReadFromText) {
  const Result<model::KeySchema> key = ParseKey("a:b:S,n:N");
  ASSERT_TRUE(key.ok());
  EXPECT_EQ(key->partition.name, "a:b");
  EXPECT_EQ(key->sort->type, model::Type::kN);
  for (const char* text : {"", "pk", ":S", "pk:X", "pk:SS", "pk:S,", "a:S,b:S,c:S"})
    EXPECT_FALSE(ParseKey(text).ok()) << text;
}

}  // namespace
}  // namespace stator::bulk
