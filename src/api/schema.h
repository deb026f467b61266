// Request schemas as data: one constexpr table per operation and per structure in it. A row gives
// the name of a member, its type and bounds, and where in the typed request (ops/requests.h) its
// value goes. decode.h reads requests with these tables, decode_constraints.h words the errors, and
// audit_parameters.h writes audit records with them. To add an operation, add rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "ops/requests.h"

namespace stator::api {

// The names of an enum's values, in the order of the C++ enum, and the order in which the service
// prints them. The service's order is that of a Java hash set and differs from the model's.
struct EnumSet {
  std::span<const std::string_view> names;
  std::string_view printed;  // "[A, B]"

  // The position of `name`, or -1.
  int Find(std::string_view name) const {
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i] == name) return static_cast<int>(i);
    }
    return -1;
  }
};

enum class Kind : uint8_t {
  kString,
  kInteger,  // 32 bits in JSON, int64_t here
  kLong,
  kTime,  // seconds since the epoch in JSON, with a fraction or not; milliseconds in int64_t here
  kBoolean,
  kEnum,
  kStruct,
  kList,
  kMap,
  kItem,   // a map of attribute values that is an item or key: EncodedItem
  kValue,  // one attribute value: its encoded bytes in a std::string
};

// api/patterns.h has their texts.
enum class Pattern : uint8_t {
  kNone,
  kName,  // [a-zA-Z0-9_.-]+
  kBucket,
  kAccount,
  kClientToken,
  kDelimiter,
  kCsvHeader,
  kImportToken
};

inline constexpr int64_t kNoMin = std::numeric_limits<int64_t>::min();
inline constexpr int64_t kNoMax = std::numeric_limits<int64_t>::max();

struct Shape;

struct Type {
  Kind kind = Kind::kString;
  // Bounds on the value of a number; for other types on the length: UTF-16 code units of a text,
  // elements of a list or map.
  int64_t min = kNoMin;
  int64_t max = kNoMax;
  bool length_in_bytes = false;  // attribute names are measured in UTF-8
  Pattern pattern = Pattern::kNone;
  // Above 0: the text is a table's ARN (then only min and max hold) or its name, which has this
  // many to 255 characters of kName. The model knows only the bounds that fit both.
  int64_t table_name_min = 0;
  const EnumSet* enums = nullptr;        // kEnum
  const Shape* shape = nullptr;          // kStruct
  const Type* key = nullptr;             // kMap, kItem: null if keys are unbounded
  const Type* element = nullptr;         // kList, kMap
  std::optional<ops::ValuePlace> place;  // where invalid attribute values in here are said to be
  // kMap: bounds of the elements are reported as one failure of the map, as the service does for
  // maps of lists.
  bool element_bounds_at_map = false;
  // kList, kMap: adds an element to the vector and returns where its value goes.
  void* (*append)(void* vector, std::string_view key) = nullptr;
  // kMap: of entries with equal keys only the last stays.
  void (*drop_duplicates)(void* vector) = nullptr;
};

struct Field {
  std::string_view name;  // on the wire
  const Type* type;
  bool required;
  // Makes a fresh value of the member and returns its address.
  void* (*emplace)(void* structure);
  // If set, absence (and emptiness, for a map) is reported with this message and nothing else.
  std::string_view absent_message = {};
};

struct Shape {
  std::string_view name;
  std::span<const Field> fields;  // in model order, at most 32
  uint32_t required = 0;          // bit i: fields[i] is required
};

struct OperationSchema {
  std::string_view name;
  const Shape* shape;
  // The service's newer validator: paths keep their PascalCase and values are not repeated.
  bool newer_validator = false;
  // How many constraint failures one answer lists.
  int max_failures = 10;
};

