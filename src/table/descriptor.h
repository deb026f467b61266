// What the catalog knows of a table. Stored as an encoded item under "table/<name>" in
// Space::kCatalog, so that later versions may add members; a reader ignores members it does not
// know.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "history/change_log.h"
#include "kv/engine.h"
#include "model/key_schema.h"
#include "stream/stream.h"
#include "throughput/auto_scaling.h"
#include "throughput/partitions.h"

namespace stator::table {

// The feature (kv/features.h) of a store that has ShownSettings or ScalableTargets.
inline constexpr std::string_view kTableSettings = "table-settings";

// The feature of a store that has tables with a change log.
inline constexpr std::string_view kChangeLogFeature = "change-log";

enum class BillingMode : uint8_t { kProvisioned = 0, kPayPerRequest = 1 };
enum class TableClass : uint8_t { kStandard = 0, kStandardInfrequentAccess = 1 };

// Provisioned units, the limits that on-demand tables may have, and warm throughput, of a table's
// index. Warm units are what was asked for or what it was ready for once, if that is more than its
// units now.
struct IndexThroughput {
  int64_t read_units = 0;
  int64_t write_units = 0;
  int64_t last_increase_micros = 0;
  int64_t last_decrease_micros = 0;
  int64_t decreases_today = 0;
  int64_t decreases_day = 0;  // the UTC day that decreases_today belongs to
  std::optional<int64_t> max_read_request_units;
  std::optional<int64_t> max_write_request_units;
  std::optional<int64_t> warm_read_units;
  std::optional<int64_t> warm_write_units;
};

// Contributor Insights of a table or a global index, once UpdateContributorInsights has named it.
struct ContributorInsights {
  enum class Mode : uint8_t { kAccessedAndThrottledKeys = 0, kThrottledKeys = 1 };
  bool enabled = false;
  Mode mode = Mode::kAccessedAndThrottledKeys;
  int64_t changed_micros = 0;
  int64_t rule_id = 0;  // ends the names of its rules: milliseconds, different for each of a table
  bool operator==(const ContributorInsights&) const = default;
};

// A policy of Application Auto Scaling as PutScalingPolicy gave it. Members that were absent stay
// absent, for tools that compare what they put with what is described.
struct ScalingPolicy {
  std::string name;
  std::string id;  // a UUID: in its ARN and in the names of its alarms
  int64_t created_micros = 0;
  int64_t target_millionths = 0;  // TargetValue, a percentage
  std::optional<int64_t> scale_out_cooldown_seconds;
  std::optional<int64_t> scale_in_cooldown_seconds;
  std::optional<int64_t> scale_in_disabled;  // 0 or 1
  bool operator==(const ScalingPolicy&) const = default;
};

// A scalable target of Application Auto Scaling: the reads or writes of a table or index.
struct ScalableTarget {
  std::string id;  // ends its ARN
  int64_t min_units = 0;
  int64_t max_units = 0;
  int64_t created_micros = 0;
  std::string role_arn;              // empty: the service-linked role
  bool suspended = false;            // the policy changes nothing
  bool scheduled_suspended = false;  // shown only: there are no scheduled actions
  std::map<std::string, std::string> tags;
  std::optional<ScalingPolicy> policy;
  bool operator==(const ScalableTarget&) const = default;
};

// Auto scaling of provisioned units; absent: none. Asleep while the table is on demand. A target
// has made the settings beside it, if its policy acts.
struct AutoScalingRules {
  std::optional<throughput::AutoScalingSettings> read;
  std::optional<throughput::AutoScalingSettings> write;
  std::optional<ScalableTarget> read_target;
  std::optional<ScalableTarget> write_target;
  bool operator==(const AutoScalingRules&) const = default;
};

struct IndexDescriptor {
  enum class Kind : uint8_t { kLocal = 0, kGlobal = 1 };
  enum class Projection : uint8_t { kAll = 0, kKeysOnly = 1, kInclude = 2 };
  // kCreating: writes maintain the index, and IndexBuilder is adding the entries of older items.
  // kDeleting: no request writes or reads the index, and IndexBuilder is removing its entries.
  enum class State : uint8_t { kActive = 0, kCreating = 1, kDeleting = 2 };

