#include "ops/restore_definition.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "ops/backup_arn.h"
#include "ops/new_table.h"
#include "ops/payload.h"
#include "ops/table_capacity.h"
#include "ops/table_definition.h"
#include "ops/table_settings.h"
#include "ops/table_status.h"
#include "table/import_mark.h"

namespace stator::ops {
namespace {

Error NoSuchIndex(const std::string& name) {
  return ValidationError("Index " + name +
                         " does not match a secondary index that existed in the source table and "
                         "cannot be created during the restore operation");
}

bool SameKey(const std::vector<KeySchemaElement>& a, const std::vector<KeySchemaElement>& b) {
  return std::ranges::equal(a, b, [](const KeySchemaElement& x, const KeySchemaElement& y) {
    return x.attribute_name == y.attribute_name && x.key_type == y.key_type;
  });
}

bool SameProjection(Projection a, Projection b) {
  const auto sorted = [](Projection& projection) {
    std::vector<std::string> names =
        projection.non_key_attributes.value_or(std::vector<std::string>());
    std::ranges::sort(names);
    return names;
  };
  return a.projection_type == b.projection_type && sorted(a) == sorted(b);
}

// Returns the index of the backup that has the key and projection of `wanted`, or null.
template <typename Index>
const table::IndexDescriptor* SourceOf(const Index& wanted, const table::TableDescriptor& source,
                                       bool global) {
  for (const table::IndexDescriptor& index : source.indexes) {
    if (index.is_global() == global && SameKey(KeyElementsOf(index.key), wanted.key_schema) &&
        SameProjection(ApiProjectionOf(index), wanted.projection))
      return &index;
  }
  return nullptr;
}

// Sets the billing mode and the throughput of the table. Returns whether it is on demand.
Result<bool> SetThroughput(const RestoreOverrides& request, const table::TableDescriptor& source,
                           CreateTableRequest* create) {
  const bool was_on_demand = source.billing_mode == table::BillingMode::kPayPerRequest;
  if (request.billing_mode_override == BillingMode::kProvisioned &&
      !request.provisioned_throughput_override) {
    return ValidationError(
        "Must override ProvisionedThroughput if BillingMode is overridden to PROVISIONED");
  }
  const bool on_demand = request.billing_mode_override
                             ? *request.billing_mode_override == BillingMode::kPayPerRequest
                             : was_on_demand;
  if (on_demand && request.provisioned_throughput_override) {
    return ValidationError(
        "Cannot override ProvisionedThroughput unless BillingMode is PROVISIONED");
  }
  if (on_demand || request.billing_mode_override || was_on_demand)
    create->billing_mode = on_demand ? BillingMode::kPayPerRequest : BillingMode::kProvisioned;
  if (!on_demand) {
    create->provisioned_throughput = request.provisioned_throughput_override.value_or(
        ProvisionedThroughput{source.read_units, source.write_units});
  }
  create->on_demand_throughput = request.on_demand_throughput_override;
  if (on_demand && !create->on_demand_throughput) create->on_demand_throughput = MaximaOf(source);
  return on_demand;
}

Status SetGlobalIndexes(const RestoreOverrides& request, const table::TableDescriptor& source,
                        bool on_demand, CreateTableRequest* create) {
  const bool was_on_demand = source.billing_mode == table::BillingMode::kPayPerRequest;
  std::vector<GlobalSecondaryIndex> indexes;
  const auto add = [&](GlobalSecondaryIndex index, const table::IndexDescriptor& from) {
    const table::IndexThroughput& t = from.throughput;
    if (!on_demand && !index.provisioned_throughput && !was_on_demand)
      index.provisioned_throughput = ProvisionedThroughput{t.read_units, t.write_units};
    if (on_demand && !index.on_demand_throughput) index.on_demand_throughput = MaximaOf(t);
    indexes.push_back(std::move(index));
  };
  if (request.global_secondary_index_override) {
    for (const GlobalSecondaryIndex& wanted : *request.global_secondary_index_override) {
      const table::IndexDescriptor* from = SourceOf(wanted, source, true);
      if (from == nullptr) return NoSuchIndex(wanted.index_name);
      add(wanted, *from);
    }
  } else {
    for (const table::IndexDescriptor& index : source.indexes) {
      if (index.is_global())
        add({index.name, KeyElementsOf(index.key), ApiProjectionOf(index)}, index);
    }
  }
  if (!indexes.empty()) create->global_secondary_indexes = std::move(indexes);
  return OkStatus();
}

Status SetLocalIndexes(const RestoreOverrides& request, const table::TableDescriptor& source,
                       CreateTableRequest* create) {
  std::vector<LocalSecondaryIndex> indexes;
  if (request.local_secondary_index_override) {
    for (const LocalSecondaryIndex& wanted : *request.local_secondary_index_override) {
      if (SourceOf(wanted, source, false) == nullptr) return NoSuchIndex(wanted.index_name);
      indexes.push_back(wanted);
    }
  } else {
    for (const table::IndexDescriptor& index : source.indexes) {
      if (!index.is_global())
        indexes.push_back({index.name, KeyElementsOf(index.key), ApiProjectionOf(index)});
    }
  }
  if (!indexes.empty()) create->local_secondary_indexes = std::move(indexes);
  return OkStatus();
}

// Those that a key of the new table or of its indexes has.
std::vector<AttributeDefinition> UsedDefinitions(const table::TableDescriptor& source,
                                                 const CreateTableRequest& create) {
  std::vector<std::string> used;
  const auto add = [&used](const std::vector<KeySchemaElement>& key) {
    for (const KeySchemaElement& element : key) used.push_back(element.attribute_name);
  };
  add(*create.key_schema);
  if (create.local_secondary_indexes)
    for (const LocalSecondaryIndex& index : *create.local_secondary_indexes) add(index.key_schema);
  if (create.global_secondary_indexes)
    for (const GlobalSecondaryIndex& index : *create.global_secondary_indexes)
      add(index.key_schema);
  std::vector<AttributeDefinition> definitions;
  for (const model::KeyAttribute& attribute : source.attribute_definitions) {
    if (std::ranges::find(used, attribute.name) != used.end())
      definitions.push_back({attribute.name, ToScalar(attribute.type)});
  }
  return definitions;
}

}  // namespace

Result<table::TableDescriptor> DefineRestored(const Environment& env, const std::string& name,
                                              const RestoreOverrides& overrides,
                                              const table::TableDescriptor& source) {
  CreateTableRequest create;
  create.table_name = table::ShownName(name);
  create.key_schema = KeyElementsOf(model::IndexKeySchema::Of(source.key_schema));
  ASSIGN_OR_RETURN(const bool on_demand, SetThroughput(overrides, source, &create));
  TRY(SetLocalIndexes(overrides, source, &create));
  TRY(SetGlobalIndexes(overrides, source, on_demand, &create));
  create.attribute_definitions = UsedDefinitions(source, create);
  create.sse_specification = overrides.sse_specification_override;
  if (overrides.vector_index_override && !overrides.vector_index_override->empty())
    create.vector_indexes = overrides.vector_index_override;
  ASSIGN_OR_RETURN(table::TableDescriptor made, DefineTable(env, create));
  made.name = name;
  return made;
}

Error RestoreTargetTaken(const Environment& env, const std::string& name) {
  const table::TablePtr table = env.store.Find(name);
  if (table != nullptr && table->descriptor.restore &&
      !table::IsImport(*table->descriptor.restore)) {
    const table::RestoreSource& source = *table->descriptor.restore;
    const std::string from =
        source.moment_micros ? "table: " + TableArn(env, source.table_name)
                             : "backup: " + BackupArnOf(env, source.table_name, source.backup_id);
    return Error(
        ErrorCode::kResourceInUse,
        "Table: " + std::string(table::ShownName(name)) + " is already being restored from " + from,
        std::make_shared<ExceptionNamePayload>("TableInUseException"));
  }
  return Error(ErrorCode::kResourceInUse,
               "Table already exists: " + std::string(table::ShownName(name)),
               std::make_shared<ExceptionNamePayload>("TableAlreadyExistsException"));
}

void CreateRestored(Environment& env, Executor& loop, table::TableDescriptor descriptor,
                    UniqueFunction<void(Result<table::TablePtr>)> answer) {
  const NeededFeatures needed{descriptor.NeedsTableSettings(),
                              table::IsOfOtherAccount(descriptor.name)};
  auto create = [&env, definition = std::move(descriptor),
                 answer = std::move(answer)](Status known) mutable {
    if (!known.ok()) return answer(std::move(known).error());
    CreateInAccount(env, std::move(definition), std::move(answer));
  };
  RequireFeatures(env, loop, needed, std::move(create));
}

Result<TableDescription> RestoredDescription(const Environment& env, const std::string& name,
                                             const Result<table::TablePtr>& table) {
  if (table.ok()) return Describe(env, **table, TableStatus::kCreating);
  if (table.error().code() == ErrorCode::kResourceInUse) return RestoreTargetTaken(env, name);
  return table.error();
}

}  // namespace stator::ops
