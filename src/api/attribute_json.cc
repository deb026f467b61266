// Reads attribute values. They go from simdjson's tape directly into their encoding. Containers are
// collected in a scratch string for each nesting level, because their encoding begins with its
// length and count.
#include "api/attribute_json.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/ascii.h"
#include "base/base64.h"
#include "model/number_set.h"

namespace stator::api {
namespace {

using model::Type;
using simdjson::dom::element;
using simdjson::dom::element_type;

constexpr std::string_view kInvalid = "One or more parameter values were invalid: ";

Error TypeError(std::string_view text) {
  return Error(ErrorCode::kSerialization, std::string(text));
}

Error NotConvertible(element json, std::string_view target) {
  std::string_view token = "NUMBER_VALUE";
  if (json.type() == element_type::DOUBLE) token = "DECIMAL_VALUE";
  if (json.type() == element_type::BOOL)
    token = json.get_bool().value_unsafe() ? "TRUE_VALUE" : "FALSE_VALUE";
  return TypeError(std::string(token) + " cannot be converted to " + std::string(target));
}

Error ObjectNotExpected() {
  return TypeError("Start of structure or map found where not expected");
}

Status ExpectString(element json, std::string_view* text) {
  switch (json.type()) {
    case element_type::STRING: *text = json.get_string().value_unsafe(); return OkStatus();
    case element_type::ARRAY:
      return TypeError("Unrecognized collection type class java.lang.String");
    case element_type::OBJECT: return ObjectNotExpected();
    default: return NotConvertible(json, "String");
  }
}

Status ExpectBool(element json, bool* value) {
  switch (json.type()) {
    case element_type::BOOL: *value = json.get_bool().value_unsafe(); return OkStatus();
    case element_type::STRING: {
      const std::string_view text = json.get_string().value_unsafe();
      for (std::string_view word : {"true", "1", "yes"}) {
        if (EqualsLower(text, word)) {
          *value = true;
          return OkStatus();
        }
      }
      for (std::string_view word : {"false", "0", "no"}) {
        if (EqualsLower(text, word)) {
          *value = false;
          return OkStatus();
        }
      }
      return TypeError("Unexpected token received from parser");
    }
    case element_type::ARRAY:
      return TypeError("Unrecognized collection type class java.lang.Boolean");
    case element_type::OBJECT: return ObjectNotExpected();
    default: return NotConvertible(json, "Boolean");
  }
}

Status ExpectBinary(element json, std::string* bytes) {
  switch (json.type()) {
    case element_type::STRING: return DecodeBase64(json.get_string().value_unsafe(), bytes);
    case element_type::ARRAY:
      return TypeError("Unrecognized collection type class java.nio.ByteBuffer");
    case element_type::OBJECT: return ObjectNotExpected();
    default: return TypeError("only base-64-encoded strings are convertible to bytes");
  }
}

Status ExpectArray(element json, simdjson::dom::array* array) {
  if (json.get(*array) == simdjson::SUCCESS) return OkStatus();
  if (json.type() == element_type::OBJECT) return ObjectNotExpected();
  return TypeError("Unexpected value type in payload");
}

Error NotAMap(element json, std::string_view scalar_text) {
  if (json.type() == element_type::ARRAY) {
    return TypeError(
        "Unrecognized collection type java.util.Map<java.lang.String, "
        "com.amazonaws.dynamodb.v20120810.AttributeValue>");
  }
  return TypeError(scalar_text);
}

// A value that is no item's is an expression's, and those have 2 MB together, or is compared with
// an item's.
constexpr size_t kMaxValueBytes = 2 << 20;

// "[a, b]" for the message about duplicates; the service prints the members as they came.
std::string PrintMembers(const std::vector<std::string_view>& members) {
  std::string text = "[";
  for (std::string_view member : members) {
    if (text.size() > 1) text.append(", ");
    text.append(member);
  }
  text.push_back(']');
  return text;
}

struct Member {
  std::string_view name;
  element value;
};

// What a thread keeps between requests, so that reading an item allocates nothing once it has
// warmed up.
struct Scratch {
  std::array<std::string, model::kMaxNestingDepth + 1> entries;  // by nesting level
  std::vector<Member> members;  // a stack: each open map has its run of it
  std::string binary;

