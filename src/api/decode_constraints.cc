#include "api/decode_constraints.h"

#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

#include "api/patterns.h"

namespace stator::api {

namespace {

namespace dom = simdjson::dom;
using simdjson::dom::element_type;

constexpr int64_t kMaxTableName = 255;

// What Java's String.length() says: characters outside the basic plane (four bytes in UTF-8) count
// twice.
int64_t Utf16Length(std::string_view text) {
  int64_t length = 0;
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if ((byte & 0xc0) != 0x80) ++length;
    if (byte >= 0xf0) ++length;
  }
  return length;
}

int64_t TextLength(const Type& type, std::string_view text) {
  return type.length_in_bytes ? static_cast<int64_t>(text.size()) : Utf16Length(text);
}

// The bounds that hold for this text: a table's ARN and its name have different ones.
struct TextBounds {
  int64_t min;
  int64_t max;
  Pattern pattern;
};

TextBounds BoundsFor(const Type& type, std::string_view text) {
  if (type.table_name_min > 0 && !text.starts_with("arn:")) {
    return {type.table_name_min, kMaxTableName, Pattern::kName};
  }
  return {type.min, type.max, type.pattern};
}

std::string MinLength(int64_t min) {
  return "Member must have length greater than or equal to " + std::to_string(min);
}
std::string MaxLength(int64_t max) {
  return "Member must have length less than or equal to " + std::to_string(max);
}
std::string MatchPattern(Pattern pattern) {
  return "Member must satisfy regular expression pattern: " + std::string(PatternText(pattern));
}

// A value as the service prints it into a failure: scalars bare, collections in Java's toString
// form, structures as class name and a hash (which here is one of the JSON text).
void AppendPrinted(const Type* type, dom::element json, std::string* out) {
  switch (json.type()) {
    case element_type::NULL_VALUE: out->append("null"); return;
    case element_type::STRING: out->append(json.get_string().value_unsafe()); return;
    case element_type::BOOL: out->append(json.get_bool().value_unsafe() ? "true" : "false"); return;
    case element_type::INT64:
    case element_type::UINT64:
    case element_type::DOUBLE:
      out->append(std::to_string(ToInteger(json, type != nullptr ? type->kind : Kind::kLong)));
      return;
    case element_type::ARRAY: {
      out->push_back('[');
      bool first = true;
      const dom::array array = json.get_array().value_unsafe();
      for (const dom::element element : array) {
        if (!first) out->append(", ");
        first = false;
        AppendPrinted(type != nullptr ? type->element : nullptr, element, out);
      }
      out->push_back(']');
      return;
    }
    case element_type::OBJECT: break;
  }
  if (type != nullptr && (type->kind == Kind::kStruct || type->kind == Kind::kValue)) {
    uint32_t hash = 2166136261u;
    for (const char c : simdjson::minify(json)) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619u;
    char text[16];
    std::snprintf(text, sizeof text, "@%x", hash);
    out->append("com.amazonaws.dynamodb.v20120810.");
    out->append(type->kind == Kind::kStruct ? type->shape->name
                                            : std::string_view("AttributeValue"));
    out->append(text);
    return;
  }
  static constexpr Type kAttributeValue{.kind = Kind::kValue};
  const Type* element = type == nullptr             ? nullptr
                        : type->kind == Kind::kItem ? &kAttributeValue
                                                    : type->element;
  out->push_back('{');
  bool first = true;
  const dom::object object = json.get_object().value_unsafe();
  for (const auto [key, value] : object) {
    if (!first) out->append(", ");
    first = false;
    out->append(key);
    out->push_back('=');
    AppendPrinted(element, value, out);
  }
  out->push_back('}');
}

// Walks a body along its tables and collects what does not hold, in model order.
class Collector {
 public:
  explicit Collector(const OperationSchema& schema) : schema_(schema) {}

  void Struct(const Shape& shape, dom::object json, const std::string& path);
  // `json` is null for an absent member.
  void Value(const Type& type, const dom::element* json, bool required, const std::string& path);

  const std::vector<std::string>& failures() const { return failures_; }
  std::string MemberPath(const std::string& path, std::string_view member) const;

 private:
  void Text(const Type& type, dom::element json, const std::string& path);
  void Count(const Type& type, int64_t count, dom::element json, const std::string& path);
  void Keys(const Type& type, dom::object json, dom::element whole, const std::string& path);
  void ElementBounds(const Type& type, dom::object json, dom::element whole,
                     const std::string& path);
  void Fail(const Type& type, const dom::element* json, const std::string& path,
            std::string_view what);
  bool full() const { return failures_.size() >= static_cast<size_t>(schema_.max_failures); }

