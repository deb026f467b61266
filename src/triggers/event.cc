#include "triggers/event.h"

#include <fmt/format.h>

#include "access/crypto.h"
#include "api/attribute_json.h"
#include "base/base64.h"
#include "ops/event_id.h"
#include "table/table_name.h"

namespace stator::triggers {
namespace {

constexpr size_t kPartitionKeyBytes = 32;

// The identity of a change that time to live made.
constexpr std::string_view kService =
    R"({"type":"Service","principalId":"dynamodb.amazonaws.com"})";

std::string_view NameOf(stream::Event event) {
  switch (event) {
    case stream::Event::kInsert: return "INSERT";
    case stream::Event::kModify: return "MODIFY";
    case stream::Event::kRemove: return "REMOVE";
  }
  return "";
}

std::string_view NameOf(stream::ViewType type) {
  switch (type) {
    case stream::ViewType::kNewImage: return "NEW_IMAGE";
    case stream::ViewType::kOldImage: return "OLD_IMAGE";
    case stream::ViewType::kNewAndOldImages: return "NEW_AND_OLD_IMAGES";
    case stream::ViewType::kKeysOnly: return "KEYS_ONLY";
  }
  return "";
}

// Returns the most bytes of a text in JSON, quotes included.
size_t MostTextBytes(std::string_view text) {
  size_t bytes = text.size() + 2;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20) bytes += 5;
    if (c == '"' || c == '\\') ++bytes;
  }
  return bytes;
}

size_t MostMapBytes(model::MapView map);

// Returns the most bytes of a value in JSON, with its type.
size_t MostValueBytes(model::ValueView value) {
  constexpr size_t kFrame = 16;  // {"NULL":true} and shorter ones
  switch (value.type()) {
    case model::Type::kBool:
    case model::Type::kNull: return kFrame;
    case model::Type::kS:
      return kFrame + (value.plain() ? value.text().size() : MostTextBytes(value.text()));
    case model::Type::kN: return kFrame + value.text().size();
    case model::Type::kB: return kFrame + Base64Length(value.text().size());
    case model::Type::kM: return kFrame + MostMapBytes(value.map());
    case model::Type::kL: {
      size_t bytes = kFrame;
      for (const model::ValueView element : value.list()) bytes += MostValueBytes(element) + 1;
      return bytes;
    }
    case model::Type::kSS:
    case model::Type::kNS:
    case model::Type::kBS: break;
  }
  size_t bytes = kFrame;
  for (const std::string_view member : value.set()) {
    bytes += value.type() == model::Type::kBS ? Base64Length(member.size()) + 3
                                              : MostTextBytes(member) + 1;
  }
  return bytes;
}

size_t MostMapBytes(model::MapView map) {
  size_t bytes = 2;
  for (const model::MapView::Entry& entry : map)
    bytes += MostTextBytes(entry.name) + 2 + MostValueBytes(entry.value);
  return bytes;
}

size_t MostItemBytes(const std::string& item) {
  return MostMapBytes(model::ItemView(item).attributes());
}

void AppendItem(const std::string& item, ByteBuffer* out) {
  api::WriteListedItem(model::ItemView(item), /*first=*/true, out);
}

// The keys, and the images as further members.
void AppendImages(const stream::Record& record, ByteBuffer* scratch) {
  AppendItem(record.keys, scratch);
  if (record.new_image) {
    scratch->Append(R"(,"NewImage":)");
    AppendItem(*record.new_image, scratch);
  }
  if (record.old_image) {
    scratch->Append(R"(,"OldImage":)");
    AppendItem(*record.old_image, scratch);
  }
}

}  // namespace

size_t MostRecordBytes(const stream::Record& record, std::string_view region,
                       std::string_view arn) {
  constexpr size_t kFrame = 768;
  // The keys are there twice for targets that want them.
  size_t bytes = kFrame + region.size() + arn.size() + 2 * MostItemBytes(record.keys);
  if (record.new_image) bytes += MostItemBytes(*record.new_image);
  if (record.old_image) bytes += MostItemBytes(*record.old_image);
  return bytes;
}

