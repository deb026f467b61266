#include "ops/table_status.h"

#include "ops/backup_arn.h"
#include "ops/checks.h"
#include "ops/streams.h"
#include "ops/table_capacity.h"
#include "ops/table_settings.h"
#include "table/import_mark.h"

namespace stator::ops {
namespace {

double Seconds(int64_t micros) { return static_cast<double>(micros / 1000) / 1000.0; }

// Describes the throughput of a table or an index: both have members of these names.
template <typename Throughput>
ProvisionedThroughputDescription DescribeThroughput(const Throughput& t, bool on_demand,
                                                    int64_t now) {
  ProvisionedThroughputDescription out;
  if (t.last_increase_micros != 0) out.last_increase_date_time = Seconds(t.last_increase_micros);
  if (t.last_decrease_micros != 0) out.last_decrease_date_time = Seconds(t.last_decrease_micros);
  const int64_t today = now / (86'400 * int64_t{1'000'000});
  out.number_of_decreases_today = t.decreases_day == today ? t.decreases_today : 0;
  out.read_capacity_units = on_demand ? 0 : t.read_units;
  out.write_capacity_units = on_demand ? 0 : t.write_units;
  return out;
}

IndexStatus IndexStatusOf(const table::IndexDescriptor& index, TableStatus table_status,
                          const Environment& env) {
  using State = table::IndexDescriptor::State;
  if (table_status == TableStatus::kDeleting || index.state == State::kDeleting)
    return IndexStatus::kDeleting;
  if (table_status == TableStatus::kCreating || index.state == State::kCreating)
    return IndexStatus::kCreating;
  if (!env.settings.delay_transient_statuses) return IndexStatus::kActive;
  const int64_t now = env.clock.NowMicros();
  if (now < index.created_micros + kTransientStatusMicros) return IndexStatus::kCreating;
  if (index.changed_micros && now < *index.changed_micros + kTransientStatusMicros)
    return IndexStatus::kUpdating;
  return IndexStatus::kActive;
}

LocalSecondaryIndexDescription DescribeLocal(const table::IndexDescriptor& index,
                                             const table::TableCounts& counts, std::string arn) {
  LocalSecondaryIndexDescription out;
  out.index_name = index.name;
  out.key_schema = KeyElementsOf(index.key);
  out.projection = ApiProjectionOf(index);
  out.index_size_bytes = counts.bytes;
  out.item_count = counts.items;
  out.index_arn = std::move(arn);
  return out;
}

GlobalSecondaryIndexDescription DescribeGlobal(const table::IndexDescriptor& index,
                                               const table::TableCounts& counts, std::string arn,
                                               bool on_demand, TableStatus table_status,
                                               const Environment& env) {
  GlobalSecondaryIndexDescription out;
  const table::IndexThroughput& t = index.throughput;
  out.index_name = index.name;
  out.key_schema = KeyElementsOf(index.key);
  out.projection = ApiProjectionOf(index);
  out.index_status = IndexStatusOf(index, table_status, env);
  // Entries of older items are being added. An index made with its table has none to add.
  if (index.state == table::IndexDescriptor::State::kCreating) out.backfilling = true;
  out.provisioned_throughput = DescribeThroughput(t, on_demand, env.clock.NowMicros());
  out.index_size_bytes = counts.bytes;
  out.item_count = counts.items;
  out.index_arn = std::move(arn);
  out.on_demand_throughput = MaximaOf(t);
  IndexWarmThroughputDescription warm;
  const throughput::Rates ready = WarmUnits(env.settings, t, on_demand);
  warm.read_units_per_second = static_cast<int64_t>(ready.read);
  warm.write_units_per_second = static_cast<int64_t>(ready.write);
  warm.status =
      out.index_status == IndexStatus::kActive ? IndexStatus::kActive : IndexStatus::kUpdating;
  out.warm_throughput = warm;
  return out;
}

}  // namespace

ScalarAttributeType ToScalar(model::Type type) {
  switch (type) {
    case model::Type::kN: return ScalarAttributeType::kN;
    case model::Type::kB: return ScalarAttributeType::kB;
    default: return ScalarAttributeType::kS;
  }
}

std::vector<KeySchemaElement> KeyElementsOf(const model::IndexKeySchema& key) {
  std::vector<KeySchemaElement> elements;
  for (const model::KeyAttribute& attribute : key.partition)
    elements.push_back({attribute.name, KeyType::kHash});
  for (const model::KeyAttribute& attribute : key.sort)
    elements.push_back({attribute.name, KeyType::kRange});
  return elements;
}

Projection ApiProjectionOf(const table::IndexDescriptor& index) {
  using Kind = table::IndexDescriptor::Projection;
  Projection projection;
  projection.projection_type = index.projection == Kind::kAll        ? ProjectionType::kAll
                               : index.projection == Kind::kKeysOnly ? ProjectionType::kKeysOnly
                                                                     : ProjectionType::kInclude;
  if (index.projection == Kind::kInclude) projection.non_key_attributes = index.non_key_attributes;
  return projection;
}

TableStatus StatusOf(const table::TableDescriptor& descriptor, const Environment& env) {
  return StatusAt(descriptor, env, env.clock.NowMicros());
}

TableStatus StatusAt(const table::TableDescriptor& descriptor, const Environment& env,
                     int64_t now) {
  if (descriptor.restore) return TableStatus::kCreating;
  if (descriptor.deleting_micros != 0) return TableStatus::kDeleting;
  for (const table::IndexDescriptor& index : descriptor.indexes) {
    if (index.state != table::IndexDescriptor::State::kActive) return TableStatus::kUpdating;
  }
  if (!env.settings.delay_transient_statuses) return TableStatus::kActive;
  if (now < descriptor.created_micros + kTransientStatusMicros) return TableStatus::kCreating;
  if (now < descriptor.changed_micros + kTransientStatusMicros) return TableStatus::kUpdating;
  return TableStatus::kActive;
}

Status CheckTakesItems(const table::TableDescriptor& descriptor, const Environment& env) {
  const TableStatus status = StatusOf(descriptor, env);
  if (TakesItems(status)) return OkStatus();
  return Error(ErrorCode::kResourceInUse,
               "Attempt to change a resource which is still in use: Table is being " +
                   std::string(status == TableStatus::kCreating ? "created: " : "deleted: ") +
                   std::string(table::ShownName(descriptor.name)));
}

Result<table::TablePtr> FindTableOfAnyStatus(const Context& ctx, std::string_view name_or_arn,
                                             ErrorCode missing) {
  ASSIGN_OR_RETURN(const StoreTableName found, StoreNameOf(ctx, name_or_arn));
  table::TablePtr table = ctx.env.store.Find(found.view());
  if (table != nullptr) return table;
  const std::string_view name = table::ShownName(found.view());
  if (missing == ErrorCode::kTableNotFound)
    return Error(missing, "Table not found: " + std::string(name));
  return Error(missing, "Requested resource not found: Table: " + std::string(name) + " not found");
}

std::string TableArn(const Environment& env, std::string_view store_name) {
  std::string arn = "arn:aws:dynamodb:" + env.settings.region + ":";
  arn.append(ShownAccount(env, store_name)).append(":table/");
  return arn.append(table::ShownName(store_name));
}

TableDescription Describe(const Environment& env, const table::Table& table, TableStatus status) {
  const table::TableDescriptor& d = table.descriptor;
  TableDescription out;
  for (const model::KeyAttribute& attribute : d.attribute_definitions) {
    out.attribute_definitions.push_back({attribute.name, ToScalar(attribute.type)});
  }
  out.table_name = table::ShownName(d.name);
  out.key_schema.push_back({d.key_schema.partition.name, KeyType::kHash});
  if (d.key_schema.sort) out.key_schema.push_back({d.key_schema.sort->name, KeyType::kRange});
  out.table_status = status;
  out.creation_date_time = Seconds(d.created_micros);
  out.table_arn = TableArn(env, d.name);
  out.table_id = d.table_id;

  const bool on_demand = d.billing_mode == table::BillingMode::kPayPerRequest;
  out.provisioned_throughput = DescribeThroughput(d, on_demand, env.clock.NowMicros());
  if (d.billing_mode_given) {
    BillingModeSummary summary;
    summary.billing_mode = on_demand ? BillingMode::kPayPerRequest : BillingMode::kProvisioned;
    if (d.to_pay_per_request_micros != 0) {
      summary.last_update_to_pay_per_request_date_time = Seconds(d.to_pay_per_request_micros);
    }
    out.billing_mode_summary = summary;
  }
  out.on_demand_throughput = MaximaOf(d);
  TableWarmThroughputDescription warm;
  const throughput::Rates ready = WarmUnits(env.settings, d, on_demand);
  warm.read_units_per_second = static_cast<int64_t>(ready.read);
  warm.write_units_per_second = static_cast<int64_t>(ready.write);
  warm.status = status == TableStatus::kActive ? TableStatus::kActive : TableStatus::kUpdating;
  out.warm_throughput = warm;

  if (d.table_class_given) {
    TableClassSummary summary;
    summary.table_class = d.table_class == table::TableClass::kStandard
                              ? TableClass::kStandard
                              : TableClass::kStandardInfrequentAccess;
    if (d.table_class_changed_micros != 0)
      summary.last_update_date_time = Seconds(d.table_class_changed_micros);
    out.table_class_summary = summary;
  }
  out.deletion_protection_enabled = d.deletion_protection;
  DescribeTableSettings(env, d, &out);
  if (d.stream_view_type)
    out.stream_specification = StreamSpecification{true, ToApi(*d.stream_view_type)};
  // A disabled stream is shown as long as it can be read.
  if (const stream::StreamPtr stream =
          d.stream_label.empty() ? nullptr : env.store.FindStream(d.name, d.stream_label)) {
    out.latest_stream_label = stream->label;
    out.latest_stream_arn = StreamArn(env, *stream);
  }

  if (d.restore && !table::IsImport(*d.restore)) {
    RestoreSummary& summary = out.restore_summary.emplace();
    summary.source_table_arn = TableArn(env, d.restore->table_name);
    if (d.restore->moment_micros) {
      summary.restore_date_time = static_cast<double>(*d.restore->moment_micros / 1000) / 1000.0;
    } else {
      summary.source_backup_arn = BackupArnOf(env, d.restore->table_name, d.restore->backup_id);
      summary.restore_date_time = BackupTime(d.restore->backup_id);
    }
  }

  if (const Result<table::TableCounts> counts = env.store.Counts(table); counts.ok()) {
    out.item_count = counts->items;
    out.table_size_bytes = counts->bytes;
  }
  for (const table::IndexDescriptor& index : d.indexes) {
    const Result<table::TableCounts> read = env.store.IndexCounts(table, index);
    const table::TableCounts counts = read.ok() ? *read : table::TableCounts();
    std::string arn = out.table_arn + "/index/" + index.name;
    if (index.is_global()) {
      out.global_secondary_indexes.push_back(
          DescribeGlobal(index, counts, std::move(arn), on_demand, status, env));
    } else {
      out.local_secondary_indexes.push_back(DescribeLocal(index, counts, std::move(arn)));
    }
  }
  return out;
}

}  // namespace stator::ops
