// A strict reader of small JSON documents: policies and test cases. Unlike the API's reader
// (simdjson) it refuses members of one name and knows where each value stands, which the service's
// errors name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stator::access {

struct JsonPosition {
  uint32_t line = 1;    // from 1
  uint32_t column = 1;  // from 1, in bytes
};

struct JsonMember;

// A value and everything below it. Members and elements keep their order.
struct JsonValue {
  enum class Kind { kNull, kBool, kNumber, kString, kArray, kObject };

  Kind kind = Kind::kNull;
  bool boolean = false;
  std::string text;                 // kString: unescaped UTF-8. kNumber: as written
  std::vector<JsonValue> elements;  // kArray
  std::vector<JsonMember> members;  // kObject
  JsonPosition position;

  bool is_string() const { return kind == Kind::kString; }
  bool is_array() const { return kind == Kind::kArray; }
  bool is_object() const { return kind == Kind::kObject; }
  // Returns the member of a name, or nullptr. Linear in the number of members.
  const JsonValue* Find(std::string_view name) const;
};

struct JsonMember {
  std::string name;
  JsonValue value;
};

struct JsonLimits {
  size_t max_depth = 16;  // of arrays and objects inside each other
  size_t max_values = 100'000;
};

// Returns the document. kSerialization, with a message of the form "line 1, column 94: ...", for
// text that is not one JSON value, for invalid UTF-8, unpaired surrogates, members of one name in
// an object, and beyond a limit. Takes time linear in the size of the text (times its logarithm for
// objects of many members).
Result<JsonValue> ReadJson(std::string_view text, const JsonLimits& limits = {});

}  // namespace stator::access
