// The enums of the API by name. `printed` follows the service (reference: expressions.md, section
// 7) where it was observed, the model elsewhere.
#pragma once

#include <string_view>

#include "api/schema.h"

namespace stator::api {

#define STATOR_ENUM_SET(name, printed, ...)                        \
  inline constexpr std::string_view name##Names[] = {__VA_ARGS__}; \
  inline constexpr EnumSet name { name##Names, printed }

STATOR_ENUM_SET(kReturnValues, "[ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]", "NONE",
                "ALL_OLD", "UPDATED_OLD", "ALL_NEW", "UPDATED_NEW");
STATOR_ENUM_SET(kReturnConsumedCapacity, "[INDEXES, TOTAL, NONE]", "INDEXES", "TOTAL", "NONE");
STATOR_ENUM_SET(kReturnItemCollectionMetrics, "[SIZE, NONE]", "SIZE", "NONE");
STATOR_ENUM_SET(kReturnValuesOnConditionCheckFailure, "[ALL_OLD, NONE]", "ALL_OLD", "NONE");
STATOR_ENUM_SET(kConditionalOperator, "[OR, AND]", "AND", "OR");
STATOR_ENUM_SET(
    kComparisonOperator,
    "[IN, NULL, BETWEEN, LT, NOT_CONTAINS, EQ, GT, NOT_NULL, NE, LE, BEGINS_WITH, GE, CONTAINS]",
    "EQ", "NE", "IN", "LE", "LT", "GE", "GT", "BETWEEN", "NOT_NULL", "NULL", "CONTAINS",
    "NOT_CONTAINS", "BEGINS_WITH");
STATOR_ENUM_SET(kAttributeAction, "[ADD, PUT, DELETE]", "ADD", "PUT", "DELETE");
STATOR_ENUM_SET(kSelect, "[SPECIFIC_ATTRIBUTES, COUNT, ALL_ATTRIBUTES, ALL_PROJECTED_ATTRIBUTES]",
                "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES", "SPECIFIC_ATTRIBUTES", "COUNT");

STATOR_ENUM_SET(kScalarAttributeType, "[B, N, S]", "S", "N", "B");
STATOR_ENUM_SET(kKeyType, "[HASH, RANGE]", "HASH", "RANGE");
STATOR_ENUM_SET(kProjectionType, "[ALL, INCLUDE, KEYS_ONLY]", "ALL", "KEYS_ONLY", "INCLUDE");
STATOR_ENUM_SET(kBillingMode, "[PROVISIONED, PAY_PER_REQUEST]", "PROVISIONED", "PAY_PER_REQUEST");
STATOR_ENUM_SET(kStreamViewType, "[NEW_IMAGE, OLD_IMAGE, NEW_AND_OLD_IMAGES, KEYS_ONLY]",
                "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES", "KEYS_ONLY");
STATOR_ENUM_SET(kShardIteratorType,
                "[TRIM_HORIZON, LATEST, AT_SEQUENCE_NUMBER, AFTER_SEQUENCE_NUMBER]", "TRIM_HORIZON",
                "LATEST", "AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER");
STATOR_ENUM_SET(kShardFilterType, "[CHILD_SHARDS]", "CHILD_SHARDS");
STATOR_ENUM_SET(kSseType, "[AES256, KMS]", "AES256", "KMS");
STATOR_ENUM_SET(kTableClass, "[STANDARD, STANDARD_INFREQUENT_ACCESS]", "STANDARD",
                "STANDARD_INFREQUENT_ACCESS");
STATOR_ENUM_SET(kSettingsReplicationMode, "[ENABLED, DISABLED, ENABLED_WITH_OVERRIDES]", "ENABLED",
                "DISABLED", "ENABLED_WITH_OVERRIDES");
STATOR_ENUM_SET(kMultiRegionConsistency, "[EVENTUAL, STRONG]", "EVENTUAL", "STRONG");
STATOR_ENUM_SET(kSearchSchemaElementType, "[HASH, INLINE_FILTER]", "HASH", "INLINE_FILTER");
STATOR_ENUM_SET(kVectorDistanceFunction, "[COSINE, DOT_PRODUCT, EUCLIDEAN]", "COSINE",
                "DOT_PRODUCT", "EUCLIDEAN");
STATOR_ENUM_SET(kContributorInsightsAction, "[ENABLE, DISABLE]", "ENABLE", "DISABLE");
STATOR_ENUM_SET(kContributorInsightsMode, "[ACCESSED_AND_THROTTLED_KEYS, THROTTLED_KEYS]",
                "ACCESSED_AND_THROTTLED_KEYS", "THROTTLED_KEYS");
STATOR_ENUM_SET(kDateTimePrecision, "[MILLISECOND, MICROSECOND]", "MILLISECOND", "MICROSECOND");
STATOR_ENUM_SET(kDisassociationMode, "[WAIT_FOR_REPLICATION]", "WAIT_FOR_REPLICATION");

// Only in responses.
STATOR_ENUM_SET(kTableStatus, "", "CREATING", "UPDATING", "DELETING", "ACTIVE",
                "INACCESSIBLE_ENCRYPTION_CREDENTIALS", "ARCHIVING", "ARCHIVED",
                "REPLICATION_NOT_AUTHORIZED");
STATOR_ENUM_SET(kIndexStatus, "", "CREATING", "UPDATING", "DELETING", "ACTIVE");
STATOR_ENUM_SET(kDestinationStatus, "", "ENABLING", "ACTIVE", "DISABLING", "DISABLED",
                "ENABLE_FAILED", "UPDATING");
STATOR_ENUM_SET(kSseStatus, "", "ENABLING", "ENABLED", "DISABLING", "DISABLED", "UPDATING");
STATOR_ENUM_SET(kStreamStatus, "", "ENABLING", "ENABLED", "DISABLING", "DISABLED");
STATOR_ENUM_SET(kStreamEventName, "", "INSERT", "MODIFY", "REMOVE");
STATOR_ENUM_SET(kTimeToLiveStatus, "", "ENABLING", "DISABLING", "ENABLED", "DISABLED");
STATOR_ENUM_SET(kContributorInsightsStatus, "", "ENABLING", "ENABLED", "DISABLING", "DISABLED");

#undef STATOR_ENUM_SET

}  // namespace stator::api
