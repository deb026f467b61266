#include "triggers/event.h"

#include <fmt/format.h>

#include <iterator>

#include "api/attribute_json.h"
#include "ops/event_id.h"

namespace stator::triggers {
namespace {

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

void AppendImage(std::string_view name, const std::string& item, std::string* out) {
  fmt::format_to(std::back_inserter(*out), ",\"{}\":", name);
  api::AppendItemJson(out, model::ItemView(item));
}

}  // namespace

std::string RecordJson(const stream::StreamDescriptor& stream, const stream::Record& record,
                       std::string_view region, std::string_view arn) {
  const std::string sequence = stream::SequenceNumberOf(record.position);
  std::string out;
  out.reserve(640 + 2 * record.keys.size() + (record.new_image ? 2 * record.new_image->size() : 0) +
              (record.old_image ? 2 * record.old_image->size() : 0));
  fmt::format_to(std::back_inserter(out),
                 R"({{"eventID":"{}","eventName":"{}","eventVersion":"1.1",)"
                 R"("eventSource":"aws:dynamodb","awsRegion":"{}","dynamodb":)"
                 R"({{"ApproximateCreationDateTime":{}.0,"Keys":)",
                 ops::EventIdOf(stream, sequence), NameOf(record.event), region,
                 record.created_micros / 1'000'000);
  api::AppendItemJson(&out, model::ItemView(record.keys));
  if (record.new_image) AppendImage("NewImage", *record.new_image, &out);
  if (record.old_image) AppendImage("OldImage", *record.old_image, &out);
  fmt::format_to(std::back_inserter(out),
                 R"(,"SequenceNumber":"{}","SizeBytes":{},"StreamViewType":"{}"}},)"
                 R"("eventSourceARN":"{}")",
                 sequence, record.size_bytes(), NameOf(stream.view_type), arn);
  if (record.cause == stream::Cause::kService)
    out += R"(,"userIdentity":{"type":"Service","principalId":"dynamodb.amazonaws.com"})";
  out += '}';
  return out;
}

std::string EventJson(const std::vector<const Change*>& changes) {
  size_t bytes = 16;
  for (const Change* change : changes) bytes += change->json.size() + 1;
  std::string out;
  out.reserve(bytes);
  out += R"({"Records":[)";
  for (const Change* change : changes) {
    if (change != changes.front()) out += ',';
    out += change->json;
  }
  out += "]}";
  return out;
}

}  // namespace stator::triggers
