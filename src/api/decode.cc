#include "api/decode.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "api/attribute_json.h"
#include "api/decode_constraints.h"
#include "base/ascii.h"

namespace stator::api {

namespace {

namespace dom = simdjson::dom;
using simdjson::dom::element_type;

constexpr const char* kEmptyAttributeValue =
    "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes";
constexpr double kMostSeconds = 1e12;
constexpr std::string_view kModelPackage = "com.amazonaws.dynamodb.v20120810.";

// The name of a type in the service's Java framework.
std::string JavaName(const Type& type) {
  switch (type.kind) {
    case Kind::kString:
    case Kind::kEnum: return "java.lang.String";
    case Kind::kInteger: return "java.lang.Integer";
    case Kind::kLong: return "java.lang.Long";
    case Kind::kTime: return "java.util.Date";
    case Kind::kBoolean: return "java.lang.Boolean";
    case Kind::kStruct: return std::string(kModelPackage).append(type.shape->name);
    case Kind::kValue: return std::string(kModelPackage).append("AttributeValue");
    case Kind::kList: return "java.util.List<" + JavaName(*type.element) + ">";
    case Kind::kMap: return "java.util.Map<java.lang.String, " + JavaName(*type.element) + ">";
    case Kind::kItem:
      return "java.util.Map<java.lang.String, " + std::string(kModelPackage) + "AttributeValue>";
  }
  return "";
}

// The service's message for JSON of a type that does not fit. `in_collection`: the value is an
// element of a list or map.
std::string MismatchMessage(const Type& type, dom::element json, bool in_collection) {
  const element_type found = json.type();
  const bool generic =
      type.kind == Kind::kList || type.kind == Kind::kMap || type.kind == Kind::kItem;
  if (found == element_type::ARRAY) {
    return (generic ? "Unrecognized collection type " : "Unrecognized collection type class ") +
           JavaName(type);
  }
  if (found == element_type::OBJECT) return "Start of structure or map found where not expected";
  if (generic) {
    // Captured from the service: a collection inside a collection is a cast error of the framework
    // itself.
    return in_collection ? "class sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl "
                           "cannot be cast to class "
                           "java.lang.Class "
                           "(sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl and "
                           "java.lang.Class are in module java.base of loader 'bootstrap')"
                         : "Unexpected field type";
  }
  if (type.kind == Kind::kStruct || type.kind == Kind::kValue) {
    return in_collection ? "Unexpected value type in payload" : "Unexpected field type";
  }
  const char* token = "NUMBER_VALUE";
  if (found == element_type::STRING) token = "STRING_VALUE";
  if (found == element_type::DOUBLE) token = "DECIMAL_VALUE";
  if (found == element_type::BOOL) token = bool(json) ? "TRUE_VALUE" : "FALSE_VALUE";
  const std::string java = JavaName(type);
  return std::string(token) + " cannot be converted to " + java.substr(java.rfind('.') + 1);
}

std::optional<bool> BooleanFromText(std::string_view text) {
  for (const std::string_view yes : {"true", "1", "yes"}) {
    if (EqualsLower(text, yes)) return true;
  }
  for (const std::string_view no : {"false", "0", "no"}) {
    if (EqualsLower(text, no)) return false;
  }
  return std::nullopt;
}

// One decoding. The functions return false after the first type error, which is then in error().
class Decoder {
 public:
  explicit Decoder(ops::ValueErrors* value_errors) : value_errors_(value_errors) {}

  bool Struct(const Shape& shape, dom::object json, void* structure);

  std::optional<Error>& error() { return error_; }
  // Some constraint may not hold.
  bool suspicious() const { return suspicious_; }

 private:
  bool Value(const Type& type, dom::element json, void* target, bool in_collection);
  bool List(const Type& type, dom::array json, void* vector);
  bool Map(const Type& type, dom::object json, void* vector);
  bool Item(const Type& type, dom::element json, ops::EncodedItem* item);
  bool Boolean(const Type& type, dom::element json, bool* value, bool in_collection);
  void NoteValueError(std::optional<Error>&& error);
  bool Mismatch(const Type& type, dom::element json, bool in_collection) {
    return Fail(MismatchMessage(type, json, in_collection));
  }
  bool Fail(std::string message) {
    error_.emplace(ErrorCode::kSerialization, std::move(message));
    return false;
  }

