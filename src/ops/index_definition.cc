#include "ops/index_definition.h"

#include <algorithm>
#include <set>

#include "ops/table_capacity.h"

namespace stator::ops {
namespace {

using table::IndexDescriptor;
using table::TableDescriptor;

constexpr size_t kMaxNonKeyAttributes = 100;  // over all indexes; a name counts once for each

Error Invalid(std::string_view text) {
  return ValidationError("One or more parameter values were invalid: " + std::string(text));
}

// "a, b"
template <typename Range, typename Name>
std::string Joined(const Range& range, Name name) {
  std::string out;
  for (const auto& element : range) {
    if (!out.empty()) out.append(", ");
    out.append(name(element));
  }
  return out;
}

std::string DefinedNames(const TableDescriptor& descriptor) {
  return Joined(descriptor.attribute_definitions,
                [](const model::KeyAttribute& attribute) { return attribute.name; });
}

const model::KeyAttribute* FindDefinition(const TableDescriptor& descriptor,
                                          std::string_view name) {
  for (const model::KeyAttribute& attribute : descriptor.attribute_definitions) {
    if (attribute.name == name) return &attribute;
  }
  return nullptr;
}

// HASH elements first, then RANGE elements, no name twice; at most `max_each` of each.
Status CheckElementOrder(const std::vector<KeySchemaElement>& elements, size_t max_each) {
  if (elements[0].key_type != KeyType::kHash) {
    return ValidationError("Invalid KeySchema: The first KeySchemaElement is not a HASH key type");
  }
  std::set<std::string_view> names;
  size_t hashes = 0;
  size_t ranges = 0;
  for (const KeySchemaElement& element : elements) {
    if (!names.insert(element.attribute_name).second) {
      return ValidationError(
          "Both the Hash Key and the Range Key element in the KeySchema have the same name");
    }
    if (element.key_type == KeyType::kRange) {
      ++ranges;
    } else if (ranges > 0) {
      return ValidationError(
          "Invalid KeySchema: All HASH key elements must come before RANGE key elements");
    } else if (++hashes > 1 && max_each == 1) {
      return ValidationError(
          "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type");
    }
  }
  if (hashes > max_each || ranges > max_each) {
    return ValidationError("Invalid KeySchema: An index key may have at most " +
                           std::to_string(max_each) + " HASH and " + std::to_string(max_each) +
                           " RANGE key elements");
  }
  return OkStatus();
}

Status DefineKey(const std::vector<KeySchemaElement>& elements, size_t max_each,
                 const TableDescriptor& descriptor, model::IndexKeySchema* key) {
  for (const KeySchemaElement& element : elements) {
    if (FindDefinition(descriptor, element.attribute_name) != nullptr) continue;
    return Invalid(
        "Some index key attributes are not defined in AttributeDefinitions. Keys: [" +
        Joined(elements, [](const KeySchemaElement& each) { return each.attribute_name; }) +
        "], AttributeDefinitions: [" + DefinedNames(descriptor) + "]");
  }
  TRY(CheckElementOrder(elements, max_each));
  for (const KeySchemaElement& element : elements) {
    (element.key_type == KeyType::kHash ? key->partition : key->sort)
        .push_back(*FindDefinition(descriptor, element.attribute_name));
  }
  return OkStatus();
}

Status DefineProjection(const Projection& projection, IndexDescriptor* index) {
  if (!projection.projection_type) return Invalid("Unknown ProjectionType: null");
  const bool has_attributes = projection.non_key_attributes.has_value();
  switch (*projection.projection_type) {
    case ProjectionType::kAll:
      index->projection = IndexDescriptor::Projection::kAll;
      if (has_attributes)
        return Invalid("ProjectionType is ALL, but NonKeyAttributes is specified");
      break;
    case ProjectionType::kKeysOnly:
      index->projection = IndexDescriptor::Projection::kKeysOnly;
      if (has_attributes)
        return Invalid("ProjectionType is KEYS_ONLY, but NonKeyAttributes is specified");
      break;
    case ProjectionType::kInclude:
      index->projection = IndexDescriptor::Projection::kInclude;
      if (!has_attributes)
        return Invalid("ProjectionType is INCLUDE, but NonKeyAttributes is not specified");
      index->non_key_attributes = *projection.non_key_attributes;
      break;
  }
  return OkStatus();
}

Status DefineThroughput(const GlobalSecondaryIndex& request, const Settings& settings,
                        bool on_demand, IndexDescriptor* index) {
  TRY(CheckIndexThroughput(request.index_name, request.provisioned_throughput.has_value(),
                           on_demand));
  table::IndexThroughput& t = index->throughput;
  if (request.provisioned_throughput) {
    TRY(CheckUnits(settings, *request.provisioned_throughput, request.index_name));
    StartUnits(*request.provisioned_throughput, &t);
  }
  if (request.on_demand_throughput) {
    TRY(ChangeMaxima(settings, *request.on_demand_throughput, on_demand, request.index_name, &t));
  }
  if (request.warm_throughput)
    TRY(RaiseWarm(settings, *request.warm_throughput, on_demand, request.index_name, &t));
  index->partitions = FirstPartitions(settings, t, on_demand);
  return OkStatus();
}

Result<IndexDescriptor> DefineLocal(const LocalSecondaryIndex& request,
                                    const TableDescriptor& descriptor) {
  IndexDescriptor index;
  index.kind = IndexDescriptor::Kind::kLocal;
  index.name = request.index_name;
  TRY(DefineKey(request.key_schema, 1, descriptor, &index.key));
  if (index.key.sort.empty())
    return Invalid("Index KeySchema does not have a range key for index: " + index.name);
  const std::string& hash_key = index.key.partition[0].name;
  if (hash_key != descriptor.key_schema.partition.name) {
    return Invalid(
        "Index KeySchema does not have the same leading hash key as table KeySchema for index: " +
        index.name + ". index hash key: " + hash_key +
        ", table hash key: " + descriptor.key_schema.partition.name);
  }
  TRY(DefineProjection(request.projection, &index));
  return index;
}

Result<IndexDescriptor> DefineGlobal(const GlobalSecondaryIndex& request, const Settings& settings,
                                     const TableDescriptor& descriptor) {
  IndexDescriptor index;
  index.name = request.index_name;
  TRY(DefineKey(request.key_schema, model::kMaxIndexKeyAttributes, descriptor, &index.key));
  TRY(DefineProjection(request.projection, &index));
  TRY(DefineThroughput(request, settings,
                       descriptor.billing_mode == table::BillingMode::kPayPerRequest, &index));
  return index;
}

Status CheckAllDefinitionsUsed(const TableDescriptor& descriptor) {
  std::vector<std::string> used = {descriptor.key_schema.partition.name};
  if (descriptor.key_schema.sort) used.push_back(descriptor.key_schema.sort->name);
  const auto add = [&](const std::vector<model::KeyAttribute>& attributes) {
    for (const model::KeyAttribute& attribute : attributes) {
      if (std::find(used.begin(), used.end(), attribute.name) == used.end())
        used.push_back(attribute.name);
    }
  };
  for (const IndexDescriptor& index : descriptor.indexes) {
    add(index.key.partition);
    add(index.key.sort);
  }
  if (used.size() == descriptor.attribute_definitions.size()) return OkStatus();
  if (descriptor.indexes.empty()) {
    return Invalid(
        "Number of attributes in KeySchema does not exactly match number of attributes defined in "
        "AttributeDefinitions");
  }
  return Invalid("Some AttributeDefinitions are not used. AttributeDefinitions: [" +
                 DefinedNames(descriptor) + "], keys used: [" +
                 Joined(used, [](const std::string& name) { return name; }) + "]");
}

}  // namespace

Status CheckIndexThroughput(std::string_view name, bool was_given, bool on_demand) {
  if (on_demand && was_given) {
    return Invalid("ProvisionedThroughput should not be specified for index: " + std::string(name) +
                   " when BillingMode is PAY_PER_REQUEST");
  }
  if (!on_demand && !was_given) {
    return Invalid("ProvisionedThroughput must be specified for index: " + std::string(name));
  }
  return OkStatus();
}

Status CheckIndexLimits(const TableDescriptor& descriptor) {
  size_t locals = 0;
  size_t globals = 0;
  size_t non_key_attributes = 0;
  std::set<std::string_view> names;
  for (const IndexDescriptor& index : descriptor.indexes) {
    ++(index.is_global() ? globals : locals);
    non_key_attributes += index.non_key_attributes.size();
    if (!names.insert(index.name).second) return Invalid("Duplicate index name: " + index.name);
  }
  if (locals > kMaxLocalIndexes)
    return Invalid("Number of LocalSecondaryIndexes exceeds per-table limit of 5");
  if (globals > kMaxGlobalIndexes)
    return Invalid("GlobalSecondaryIndex count exceeds the per-table limit of 20");
  if (non_key_attributes > kMaxNonKeyAttributes) {
    return Invalid("Number of NonKeyAttributes over all indexes exceeds per-table limit of 100");
  }
  return OkStatus();
}

Status DefineIndexes(const CreateTableRequest& request, const Settings& settings,
                     TableDescriptor* descriptor) {
  if (request.local_secondary_indexes) {
    if (request.local_secondary_indexes->empty())
      return Invalid("List of LocalSecondaryIndexes is empty");
    if (!descriptor->key_schema.sort) {
      return Invalid(
          "Table KeySchema does not have a range key, which is required when specifying a "
          "LocalSecondaryIndex");
    }
    for (const LocalSecondaryIndex& local : *request.local_secondary_indexes) {
      ASSIGN_OR_RETURN(IndexDescriptor index, DefineLocal(local, *descriptor));
      index.number = static_cast<uint32_t>(descriptor->indexes.size());
      descriptor->indexes.push_back(std::move(index));
    }
  }
  if (request.global_secondary_indexes) {
    if (request.global_secondary_indexes->empty())
      return Invalid("List of GlobalSecondaryIndexes is empty");
    for (const GlobalSecondaryIndex& global : *request.global_secondary_indexes) {
      ASSIGN_OR_RETURN(IndexDescriptor index, DefineGlobal(global, settings, *descriptor));
      descriptor->indexes.push_back(std::move(index));
    }
  }
  for (IndexDescriptor& index : descriptor->indexes)
    index.created_micros = descriptor->created_micros;
  TRY(CheckIndexLimits(*descriptor));
  return CheckAllDefinitionsUsed(*descriptor);
}

Result<IndexDescriptor> DefineNewGlobalIndex(const GlobalSecondaryIndex& request,
                                             const Settings& settings, int64_t now_micros,
                                             const TableDescriptor& descriptor) {
  ASSIGN_OR_RETURN(IndexDescriptor index, DefineGlobal(request, settings, descriptor));
  index.created_micros = now_micros;
  index.state = IndexDescriptor::State::kCreating;
  return index;
}

}  // namespace stator::ops