  std::string name;
  Kind kind = Kind::kGlobal;
  model::IndexKeySchema key;
  Projection projection = Projection::kAll;
  std::vector<std::string> non_key_attributes;  // kInclude: as given
  State state = State::kActive;
  int64_t created_micros = 0;
  std::optional<int64_t> changed_micros;  // last UpdateTable of its capacity
  uint32_t number = 0;                    // local: which of the table's, from 0
  uint32_t tablet_id = 0;                 // global: Space::kItems; 0 until the store has chosen it
  IndexThroughput throughput;             // global
  AutoScalingRules auto_scaling;          // global
  throughput::PartitionMap partitions;    // global
  std::optional<ContributorInsights> insights;  // global

  bool is_global() const { return kind == Kind::kGlobal; }
};

// Time to live and its hidden index (expiry.h). No index of the table: never described, charged or
// addressed.
struct ExpiryIndex {
  std::string attribute;
  // kCreating: time to live is on, and IndexBuilder is adding the entries of older items.
  // kDeleting: time to live is off, and IndexBuilder is removing the entries.
  IndexDescriptor::State state = IndexDescriptor::State::kCreating;
  uint32_t tablet_id = 0;  // Space::kLog; 0 until the store has chosen it

  kv::Tablet tablet() const { return {kv::Space::kLog, tablet_id}; }
  // Returns true if writes maintain the index, and expired items are deleted.
  bool on() const { return state != IndexDescriptor::State::kDeleting; }
};

// The source that a table is being filled from: a backup, or a moment of another table.
struct RestoreSource {
  std::string backup_id;   // empty: a moment
  std::string table_name;  // of the table that was backed up, or is read
  std::string table_id;    // this and the next: of a moment
  std::optional<int64_t> moment_micros;
  bool operator==(const RestoreSource&) const = default;
};

// Settings that CreateTable and UpdateTable gave, and that nothing here acts upon: described as the
// service describes them.
struct ShownSettings {
  bool encryption = false;  // SSESpecification, with the key that the service makes by itself
  std::optional<int64_t> settings_replication;       // a GlobalTableSettingsReplicationMode
  std::optional<int64_t> disassociation_protection;  // 0 or 1
  bool operator==(const ShownSettings&) const = default;
};

// Where the changes of a table are sent: a Kinesis data stream. In the order of the API's enum.
struct KinesisDestination {
  enum class Status : uint8_t {
    kEnabling = 0,
    kActive = 1,
    kDisabling = 2,
    kDisabled = 3,
    kEnableFailed = 4,
    kUpdating = 5,
  };
  std::string stream_arn;
  std::string id;  // a UUID, another one each time that it is enabled
  Status status = Status::kEnabling;
  std::string description;           // why it failed, for people
  std::optional<int64_t> precision;  // a DateTimePrecision, if one was given
  int64_t changed_micros = 0;        // of the status

  // Whether it is to get the changes that are made now.
  bool captures() const {
    return status == Status::kEnabling || status == Status::kActive || status == Status::kUpdating;
  }
  bool operator==(const KinesisDestination&) const = default;
};
// Feature of kv/features.h: a table with destinations, and with the hidden stream of its changes.
inline constexpr std::string_view kKinesisFeature = "kinesis-destinations";

// Times are microseconds since the epoch; 0: never.
struct TableDescriptor {
  std::string name;
  uint32_t tablet_id = 0;  // Space::kItems
  std::string table_id;    // the UUID that DescribeTable shows
  int64_t created_micros = 0;
  int64_t changed_micros =
      0;  // last UpdateTable: with delayed statuses the table is UPDATING for a while
  int64_t deleting_micros = 0;  // DeleteTable was asked and the table is DELETING
  std::vector<model::KeyAttribute> attribute_definitions;  // as given
  model::KeySchema key_schema;

