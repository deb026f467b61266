#include "ops/table_status.h"

#include "throughput/partitions.h"

namespace stator::ops {
namespace {

double Seconds(int64_t micros) { return static_cast<double>(micros / 1000) / 1000.0; }

ScalarAttributeType ToScalar(model::Type type) {
  switch (type) {
    case model::Type::kN: return ScalarAttributeType::kN;
    case model::Type::kB: return ScalarAttributeType::kB;
    default: return ScalarAttributeType::kS;
  }
}

}  // namespace

TableStatus StatusOf(const table::TableDescriptor& descriptor, const Environment& env) {
  if (descriptor.deleting_micros != 0) return TableStatus::kDeleting;
  if (!env.settings.delay_transient_statuses) return TableStatus::kActive;
  const int64_t now = env.clock.NowMicros();
  if (now < descriptor.created_micros + kTransientStatusMicros) return TableStatus::kCreating;
  if (now < descriptor.changed_micros + kTransientStatusMicros) return TableStatus::kUpdating;
  return TableStatus::kActive;
}

std::string TableArn(const Environment& env, std::string_view table_name) {
  return "arn:aws:dynamodb:" + env.settings.region + ":" + env.settings.account + ":table/" + std::string(table_name);
}

TableDescription Describe(const Environment& env, const table::Table& table, TableStatus status) {
  const table::TableDescriptor& d = table.descriptor;
  TableDescription out;
  for (const model::KeyAttribute& attribute : d.attribute_definitions) {
    out.attribute_definitions.push_back({attribute.name, ToScalar(attribute.type)});
  }
  out.table_name = d.name;
  out.key_schema.push_back({d.key_schema.partition.name, KeyType::kHash});
  if (d.key_schema.sort) out.key_schema.push_back({d.key_schema.sort->name, KeyType::kRange});
  out.table_status = status;
  out.creation_date_time = Seconds(d.created_micros);
  out.table_arn = TableArn(env, d.name);
  out.table_id = d.table_id;

  if (d.last_increase_micros != 0) out.provisioned_throughput.last_increase_date_time = Seconds(d.last_increase_micros);
  if (d.last_decrease_micros != 0) out.provisioned_throughput.last_decrease_date_time = Seconds(d.last_decrease_micros);
  const int64_t today = env.clock.NowMicros() / (86'400 * int64_t{1'000'000});
  out.provisioned_throughput.number_of_decreases_today = d.decreases_day == today ? d.decreases_today : 0;
  const bool on_demand = d.billing_mode == table::BillingMode::kPayPerRequest;
  out.provisioned_throughput.read_capacity_units = on_demand ? 0 : d.read_units;
  out.provisioned_throughput.write_capacity_units = on_demand ? 0 : d.write_units;
  if (d.billing_mode_given) {
    BillingModeSummary summary;
    summary.billing_mode = on_demand ? BillingMode::kPayPerRequest : BillingMode::kProvisioned;
    if (d.to_pay_per_request_micros != 0) {
      summary.last_update_to_pay_per_request_date_time = Seconds(d.to_pay_per_request_micros);
    }
    out.billing_mode_summary = summary;
  }
  if (d.max_read_request_units || d.max_write_request_units) {
    out.on_demand_throughput = OnDemandThroughput{d.max_read_request_units, d.max_write_request_units};
  }
  TableWarmThroughputDescription warm;
  warm.read_units_per_second = d.warm_read_units.value_or(on_demand ? throughput::kOnDemandReadUnits : d.read_units);
  warm.write_units_per_second = d.warm_write_units.value_or(on_demand ? throughput::kOnDemandWriteUnits : d.write_units);
  warm.status = status == TableStatus::kActive ? TableStatus::kActive : TableStatus::kUpdating;
  out.warm_throughput = warm;

  if (d.table_class_given) {
    TableClassSummary summary;
    summary.table_class = d.table_class == table::TableClass::kStandard ? TableClass::kStandard
                                                                        : TableClass::kStandardInfrequentAccess;
    if (d.table_class_changed_micros != 0) summary.last_update_date_time = Seconds(d.table_class_changed_micros);
    out.table_class_summary = summary;
  }
  out.deletion_protection_enabled = d.deletion_protection;

  if (const Result<table::TableCounts> counts = env.store.Counts(table); counts.ok()) {
    out.item_count = counts->items;
    out.table_size_bytes = counts->bytes;
  }
  return out;
}

}  // namespace stator::ops
