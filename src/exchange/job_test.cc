#include "exchange/job.h"

#include <gtest/gtest.h>

namespace stator::exchange {
namespace {

ExportJob SomeExport() {
  ExportJob job;
  job.id = "01795613126583-0a1b2c3d";
  job.table_arn = "arn:aws:dynamodb:us-east-1:000000000000:table/tab";
  job.table_name = "tab";
  job.table_id = "12345678-1234-4234-8234-123456789012";
  job.client_token = "token \"1\"\n";
  job.parameters = "a\nb";
  job.bucket = "bucket";
  job.prefix = "pre/fix";
  job.state = JobState::kFailed;
  job.start_micros = 5'000;
  job.end_micros = 6'000;
  job.failure_code = "S3NoSuchBucket";
  job.failure_message = "no bucket";
  job.moment_micros = 4'999;
  job.window = ExportJob::Window();
  job.window->from_micros = 7;
  job.window->view = View::kNewImage;
  return job;
}

TEST(Job, StoredFormsComeBack) {
  const ExportJob job = SomeExport();
  ExportJob read;
  ASSERT_TRUE(DecodeJob(EncodeJob(job), &read).ok());
  EXPECT_EQ(EncodeJob(read), EncodeJob(job));
  EXPECT_EQ(read.client_token, job.client_token);
  EXPECT_EQ(read.bucket_owner, std::nullopt);
  EXPECT_EQ(read.window->view, View::kNewImage);

  ImportJob import;
  import.id = job.id;
  import.csv.emplace().headers = {"a", "b c"};
  import.definition = std::string("\0\1\xff", 3);
  import.compression = Compression::kGzip;
  import.format = Format::kCsv;
  import.filled = true;
  import.errors = 3;
  ImportJob again;
  ASSERT_TRUE(DecodeJob(EncodeJob(import), &again).ok());
  EXPECT_EQ(EncodeJob(again), EncodeJob(import));
  EXPECT_EQ(again.definition, import.definition);
  EXPECT_EQ(again.csv->headers, import.csv->headers);
  EXPECT_TRUE(again.filled);
}

TEST(Job, FiltersComeBackAndOlderVersionsLeaveThemAlone) {
  ExportJob job = SomeExport();
  EXPECT_EQ(RecordVersionOf(job), 1);
  job.format = Format::kIon;
  EXPECT_EQ(RecordVersionOf(job), 2) << "records in Ion";
  job.window.reset();
  EXPECT_EQ(RecordVersionOf(job), 1) << "items in Ion";
  job.filter.emplace().filter_expression = "a > :v";
  job.filter->values = std::string("\0\xff", 2);
  EXPECT_EQ(RecordVersionOf(job), 2);
  ExportJob read;
  ASSERT_TRUE(DecodeJob(EncodeJob(job), &read).ok());
  EXPECT_EQ(EncodeJob(read), EncodeJob(job));
  EXPECT_EQ(read.filter->filter_expression, "a > :v");
  EXPECT_EQ(read.filter->projection_expression, std::nullopt);
  EXPECT_EQ(read.filter->names, "");
  EXPECT_EQ(read.filter->values, job.filter->values);
}

TEST(Job, BulkPutsComeBackWithTheirPosition) {
  BulkJob job;
  job.id = "01795613126583-0a1b2c3d";
  job.outputs = {"ERROR"};
  job.done_key = "a";
  job.key = "\xff\x01";
  job.records = 7;
  job.listed = true;
  job.condition_report.pending = 3;
  job.error_report.truncated = true;
  job.index_usage = {{"local", true, 5}, {"global", false, 6}};
  job.cancelled = true;
  BulkJob read;
  ASSERT_TRUE(DecodeJob(EncodeJob(job), &read).ok());
  EXPECT_EQ(EncodeJob(read), EncodeJob(job));
  EXPECT_EQ(read.key, job.key);
  EXPECT_EQ(read.records, 7);
  EXPECT_EQ(read.condition_report.pending, 3);
  EXPECT_EQ(read.error_report.pending, 0);
  ASSERT_EQ(read.index_usage.size(), 2u);
  EXPECT_EQ(read.index_usage[1].name, "global");
  EXPECT_TRUE(read.index_usage[0].local);
  std::string wrong = EncodeJob(job);
  wrong.replace(wrong.find("\"Indexes\":["), 11, "\"Indexes\":[1,");
  EXPECT_FALSE(DecodeJob(wrong, &read).ok());
}

TEST(Job, DamagedRecordsAreRefused) {
  const std::string text = EncodeJob(SomeExport());
  ExportJob job;
  for (size_t cut = 0; cut + 2 < text.size(); cut += 11)
    EXPECT_FALSE(DecodeJob(text.substr(0, cut), &job).ok()) << cut;
  EXPECT_FALSE(DecodeJob(R"({"Id":"x"})", &job).ok());
  std::string wrong = text;
  wrong.replace(wrong.find("\"State\":2"), 9, "\"State\":9");
  EXPECT_FALSE(DecodeJob(wrong, &job).ok());
}

}  // namespace
}  // namespace stator::exchange
