// The JSON of changes: events as functions get them, in the shape of Lambda's, and the records of
// Kinesis destinations.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/byte_buffer.h"
#include "egress/client.h"
#include "stream/record.h"
#include "stream/stream.h"
#include "triggers/function.h"

namespace stator::triggers {

// Returns the most bytes that any of the following makes of the record.
size_t MostRecordBytes(const stream::Record& record, std::string_view region, std::string_view arn);
// Bytes that `scratch` takes beyond those of the JSON.
inline constexpr size_t kScratchBytes = 32 << 10;
// Returns `key` and the JSON object of one change, in a string of its size. Overwrites `scratch`.
std::string RecordJson(const RawChange& raw, std::string_view key, ByteBuffer* scratch);

// Returns the partition key of the item with these keys: 32 digits.
std::string PartitionKeyOf(std::string_view keys);
// Returns the JSON object of the keys of an item. Overwrites `scratch`.
std::string KeyJsonOf(const std::string& keys, ByteBuffer* scratch);
// Returns `key` and the JSON that Kinesis destinations send. Overwrites `scratch`.
std::string KinesisRecord(const RawChange& raw, std::string_view key, ByteBuffer* scratch);

// The changes of a batch, from where they are, between two texts. The batch must outlive it.
class EventBody final : public egress::Body {
 public:
  static constexpr std::string_view kHead = R"({"Records":[)";
  static constexpr std::string_view kTail = "]}";
  // Around the changes of a document of Target::Report.
  static std::string ReportHead(const std::string& head);
  static constexpr std::string_view kReportTail = "]}}";

  EventBody(std::string_view head, const Batch& batch, std::string_view tail);
  size_t size() const override { return size_; }
  Status Visit(Take take) const override;
  // All of it.
  std::string Text() const;
  void OnSent() override;
  bool OnAgain() override;

 private:
  const std::string_view head_;
  const Batch& batch_;
  const std::string_view tail_;
  size_t size_ = 0;
};

}  // namespace stator::triggers