// The schema of the operation whose typed request is Request. Defined for every request of
// ops/requests.h, in schema_*.cc.
template <typename Request>
const OperationSchema& SchemaOf();
template <>
const OperationSchema& SchemaOf<ops::CreateTableRequest>();
template <>
const OperationSchema& SchemaOf<ops::DescribeTableRequest>();
template <>
const OperationSchema& SchemaOf<ops::UpdateTableRequest>();
template <>
const OperationSchema& SchemaOf<ops::DeleteTableRequest>();
template <>
const OperationSchema& SchemaOf<ops::ListTablesRequest>();
template <>
const OperationSchema& SchemaOf<ops::DescribeLimitsRequest>();
template <>
const OperationSchema& SchemaOf<ops::DescribeEndpointsRequest>();
template <>
const OperationSchema& SchemaOf<ops::TagResourceRequest>();
template <>
const OperationSchema& SchemaOf<ops::UntagResourceRequest>();
template <>
const OperationSchema& SchemaOf<ops::ListTagsOfResourceRequest>();
template <>
const OperationSchema& SchemaOf<ops::UpdateTimeToLiveRequest>();
template <>
const OperationSchema& SchemaOf<ops::DescribeTimeToLiveRequest>();
template <>
const OperationSchema& SchemaOf<ops::DescribeContinuousBackupsRequest>();
template <>
const OperationSchema& SchemaOf<ops::UpdateContributorInsightsRequest>();
template <>
const OperationSchema& SchemaOf<ops::DescribeContributorInsightsRequest>();
template <>
const OperationSchema& SchemaOf<ops::ListContributorInsightsRequest>();
template <>
const OperationSchema& SchemaOf<ops::PutItemRequest>();
template <>
const OperationSchema& SchemaOf<ops::GetItemRequest>();
template <>
const OperationSchema& SchemaOf<ops::UpdateItemRequest>();
template <>
const OperationSchema& SchemaOf<ops::DeleteItemRequest>();
template <>
const OperationSchema& SchemaOf<ops::BatchGetItemRequest>();
template <>
const OperationSchema& SchemaOf<ops::BatchWriteItemRequest>();
template <>
const OperationSchema& SchemaOf<ops::TransactGetItemsRequest>();
template <>
const OperationSchema& SchemaOf<ops::TransactWriteItemsRequest>();
template <>
const OperationSchema& SchemaOf<ops::QueryRequest>();
template <>
const OperationSchema& SchemaOf<ops::ScanRequest>();
template <>
const OperationSchema& SchemaOf<ops::ExecuteStatementRequest>();
template <>
const OperationSchema& SchemaOf<ops::BatchExecuteStatementRequest>();
template <>
const OperationSchema& SchemaOf<ops::ExecuteTransactionRequest>();
template <>
const OperationSchema& SchemaOf<ops::ListStreamsRequest>();
template <>
const OperationSchema& SchemaOf<ops::DescribeStreamRequest>();
template <>
const OperationSchema& SchemaOf<ops::GetShardIteratorRequest>();
template <>
const OperationSchema& SchemaOf<ops::GetRecordsRequest>();

// All of them, for tests and registries.
std::span<const OperationSchema* const> AllSchemas();

// --- Building tables -----------------------------------------------------------------------------

namespace schema_internal {

template <typename T>
struct MemberOf;
template <typename Class, typename Member>
struct MemberOf<Member Class::*> {
  using ClassType = Class;
  using MemberType = Member;
};

template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

template <auto Member>
void* Emplace(void* structure) {
  using Traits = MemberOf<decltype(Member)>;
  auto& member = static_cast<typename Traits::ClassType*>(structure)->*Member;
  if constexpr (kIsOptional<typename Traits::MemberType>) {
    return &member.emplace();
  } else {
    member = typename Traits::MemberType{};
    return &member;
  }
}

// Keeps the last of the entries with equal keys. Quadratic for short vectors, sorted positions for
// long ones.
template <typename T, auto Key>
void DropDuplicates(void* erased) {
  auto& entries = *static_cast<std::vector<T>*>(erased);
  const size_t count = entries.size();
  std::vector<bool> drop;
  if (count <= 16) {
    for (size_t i = 0; i + 1 < count; ++i) {
      for (size_t j = i + 1; j < count; ++j) {
        if (entries[i].*Key != entries[j].*Key) continue;
        drop.resize(count);
        drop[i] = true;
        break;
      }
    }
  } else {
    std::vector<size_t> order(count);
    for (size_t i = 0; i < count; ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      const int compared = (entries[a].*Key).compare(entries[b].*Key);
      return compared != 0 ? compared < 0 : a < b;
    });
    for (size_t i = 0; i + 1 < count; ++i) {
      if (entries[order[i]].*Key != entries[order[i + 1]].*Key) continue;
      drop.resize(count);
      drop[order[i]] = true;
    }
  }
  if (drop.empty()) return;
  size_t kept = 0;
  for (size_t i = 0; i < count; ++i) {
    if (drop[i]) continue;
    if (kept != i) entries[kept] = std::move(entries[i]);
    ++kept;
  }
  entries.resize(kept);
}