  const OperationSchema& schema_;
  std::vector<std::string> failures_;
};

// The member's value; of several with one name the last; null if absent or null.
std::optional<dom::element> FindMember(dom::object json, std::string_view name) {
  std::optional<dom::element> found;
  for (const auto [key, value] : json) {
    if (key == name && !value.is_null()) found = value;
  }
  return found;
}

std::string Collector::MemberPath(const std::string& path, std::string_view member) const {
  std::string result = path;
  if (!result.empty()) result.push_back('.');
  const size_t start = result.size();
  result.append(member);
  if (!schema_.newer_validator && result[start] >= 'A' && result[start] <= 'Z')
    result[start] += 'a' - 'A';
  return result;
}

void Collector::Fail(const Type& type, const dom::element* json, const std::string& path,
                     std::string_view what) {
  if (full()) return;
  std::string failure = "Value";
  if (!schema_.newer_validator) {
    failure.push_back(' ');
    if (json == nullptr) {
      failure.append("null");
    } else {
      failure.push_back('\'');
      AppendPrinted(&type, *json, &failure);
      failure.push_back('\'');
    }
  }
  failure.append(" at '").append(path).append("' failed to satisfy constraint: ").append(what);
  failures_.push_back(std::move(failure));
}

void Collector::Struct(const Shape& shape, dom::object json, const std::string& path) {
  for (const Field& field : shape.fields) {
    if (full()) return;
    const std::optional<dom::element> member = FindMember(json, field.name);
    Value(*field.type, member ? &*member : nullptr, field.required, MemberPath(path, field.name));
  }
}

void Collector::Value(const Type& type, const dom::element* json, bool required,
                      const std::string& path) {
  if (full()) return;
  if (json == nullptr) {
    if (required) Fail(type, nullptr, path, "Member must not be null");
    return;
  }
  switch (type.kind) {
    case Kind::kString: Text(type, *json, path); return;
    case Kind::kEnum:
      if (type.enums->Find(json->get_string().value_unsafe()) < 0) {
        Fail(type, json, path,
             std::string("Member must satisfy enum value set: ").append(type.enums->printed));
      }
      return;
    case Kind::kInteger:
    case Kind::kLong: {
      const int64_t number = ToInteger(*json, type.kind);
      if (number < type.min) {
        Fail(type, json, path,
             "Member must have value greater than or equal to " + std::to_string(type.min));
      }
      if (number > type.max) {
        Fail(type, json, path,
             "Member must have value less than or equal to " + std::to_string(type.max));
      }
      return;
    }
    case Kind::kStruct: Struct(*type.shape, json->get_object().value_unsafe(), path); return;
    case Kind::kList: {
      const dom::array array = json->get_array().value_unsafe();
      int64_t count = 0;
      for (const dom::element element : array) {
        static_cast<void>(element);
        ++count;
      }
      Count(type, count, *json, path);
      int64_t position = 0;
      for (const dom::element element : array) {
        ++position;
        if (full()) return;
        Value(*type.element, element.is_null() ? nullptr : &element,
              type.element->kind != Kind::kValue,
              path + "." + std::to_string(position) + ".member");
      }
      return;
    }
    case Kind::kMap: {
      const dom::object object = json->get_object().value_unsafe();
      int64_t count = 0;
      for (const auto entry : object) {
        static_cast<void>(entry);
        ++count;
      }
      Count(type, count, *json, path);
      Keys(type, object, *json, path);
      if (type.element_bounds_at_map) ElementBounds(type, object, *json, path);
      for (const auto [key, value] : object) {
        if (full()) return;
        const std::string element_path = path + "." + std::string(key) + ".member";
        if (type.element_bounds_at_map && !value.is_null()) {
          // The list's own bounds were reported above.
          Type unbounded = *type.element;
          unbounded.min = kNoMin;
          unbounded.max = kNoMax;
          Value(unbounded, &value, false, element_path);
        } else {
          Value(*type.element, value.is_null() ? nullptr : &value,
                type.element->kind != Kind::kValue, element_path);
        }
      }
      return;
    }
    case Kind::kItem: Keys(type, json->get_object().value_unsafe(), *json, path); return;
    case Kind::kTime:
    case Kind::kBoolean:
    case Kind::kValue: return;
  }
}

void Collector::Text(const Type& type, dom::element json, const std::string& path) {
  const std::string_view text = json.get_string().value_unsafe();
  const TextBounds bounds = BoundsFor(type, text);
  const int64_t length = TextLength(type, text);
  // An empty text breaks the pattern, too, but only its length is reported.
  if (!text.empty() && !Matches(bounds.pattern, text))
    Fail(type, &json, path, MatchPattern(bounds.pattern));
  if (length < bounds.min) Fail(type, &json, path, MinLength(bounds.min));
  if (length > bounds.max) Fail(type, &json, path, MaxLength(bounds.max));
}

void Collector::Count(const Type& type, int64_t count, dom::element json, const std::string& path) {
  if (count < type.min) Fail(type, &json, path, MinLength(type.min));
  if (count > type.max) Fail(type, &json, path, MaxLength(type.max));
}

// All bounds of a key are reported as one failure of the map.
void Collector::Keys(const Type& type, dom::object json, dom::element whole,
                     const std::string& path) {
  if (type.key == nullptr) return;
  for (const auto [key, value] : json) {
    if (TextHolds(*type.key, key)) continue;
    const TextBounds bounds = BoundsFor(*type.key, key);
    std::string what = "Map keys must satisfy constraint: [" + MaxLength(bounds.max);
    if (bounds.min > 0) what += ", " + MinLength(bounds.min);
    if (bounds.pattern != Pattern::kNone) what += ", " + MatchPattern(bounds.pattern);
    what += "]";
    Fail(type, &whole, path, what);
    return;
  }
}

void Collector::ElementBounds(const Type& type, dom::object json, dom::element whole,
                              const std::string& path) {
  const Type& list = *type.element;
  for (const auto [key, value] : json) {
    if (value.is_null()) continue;
    if (CountHolds(list, static_cast<int64_t>(value.get_array().value_unsafe().size()))) continue;
    Fail(type, &whole, path,
         "Map value must satisfy constraint: [" + MaxLength(list.max) + ", " + MinLength(list.min) +
             "]");
    return;
  }
}

bool IsEmptyMap(const Type& type, const dom::element& json) {
  return type.kind == Kind::kMap && json.get_object().value_unsafe().size() == 0;
}

Error Failures(const std::vector<std::string>& failures) {
  std::string message = std::to_string(failures.size());
  message +=
      failures.size() == 1 ? " validation error detected: " : " validation errors detected: ";
  for (size_t i = 0; i < failures.size(); ++i) {
    if (i > 0) message += "; ";
    message += failures[i];
  }
  return ValidationError(std::move(message));
}

}  // namespace

