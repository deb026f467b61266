#include "exchange/export_writer.h"

#include <gtest/gtest.h>

#include <map>

#include "base/base64.h"
#include "base/compress.h"
#include "simdjson.h"

namespace stator::exchange {
namespace {

class ExportWriterTest : public testing::Test {
 protected:
  ExportWriterTest() {
    job_.id = "01760000000000-0a1b2c3d";
    job_.table_arn = "arn:aws:dynamodb:us-east-1:000000000000:table/T";
    job_.table_id = "12345678-1234-4234-8234-123456789012";
    job_.bucket = "bucket";
    job_.start_micros = 1'760'000'000'000'000;
    job_.end_micros = 1'760'000'001'250'000;
    job_.shown_micros = job_.start_micros;
  }
  std::map<std::string, std::string> Objects() {
    std::map<std::string, std::string> found;
    const std::vector<ObjectInfo> list = objects_->List("bucket", "", 100).value();
    for (const ObjectInfo& info : list) {
      const auto object = objects_->Read("bucket", info.key).value();
      EXPECT_TRUE(object->Read(0, object->size(), &found[info.key]).ok());
    }
    return found;
  }
  static std::string Md5Base64(std::string_view bytes) {
    Md5 md5;
    md5.Add(bytes);
    const std::string digest = md5.Finish();
    std::string text(Base64Length(digest.size()), '\0');
    EncodeBase64(digest, text.data());
    return text;
  }

  const std::unique_ptr<ObjectStore> objects_ = MakeMemoryObjects(100 << 20);
  ExportJob job_;
};

TEST_F(ExportWriterTest, MD5IsThatOfTheDocuments) {
  EXPECT_EQ(Md5Base64(""), "1B2M2Y8AsgTpgAmY7PhCfg==");
}

TEST_F(ExportWriterTest, AnEmptyTableHasOneEmptyFileAndManifests) {
  ASSERT_TRUE(WriteStarted(*objects_, job_).ok());
  ExportDataWriter writer(*objects_, job_);
  const std::vector<ExportedFile> files = writer.Finish().value();
  ASSERT_EQ(files.size(), 1u);
  ASSERT_TRUE(WriteManifests(*objects_, job_, files).ok());
  const std::string root = "AWSDynamoDB/" + job_.id + "/";
  std::map<std::string, std::string> objects = Objects();
  ASSERT_EQ(objects.size(), 6u);
  EXPECT_EQ(objects[root + "_started"], "");
  EXPECT_EQ(Decompress(Encoding::kGzip, objects[files[0].key], 100).value(), "");
  EXPECT_EQ(files[0].key.substr(0, root.size() + 5), root + "data/");
  EXPECT_EQ(files[0].key.size(), root.size() + 5 + 26 + 8);
  EXPECT_EQ(objects[root + "manifest-summary.md5"],
            Md5Base64(objects[root + "manifest-summary.json"]));
  EXPECT_EQ(objects[root + "manifest-files.md5"], Md5Base64(objects[root + "manifest-files.json"]));
  EXPECT_EQ(
      objects[root + "manifest-summary.json"],
      R"({"version":"2020-06-30","exportArn":"arn:aws:dynamodb:us-east-1:000000000000:table/T/export/01760000000000-0a1b2c3d",)"
      R"("startTime":"2025-10-09T08:53:20.000Z","endTime":"2025-10-09T08:53:21.250Z",)"
      R"("tableArn":"arn:aws:dynamodb:us-east-1:000000000000:table/T","tableId":"12345678-1234-4234-8234-123456789012",)"
      R"("exportTime":"2025-10-09T08:53:20.000Z","s3Bucket":"bucket","s3Prefix":null,"s3SseAlgorithm":"AES256",)"
      R"("s3SseKmsKeyId":null,"manifestFilesS3Key":"AWSDynamoDB/01760000000000-0a1b2c3d/manifest-files.json",)"
      R"("billedSizeBytes":0,"itemCount":0,"outputFormat":"DYNAMODB_JSON","exportType":"FULL_EXPORT"})"
      "\n");
}

TEST_F(ExportWriterTest, FilesAreClosedAndNamedAlikeEachTime) {
  job_.prefix = "pre/fix/";
  std::vector<ExportedFile> first;
  for (const int run : {0, 1}) {
    ExportDataWriter writer(*objects_, job_, 1000);
    std::string lines;
    for (int i = 0; i < 60'000; ++i) {
      const std::string line = "{\"Item\":{\"pk\":{\"S\":\"" + std::to_string(i * 7919) + "\"}}}\n";
      ASSERT_TRUE(writer.Add(line).ok());
      lines += line;
    }
    const std::vector<ExportedFile> files = writer.Finish().value();
    ASSERT_GT(files.size(), 2u);
    std::string read;
    int64_t items = 0;
    std::map<std::string, std::string> objects = Objects();
    for (const ExportedFile& file : files) {
      EXPECT_EQ(file.key.rfind("pre/fix/AWSDynamoDB/" + job_.id + "/data/", 0), 0u) << file.key;
      read += Decompress(Encoding::kGzip, objects[file.key], 10 << 20).value();
      items += file.items;
    }
    EXPECT_EQ(read, lines);
    EXPECT_EQ(items, 60'000);
    if (run == 0) first = files;
    ASSERT_EQ(first.size(), files.size());
    for (size_t i = 0; i < files.size(); ++i) {
      EXPECT_EQ(first[i].key, files[i].key);
      EXPECT_EQ(first[i].md5, files[i].md5);
    }
  }
}

TEST_F(ExportWriterTest, AnIncrementalExportHasItsDataBesideThoseOfOthers) {
  job_.prefix = "p";
  job_.window = ExportJob::Window();
  job_.window->shown_from_micros = job_.start_micros;
  job_.window->shown_to_micros = job_.end_micros;
  ExportDataWriter writer(*objects_, job_);
  const std::vector<ExportedFile> files = writer.Finish().value();
  EXPECT_EQ(files[0].key.rfind("p/AWSDynamoDB/data/", 0), 0u) << files[0].key;
  ASSERT_TRUE(WriteManifests(*objects_, job_, files).ok());
  const std::string summary = Objects()["p/AWSDynamoDB/" + job_.id + "/manifest-summary.json"];
  EXPECT_NE(summary.find(R"("version":"2023-08-01")"), std::string::npos);
  EXPECT_NE(summary.find(R"("outputView":"NEW_AND_OLD_IMAGES","exportType":"INCREMENTAL_EXPORT")"),
            std::string::npos);
  EXPECT_EQ(summary.find("exportTime"), std::string::npos);
}

}  // namespace
}  // namespace stator::exchange
