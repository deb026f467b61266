#include "ops/update_table.h"

#include <algorithm>

#include "ops/checks.h"
#include "ops/index_updates.h"
#include "ops/operations.h"
#include "ops/streams.h"
#include "ops/table_capacity.h"
#include "ops/table_definition.h"
#include "ops/table_status.h"

namespace stator::ops {
namespace {

Status CheckRequest(const Settings& settings, const UpdateTableRequest& request) {
  if (request.sse_specification) return NotSupportedYet("SSESpecification");
  if (request.replica_updates) return NotSupportedYet("ReplicaUpdates");
  if (request.multi_region_consistency) return NotSupportedYet("MultiRegionConsistency");
  if (request.global_table_witness_updates) return NotSupportedYet("GlobalTableWitnessUpdates");
  if (request.global_table_settings_replication_mode)
    return NotSupportedYet("GlobalTableSettingsReplicationMode");
  if (request.vector_index_updates) return NotSupportedYet("VectorIndexUpdates");
  if (request.disassociation_protection_enabled)
    return NotSupportedYet("DisassociationProtectionEnabled");
  if (!request.billing_mode && !request.provisioned_throughput && !request.table_class &&
      !request.deletion_protection_enabled && !request.on_demand_throughput &&
      !request.warm_throughput && !request.stream_specification &&
      (!request.global_secondary_index_updates ||
       request.global_secondary_index_updates->empty())) {
    return ValidationError(
        "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, "
        "GlobalSecondaryIndexUpdates or "
        "SSESpecification or ReplicaUpdates is required");
  }
  if (request.billing_mode == BillingMode::kPayPerRequest && request.provisioned_throughput) {
    return NeitherUnitsWhenOnDemand();
  }
  if (request.provisioned_throughput)
    TRY(CheckUnits(settings, *request.provisioned_throughput, {}));
  if (request.stream_specification) TRY(CheckStreamSpecification(*request.stream_specification));
  return CheckIndexUpdates(request);
}

Status ChangeStream(const StreamSpecification& wanted, table::TableDescriptor* d) {
  if (!wanted.stream_enabled) {
    if (!d->stream_view_type) return ValidationError("Table has no stream to disable");
    d->stream_view_type.reset();
    return OkStatus();
  }
  if (d->stream_view_type) {
    return Error(ErrorCode::kResourceInUse,
                 "Table already has an enabled stream: TableName: " + d->name);
  }
  d->stream_view_type = ToStored(*wanted.stream_view_type);
  return OkStatus();
}

bool IsOnDemand(const table::TableDescriptor& d) {
  return d.billing_mode == table::BillingMode::kPayPerRequest;
}

Status ChangeThroughput(const UpdateTableRequest& request, const Settings& settings, int64_t now,
                        table::TableDescriptor* d) {
  const bool was_on_demand = IsOnDemand(*d);
  const bool on_demand =
      request.billing_mode ? *request.billing_mode == BillingMode::kPayPerRequest : was_on_demand;
  if (on_demand && request.provisioned_throughput) return NeitherUnitsWhenOnDemand();
  if (!on_demand && was_on_demand && !request.provisioned_throughput)
    return BothUnitsWhenProvisioned();
  if (request.billing_mode) d->billing_mode_given = true;
  if (on_demand && !was_on_demand) return SwitchToOnDemand(settings, now, d);
  if (!on_demand && was_on_demand) {
    SwitchToProvisioned(settings, d);
    StartUnits(*request.provisioned_throughput, d);
    return OkStatus();
  }
  if (!request.provisioned_throughput) return OkStatus();
  return ChangeUnits(settings, *request.provisioned_throughput, {}, now, d);
}

Status Change(const UpdateTableRequest& request, const Environment& env, int64_t now,
              table::TableDescriptor* d) {
  TRY(CheckNoOtherIndexWork(request, *d));
  switch (StatusAt(*d, env, now)) {
    case TableStatus::kCreating:
      return Error(
          ErrorCode::kResourceInUse,
          "Attempt to change a resource which is still in use: Table is being created: " + d->name);
    case TableStatus::kUpdating:
      if (DeletesCreatingIndex(request, *d)) break;
      return Error(
          ErrorCode::kResourceInUse,
          "Attempt to change a resource which is still in use: Table is being updated: " + d->name);
    case TableStatus::kDeleting:
      return Error(
          ErrorCode::kResourceInUse,
          "Attempt to change a resource which is still in use: Table is being deleted: " + d->name);
    default: break;
  }
  const bool was_on_demand = IsOnDemand(*d);
  TRY(ChangeThroughput(request, env.settings, now, d));
  const bool on_demand = IsOnDemand(*d);
  TRY(ChangeIndexes(request, env.settings, was_on_demand, now, d));
  if (request.stream_specification) TRY(ChangeStream(*request.stream_specification, d));
  if (request.on_demand_throughput) {
    TRY(ChangeMaxima(env.settings, *request.on_demand_throughput, on_demand, {}, d));
  }
  if (request.warm_throughput)
    TRY(RaiseWarm(env.settings, *request.warm_throughput, on_demand, {}, d));
  TRY(CheckAccountQuota(env, *d));
  if (request.table_class) {
    d->table_class_given = true;
    d->table_class = *request.table_class == TableClass::kStandard
                         ? table::TableClass::kStandard
                         : table::TableClass::kStandardInfrequentAccess;
    d->table_class_changed_micros = now;
  }
  if (request.deletion_protection_enabled)
    d->deletion_protection = *request.deletion_protection_enabled;
  d->changed_micros = std::max(d->changed_micros, now);
  return OkStatus();
}

}  // namespace

void UpdateTable(Context& ctx, UpdateTableRequest request, Callback<UpdateTableResponse> done) {
  UpdateTableAt(ctx.env, ctx.loop, std::move(request), ctx.env.clock.NowMicros(), std::move(done));
}

void UpdateTableAt(Environment& env, Executor& loop, UpdateTableRequest request, int64_t at_micros,
                   Callback<UpdateTableResponse> done) {
  const Result<std::string_view> name = TableNameOf(request.table_name);
  if (!name.ok()) {
    done(name.error());
    return;
  }
  if (Status checked = CheckRequest(env.settings, request); !checked.ok()) {
    done(std::move(checked).error());
    return;
  }
  std::string table_name(*name);
  env.store.Alter(
      std::move(table_name),
      [&env, at_micros, request = std::move(request)](table::TableDescriptor* descriptor) {
        return Change(request, env, at_micros, descriptor);
      },
      [&env, &loop, done = std::move(done)](Result<table::TablePtr> table) mutable {
        RunOn(loop, [&env, table = std::move(table), done = std::move(done)]() mutable {
          if (!table.ok()) {
            done(std::move(table).error());
          } else {
            done(UpdateTableResponse{Describe(env, **table, TableStatus::kUpdating)});
          }
        });
      });
}

}  // namespace stator::ops
