// The settings of `stator serve`: one table, read from the command line, the environment (STATOR_*)
// and stator.toml, in this order of precedence. DynamoDB Local's own flags are accepted too.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ops/admission.h"
#include "ops/auto_scaler.h"
#include "ops/fault_dial.h"
#include "request_log/record.h"
#include "server/access_settings.h"
#include "server/encryption_settings.h"
#include "server/isolation_settings.h"
#include "server/management_settings.h"
#include "server/object_store_settings.h"
#include "server/presence_settings.h"
#include "server/store_backup_settings.h"
#include "server/tls_settings.h"
#include "throughput/model_settings.h"
#include "triggers/function.h"
#include "triggers/mapping.h"

namespace CLI {
class App;
}

namespace stator::server {

enum class Durability { kFsync, kOs };
enum class ClockKind { kSystem, kManual };
enum class ConsoleMode { kOn, kReadOnly, kOff };
enum class EngineKind { kRocksDb, kMemory, kRados };

struct ServeSettings {
  uint16_t port = 8000;
  std::vector<std::string> hosts;  // empty: both loopbacks
  EngineKind engine = EngineKind::kRocksDb;
  std::string data_dir = "./stator-data";  // kRocksDb only
  std::string backup_dir;                  // empty: next to data_dir, or in memory
  ObjectStoreSettings object_store;
  StoreBackupSettings store_backup;
  std::string ceph_conf;  // this and the next five: kRados only
  std::string pool;
  std::string ceph_user = "admin";
  std::string ceph_namespace;
  uint64_t ceph_split_bytes =
      48 << 20;  // a part of a tablet that has grown to one of these is split in two
  uint64_t ceph_split_keys = 50'000;
  int64_t eventual_staleness_micros = 100'000;  // kRados only
  Durability durability = Durability::kFsync;
  bool accept_lost_writes = false;  // kRocksDb only
  uint64_t memory_budget_mb = 256;
  int max_connections = 20'000;  // fewer where the limit of open files is low
  int64_t max_inflight_mb = 512;
  int64_t slow_client_timeout_micros = 60'000'000;
  int64_t min_client_rate_kb = 16;  // a second
  int io_threads = 0;               // 0: one per processor this process may use, at most 8
  int worker_threads = 5;           // kRados: 64 unless set
  std::string account = "000000000000";
  std::string region = "us-east-1";
  std::string init_dir;
  std::vector<std::string> cors = {"local"};
  std::vector<std::string> allowed_hosts;  // beside those that base/web_origin.h allows
  std::vector<std::string> metrics_hosts;  // for /metrics only, besides
  bool require_auth = true;                // with AuthMode::kOff
  AccessSettings access;
  EncryptionSettings encryption;
  TlsSettings tls;
  ManagementSettings management;
  PresenceSettings presence;
  IsolationSettings isolation;
  ConsoleMode console = ConsoleMode::kOn;
  std::string console_title;   // this and the next: shown at the top of each page
  std::string console_colour;  // red, orange, green or blue
  bool console_production = false;
  bool delay_transient_statuses = false;
  bool strict = false;  // settings of tables that would have no effect are refused
  int64_t ttl_interval_micros = 10'000'000;
  int64_t ttl_delay_micros = 0;         // of the deletion of expired items, at most
  int64_t pitr_lag_micros = 1'000'000;  // of LatestRestorableDateTime behind the clock
  ClockKind clock = ClockKind::kSystem;
  std::optional<int64_t> clock_start_micros;  // kManual only; absent: the time of day
  std::string log_level = "info";
  uint64_t seed = 0;        // 0: from the operating system
  std::string record_file;  // empty: requests are not recorded
  request_log::KeyForm record_keys = request_log::KeyForm::kPlain;
  int64_t record_max_mb = 1024;
  ops::FaultDial::Tables faults;                      // [[faults]] of the file; has no flags
  ops::ThrottlingModes throttling;                    // of tables: [[throttling]] of the file
  ops::AutoScaler::Defaults auto_scaling;             // [[auto-scaling]] of the file
  throughput::ModelSettings model;                    // [model] of the file
  std::vector<triggers::FunctionSettings> functions;  // [[functions]] of the file
  std::vector<triggers::Mapping> triggers;            // [[triggers]] of the file
  std::string lambda_endpoint;                        // of Lambda's Invoke API; empty: none
  std::string kinesis_endpoint;                       // of Kinesis destinations; empty: none
  std::string kinesis_ca_file;                        // its authorities; empty: the system's
};

// rocksdb, memory or rados.
std::string_view EngineName(EngineKind engine);

// *in_memory: whether --in-memory was given.
void AddServeOptions(CLI::App* app, ServeSettings* s, bool* in_memory);

// Completes settings that depend on each other. `speaks_as_local`: one of DynamoDB Local's flags
// was given. Returns a sentence if the settings contradict each other, else nullopt.
std::optional<std::string> SettleServe(const CLI::App& serve, bool in_memory, bool speaks_as_local,
                                       ServeSettings* s);

}  // namespace stator::server
