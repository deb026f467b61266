#include "table/descriptor.h"

#include <algorithm>
#include <cmath>

#include "model/fields.h"

namespace stator::table {
namespace {

using model::FieldReader;
using model::FieldWriter;

// The partitions of a map, either way.
void VisitPartitions(FieldWriter& v, const throughput::PartitionMap& map) {
  v.Unsigned("Partitions", map.starts());
}
void VisitPartitions(FieldReader& v, throughput::PartitionMap& map) {
  std::vector<uint64_t> starts;
  v.Unsigned("Partitions", starts);
  map = throughput::PartitionMap::FromStarts(starts);
  if (map.starts() != starts) v.Fail();
}

void VisitViewType(FieldWriter& v, const std::optional<stream::ViewType>& type) {
  if (type) v.Integer("StreamViewType", *type);
}
void VisitViewType(FieldReader& v, std::optional<stream::ViewType>& type) {
  std::optional<int64_t> number;
  v.Optional("StreamViewType", number);
  if (!number) return;
  if (*number < 0 || *number > static_cast<int64_t>(stream::ViewType::kKeysOnly)) v.Fail();
  type = static_cast<stream::ViewType>(*number);
}

void VisitFence(FieldWriter& v, const uint64_t& fence) {
  if (fence != 0) v.Integer("Fence", fence);
}
void VisitFence(FieldReader& v, uint64_t& fence) {
  std::optional<int64_t> number;
  v.Optional("Fence", number);
  if (number && *number < 0) v.Fail();
  fence = static_cast<uint64_t>(number.value_or(0));
}

// Visits the Contributor Insights of a table or an index.
template <typename Visitor, typename Insights>
void VisitInsights(Visitor& v, Insights& insights) {
  v.Structure("ContributorInsights", insights, [](auto& visitor, auto& d) {
    visitor.Bool("Enabled", d.enabled);
    visitor.Integer("Mode", d.mode);
    visitor.Integer("Changed", d.changed_micros);
    visitor.Integer("RuleId", d.rule_id);
  });
}

bool IsSound(const std::optional<ContributorInsights>& insights) {
  return !insights || insights->mode <= ContributorInsights::Mode::kThrottledKeys;
}

// Parts of a whole are stored as millionths of it, seconds as microseconds.
constexpr double kMillion = 1e6;

void VisitScaling(FieldWriter& v, const throughput::AutoScalingSettings& s) {
  const auto integer = [&v](const char* name, double value) {
    v.Integer(name, std::llround(value));
  };
  integer("Min", s.min_units);
  integer("Max", s.max_units);
  integer("Target", s.target * kMillion);
  integer("LowerMargin", s.lower_margin * kMillion);
  integer("RaiseCooldown", s.raise_cooldown_seconds * kMillion);
  integer("LowerCooldown", s.lower_cooldown_seconds * kMillion);
  v.Bool("LowerWhenIdle", s.lower_when_idle);
}
void VisitScaling(FieldReader& v, throughput::AutoScalingSettings& s) {
  const auto integer = [&v](const char* name, double unit, double* value) {
    int64_t stored = 0;
    v.Integer(name, stored);
    *value = static_cast<double>(stored) / unit;
  };
  integer("Min", 1, &s.min_units);
  integer("Max", 1, &s.max_units);
  integer("Target", kMillion, &s.target);
  integer("LowerMargin", kMillion, &s.lower_margin);
  integer("RaiseCooldown", kMillion, &s.raise_cooldown_seconds);
  integer("LowerCooldown", kMillion, &s.lower_cooldown_seconds);
  v.Bool("LowerWhenIdle", s.lower_when_idle);
  if (!throughput::AutoScalingPolicy::Check(s).ok()) v.Fail();
}

template <typename Visitor, typename Policy>
void VisitPolicy(Visitor& v, Policy& d) {
  v.String("Name", d.name);
  v.String("Id", d.id);
  v.Integer("Created", d.created_micros);
  v.Integer("Target", d.target_millionths);
  v.Optional("ScaleOutCooldown", d.scale_out_cooldown_seconds);
  v.Optional("ScaleInCooldown", d.scale_in_cooldown_seconds);
  v.Optional("ScaleInDisabled", d.scale_in_disabled);
}

template <typename Visitor, typename Target>
void VisitTarget(Visitor& v, Target& d) {
  v.String("Id", d.id);
  v.Integer("Min", d.min_units);
  v.Integer("Max", d.max_units);
  v.Integer("Created", d.created_micros);
  v.StringIfAny("Role", d.role_arn);
  v.Bool("Suspended", d.suspended);
  v.Bool("ScheduledSuspended", d.scheduled_suspended);
  v.Strings("Tags", d.tags);
  v.Structure("Policy", d.policy,
              [](auto& visitor, auto& policy) { VisitPolicy(visitor, policy); });
}

template <typename Visitor, typename Rules>
void VisitRules(Visitor& v, Rules& rules) {
  const auto visit = [](auto& visitor, auto& settings) { VisitScaling(visitor, settings); };
  v.Structure("AutoScalingRead", rules.read, visit);
  v.Structure("AutoScalingWrite", rules.write, visit);
  const auto visit_target = [](auto& visitor, auto& target) { VisitTarget(visitor, target); };
  v.Structure("ScalableTargetRead", rules.read_target, visit_target);
  v.Structure("ScalableTargetWrite", rules.write_target, visit_target);
}

bool HasTargets(const AutoScalingRules& rules) { return rules.read_target || rules.write_target; }

template <typename Visitor, typename Index>
void VisitIndex(Visitor& v, Index& d) {
  v.String("Name", d.name);
  v.Integer("Kind", d.kind);
  v.KeyAttributes("PartitionKey", d.key.partition);
  v.KeyAttributes("SortKey", d.key.sort);
  v.Integer("Projection", d.projection);
  v.Texts("NonKeyAttributes", d.non_key_attributes);
  v.Integer("State", d.state);
  v.Integer("Created", d.created_micros);
  v.Integer("Number", d.number);
  v.Integer("TabletId", d.tablet_id);
  v.Integer("ReadUnits", d.throughput.read_units);
  v.Integer("WriteUnits", d.throughput.write_units);
  v.Integer("LastIncrease", d.throughput.last_increase_micros);
  v.Integer("LastDecrease", d.throughput.last_decrease_micros);
  v.Integer("DecreasesToday", d.throughput.decreases_today);
  v.Integer("DecreasesDay", d.throughput.decreases_day);
  v.Optional("MaxReadRequestUnits", d.throughput.max_read_request_units);
  v.Optional("MaxWriteRequestUnits", d.throughput.max_write_request_units);
  v.Optional("WarmReadUnits", d.throughput.warm_read_units);
  v.Optional("WarmWriteUnits", d.throughput.warm_write_units);
  v.Optional("Changed", d.changed_micros);
  VisitRules(v, d.auto_scaling);
  VisitPartitions(v, d.partitions);
  VisitInsights(v, d.insights);
}

bool IsSound(const IndexDescriptor& index) {
  return index.kind <= IndexDescriptor::Kind::kGlobal &&
         index.projection <= IndexDescriptor::Projection::kInclude &&
         index.state <= IndexDescriptor::State::kDeleting && !index.key.partition.empty() &&
         IsSound(index.insights) &&
         (index.is_global() ? index.tablet_id != 0 : index.key.sort.size() == 1);
}

bool IsSound(const ExpiryIndex& expiry) {
  return expiry.state <= IndexDescriptor::State::kDeleting && expiry.tablet_id != 0;
}

template <typename Visitor, typename Index>
void VisitExpiry(Visitor& v, Index& d) {
  v.String("Attribute", d.attribute);
  v.Integer("State", d.state);
  v.Integer("TabletId", d.tablet_id);
}

// "Deleting" of a table that is being restored: long ago.
constexpr int64_t kDeletedLongAgo = 1;

void VisitDeleting(FieldWriter& v, const TableDescriptor& d) {
  v.Integer("Deleting", d.restore ? kDeletedLongAgo : d.deleting_micros);
}
void VisitDeleting(FieldReader& v, TableDescriptor& d) { v.Integer("Deleting", d.deleting_micros); }

template <typename Visitor, typename Source>
void VisitRestore(Visitor& v, Source& source) {
  v.String("BackupId", source.backup_id);
  v.String("Table", source.table_name);
  v.StringIfAny("SourceTableId", source.table_id);
  v.Optional("Moment", source.moment_micros);
}

template <typename Visitor, typename Log>
void VisitChangeLog(Visitor& v, Log& log) {
  v.Integer("TabletId", log.tablet_id);
  v.Integer("Since", log.since_micros);
  v.Integer("FirstDay", log.first_day);
  v.Integer("PeriodDays", log.period_days);
}

bool IsSound(const history::ChangeLog& log) {
  return log.tablet_id != 0 && log.first_day >= 0 && log.period_days >= 1 &&
         log.period_days <= history::kMostPeriodDays;
}

bool IsSound(const KinesisDestination& destination) {
  const int64_t precision = destination.precision.value_or(0);
  return destination.status <= KinesisDestination::Status::kUpdating && precision >= 0 &&
         precision <= 1;
}

// Whether its Kinesis destinations can be those of a table.
bool IsSound(const TableDescriptor& table) {
  return std::all_of(table.kinesis.begin(), table.kinesis.end(),
                     [](const KinesisDestination& each) { return IsSound(each); }) &&
         (!table.captures() || !table.capture_label.empty());
}

template <typename Visitor, typename Descriptor>
void Visit(Visitor& v, Descriptor& d) {
  v.String("Name", d.name);
  v.Integer("TabletId", d.tablet_id);
  v.String("TableId", d.table_id);
  v.Integer("Created", d.created_micros);
  v.Integer("Changed", d.changed_micros);
  VisitDeleting(v, d);
  v.KeyAttributes("AttributeDefinitions", d.attribute_definitions);
  v.Key("KeySchema", d.key_schema);
  v.Integer("BillingMode", d.billing_mode);
  v.Bool("BillingModeGiven", d.billing_mode_given);
  v.Integer("ToPayPerRequest", d.to_pay_per_request_micros);
  v.Structures("ToPayPerRequestSwitches", d.to_pay_per_request_switches,
               [](auto& visitor, auto& at) { visitor.Integer("At", at); });
  v.Integer("ReadUnits", d.read_units);
  v.Integer("WriteUnits", d.write_units);
  v.Integer("LastIncrease", d.last_increase_micros);
  v.Integer("LastDecrease", d.last_decrease_micros);
  v.Integer("DecreasesToday", d.decreases_today);
  v.Integer("DecreasesDay", d.decreases_day);
  v.Optional("MaxReadRequestUnits", d.max_read_request_units);
  v.Optional("MaxWriteRequestUnits", d.max_write_request_units);
  v.Optional("WarmReadUnits", d.warm_read_units);
  v.Optional("WarmWriteUnits", d.warm_write_units);
  VisitRules(v, d.auto_scaling);
  v.Integer("TableClass", d.table_class);
  v.Bool("TableClassGiven", d.table_class_given);
  v.Integer("TableClassChanged", d.table_class_changed_micros);
  v.Bool("DeletionProtection", d.deletion_protection);
  v.Strings("Tags", d.tags);
  VisitPartitions(v, d.partitions);
  v.Structures("Indexes", d.indexes,
               [](auto& visitor, auto& index) { VisitIndex(visitor, index); });
  VisitViewType(v, d.stream_view_type);
  v.StringIfAny("StreamLabel", d.stream_label);
  v.Structures("Kinesis", d.kinesis, [](auto& visitor, auto& destination) {
    visitor.String("StreamArn", destination.stream_arn);
    visitor.String("Id", destination.id);
    visitor.Integer("Status", destination.status);
    visitor.StringIfAny("Description", destination.description);
    visitor.Optional("Precision", destination.precision);
    visitor.Integer("Changed", destination.changed_micros);
  });
  v.StringIfAny("CaptureLabel", d.capture_label);
  v.Structure("TimeToLive", d.expiry,
              [](auto& visitor, auto& expiry) { VisitExpiry(visitor, expiry); });
  v.Optional("TimeToLiveChanged", d.expiry_changed_micros);
  VisitInsights(v, d.insights);
  v.Structure("ChangeLog", d.change_log,
              [](auto& visitor, auto& log) { VisitChangeLog(visitor, log); });
  v.Structure("Restore", d.restore,
              [](auto& visitor, auto& source) { VisitRestore(visitor, source); });
  v.Structure("ShownSettings", d.shown, [](auto& visitor, auto& shown) {
    visitor.Bool("Encryption", shown.encryption);
    visitor.Optional("SettingsReplication", shown.settings_replication);
    visitor.Optional("DisassociationProtection", shown.disassociation_protection);
  });
  VisitFence(v, d.fence);
}

}  // namespace

const IndexDescriptor* TableDescriptor::FindIndex(std::string_view index_name) const {
  for (const IndexDescriptor& index : indexes) {
    if (index.name == index_name) return &index;
  }
  return nullptr;
}

std::vector<std::pair<uint32_t, uint32_t>> TableDescriptor::MaintainedIndexes() const {
  std::vector<std::pair<uint32_t, uint32_t>> maintained;
  for (const IndexDescriptor& index : indexes) {
    if (index.state != IndexDescriptor::State::kDeleting)
      maintained.emplace_back(index.tablet_id, index.number);
  }
  if (HasTimeToLive()) maintained.emplace_back(expiry->tablet_id, 0);
  return maintained;
}

bool TableDescriptor::NeedsTableSettings() const {
  return shown || HasTargets(auto_scaling) ||
         std::any_of(indexes.begin(), indexes.end(),
                     [](const IndexDescriptor& index) { return HasTargets(index.auto_scaling); });
}

bool TableDescriptor::captures() const {
  return std::any_of(kinesis.begin(), kinesis.end(),
                     [](const KinesisDestination& each) { return each.captures(); });
}

bool TableDescriptor::HasIndexWork() const {
  for (const IndexDescriptor& index : indexes) {
    if (index.state != IndexDescriptor::State::kActive) return true;
  }
  return expiry && expiry->state != IndexDescriptor::State::kActive;
}

bool TableDescriptor::ShowsInsights() const {
  if (insights) return true;
  return std::any_of(indexes.begin(), indexes.end(), [](const IndexDescriptor& index) {
    return index.insights && index.state != IndexDescriptor::State::kDeleting;
  });
}

std::string TableDescriptor::Encode() const {
  FieldWriter writer;
  Visit(writer, *this);
  return writer.Finish();
}

Result<TableDescriptor> TableDescriptor::Decode(std::string_view encoded) {
  TRY(model::CheckItem(encoded));
  TableDescriptor descriptor;
  FieldReader reader(model::ItemView(encoded).attributes());
  Visit(reader, descriptor);
  const bool sound = std::all_of(descriptor.indexes.begin(), descriptor.indexes.end(),
                                 [](const IndexDescriptor& index) { return IsSound(index); }) &&
                     (!descriptor.expiry || IsSound(*descriptor.expiry)) &&
                     (!descriptor.change_log || IsSound(*descriptor.change_log)) &&
                     IsSound(descriptor.insights) && IsSound(descriptor);
  if (!reader.ok() || !sound) {
    return CorruptionError("a table descriptor in the catalog lacks a member or has a bad one");
  }
  if (descriptor.restore) descriptor.deleting_micros = 0;
  return descriptor;
}

}  // namespace stator::table