bool TextHolds(const Type& type, std::string_view text) {
  const TextBounds bounds = BoundsFor(type, text);
  // A text has at most as many characters as bytes, and at least a third of that in UTF-16 code
  // units.
  const auto bytes = static_cast<int64_t>(text.size());
  if (bytes < bounds.min) return false;
  if (bytes > bounds.max || (bounds.min > 0 && bytes < bounds.min * 3)) {
    const int64_t length = TextLength(type, text);
    if (length < bounds.min || length > bounds.max) return false;
  }
  return Matches(bounds.pattern, text);
}

bool FitsInteger(dom::element number, Kind kind) {
  if (number.is_int64()) {
    const int64_t value = number.get_int64().value_unsafe();
    return kind == Kind::kLong || (value >= std::numeric_limits<int32_t>::min() &&
                                   value <= std::numeric_limits<int32_t>::max());
  }
  if (number.is_uint64()) return false;  // uint64 is only what int64 cannot hold
  // The bounds are powers of two, which a double holds.
  const double whole = std::trunc(number.get_double().value_unsafe());
  const double bound = kind == Kind::kInteger ? 0x1p31 : 0x1p63;
  return whole >= -bound && whole < bound;
}

int64_t ToInteger(dom::element number, Kind kind) {
  int64_t value = 0;
  if (number.is_int64()) {
    value = number.get_int64().value_unsafe();
  } else if (number.is_uint64()) {
    value = std::numeric_limits<int64_t>::max();  // uint64 is only what int64 cannot hold
  } else {
    const double decimal = number.get_double().value_unsafe();
    if (decimal >= 9.2e18) {
      value = std::numeric_limits<int64_t>::max();
    } else if (decimal <= -9.2e18) {
      value = std::numeric_limits<int64_t>::min();
    } else {
      value = static_cast<int64_t>(decimal);
    }
  }
  if (kind == Kind::kInteger) {
    if (value > std::numeric_limits<int32_t>::max()) return std::numeric_limits<int32_t>::max();
    if (value < std::numeric_limits<int32_t>::min()) return std::numeric_limits<int32_t>::min();
  }
  return value;
}

std::optional<Error> DescribeViolations(const OperationSchema& schema, dom::object body) {
  // Before everything else: parameters whose absence has a message of its own, then a bad table
  // name, alone.
  for (const Field& field : schema.shape->fields) {
    if (field.absent_message.empty()) continue;
    const std::optional<dom::element> member = FindMember(body, field.name);
    if (!member || IsEmptyMap(*field.type, *member))
      return ValidationError(std::string(field.absent_message));
  }
  for (const Field& field : schema.shape->fields) {
    if (field.type->kind != Kind::kString || field.type->table_name_min == 0) continue;
    Collector collector(schema);
    const std::optional<dom::element> member = FindMember(body, field.name);
    collector.Value(*field.type, member ? &*member : nullptr, field.required,
                    collector.MemberPath("", field.name));
    if (!collector.failures().empty()) return Failures(collector.failures());
  }
  Collector collector(schema);
  collector.Struct(*schema.shape, body, "");
  if (collector.failures().empty()) return std::nullopt;
  return Failures(collector.failures());
}

}  // namespace stator::api