  // One huge request must not pin its memory for good.
  void Trim() {
    constexpr size_t kKeep = 64 * 1024;
    for (std::string& level : entries) {
      if (level.capacity() > kKeep) std::string().swap(level);
    }
    if (members.capacity() * sizeof(Member) > kKeep) std::vector<Member>().swap(members);
    if (binary.capacity() > kKeep) std::string().swap(binary);
  }
};

class Reader {
 public:
  // Cuts off what lies behind the first `max_bytes`, by DynamoDB's rules: a value or an item of
  // more is refused by whatever it is for. The rest is checked as ever, and not kept.
  Reader(Scratch* scratch, size_t max_bytes, std::optional<Error>* value_error)
      : scratch_(*scratch), max_bytes_(max_bytes), value_error_(*value_error) {}

  // Reads a value. `depth` is the nesting level of the enclosing map or list; the item is level 1.
  Status Value(element json, int depth, std::string* out);
  // Reads the entries of a map on level `depth`, and sorts them by name.
  Status Entries(simdjson::dom::object object, int depth, std::string* out, size_t* count);

 private:
  Status Typed(Type type, element json, int depth, std::string* out);
  Status Set(Type type, element json, std::string* out);
  Status List(element json, int depth, std::string* out);
  Status Map(element json, int depth, std::string* out);

  bool Beyond() const { return bytes_ > max_bytes_; }
  // Checks a value that is cut off.
  Status Discard(element json, int depth) {
    TRY(Value(json, depth, &discard_));
    discard_.clear();
    return OkStatus();
  }
  void Refuse(std::string message) {
    if (!value_error_.has_value()) value_error_ = ValidationError(std::move(message));
  }
  // Empties and returns the scratch string of a nesting level. Beyond the maximum level the value
  // is refused anyway, and only its JSON types are still checked; so `beyond` takes the bytes.
  std::string* Level(int depth, std::string* beyond) {
    if (depth > model::kMaxNestingDepth) {
      Refuse(
          "Nesting Levels have exceeded supported limits: Attributes in the item have nested "
          "levels beyond supported limit");
      return beyond;
    }
    std::string* level = &scratch_.entries[depth];
    level->clear();
    return level;
  }

