#include "api/recorded_table.h"

#include <string>
#include <vector>

#include "model/value.h"

namespace stator::api {
namespace {

std::vector<std::string> KeyNames(const std::vector<model::KeyAttribute>& attributes) {
  std::vector<std::string> names;
  for (const model::KeyAttribute& attribute : attributes) {
    names.push_back(attribute.name + ":" + std::string(model::TypeName(attribute.type)));
  }
  return names;
}

}  // namespace

request_log::TableDefinition RecordedTable(const table::Table& table) {
  const table::TableDescriptor& d = table.descriptor;
  request_log::TableDefinition out;
  out.name = d.name;
  out.partition = KeyNames(table.key_parts.partition);
  out.sort = KeyNames(table.key_parts.sort);
  out.on_demand = d.billing_mode == table::BillingMode::kPayPerRequest;
  if (!out.on_demand) {
    out.read_units = static_cast<double>(d.read_units);
    out.write_units = static_cast<double>(d.write_units);
  }
  if (d.max_read_request_units) out.max_read = static_cast<double>(*d.max_read_request_units);
  if (d.max_write_request_units) out.max_write = static_cast<double>(*d.max_write_request_units);
  out.stream = d.stream_view_type.has_value();
  for (const table::IndexDescriptor& index : d.indexes) {
    if (index.state == table::IndexDescriptor::State::kDeleting) continue;
    request_log::IndexDefinition& to = out.indexes.emplace_back();
    to.name = index.name;
    to.global = index.is_global();
    to.partition = KeyNames(index.key.partition);
    to.sort = KeyNames(index.key.sort);
    switch (index.projection) {
      case table::IndexDescriptor::Projection::kAll:
        to.projection = request_log::Projection::kAll;
        break;
      case table::IndexDescriptor::Projection::kKeysOnly:
        to.projection = request_log::Projection::kKeysOnly;
        break;
      case table::IndexDescriptor::Projection::kInclude:
        to.projection = request_log::Projection::kInclude;
        break;
    }
    to.attributes = index.non_key_attributes;
    if (!out.on_demand) {
      to.read_units = static_cast<double>(index.throughput.read_units);
      to.write_units = static_cast<double>(index.throughput.write_units);
    }
  }
  return out;
}

void AddSizes(table::Store& store, const table::Table& table,
              request_log::TableDefinition* definition) {
  if (const Result<table::TableCounts> counts = store.Counts(table); counts.ok()) {
    definition->bytes = counts->bytes;
    definition->items = counts->items;
  }
  for (request_log::IndexDefinition& index : definition->indexes) {
    const table::IndexDescriptor* found = table.descriptor.FindIndex(index.name);
    if (found == nullptr) continue;
    const Result<table::TableCounts> counts = store.IndexCounts(table, *found);
    if (!counts.ok()) continue;
    index.bytes = counts->bytes;
    index.items = counts->items;
  }
}

}  // namespace stator::api
