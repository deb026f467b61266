#include "ops/table_definition.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/printable.h"
#include "ops/index_definition.h"
#include "ops/streams.h"
#include "ops/table_capacity.h"
#include "ops/table_settings.h"

namespace stator::ops {
namespace {

Error Invalid(std::string_view text) {
  return ValidationError("One or more parameter values were invalid: " + std::string(text));
}

const AttributeDefinition* FindDefinition(const std::vector<AttributeDefinition>& definitions,
                                          std::string_view name) {
  for (const AttributeDefinition& definition : definitions) {
    if (definition.attribute_name == name) return &definition;
  }
  return nullptr;
}

Result<model::KeySchema> DefineKey(const std::vector<KeySchemaElement>& elements,
                                   const std::vector<AttributeDefinition>& definitions) {
  if (elements.size() > 2) {
    return ValidationError(fmt::format(
        "1 validation error detected: Value at 'keySchema' failed to satisfy constraint: "
        "Member must have length less than or equal to 2"));
  }
  for (const KeySchemaElement& element : elements) {
    if (FindDefinition(definitions, element.attribute_name) == nullptr) {
      return ValidationError("Invalid KeySchema: Some index key attribute have no definition");
    }
  }
  if (elements[0].key_type != KeyType::kHash) {
    return ValidationError("Invalid KeySchema: The first KeySchemaElement is not a HASH key type");
  }
  model::KeySchema schema;
  schema.partition = {
      elements[0].attribute_name,
      ToValueType(FindDefinition(definitions, elements[0].attribute_name)->attribute_type)};
  if (elements.size() == 2) {
    if (elements[0].attribute_name == elements[1].attribute_name) {
      return ValidationError(
          "Both the Hash Key and the Range Key element in the KeySchema have the same name");
    }
    if (elements[1].key_type != KeyType::kRange) {
      return ValidationError(
          "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type");
    }
    schema.sort = model::KeyAttribute{
        elements[1].attribute_name,
        ToValueType(FindDefinition(definitions, elements[1].attribute_name)->attribute_type)};
  }
  return schema;
}

Status DefineThroughput(const CreateTableRequest& request, const Settings& settings,
                        table::TableDescriptor* descriptor) {
  const bool on_demand = request.billing_mode == BillingMode::kPayPerRequest;
  if (on_demand && request.provisioned_throughput) return NeitherUnitsWhenOnDemand();
  if (!on_demand && !request.provisioned_throughput) return BothUnitsWhenProvisioned();
  descriptor->billing_mode =
      on_demand ? table::BillingMode::kPayPerRequest : table::BillingMode::kProvisioned;
  descriptor->billing_mode_given = request.billing_mode.has_value();
  if (on_demand) descriptor->to_pay_per_request_micros = descriptor->created_micros;
  if (request.provisioned_throughput) {
    TRY(CheckUnits(settings, *request.provisioned_throughput, {}));
    StartUnits(*request.provisioned_throughput, descriptor);
  }
  if (request.on_demand_throughput) {
    TRY(ChangeMaxima(settings, *request.on_demand_throughput, on_demand, {}, descriptor));
  }
  if (request.warm_throughput)
    TRY(RaiseWarm(settings, *request.warm_throughput, on_demand, {}, descriptor));
  descriptor->partitions = FirstPartitions(settings, *descriptor, on_demand);
  return OkStatus();
}

// Letters and digits of every script, spaces and + - = . _ : / @. Characters beyond ASCII are taken
// for letters, but for the controls from U+0080 to U+009F.
bool HasTagCharacters(std::string_view text) {
  constexpr std::string_view kOthers = " +-=._:/@";
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0)
      return false;
    const bool taken = c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                       (c >= 'a' && c <= 'z') || kOthers.find(text[i]) != std::string_view::npos;
    if (!taken) return false;
  }
  return true;
}

Error WrongTagCharacter(std::string_view part, std::string_view text) {
  return Invalid(fmt::format(
      "The tag {} {} has a character that is no letter, digit, space or one of + - = . _ : / @",
      part, Printable(text)));
}

}  // namespace

Status CheckTagCount(size_t count) {
  if (count <= kMaxTags) return OkStatus();
  return Invalid("Tag limit exceeded: a table may have at most 50 tags");
}

Status CheckTags(const std::vector<Tag>& tags) {
  for (const Tag& tag : tags) {
    if (!HasTagCharacters(tag.key)) return WrongTagCharacter("key", tag.key);
    if (!HasTagCharacters(tag.value)) return WrongTagCharacter("value", tag.value);
    if (tag.key.starts_with("aws:"))
      return Invalid("aws: prefixed tag key names are not allowed for external use");
  }
  return OkStatus();
}

std::string NewUuid(Random& random) {
  const uint64_t a = random.Next();
  const uint64_t b = random.Next();
  // Version 4, variant 1.
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", a >> 32, (a >> 16) & 0xffff, a & 0xfff,
                     0x8000 | ((b >> 48) & 0x3fff), b & 0xffffffffffff);
}

Result<table::TableDescriptor> DefineTable(const Environment& env,
                                           const CreateTableRequest& request) {
  TRY(CheckTableSettings(env, request));
  table::TableDescriptor descriptor;
  descriptor.name = request.table_name;
  descriptor.created_micros = env.clock.NowMicros();
  if (!request.key_schema || request.key_schema->empty() || !request.attribute_definitions) {
    return ValidationError("Invalid KeySchema: Some index key attribute have no definition");
  }
  TRY(DefineThroughput(request, env.settings, &descriptor));
  std::set<std::string_view> names;
  for (const AttributeDefinition& definition : *request.attribute_definitions) {
    if (!names.insert(definition.attribute_name).second) {
      return ValidationError("Attribute Name is duplicated: " + definition.attribute_name);
    }
    descriptor.attribute_definitions.push_back(
        {definition.attribute_name, ToValueType(definition.attribute_type)});
  }
  ASSIGN_OR_RETURN(descriptor.key_schema,
                   DefineKey(*request.key_schema, *request.attribute_definitions));
  TRY(DefineIndexes(request, env.settings, &descriptor));
  if (request.stream_specification) {
    const StreamSpecification& wanted = *request.stream_specification;
    if (!wanted.stream_enabled && wanted.stream_view_type) {
      return Invalid(
          "Table is being created with a stream disabled, UpdateViewType should not be specified");
    }
    TRY(CheckStreamSpecification(wanted));
    if (wanted.stream_enabled) descriptor.stream_view_type = ToStored(*wanted.stream_view_type);
  }
  if (request.tags) {
    TRY(CheckTags(*request.tags));
    for (const Tag& tag : *request.tags) descriptor.tags[tag.key] = tag.value;
    TRY(CheckTagCount(descriptor.tags.size()));
  }
  descriptor.table_class_given = request.table_class.has_value();
  descriptor.table_class = request.table_class == TableClass::kStandardInfrequentAccess
                               ? table::TableClass::kStandardInfrequentAccess
                               : table::TableClass::kStandard;
  descriptor.deletion_protection = request.deletion_protection_enabled.value_or(false);
  SetTableSettings(request, &descriptor);
  descriptor.table_id = NewUuid(env.random);
  return descriptor;
}

}  // namespace stator::ops