  Scratch& scratch_;
  const size_t max_bytes_;
  size_t bytes_ = 0;     // of what was read so far, at most what the result will be measured at
  std::string discard_;  // takes the bytes of what is cut off
  std::optional<Error>& value_error_;
};

Status Reader::Entries(simdjson::dom::object object, int depth, std::string* out, size_t* count) {
  std::vector<Member>& members = scratch_.members;
  const size_t first = members.size();
  for (const auto& [name, value] : object) members.push_back({name, value});

  // Sort the members by name. If a name occurs more than once, the last one in the text wins.
  const auto by_name = [](const Member& a, const Member& b) { return a.name < b.name; };
  const auto begin = members.begin() + static_cast<std::ptrdiff_t>(first);
  if (!std::is_sorted(begin, members.end(), by_name))
    std::stable_sort(begin, members.end(), by_name);
  *count = 0;
  const size_t end = members.size();
  for (size_t i = first; i < end; ++i) {
    const Member member = members[i];  // a copy: the stack may move below
    if (i + 1 < end && members[i + 1].name == member.name) continue;
    if (member.name.empty())
      Refuse("One or more parameter values were invalid: Empty attribute name");
    if (Beyond()) {
      TRY(Discard(member.value, depth));
      continue;
    }
    ++*count;
    bytes_ += member.name.size();
    model::AppendName(out, member.name);
    TRY(Value(member.value, depth, out));
  }
  members.erase(members.begin() + static_cast<std::ptrdiff_t>(first), members.end());
  return OkStatus();
}

// "S" ... "BS", by length and letter: this runs once per attribute.
std::optional<Type> DatatypeOf(std::string_view name) {
  if (name.size() == 1) {
    switch (name[0]) {
      case 'S': return Type::kS;
      case 'N': return Type::kN;
      case 'B': return Type::kB;
      case 'M': return Type::kM;
      case 'L': return Type::kL;
      default: return std::nullopt;
    }
  }
  return model::TypeFromName(name);
}

Status Reader::Value(element json, int depth, std::string* out) {
  simdjson::dom::object object;
  if (json.get(object) != simdjson::SUCCESS) {
    if (json.type() == element_type::ARRAY) {
      return TypeError(
          "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.AttributeValue");
    }
    if (!json.is_null()) return TypeError("Unexpected value type in payload");
    Refuse("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes");
    return OkStatus();
  }
  const size_t start = out->size();
  const size_t bytes_before = bytes_;
  unsigned seen = 0;
  for (const auto& [name, value] : object) {
    const std::optional<Type> type = DatatypeOf(name);
    if (!type.has_value()) continue;  // unknown members are ignored
    if (value.is_null()) continue;    // null is absent
    out->resize(start);               // a repeated datatype: the last one wins
    bytes_ = bytes_before;
    seen |= 1u << static_cast<unsigned>(*type);
    TRY(Typed(*type, value, depth, out));
  }
  if (seen == 0)
    Refuse("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes");
  if ((seen & (seen - 1)) != 0) {
    Refuse(
        "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the "
        "supported datatypes");
  }
  return OkStatus();
}

Status Reader::Typed(Type type, element json, int depth, std::string* out) {
  switch (type) {
    case Type::kS: {
      std::string_view text;
      TRY(ExpectString(json, &text));
      model::AppendString(out, text);
      bytes_ += text.size();
      return OkStatus();
    }
    case Type::kN: {
      std::string_view text;
      TRY(ExpectString(json, &text));
      Result<model::Number> number = model::Number::Parse(text);
      if (!number.ok()) {
        Refuse(number.error().message());
        return OkStatus();
      }
      model::AppendNumber(out, *number);
      bytes_ += number->SizeBytes();
      return OkStatus();
    }
    case Type::kB:
      scratch_.binary.clear();
      TRY(ExpectBinary(json, &scratch_.binary));
      model::AppendBinary(out, scratch_.binary);
      bytes_ += scratch_.binary.size();
      return OkStatus();
    case Type::kBool: {
      bool value = false;
      TRY(ExpectBool(json, &value));
      model::AppendBool(out, value);
      return OkStatus();
    }
    case Type::kNull: {
      bool value = false;
      TRY(ExpectBool(json, &value));
      if (!value)
        Refuse(std::string(kInvalid) + "Null attribute value types must have the value of true");
      model::AppendNull(out);
      return OkStatus();
    }
    case Type::kL: return List(json, depth + 1, out);
    case Type::kM: return Map(json, depth + 1, out);
    case Type::kSS:
    case Type::kNS:
    case Type::kBS: return Set(type, json, out);
  }
  return OkStatus();
}

Status Reader::List(element json, int depth, std::string* out) {
  simdjson::dom::array array;
  TRY(ExpectArray(json, &array));
  std::string beyond;
  std::string* elements = Level(depth, &beyond);
  size_t count = 0;
  for (element child : array) {
    if (Beyond()) {
      TRY(Discard(child, depth));
      continue;
    }
    ++count;
    ++bytes_;
    TRY(Value(child, depth, elements));
  }
  model::AppendList(out, count, *elements);
  return OkStatus();
}

Status Reader::Map(element json, int depth, std::string* out) {
  simdjson::dom::object object;
  if (json.get(object) != simdjson::SUCCESS)
    return NotAMap(json, "Unexpected value type in payload");
  std::string beyond;
  std::string* entries = Level(depth, &beyond);
  size_t count = 0;
  TRY(Entries(object, depth, entries, &count));
  model::AppendMap(out, count, *entries);
  return OkStatus();
}

Status Reader::Set(Type type, element json, std::string* out) {
  simdjson::dom::array array;
  TRY(ExpectArray(json, &array));
  std::vector<std::string_view> texts;  // as they came
  std::vector<std::string> owned;       // decoded bytes
  std::vector<model::Number> numbers;
  bool has_null = false;
  std::optional<Error> bad_number;
  for (element child : array) {
    if (child.is_null()) {
      has_null = true;
      continue;
    }
    // Its first member makes a set, whatever lies before it.
    const bool beyond = Beyond() && !(numbers.empty() && texts.empty());
    std::string_view text;
    if (type == Type::kBS) {
      scratch_.binary.clear();
      TRY(ExpectBinary(child, &scratch_.binary));
      if (beyond) continue;
      bytes_ += owned.emplace_back(scratch_.binary).size();
      text = child.get_string().value_unsafe();
    } else {
      TRY(ExpectString(child, &text));
      if (beyond) continue;
      if (type == Type::kSS) bytes_ += text.size();
    }
    if (type != Type::kNS) {
      texts.push_back(text);
    } else if (!bad_number) {
      Result<model::Number> number = model::Number::Parse(text);
      if (number.ok()) {
        bytes_ += number->SizeBytes();
        numbers.push_back(*number);
      } else {
        bad_number = std::move(number).error();
      }
    }
  }

  if (has_null) {
    const std::string_view kind =
        type == Type::kSS ? "string" : (type == Type::kNS ? "number" : "binary");
    Refuse(std::string(kInvalid) + "An " + std::string(kind) + " set may not have a null " +
           std::string(kind) + " as a member");
    return OkStatus();
  }
  if (bad_number) {
    Refuse(bad_number->message());
    return OkStatus();
  }
  if (texts.empty() && numbers.empty()) {
    const std::string_view text = type == Type::kSS   ? "An string set  may not be empty"
                                  : type == Type::kNS ? "An number set  may not be empty"
                                                      : "Binary sets should not be empty";
    Refuse(std::string(kInvalid) + std::string(text));
    return OkStatus();
  }
  if (type == Type::kNS) {
    if (!model::AppendNumberSet(out, std::move(numbers)))
      Refuse("Input collection contains duplicates");
    return OkStatus();
  }
  std::vector<std::string_view> members =
      type == Type::kSS ? texts : std::vector<std::string_view>(owned.begin(), owned.end());
  std::sort(members.begin(), members.end());
  if (std::adjacent_find(members.begin(), members.end()) != members.end()) {
    Refuse(std::string(kInvalid) + "Input collection " + PrintMembers(texts) +
           (type == Type::kBS ? "of type BS contains duplicates." : " contains duplicates."));
    return OkStatus();
  }
  model::AppendSet(out, type, std::move(members));
  return OkStatus();
}

// Lends the thread's scratch memory to one read, and trims it afterwards, also after an error.
class ScratchLease {
 public:
  ScratchLease() { get()->members.clear(); }
  ~ScratchLease() { get()->Trim(); }
  Scratch* get() {
    thread_local Scratch scratch;
    return &scratch;
  }
};

}  // namespace

Status ReadItem(element json, std::string* encoded_item, std::optional<Error>* value_error) {
  simdjson::dom::object object;
  if (json.get(object) != simdjson::SUCCESS) return NotAMap(json, "Unexpected field type");
  ScratchLease lease;
  Reader reader(lease.get(), model::kMaxItemBytes, value_error);
  std::string& entries = lease.get()->entries[1];
  entries.clear();
  size_t count = 0;
  TRY(reader.Entries(object, 1, &entries, &count));
  if (!value_error->has_value()) model::AppendItem(encoded_item, count, entries);
  return OkStatus();
}

Status ReadValue(element json, std::string* encoded_value, std::optional<Error>* value_error) {
  ScratchLease lease;
  return Reader(lease.get(), kMaxValueBytes, value_error).Value(json, 1, encoded_value);
}

}  // namespace stator::api