std::string RecordJson(const RawChange& raw, std::string_view key, ByteBuffer* scratch) {
  const auto& [stream, record, region, arn, micros, most] = raw;
  const std::string sequence = stream::SequenceNumberOf(record.position);
  scratch->Clear();
  scratch->Reserve(most + kScratchBytes);
  scratch->Append(key);
  scratch->Append(fmt::format(R"({{"eventID":"{}","eventName":"{}","eventVersion":"1.1",)"
                              R"("eventSource":"aws:dynamodb","awsRegion":"{}","dynamodb":)"
                              R"({{"ApproximateCreationDateTime":{}.0,"Keys":)",
                              ops::EventIdOf(stream, sequence), NameOf(record.event), region,
                              record.created_micros / 1'000'000));
  AppendImages(record, scratch);
  scratch->Append(fmt::format(R"(,"SequenceNumber":"{}","SizeBytes":{},"StreamViewType":"{}"}},)"
                              R"("eventSourceARN":"{}")",
                              sequence, record.size_bytes(), NameOf(stream.view_type), arn));
  if (record.cause == stream::Cause::kService)
    scratch->Append(fmt::format(R"(,"userIdentity":{})", kService));
  scratch->Append("}");
  return std::string(scratch->view());
}

std::string PartitionKeyOf(std::string_view keys) {
  const access::Digest digest = access::Sha256(keys);
  std::string key;
  for (const char byte : access::AsText(digest).substr(0, kPartitionKeyBytes / 2))
    key += fmt::format("{:02X}", static_cast<uint8_t>(byte));
  return key;
}

std::string KeyJsonOf(const std::string& keys, ByteBuffer* scratch) {
  scratch->Clear();
  AppendItem(keys, scratch);
  return std::string(scratch->view());
}

std::string KinesisRecord(const RawChange& raw, std::string_view key, ByteBuffer* scratch) {
  const auto& [stream, record, region, arn, micros, most] = raw;
  // Each delivery of a change has this id, so that consumers can tell duplicates.
  std::string id = ops::EventIdOf(stream, stream::SequenceNumberOf(record.position));
  id = fmt::format("{}-{}-4{}-8{}-{}", id.substr(0, 8), id.substr(8, 4), id.substr(13, 3),
                   id.substr(17, 3), id.substr(20, 12));
  scratch->Clear();
  scratch->Reserve(most + kScratchBytes);
  scratch->Append(key);
  scratch->Append(fmt::format(
      R"({{"awsRegion":"{}","eventID":"{}","eventName":"{}","userIdentity":{},)"
      R"("recordFormat":"application/json","tableName":"{}","dynamodb":)"
      R"({{"ApproximateCreationDateTime":{}{},"Keys":)",
      region, id, NameOf(record.event), record.cause == stream::Cause::kService ? kService : "null",
      table::ShownName(stream.table_name),
      micros ? record.created_micros : record.created_micros / 1000,
      micros ? R"(,"ApproximateCreationDateTimePrecision":"MICROSECOND")" : ""));
  AppendImages(record, scratch);
  scratch->Append(
      fmt::format(R"(,"SizeBytes":{}}},"eventSource":"aws:dynamodb"}})", record.size_bytes()));
  return std::string(scratch->view());
}

std::string EventBody::ReportHead(const std::string& head) {
  return head + ",\"payload\":" + std::string(kHead);
}

EventBody::EventBody(std::string_view head, const Batch& batch, std::string_view tail)
    : head_(head), batch_(batch), tail_(tail), size_(head.size() + tail.size()) {
  for (const Change* change : batch.changes) size_ += change->json().size() + 1;
  if (!batch.changes.empty()) --size_;  // no comma before the first
}

Status EventBody::Visit(Take take) const {
  TRY(take(head_));
  for (const Change* change : batch_.changes) {
    if (change != batch_.changes.front()) TRY(take(","));
    TRY(take(change->json()));
  }
  return take(tail_);
}

std::string EventBody::Text() const {
  std::string text;
  text.reserve(size_);
  const Status taken = Visit([&text](std::string_view piece) {
    text += piece;
    return OkStatus();
  });
  (void)taken.ok();
  return text;
}

void EventBody::OnSent() {
  if (batch_.listener != nullptr) batch_.listener->OnSent();
}

bool EventBody::OnAgain() { return batch_.listener == nullptr || batch_.listener->OnAgain(); }

}  // namespace stator::triggers
