// The parts that the response writers share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/attribute_json.h"
#include "api/schema.h"
#include "api/schema_enums.h"
#include "ops/requests.h"

namespace stator::api {

// A JSON object being appended: `{` on construction, `}` at Close(). Names are literals without
// characters to escape.
class ObjectWriter {
 public:
  explicit ObjectWriter(std::string* out) : out_(out) { out_->push_back('{'); }
  ObjectWriter(const ObjectWriter&) = delete;
  ObjectWriter& operator=(const ObjectWriter&) = delete;

  // Begins a member; its value is to be appended next.
  std::string* Member(std::string_view name) {
    out_->append(first_ ? "\"" : ",\"");
    first_ = false;
    out_->append(name);
    out_->append("\":");
    return out_;
  }
  // Begins a member whose name clients chose, so that it must be escaped.
  std::string* EscapedMember(std::string_view name) {
    if (!first_) out_->push_back(',');
    first_ = false;
    AppendJsonString(out_, name);
    out_->push_back(':');
    return out_;
  }

  void Text(std::string_view name, std::string_view text) { AppendJsonString(Member(name), text); }
  void Integer(std::string_view name, int64_t value) {
    Member(name)->append(std::to_string(value));
  }
  void Boolean(std::string_view name, bool value) {
    Member(name)->append(value ? "true" : "false");
  }
  template <typename E>
  void Enum(std::string_view name, const EnumSet& names, E value) {
    std::string* out = Member(name);
    out->push_back('"');
    out->append(names.names[static_cast<size_t>(value)]);
    out->push_back('"');
  }
  void Close() { out_->push_back('}'); }

 private:
  std::string* out_;
  bool first_ = true;
};

// Appends [a,b] where write(element) appends one element.
template <typename List, typename Write>
void AppendList(std::string* out, const List& list, Write write) {
  out->push_back('[');
  bool first = true;
  for (const auto& element : list) {
    if (!first) out->push_back(',');
    first = false;
    write(element);
  }
  out->push_back(']');
}

inline void AppendTexts(std::string* out, const std::vector<std::string>& texts) {
  AppendList(out, texts, [&](const std::string& text) { AppendJsonString(out, text); });
}

inline void AppendKeySchema(std::string* out,
                            const std::vector<ops::KeySchemaElement>& key_schema) {
  AppendList(out, key_schema, [&](const ops::KeySchemaElement& element) {
    ObjectWriter object(out);
    object.Text("AttributeName", element.attribute_name);
    object.Enum("KeyType", kKeyType, element.key_type);
    object.Close();
  });
}

void AppendProjection(std::string* out, const ops::Projection& projection);
void AppendOnDemand(std::string* out, const ops::OnDemandThroughput& throughput);

// A double as the service prints capacity: 1.0, 0.5.
void AppendDouble(std::string* out, double value);
// Seconds since the epoch: 1700000000.123, or without fraction if there is none.
void AppendTime(std::string* out, double seconds);

}  // namespace stator::api