  BillingMode billing_mode = BillingMode::kProvisioned;
  bool billing_mode_given = false;        // DescribeTable shows a BillingModeSummary only then
  int64_t to_pay_per_request_micros = 0;  // last switch to on-demand
  std::vector<int64_t>
      to_pay_per_request_switches;  // UpdateTable's of the last 24 hours, oldest first
  int64_t read_units = 0;
  int64_t write_units = 0;
  int64_t last_increase_micros = 0;
  int64_t last_decrease_micros = 0;
  int64_t decreases_today = 0;
  int64_t decreases_day = 0;  // the UTC day that decreases_today belongs to
  std::optional<int64_t> max_read_request_units;
  std::optional<int64_t> max_write_request_units;
  std::optional<int64_t> warm_read_units;
  std::optional<int64_t> warm_write_units;
  AutoScalingRules auto_scaling;

  TableClass table_class = TableClass::kStandard;
  bool table_class_given = false;
  int64_t table_class_changed_micros = 0;
  bool deletion_protection = false;
  std::map<std::string, std::string> tags;
  throughput::PartitionMap partitions;
  std::vector<IndexDescriptor> indexes;  // local ones first, each kind in the order of creation
  std::optional<stream::ViewType> stream_view_type;  // of the stream, while one is enabled
  // The label of the latest stream, which the store chooses; empty: there never was one.
  std::string stream_label;
  // At most one that is not kDisabled or kEnableFailed.
  std::vector<KinesisDestination> kinesis;
  // The label of the latest hidden stream, for Kinesis, chosen by the store; empty: there never was
  // one.
  std::string capture_label;
  std::optional<ExpiryIndex> expiry;
  std::optional<int64_t> expiry_changed_micros;  // the last UpdateTimeToLive
  std::optional<ContributorInsights> insights;
  // While point-in-time recovery is on: what the items were before their changes.
  std::optional<history::ChangeLog> change_log;
  // Set while the table is being restored: until it has all items of the backup, and only the
  // restore writes to it. Such a table is stored with the mark of a table that is being deleted. So
  // an older server, which does not know this member, removes the table instead of serving a part
  // of it.
  std::optional<RestoreSource> restore;
  std::optional<ShownSettings> shown;
  // Writes under this version are accepted as long as the fence of the table's tablet is not
  // higher. In a shared store it is raised by each change after which no process may write under an
  // older version.
  uint64_t fence = 0;

  kv::Tablet tablet() const { return {kv::Space::kItems, tablet_id}; }
  // Where the entries of an index are.
  kv::Tablet TabletOf(const IndexDescriptor& index) const {
    return {kv::Space::kItems, index.is_global() ? index.tablet_id : tablet_id};
  }
  const IndexDescriptor* FindIndex(std::string_view index_name) const;
  bool HasTimeToLive() const { return expiry && expiry->on(); }
  // Returns the indexes that writes maintain, with the hidden one of time to live, as (tablet,
  // number). Versions of the table that maintain the same indexes may run at the same time.
  std::vector<std::pair<uint32_t, uint32_t>> MaintainedIndexes() const;
  // Returns true if an index is to be filled or removed.
  bool HasIndexWork() const;
  // Returns true if the table, or a global index of it that is not kDeleting, has insights, enabled
  // or disabled.
  bool ShowsInsights() const;
  // Returns true if it has members that servers without the feature kTableSettings would lose.
  bool NeedsTableSettings() const;
  // Returns true if a hidden stream of all changes is enabled (for Kinesis destinations).
  bool captures() const;
  bool HasLocalIndexes() const { return !indexes.empty() && !indexes.front().is_global(); }

  std::string Encode() const;
  // kCorruption if the bytes are no descriptor.
  static Result<TableDescriptor> Decode(std::string_view encoded);
};

}  // namespace stator::table