  ops::ValueErrors* value_errors_;
  std::optional<Error> error_;
  bool suspicious_ = false;
  ops::ValuePlace place_ = ops::ValuePlace::kItem;
  std::string_view entry_;  // the key of the map entry being read, in maps with a place
};

bool Decoder::Struct(const Shape& shape, dom::object json, void* structure) {
  uint32_t seen = 0;
  const Field* const fields = shape.fields.data();
  const size_t count = shape.fields.size();
  size_t next = 0;  // clients tend to write members in one order: look on from the last hit
  for (const auto [name, value] : json) {
    for (size_t tried = 0; tried < count; ++tried, ++next) {
      if (next == count) next = 0;
      const Field& field = fields[next];
      if (field.name.size() != name.size() ||
          std::memcmp(field.name.data(), name.data(), name.size()) != 0) {
        continue;
      }
      if (!value.is_null()) {
        seen |= uint32_t{1} << next;
        if (!Value(*field.type, value, field.emplace(structure), false)) return false;
      }
      break;
    }
  }
  if ((seen & shape.required) != shape.required) suspicious_ = true;
  return true;
}

bool Decoder::Value(const Type& type, dom::element json, void* target, bool in_collection) {
  if (type.place) {
    place_ = *type.place;
    entry_ = {};
  }
  switch (type.kind) {
    case Kind::kString: {
      if (!json.is_string()) return Mismatch(type, json, in_collection);
      const std::string_view text = json.get_string().value_unsafe();
      if (!TextHolds(type, text)) suspicious_ = true;
      static_cast<std::string*>(target)->assign(text);
      return true;
    }
    case Kind::kEnum: {
      if (!json.is_string()) return Mismatch(type, json, in_collection);
      const int position = type.enums->Find(json.get_string().value_unsafe());
      if (position < 0) suspicious_ = true;
      // All enums of the API are enum class over uint8_t.
      *static_cast<uint8_t*>(target) = static_cast<uint8_t>(position < 0 ? 0 : position);
      return true;
    }
    case Kind::kInteger:
    case Kind::kLong: {
      if (!json.is_number() || !FitsInteger(json, type.kind))
        return Mismatch(type, json, in_collection);
      const int64_t number = ToInteger(json, type.kind);
      if (!CountHolds(type, number)) suspicious_ = true;
      *static_cast<int64_t*>(target) = number;
      return true;
    }
    case Kind::kTime: {
      double seconds = 0;
      if (!json.is_number() || json.get(seconds)) return Mismatch(type, json, in_collection);
      // Beyond this a double has no milliseconds any more.
      seconds = std::clamp(seconds, -kMostSeconds, kMostSeconds);
      *static_cast<int64_t*>(target) = std::llround(seconds * 1000);
      return true;
    }
    case Kind::kBoolean: return Boolean(type, json, static_cast<bool*>(target), in_collection);
    case Kind::kStruct:
      if (!json.is_object()) return Mismatch(type, json, in_collection);
      return Struct(*type.shape, json.get_object().value_unsafe(), target);
    case Kind::kList:
      if (!json.is_array()) return Mismatch(type, json, in_collection);
      return List(type, json.get_array().value_unsafe(), target);
    case Kind::kMap:
      if (!json.is_object()) return Mismatch(type, json, in_collection);
      return Map(type, json.get_object().value_unsafe(), target);
    case Kind::kItem:
      if (!json.is_object()) return Mismatch(type, json, in_collection);
      return Item(type, json, static_cast<ops::EncodedItem*>(target));
    case Kind::kValue: {
      if (!json.is_object()) return Mismatch(type, json, in_collection);
      std::optional<Error> value_error;
      Status read = ReadValue(json, static_cast<std::string*>(target), &value_error);
      if (!read.ok()) {
        error_ = std::move(read).error();
        return false;
      }
      if (value_error) NoteValueError(std::move(value_error));
      return true;
    }
  }
  return true;
}

bool Decoder::Boolean(const Type& type, dom::element json, bool* value, bool in_collection) {
  if (json.is_bool()) {
    *value = json.get_bool().value_unsafe();
    return true;
  }
  if (!json.is_string()) return Mismatch(type, json, in_collection);
  const std::optional<bool> boolean = BooleanFromText(json.get_string().value_unsafe());
  if (!boolean) return Fail("Unexpected token received from parser");
  *value = *boolean;
  return true;
}

// A null among attribute values counts as an empty value, a null among other things is a constraint
// failure.
bool Decoder::List(const Type& type, dom::array json, void* vector) {
  int64_t count = 0;
  for (const dom::element element : json) {
    ++count;
    void* target = type.append(vector, {});
    if (!element.is_null()) {
      if (!Value(*type.element, element, target, true)) return false;
    } else if (type.element->kind == Kind::kValue) {
      NoteValueError(ValidationError(kEmptyAttributeValue));
    } else {
      suspicious_ = true;
    }
  }
  if (!CountHolds(type, count)) suspicious_ = true;
  return true;
}

bool Decoder::Map(const Type& type, dom::object json, void* vector) {
  int64_t count = 0;
  for (const auto [key, value] : json) {
    ++count;
    if (type.key != nullptr && !TextHolds(*type.key, key)) suspicious_ = true;
    if (type.place) entry_ = key;
    void* target = type.append(vector, key);
    if (!value.is_null()) {
      if (!Value(*type.element, value, target, true)) return false;
    } else if (type.element->kind == Kind::kValue) {
      NoteValueError(ValidationError(kEmptyAttributeValue));
    } else {
      suspicious_ = true;
    }
  }
  if (!CountHolds(type, count)) suspicious_ = true;
  if (count > 1) type.drop_duplicates(vector);
  return true;
}

bool Decoder::Item(const Type& type, dom::element json, ops::EncodedItem* item) {
  std::optional<Error> value_error;
  Status read = ReadItem(json, &item->bytes, &value_error);
  if (!read.ok()) {
    error_ = std::move(read).error();
    return false;
  }
  // Names are only worth a look if one could be too long; after a value error the encoding says
  // nothing about that.
  if (type.key != nullptr &&
      (value_error || static_cast<int64_t>(item->bytes.size()) > type.key->max)) {
    suspicious_ = true;
  }
  if (value_error) NoteValueError(std::move(value_error));
  return true;
}

void Decoder::NoteValueError(std::optional<Error>&& error) {
  if (value_errors_ == nullptr || ops::FindValueError(*value_errors_, place_) != nullptr) return;
  value_errors_->push_back({place_, std::string(entry_), *std::move(error)});
}

}  // namespace

Status DecodeInto(const OperationSchema& schema, dom::element body, void* request,
                  ops::ValueErrors* value_errors) {
  if (!body.is_object()) return Error(ErrorCode::kSerialization, "");
  const dom::object object = body.get_object().value_unsafe();
  Decoder decoder(value_errors);
  if (!decoder.Struct(*schema.shape, object, request)) return *std::move(decoder.error());
  if (!decoder.suspicious()) return OkStatus();
  std::optional<Error> violations = DescribeViolations(schema, object);
  if (violations) return *std::move(violations);
  return OkStatus();
}

}  // namespace stator::api
