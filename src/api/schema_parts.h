// Types that the schemas of several operations share.
#pragma once

#include "api/schema.h"
#include "api/schema_enums.h"

namespace stator::api {

inline constexpr Type kPlainText{.kind = Kind::kString};
inline constexpr Type kBoolean{.kind = Kind::kBoolean};
inline constexpr Type kAnyLong{.kind = Kind::kLong};
inline constexpr Type kPositiveLong{.kind = Kind::kLong, .min = 1};
inline constexpr Type kPositiveInteger{.kind = Kind::kInteger, .min = 1};

// A table's name or ARN. Item operations let names of one character through to the lookup,
// CreateTable does not.
inline constexpr Type kTableName{.kind = Kind::kString, .min = 1, .max = 1024, .table_name_min = 1};
inline constexpr Type kNewTableName{
    .kind = Kind::kString, .min = 1, .max = 1024, .table_name_min = 3};
inline constexpr Type kIndexName = Text(3, 255, Pattern::kName);
inline constexpr Type kAttributeName{.kind = Kind::kString, .max = 65535, .length_in_bytes = true};
inline constexpr Type kKeyAttributeName = Text(1, 255);

inline constexpr Type kValue{.kind = Kind::kValue};
inline constexpr Type kItem{
    .kind = Kind::kItem, .key = &kAttributeName, .place = ops::ValuePlace::kItem};
inline constexpr Type kKey{
    .kind = Kind::kItem, .key = &kAttributeName, .place = ops::ValuePlace::kKey};
inline constexpr Type kNames = PairsOf(&kAttributeName);
inline constexpr Type kValues = PairsOf(&kValue, ops::ValuePlace::kExpressionAttributeValues);

inline constexpr std::string_view kTableNameAbsent =
    "The parameter 'TableName' is required but was not present in the request";

}  // namespace stator::api