template <typename T>
void* AppendElement(void* vector, std::string_view) {
  return &static_cast<std::vector<T>*>(vector)->emplace_back();
}

using TextPair = std::pair<std::string, std::string>;

inline void* AppendPair(void* vector, std::string_view key) {
  return &static_cast<std::vector<TextPair>*>(vector)->emplace_back(key, std::string()).second;
}

template <auto Key>
void* AppendNamed(void* vector, std::string_view key) {
  using T = typename MemberOf<decltype(Key)>::ClassType;
  T& entry = static_cast<std::vector<T>*>(vector)->emplace_back();
  entry.*Key = key;
  return &entry;
}

template <auto Key, auto Value>
void* AppendNamedMember(void* vector, std::string_view key) {
  using T = typename MemberOf<decltype(Key)>::ClassType;
  T& entry = static_cast<std::vector<T>*>(vector)->emplace_back();
  entry.*Key = key;
  return &(entry.*Value);
}

}  // namespace schema_internal

// A list into std::vector<T>.
template <typename T>
constexpr Type ListOf(const Type* element, int64_t min = kNoMin, int64_t max = kNoMax) {
  Type type{.kind = Kind::kList, .min = min, .max = max, .element = element};
  type.append = &schema_internal::AppendElement<T>;
  return type;
}

// A map of texts or attribute values into a vector of pairs.
constexpr Type PairsOf(const Type* element, std::optional<ops::ValuePlace> place = std::nullopt) {
  Type type{.kind = Kind::kMap, .element = element, .place = place};
  type.append = &schema_internal::AppendPair;
  type.drop_duplicates = &schema_internal::DropDuplicates<schema_internal::TextPair,
                                                          &schema_internal::TextPair::first>;
  return type;
}

// A map of structures into a vector of structures that hold their key in the member Key.
template <auto Key>
constexpr Type MapOf(const Type* key, const Type* element,
                     std::optional<ops::ValuePlace> place = std::nullopt) {
  using T = typename schema_internal::MemberOf<decltype(Key)>::ClassType;
  Type type{.kind = Kind::kMap, .key = key, .element = element, .place = place};
  type.append = &schema_internal::AppendNamed<Key>;
  type.drop_duplicates = &schema_internal::DropDuplicates<T, Key>;
  return type;
}

constexpr Type StructOf(const Shape* shape) { return Type{.kind = Kind::kStruct, .shape = shape}; }
constexpr Type EnumOf(const EnumSet* enums) { return Type{.kind = Kind::kEnum, .enums = enums}; }
constexpr Type Text(int64_t min, int64_t max = kNoMax, Pattern pattern = Pattern::kNone) {
  return Type{.kind = Kind::kString, .min = min, .max = max, .pattern = pattern};
}

template <auto Member>
constexpr Field Optional(std::string_view name, const Type* type) {
  return Field{name, type, false, &schema_internal::Emplace<Member>};
}
template <auto Member>
constexpr Field Required(std::string_view name, const Type* type,
                         std::string_view absent_message = {}) {
  return Field{name, type, true, &schema_internal::Emplace<Member>, absent_message};
}

constexpr Shape MakeShape(std::string_view name, std::span<const Field> fields) {
  Shape shape{name, fields, 0};
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].required) shape.required |= uint32_t{1} << i;
  }
  return shape;
}

}  // namespace stator::api
