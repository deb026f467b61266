#include "ops/update_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ops/checks.h"
#include "ops/index_updates.h"
#include "ops/operations.h"
#include "ops/streams.h"
#include "ops/table_capacity.h"
#include "ops/table_definition.h"
#include "ops/table_settings.h"
#include "ops/table_status.h"

namespace stator::ops {
namespace {

Status CheckRequest(const Environment& env, const UpdateTableRequest& request) {
  const Settings& settings = env.settings;
  TRY(CheckTableSettings(env, request));
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

struct SchemaElement {
  const model::KeyAttribute* attribute;
  const char* key_type;
};

// Returns the elements of the table's key if that has the attribute; else those of the first index
// whose key has it; else those of the table's key.
std::vector<SchemaElement> SchemaWith(const table::TableDescriptor& d, std::string_view attribute) {
  std::vector<SchemaElement> elements{{&d.key_schema.partition, "HASH"}};
  if (d.key_schema.sort) elements.push_back({&*d.key_schema.sort, "RANGE"});
  if (d.key_schema.Has(attribute)) return elements;
  for (const table::IndexDescriptor& index : d.indexes) {
    if (!index.key.Has(attribute)) continue;
    elements.clear();
    for (const model::KeyAttribute& each : index.key.partition) elements.push_back({&each, "HASH"});
    for (const model::KeyAttribute& each : index.key.sort) elements.push_back({&each, "RANGE"});
    break;
  }
  return elements;
}

// Returns the text `Schema:[...]` as in the service's message, with the types that the request
// gives.
std::string SchemaText(const std::vector<SchemaElement>& elements,
                       const std::vector<AttributeDefinition>& given) {
  std::vector<std::string> texts;
  for (const SchemaElement& element : elements) {
    model::Type type = element.attribute->type;
    for (const AttributeDefinition& definition : given) {
      if (definition.attribute_name == element.attribute->name)
        type = ToValueType(definition.attribute_type);
    }
    texts.push_back(fmt::format("SchemaElement: key{{{}:{}:{}}}", element.attribute->name,
                                model::TypeName(type), element.key_type));
  }
  return fmt::format("Schema:[{}]", fmt::join(texts, ", "));
}

// Attributes that the table or an index has as keys keep their types.
Status CheckTypesKept(const UpdateTableRequest& request, const table::TableDescriptor& d) {
  if (!request.attribute_definitions) return OkStatus();
  for (const AttributeDefinition& given : *request.attribute_definitions) {
    const auto known = std::find_if(
        d.attribute_definitions.begin(), d.attribute_definitions.end(),
        [&](const model::KeyAttribute& each) { return each.name == given.attribute_name; });
    if (known == d.attribute_definitions.end() || known->type == ToValueType(given.attribute_type))
      continue;
    const std::vector<SchemaElement> schema = SchemaWith(d, given.attribute_name);
    return ValidationError(fmt::format(
        "One or more parameter values were invalid: Attributes cannot be redefined. Please check "
        "that your attribute has the same type as previously defined. Existing schema: {} New "
        "schema: {}",
        SchemaText(schema, {}), SchemaText(schema, *request.attribute_definitions)));
  }
  return OkStatus();
}

Status Change(const UpdateTableRequest& request, const Environment& env, int64_t now,
              table::TableDescriptor* d) {
  TRY(CheckTypesKept(request, *d));
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
  TRY(CheckReplicas(env, request));
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
  SetTableSettings(request, d);
  d->changed_micros = std::max(d->changed_micros, now);
  return OkStatus();
}

}  // namespace

void UpdateTable(Context& ctx, UpdateTableRequest request, Callback<UpdateTableResponse> done) {
  Result<StoreTableName> name = StoreNameOf(ctx, request.table_name);
  if (!name.ok()) return done(std::move(name).error());
  request.table_name = name->str();
  UpdateTableAt(ctx.env, ctx.loop, std::move(request), ctx.env.clock.NowMicros(), std::move(done));
}

void UpdateTableAt(Environment& env, Executor& loop, UpdateTableRequest request, int64_t at_micros,
                   Callback<UpdateTableResponse> done) {
  if (Status checked = CheckRequest(env, request); !checked.ok()) {
    done(std::move(checked).error());
    return;
  }
  const bool shown = HasShownSettings(request);
  const bool warn = shown || request.table_class;
  auto alter = [&env, &loop, at_micros, warn, name = request.table_name,
                request = std::move(request), done = std::move(done)](Status known) mutable {
    if (!known.ok()) return done(std::move(known).error());
    env.store.Alter(
        std::move(name),
        [&env, at_micros, request = std::move(request)](table::TableDescriptor* descriptor) {
          return Change(request, env, at_micros, descriptor);
        },
        [&env, &loop, warn, done = std::move(done)](Result<table::TablePtr> table) mutable {
          RunOn(loop, [&env, warn, table = std::move(table), done = std::move(done)]() mutable {
            if (!table.ok()) {
              done(std::move(table).error());
            } else {
              if (warn) WarnOfSettings((*table)->descriptor);
              done(UpdateTableResponse{Describe(env, **table, TableStatus::kUpdating)});
            }
          });
        });
  };
  RequireFeatures(env, loop, {shown, false}, std::move(alter));
}

}  // namespace stator::ops
