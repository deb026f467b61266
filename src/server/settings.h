// The settings of `stator serve`: one table, read from the command line, the environment (STATOR_*)
// and stator.toml, in this order of precedence. DynamoDB Local's own flags are accepted too.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "advise/command.h"
#include "base/result.h"
#include "ops/admission.h"
#include "ops/auto_scaler.h"
#include "ops/fault_dial.h"
#include "request_log/record.h"
#include "server/cluster_command.h"
#include "server/copy_command.h"
#include "simulate/command.h"
#include "throughput/model_settings.h"

namespace stator::server {

enum class Durability { kFsync, kOs };
enum class ClockKind { kSystem, kManual };
enum class EngineKind { kRocksDb, kMemory, kRados };

struct ServeSettings {
  uint16_t port = 8000;
  std::vector<std::string> hosts;  // empty: both loopbacks
  EngineKind engine = EngineKind::kRocksDb;
  std::string data_dir = "./stator-data";  // kRocksDb only
  std::string ceph_conf;                   // this and the next five: kRados only
  std::string pool;
  std::string ceph_user = "admin";
  std::string ceph_namespace;
  uint64_t ceph_split_bytes =
      48 << 20;  // a part of a tablet that has grown to one of these is split in two
  uint64_t ceph_split_keys = 50'000;
  Durability durability = Durability::kFsync;
  uint64_t memory_budget_mb = 256;
  int io_threads = 0;      // 0: one per processor this process may use, at most 8
  int worker_threads = 4;  // kRados: 64 unless set
  std::string account = "000000000000";
  std::string region = "us-east-1";
  std::string init_dir;
  std::vector<std::string> cors = {"*"};
  bool require_auth = true;
  bool delay_transient_statuses = false;
  int64_t ttl_interval_micros = 10'000'000;
  ClockKind clock = ClockKind::kSystem;
  std::optional<int64_t> clock_start_micros;  // kManual only; absent: the time of day
  std::string log_level = "info";
  uint64_t seed = 0;        // 0: from the operating system
  std::string record_file;  // empty: requests are not recorded
  request_log::KeyForm record_keys = request_log::KeyForm::kPlain;
  int64_t record_max_mb = 1024;
  ops::FaultDial::Tables faults;           // [[faults]] of the file; has no flags
  ops::ThrottlingModes throttling;         // of tables: [[throttling]] of the file
  ops::AutoScaler::Defaults auto_scaling;  // [[auto-scaling]] of the file
  throughput::ModelSettings model;         // [model] of the file
};

struct CommandLine {
  enum class Action { kServe, kSimulate, kAdvise, kCopy, kCluster, kExit } action = Action::kExit;
  int exit_code = 0;
  ServeSettings serve;
  simulate::Command simulate;
  advise::Command advise;
  CopyCommand copy;
  ClusterCommand cluster;
};

// rocksdb, memory or rados.
std::string_view EngineName(EngineKind engine);

// Parses the command line. Help, version and usage errors are printed here and ask for an exit.
CommandLine ParseCommandLine(int argc, const char* const* argv);

// The arguments with DynamoDB Local's single-dash flags in our spelling, and with `serve` in front
// if no command is named.
std::vector<std::string> TranslateLocalFlags(std::vector<std::string> arguments);

}  // namespace stator::server
