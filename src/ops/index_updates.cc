#include "ops/index_updates.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_set>

#include "ops/index_definition.h"
#include "ops/table_capacity.h"
#include "ops/table_definition.h"
#include "table/index_builder.h"

namespace stator::ops {
namespace {

using table::IndexDescriptor;
using table::TableDescriptor;

Error Invalid(std::string_view text) {
  return ValidationError("One or more parameter values were invalid: " + std::string(text));
}

Error TooManyAtOnce() {
  return Error(ErrorCode::kLimitExceeded,
               "Subscriber limit exceeded: Only 1 online index can be created or deleted "
               "simultaneously per table");
}

bool ChangesSet(const GlobalSecondaryIndexUpdate& update) {
  return update.create || update.delete_index;
}

bool EndsCreation(const GlobalSecondaryIndexUpdate& update, const IndexDescriptor& index) {
  return update.delete_index && update.delete_index->index_name == index.name &&
         index.state == IndexDescriptor::State::kCreating;
}

const std::string& NameOf(const GlobalSecondaryIndexUpdate& update) {
  if (update.update) return update.update->index_name;
  return update.create ? update.create->index_name : update.delete_index->index_name;
}

// The index that an Update or Delete names.
Result<IndexDescriptor*> FindGlobal(TableDescriptor* descriptor, const std::string& name) {
  for (IndexDescriptor& index : descriptor->indexes) {
    if (index.is_global() && index.name == name && index.state != IndexDescriptor::State::kDeleting)
      return &index;
  }
  return Error(ErrorCode::kResourceNotFound,
               "Requested resource not found: Index: " + name + " not found");
}

// The request has to define the keys of a new index, again if the table knows them already.
Status CheckKeyIsDefined(const UpdateTableRequest& request, const GlobalSecondaryIndex& create) {
  std::vector<std::string_view> keys;
  std::vector<std::string_view> defined;
  for (const KeySchemaElement& element : create.key_schema) keys.push_back(element.attribute_name);
  if (request.attribute_definitions) {
    for (const AttributeDefinition& definition : *request.attribute_definitions)
      defined.push_back(definition.attribute_name);
  }
  const std::unordered_set<std::string_view> names(defined.begin(), defined.end());
  const bool all = std::all_of(keys.begin(), keys.end(),
                               [&](std::string_view key) { return names.contains(key); });
  if (all) return OkStatus();
  return Invalid(
      fmt::format("Some index key attributes are not defined in AttributeDefinitions. Keys: [{}], "
                  "AttributeDefinitions: [{}]",
                  fmt::join(keys, ", "), fmt::join(defined, ", ")));
}

// Takes the definitions that the index needs, which are few: a request may have hundreds of
// thousands.
Status Create(const UpdateTableRequest& request, const GlobalSecondaryIndex& create,
              const Settings& settings, int64_t now, TableDescriptor* d) {
  if (d->FindIndex(create.index_name) != nullptr) {
    return ValidationError("Attempting to create an index which already exists");
  }
  TRY(CheckKeyIsDefined(request, create));
  std::unordered_set<std::string_view> keys;
  for (const KeySchemaElement& element : create.key_schema) keys.insert(element.attribute_name);
  // More than eight are refused below, whatever they are.
  if (request.attribute_definitions && keys.size() <= 8) {
    for (const AttributeDefinition& definition : *request.attribute_definitions) {
      if (!keys.contains(definition.attribute_name)) continue;
      const bool known =
          std::any_of(d->attribute_definitions.begin(), d->attribute_definitions.end(),
                      [&](const model::KeyAttribute& attribute) {
                        return attribute.name == definition.attribute_name;
                      });
      if (!known)
        d->attribute_definitions.push_back(
            {definition.attribute_name, ToValueType(definition.attribute_type)});
    }
  }
  ASSIGN_OR_RETURN(IndexDescriptor index, DefineNewGlobalIndex(create, settings, now, *d));
  d->indexes.push_back(std::move(index));
  table::PruneAttributeDefinitions(d);
  return CheckIndexLimits(*d);
}

Status Update(const UpdateGlobalSecondaryIndexAction& update, const Settings& settings,
              bool was_on_demand, int64_t now, TableDescriptor* d) {
  ASSIGN_OR_RETURN(IndexDescriptor * index, FindGlobal(d, update.index_name));
  const bool on_demand = d->billing_mode == table::BillingMode::kPayPerRequest;
  table::IndexThroughput& t = index->throughput;
  if (!update.provisioned_throughput && !update.on_demand_throughput && !update.warm_throughput) {
    // Text of DynamoDB Local.
    return ValidationError("No provisioned throughput specified for the global secondary index");
  }
  if (update.provisioned_throughput) {
    TRY(CheckIndexThroughput(index->name, true, on_demand));
    TRY(CheckUnits(settings, *update.provisioned_throughput, index->name));
    if (was_on_demand) {
      StartUnits(*update.provisioned_throughput, &t);
    } else {
      TRY(ChangeUnits(settings, *update.provisioned_throughput, index->name, now, &t));
    }
  }
  if (update.on_demand_throughput) {
    TRY(ChangeMaxima(settings, *update.on_demand_throughput, on_demand, index->name, &t));
  }
  if (update.warm_throughput)
    TRY(RaiseWarm(settings, *update.warm_throughput, on_demand, index->name, &t));
  index->changed_micros = now;
  return OkStatus();
}

// Checks that a provisioned table has units for all its global indexes: the request that switches
// from on-demand to provisioned must give them.
Status CheckIndexesProvisioned(const TableDescriptor& d) {
  if (d.billing_mode != table::BillingMode::kProvisioned) return OkStatus();
  for (const IndexDescriptor& index : d.indexes) {
    if (index.is_global() && index.state != IndexDescriptor::State::kDeleting &&
        index.throughput.read_units == 0) {
      return CheckIndexThroughput(index.name, false, false);
    }
  }
  return OkStatus();
}

}  // namespace

Status CheckIndexUpdates(const UpdateTableRequest& request) {
  if (!request.global_secondary_index_updates) return OkStatus();
  std::set<std::string_view> names;
  size_t set_changes = 0;
  for (const GlobalSecondaryIndexUpdate& update : *request.global_secondary_index_updates) {
    const int actions = int{update.update.has_value()} + int{update.create.has_value()} +
                        int{update.delete_index.has_value()};
    if (actions == 0) {
      return Invalid(
          "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, "
          "GlobalSecondaryIndexUpdate.Delete "
          "must not be null");
    }
    if (actions > 1 || !names.insert(NameOf(update)).second) {
      return Invalid(
          "Only one global secondary index update per index is allowed simultaneously. Index: " +
          NameOf(update));
    }
    if (ChangesSet(update) && ++set_changes > 1) return TooManyAtOnce();
  }
  return OkStatus();
}

Status CheckNoOtherIndexWork(const UpdateTableRequest& request, const TableDescriptor& descriptor) {
  if (!request.global_secondary_index_updates) return OkStatus();
  const auto& updates = *request.global_secondary_index_updates;
  const auto change = std::find_if(updates.begin(), updates.end(), ChangesSet);
  if (change == updates.end()) return OkStatus();
  // An index that is being created may be deleted. The deletion ends the creation, so there is
  // still one change at a time.
  const bool busy = std::any_of(
      descriptor.indexes.begin(), descriptor.indexes.end(), [&](const IndexDescriptor& index) {
        return index.state != IndexDescriptor::State::kActive && !EndsCreation(*change, index);
      });
  return busy ? Status(TooManyAtOnce()) : OkStatus();
}

bool DeletesCreatingIndex(const UpdateTableRequest& request, const TableDescriptor& descriptor) {
  if (!request.global_secondary_index_updates) return false;
  for (const GlobalSecondaryIndexUpdate& update : *request.global_secondary_index_updates) {
    for (const IndexDescriptor& index : descriptor.indexes) {
      if (EndsCreation(update, index)) return true;
    }
  }
  return false;
}

Status ChangeIndexes(const UpdateTableRequest& request, const Settings& settings,
                     bool was_on_demand, int64_t now_micros, TableDescriptor* d) {
  if (request.global_secondary_index_updates) {
    for (const GlobalSecondaryIndexUpdate& update : *request.global_secondary_index_updates) {
      if (update.create) {
        TRY(Create(request, *update.create, settings, now_micros, d));
      } else if (update.delete_index) {
        ASSIGN_OR_RETURN(IndexDescriptor * index, FindGlobal(d, update.delete_index->index_name));
        index->state = IndexDescriptor::State::kDeleting;
      } else {
        TRY(Update(*update.update, settings, was_on_demand, now_micros, d));
      }
    }
  }
  if (was_on_demand != (d->billing_mode == table::BillingMode::kPayPerRequest)) {
    for (IndexDescriptor& index : d->indexes) {
      if (index.is_global()) index.changed_micros = now_micros;
    }
  }
  return CheckIndexesProvisioned(*d);
}

}  // namespace stator::ops
