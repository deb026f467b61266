#include "ops/table_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>

#include "base/fnv.h"
#include "base/log.h"
#include "ops/checks.h"
#include "ops/on_worker.h"
#include "ops/resource_policies.h"
#include "ops/table_definition.h"
#include "table/settings_feature.h"
#include "table/store.h"

namespace stator::ops {
namespace {

Error Invalid(std::string_view text) {
  return ValidationError("One or more parameter values were invalid: " + std::string(text));
}

// The key that the service makes for DynamoDB in each account and Region.
constexpr std::string_view kDefaultKeyAlias = "alias/aws/dynamodb";

std::string KeyService(const Environment& env, std::string_view account) {
  return fmt::format("arn:aws:kms:{}:{}:", env.settings.region, account);
}

// The ARN of the default key: the same in every answer of an account and Region.
std::string DefaultKeyArn(const Environment& env, std::string_view account) {
  const std::string place = env.settings.region + "/" + std::string(account);
  const uint64_t a = Fnv1a(place);
  const uint64_t b = Fnv1a(place, a);
  return KeyService(env, account) + fmt::format("key/{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", a >> 32,
                                                (a >> 16) & 0xffff, a & 0xfff,
                                                0x8000 | ((b >> 48) & 0x3fff), b & 0xffffffffffff);
}

// Returns true if `key` (alias or ARN of a KMS key) is the default key of the account that it
// names.
bool IsDefaultKey(const Environment& env, std::string_view key) {
  if (key == kDefaultKeyAlias) return true;
  const std::string_view account = AccountInArn(key);
  return key == KeyService(env, account).append(kDefaultKeyAlias) ||
         key == DefaultKeyArn(env, account);
}

Status CheckEncryption(const Environment& env, const SseSpecification& sse) {
  if (!sse.enabled.value_or(false)) {
    if (!sse.sse_type && !sse.kms_master_key_id) return OkStatus();
    return Invalid("SSEType and KMSMasterKeyId need SSESpecification with Enabled true");
  }
  if (sse.sse_type == SseType::kAes256) return Invalid("SSEType AES256 is not supported");
  if (sse.kms_master_key_id && !IsDefaultKey(env, *sse.kms_master_key_id))
    return NotSupportedYet("KMSMasterKeyId");
  return OkStatus();
}

constexpr const char* kNothingToDo =
    "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, "
    "GlobalSecondaryIndexUpdates or SSESpecification or ReplicaUpdates is required";

// Whether UpdateTable asks for more than replicas, witnesses and their consistency.
bool HasOtherChanges(const UpdateTableRequest& r) {
  return r.billing_mode || r.provisioned_throughput || r.table_class ||
         r.deletion_protection_enabled || r.on_demand_throughput || r.warm_throughput ||
         r.stream_specification || r.sse_specification ||
         r.global_table_settings_replication_mode || r.disassociation_protection_enabled ||
         (r.global_secondary_index_updates && !r.global_secondary_index_updates->empty());
}

bool HasSettings(const ReplicaSettings& s) {
  return s.kms_master_key_id || s.provisioned_throughput_override ||
         s.on_demand_throughput_override || s.global_secondary_indexes || s.table_class_override;
}

// The Regions of ReplicaUpdates, by kind of action. `empty`: an update has no action.
struct ReplicaActions {
  std::set<std::string_view> created, updated, deleted, disassociated;
  bool empty = false;
};

ReplicaActions ActionsOf(const std::vector<ReplicaUpdate>& updates) {
  ReplicaActions actions;
  for (const ReplicaUpdate& update : updates) {
    if (update.create) actions.created.insert(update.create->region_name);
    if (update.update) actions.updated.insert(update.update->region_name);
    if (update.delete_replica) actions.deleted.insert(update.delete_replica->region_name);
    if (update.disassociate) actions.disassociated.insert(update.disassociate->region_name);
    if (!update.create && !update.update && !update.delete_replica && !update.disassociate)
      actions.empty = true;
    if (update.update && !HasSettings(*update.update)) actions.empty = true;
  }
  return actions;
}

Status CheckReplicaRequest(const UpdateTableRequest& request) {
  // Refused first: an answer about the rest would read as if it could be made right.
  if (request.multi_region_consistency == MultiRegionConsistency::kStrong)
    return NotSupportedYet("MultiRegionConsistency STRONG");
  const bool other = HasOtherChanges(request);
  if (request.global_table_witness_updates) {
    if (other) {
      return ValidationError(
          "Requests that modify replicas or witnesses must not also modify other fields");
    }
    return ValidationError(
        "MultiRegionConsistency must be set as STRONG when GlobalTableWitnessUpdates parameter is "
        "present.");
  }
  if (!request.replica_updates) return OkStatus();
  if (other) return Invalid("Replica modification must be the only operation in the request");
  const ReplicaActions actions = ActionsOf(*request.replica_updates);
  const int kinds = int{!actions.created.empty()} + int{!actions.updated.empty()} +
                    int{!actions.deleted.empty()} + int{!actions.disassociated.empty()};
  if (kinds > 1) {
    return ValidationError(
        "Update table operation with more than one type of replica actions not allowed");
  }
  if (actions.created.size() > 1 || actions.deleted.size() > 1) {
    return ValidationError(
        "Update table operation with more than one create or delete replica actions not allowed");
  }
  if (actions.empty) {
    return ValidationError(
        "There are no actions specified in the Replica Update Action of the request.");
  }
  return OkStatus();
}

Status RefuseIfStrict(const Environment& env, std::string_view parameter) {
  return env.settings.strict ? Status(NotSupportedYet(parameter)) : OkStatus();
}

void SetEncryption(const SseSpecification& sse, table::TableDescriptor* d) {
  const bool enabled = sse.enabled.value_or(false);
  if (!enabled && !d->shown) return;
  if (!d->shown) d->shown.emplace();
  d->shown->encryption = enabled;
}

}  // namespace

Status CheckTableSettings(const Environment& env, const CreateTableRequest& request) {
  if (request.vector_indexes) return NotSupportedYet("VectorIndexes");
  if (request.global_table_source_arn) return NotSupportedYet("GlobalTableSourceArn");
  if (request.sse_specification) {
    TRY(CheckEncryption(env, *request.sse_specification));
    if (request.sse_specification->enabled.value_or(false))
      TRY(RefuseIfStrict(env, "SSESpecification"));
  }
  if (request.global_table_settings_replication_mode)
    TRY(RefuseIfStrict(env, "GlobalTableSettingsReplicationMode"));
  if (request.resource_policy) {
    if (env.resource_policies == nullptr) return NotSupportedYet("ResourcePolicy");
    TRY(CheckResourcePolicy(*request.resource_policy));
  }
  return OkStatus();
}

Status CheckTableSettings(const Environment& env, const UpdateTableRequest& request) {
  if (request.vector_index_updates) return NotSupportedYet("VectorIndexUpdates");
  if (request.sse_specification) {
    TRY(CheckEncryption(env, *request.sse_specification));
    TRY(RefuseIfStrict(env, "SSESpecification"));
  }
  if (request.global_table_settings_replication_mode)
    TRY(RefuseIfStrict(env, "GlobalTableSettingsReplicationMode"));
  if (request.disassociation_protection_enabled)
    TRY(RefuseIfStrict(env, "DisassociationProtectionEnabled"));
  TRY(CheckReplicaRequest(request));
  if (!HasOtherChanges(request) && !request.replica_updates) return ValidationError(kNothingToDo);
  if (request.disassociation_protection_enabled) {
    UpdateTableRequest others = request;
    others.disassociation_protection_enabled.reset();
    if (HasOtherChanges(others))
      return Invalid("DisassociationProtectionEnabled must be the only change in the request");
  }
  return OkStatus();
}

Status CheckReplicas(const Environment& env, const UpdateTableRequest& request) {
  if (!request.replica_updates) return OkStatus();
  const ReplicaActions actions = ActionsOf(*request.replica_updates);
  if (actions.created.contains(env.settings.region) ||
      actions.deleted.contains(env.settings.region)) {
    return ValidationError(
        "Cannot add or delete the local region through ReplicaUpdates. Use CreateTable, "
        "DeleteTable, or UpdateTable as required.");
  }
  if (!actions.created.empty()) return NotSupportedYet("ReplicaUpdates");
  std::set<std::string_view> strangers = actions.updated;
  strangers.insert(actions.deleted.begin(), actions.deleted.end());
  strangers.insert(actions.disassociated.begin(), actions.disassociated.end());
  return ValidationError(fmt::format(
      "Update global table operation failed because one or more replicas were not part of the "
      "global table. Please retry the request without these replicas: [{}].",
      fmt::join(strangers, ", ")));
}

void SetTableSettings(const CreateTableRequest& request, table::TableDescriptor* descriptor) {
  if (request.sse_specification) SetEncryption(*request.sse_specification, descriptor);
  if (const auto mode = request.global_table_settings_replication_mode) {
    if (!descriptor->shown) descriptor->shown.emplace();
    descriptor->shown->settings_replication = static_cast<int64_t>(*mode);
  }
}

void SetTableSettings(const UpdateTableRequest& request, table::TableDescriptor* descriptor) {
  if (request.sse_specification) SetEncryption(*request.sse_specification, descriptor);
  if (const auto mode = request.global_table_settings_replication_mode) {
    if (!descriptor->shown) descriptor->shown.emplace();
    descriptor->shown->settings_replication = static_cast<int64_t>(*mode);
  }
  if (const auto protection = request.disassociation_protection_enabled) {
    if (!descriptor->shown) descriptor->shown.emplace();
    descriptor->shown->disassociation_protection = int64_t{*protection};
  }
  // Nothing to show is no setting: a table goes back to what it was.
  if (descriptor->shown == table::ShownSettings{}) descriptor->shown.reset();
}

void DescribeTableSettings(const Environment& env, const table::TableDescriptor& descriptor,
                           TableDescription* description) {
  if (!descriptor.shown) return;
  if (descriptor.shown->encryption)
    description->sse_description = {SseStatus::kEnabled, SseType::kKms,
                                    DefaultKeyArn(env, ShownAccount(env, descriptor.name))};
  if (const auto protection = descriptor.shown->disassociation_protection)
    description->disassociation_protection_enabled = *protection != 0;
  // GlobalTableSettingsReplicationMode is not described: the service shows it only for tables that
  // have replicas.
}

std::vector<std::string_view> SettingsWithoutEffect(const table::TableDescriptor& descriptor) {
  std::vector<std::string_view> names;
  if (descriptor.shown && descriptor.shown->encryption) names.push_back("SSESpecification");
  if (descriptor.table_class == table::TableClass::kStandardInfrequentAccess)
    names.push_back("TableClass");
  if (descriptor.shown && descriptor.shown->settings_replication)
    names.push_back("GlobalTableSettingsReplicationMode");
  if (descriptor.shown && descriptor.shown->disassociation_protection)
    names.push_back("DisassociationProtectionEnabled");
  return names;
}

void WarnOfSettings(const table::TableDescriptor& descriptor) {
  const std::vector<std::string_view> names = SettingsWithoutEffect(descriptor);
  if (names.empty()) return;
  LogWarn("settings_without_effect",
          {{"table", descriptor.name}, {"settings", fmt::format("{}", fmt::join(names, ","))}});
}

bool HasShownSettings(const CreateTableRequest& request) {
  return (request.sse_specification && request.sse_specification->enabled.value_or(false)) ||
         request.global_table_settings_replication_mode;
}

bool HasShownSettings(const UpdateTableRequest& request) {
  return (request.sse_specification && request.sse_specification->enabled.value_or(false)) ||
         request.global_table_settings_replication_mode ||
         request.disassociation_protection_enabled;
}

Status RequireAccounts(const Environment& env) { return table::RequireAccounts(env.store); }

void RequireFeatures(Environment& env, Executor& loop, NeededFeatures needed,
                     UniqueFunction<void(Status)> next) {
  if (!needed.table_settings && !needed.accounts && !needed.kinesis) return next(OkStatus());
  auto shared = std::make_shared<UniqueFunction<void(Status)>>(std::move(next));
  UniqueFunction<void()> task = [&env, &loop, needed, shared]() mutable {
    Status known = needed.accounts ? table::RequireAccounts(env.store) : OkStatus();
    if (known.ok() && needed.table_settings) known = table::RequireTableSettings(env.store);
    if (known.ok() && needed.kinesis) known = table::RequireKinesis(env.store);
    RunOn(loop, [shared = std::move(shared), known = std::move(known)]() mutable {
      (*shared)(std::move(known));
    });
  };
  if (env.workers.TryPost(task)) return;
  (*shared)(
      TooManyWait("The server is overloaded: too many requests wait for the disk, try again"));
}

}  // namespace stator::ops
