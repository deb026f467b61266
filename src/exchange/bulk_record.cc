#include "exchange/bulk_record.h"

#include <utility>

#include "base/printable.h"
#include "exchange/ion.h"
#include "exchange/item_source.h"

namespace stator::exchange {
namespace {

Status ReadNames(simdjson::dom::element json, RecordCondition* condition) {
  simdjson::dom::object names;
  if (json.get(names) != simdjson::SUCCESS)
    return ValidationError("ExpressionAttributeNames is no JSON object.");
  condition->names.emplace();
  for (const auto [placeholder, value] : names) {
    std::string_view name;
    if (value.get(name) != simdjson::SUCCESS)
      return ValidationError("ExpressionAttributeNames has a value that is no text.");
    condition->names->emplace_back(placeholder, name);
  }
  return OkStatus();
}

Status ReadMember(std::string_view name, simdjson::dom::element json, const Codec& codec,
                  RecordCondition* condition) {
  if (name == "Item") return OkStatus();
  if (name == "ConditionExpression") {
    std::string_view text;
    if (json.get(text) != simdjson::SUCCESS)
      return ValidationError("ConditionExpression is no text.");
    condition->expression = text;
    return OkStatus();
  }
  if (name == "ExpressionAttributeNames") return ReadNames(json, condition);
  if (name != "ExpressionAttributeValues")
    return ValidationError("The record has an unknown member: " + Printable(name));
  std::optional<Error> wrong;
  if (!json.is_object()) return ValidationError("ExpressionAttributeValues is no JSON object.");
  TRY(codec.read_json(json, &condition->values.emplace(), &wrong));
  if (wrong) return *std::move(wrong);
  return OkStatus();
}

}  // namespace

Result<PutRecord> RecordReader::ReadJson(std::string_view text) {
  simdjson::dom::element document;
  simdjson::dom::object members;
  if (parser_.parse(text.data(), text.size()).get(document) != simdjson::SUCCESS ||
      document.get(members) != simdjson::SUCCESS)
    return CorruptionError("The text is no JSON object.");
  RecordCondition condition;
  for (const auto member : members) TRY(ReadMember(member.key, member.value, codec_, &condition));
  ASSIGN_OR_RETURN(std::string item, ReadJsonItem(document, codec_));
  return Compile(std::move(item), std::move(condition));
}

Result<PutRecord> RecordReader::ReadIon(std::string_view text) {
  RecordCondition condition;
  Result<std::string> item = ReadIonRecord(text, &condition);
  // A text that is no Ion: its end is not sure either.
  if (!item.ok() && item.error().code() == ErrorCode::kSerialization)
    return CorruptionError(item.error().message());
  if (!item.ok()) return item.error();
  return Compile(*std::move(item), std::move(condition));
}

Result<PutRecord> RecordReader::Compile(std::string item, RecordCondition condition) {
  PutRecord record;
  record.item = std::move(item);
  if (!condition.empty()) {
    ASSIGN_OR_RETURN(record.holds, codec_.compile_condition(std::move(condition)));
  }
  return record;
}

}  // namespace stator::exchange
