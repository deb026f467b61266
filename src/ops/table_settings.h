// Settings of CreateTable and UpdateTable that nothing here acts upon: they are stored, described
// as the service describes them, and named in a warning. Replicas, strong multi-Region consistency,
// keys of a key service and vector indexes are refused, because they would be pretended.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_function.h"
#include "ops/context.h"
#include "ops/requests.h"
#include "ops/responses.h"
#include "table/descriptor.h"

namespace stator::ops {

// kValidation for a setting that is refused, by Settings::strict also for one without effect, and
// for settings that do not fit together. Both look at the request alone.
Status CheckTableSettings(const Environment& env, const CreateTableRequest& request);
Status CheckTableSettings(const Environment& env, const UpdateTableRequest& request);
// Returns the error that the service gives for ReplicaUpdates of a table without replicas; OK if
// the request has no ReplicaUpdates.
Status CheckReplicas(const Environment& env, const UpdateTableRequest& request);

// Stores the settings of a request, which must have passed the checks, in the descriptor.
void SetTableSettings(const CreateTableRequest& request, table::TableDescriptor* descriptor);
void SetTableSettings(const UpdateTableRequest& request, table::TableDescriptor* descriptor);
// Fills in the members of the description that come from these settings.
void DescribeTableSettings(const Environment& env, const table::TableDescriptor& descriptor,
                           TableDescription* description);

// Returns the names of the settings of the table that have no effect, as CreateTable and
// UpdateTable name them.
std::vector<std::string_view> SettingsWithoutEffect(const table::TableDescriptor& descriptor);
// Logs a warning that names them, if there are any.
void WarnOfSettings(const table::TableDescriptor& descriptor);
// Whether the request has one that is stored among ShownSettings, so that the store needs the
// feature kTableSettings.
bool HasShownSettings(const CreateTableRequest& request);
bool HasShownSettings(const UpdateTableRequest& request);

// Makes sure that every process of the store knows accounts. Blocks; kUnavailable as with
// RequireFeatures.
Status RequireAccounts(const Environment& env);
// The features (kv/features.h) that a change of the catalog needs.
struct NeededFeatures {
  bool table_settings = false;
  bool accounts = false;
  bool kinesis = false;
};
// Calls `next` on the loop's thread: at once if the store needs no feature, else when every process
// of the store knows them. kUnavailable: one does not, or the disk or pool failed.
void RequireFeatures(Environment& env, Executor& loop, NeededFeatures needed,
                     UniqueFunction<void(Status)> next);

}  // namespace stator::ops
