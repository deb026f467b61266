#include "server/settings.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time_text.h"
#include "base/web_origin.h"
#include "egress/url.h"
#include "server/option_checks.h"
#include "server/store_backup_control.h"

namespace stator::server {
namespace {

constexpr size_t kLongestTitle = 60;
constexpr int64_t kShortestTtlInterval = 100'000;
constexpr int64_t kShortestSlowClientTimeout = 100'000;
// The service deletes within 48 hours. [G]
constexpr int64_t kLongestTtlDelay = 48 * 3600 * int64_t{1'000'000};
constexpr int64_t kShortestPitrLag = 1'000;
constexpr int64_t kLongestPitrLag = 3600 * int64_t{1'000'000};
// Each request on a cluster waits on a thread for it.
constexpr int kNetworkThreads = 64;
// Half of what a part may have at all, and what recovers without stalling its writers
// (docs/cluster.md).
constexpr uint64_t kMostSplitBytes = 64 << 20, kMostSplitKeys = 100'000;
constexpr int64_t kMostStalenessMicros = 10'000'000;

// One of some words, each of which stands for a value.
template <typename Value>
CLI::Validator OneOf(std::vector<std::pair<std::string, Value>> words) {
  std::string list;
  for (const auto& [word, value] : words) list += (list.empty() ? "" : "|") + word;
  return CLI::Validator(
      [words = std::move(words), list](std::string& text) {
        for (const auto& [word, value] : words) {
          if (text != word) continue;
          text = std::to_string(static_cast<int>(value));
          return std::string();
        }
        return fmt::format("{} is not one of {}", text, list);
      },
      list);
}

// Says why the text is no entry of --cors; empty if it is one.
std::string WhyNoOrigin(const std::string& text) {
  for (const char* word : {"local", "*", "none", "null"})
    if (text == word) return "";
  const size_t scheme = text.find("://");
  const bool whole = scheme != std::string::npos && scheme > 0 && scheme + 3 < text.size() &&
                     text.find('/', scheme + 3) == std::string::npos;
  if (whole) return "";
  return fmt::format("\"{}\" is not an origin like http://app.example:3000, local, * or none",
                     text);
}

CLI::Validator DurationOfAtLeast(int64_t least_micros) {
  return CLI::Validator(
      [least_micros](const std::string& text) {
        const std::optional<int64_t> micros = ParseDuration(text);
        return micros && *micros >= least_micros
                   ? std::string()
                   : fmt::format("not a duration of at least {}ms: {}", least_micros / 1000, text);
      },
      "DURATION");
}

CLI::Validator CalledUrl() {
  return CLI::Validator(
      [](const std::string& text) {
        const Result<egress::Url> url = egress::ParseUrl(text);
        return url.ok() ? std::string() : url.error().message();
      },
      "URL");
}

// The engine that the options ask for together; `serve` knows which of them were given. Else what
// is wrong with them.
std::optional<std::string> SettleEngine(const CLI::App& serve, bool in_memory, ServeSettings* s) {
  const auto given = [&serve](const char* option) { return serve.count(option) > 0; };
  if (in_memory) {
    if (given("--engine") && s->engine != EngineKind::kMemory)
      return fmt::format("--in-memory contradicts --engine={}", EngineName(s->engine));
    s->engine = EngineKind::kMemory;
  }
  if (s->engine == EngineKind::kRados) {
    for (const char* option :
         {"--data-dir", "--backup-dir", "--object-store", "--object-store-buckets", "--s3-ca-file",
          "--durability", "--memory-budget-mb", "--accept-lost-writes"}) {
      if (given(option)) return fmt::format("{} is not for --engine=rados", option);
    }
    if (!s->store_backup.place.empty())
      return "--store-backup is not for --engine=rados: " + WhyNoStoreBackups(s->engine);
    for (const char* option : {"--ceph-conf", "--pool"}) {
      if (!given(option)) return fmt::format("--engine=rados needs {}", option);
    }
    if (s->encryption.on())
      return "--encryption-key-file and --encryption-key-command are not for --engine=rados: Ceph "
             "encrypts its disks (ceph-volume --dmcrypt) and its wire (ms_client_mode = secure)";
    if (!given("--worker-threads")) s->worker_threads = kNetworkThreads;
    return std::nullopt;
  }
  if (s->engine == EngineKind::kMemory && !s->store_backup.place.empty())
    return "--store-backup is not for --in-memory: " + WhyNoStoreBackups(s->engine);
  if (std::optional<std::string> wrong = CheckStoreBackup(serve, s->store_backup, s->data_dir))
    return wrong;
  if (s->engine == EngineKind::kMemory && s->encryption.on())
    return "--encryption-key-file and --encryption-key-command are for --engine=rocksdb, not "
           "memory";
  if (std::optional<std::string> wrong = CheckEncryption(s->encryption)) return wrong;
  if (std::optional<std::string> wrong =
          CheckObjectStore(s->object_store, {s->backup_dir, s->store_backup.place}))
    return wrong;
  for (const char* option : {"--ceph-conf", "--pool", "--ceph-user", "--ceph-namespace",
                             "--ceph-split-bytes", "--ceph-split-keys", "--eventual-staleness"}) {
    if (given(option))
      return fmt::format("{} is for --engine=rados, not {}", option, EngineName(s->engine));
  }
  return std::nullopt;
}

// Completes the settings of access control from what was given. Returns what is wrong, if anything.
std::optional<std::string> SettleAccess(const CLI::App& serve, bool speaks_as_local,
                                        AccessSettings* access) {
  if (access->off_is_said && access->mode != AuthMode::kOff)
    return "--insecure contradicts --auth=warn and --auth=enforce";
  if (access->mode == AuthMode::kOff) {
    for (const char* option : {"--master-key-file", "--master-key-command", "--audit-log"}) {
      if (serve.count(option) > 0)
        return fmt::format("{} needs --auth=warn or --auth=enforce", option);
    }
  }
  if (std::optional<std::string> wrong = CheckMasterKey(*access)) return wrong;
  access->off_is_said = access->off_is_said || speaks_as_local || serve.count("--auth") > 0;
  access->root_key_file_given = serve.count("--root-key-file") > 0;
  Result<std::optional<identity::KeyPair>> root = RootKeyOfEnvironment();
  if (!root.ok()) return root.error().message();
  access->root = *std::move(root);
  return std::nullopt;
}

}  // namespace

std::string_view EngineName(EngineKind engine) {
  switch (engine) {
    case EngineKind::kRocksDb: return "rocksdb";
    case EngineKind::kMemory: return "memory";
    case EngineKind::kRados: return "rados";
  }
  return "";
}

void AddServeOptions(CLI::App* app, ServeSettings* s, bool* in_memory) {
  app->add_option("--port", s->port, "port to listen on; 0 takes any free one")
      ->check(WholeNumber<uint16_t>())
      ->envname("STATOR_PORT")
      ->capture_default_str();
  app->add_option(
         "--host", s->hosts,
         "address to listen on, may be repeated or comma-separated; both loopbacks if absent")
      ->delimiter(',')
      ->check(CLI::Validator(
          [](const std::string& text) { return text.empty() ? "an address is empty" : ""; }, ""))
      ->envname("STATOR_HOST");
  app->add_option("--engine", s->engine,
                  "rocksdb: a directory on this machine; memory: lost at the end; rados: a pool of "
                  "a Ceph cluster, shared "
                  "with other processes (docs/cluster.md)")
      ->transform(OneOf<EngineKind>({{"rocksdb", EngineKind::kRocksDb},
                                     {"memory", EngineKind::kMemory},
                                     {"rados", EngineKind::kRados}}))
      ->envname("STATOR_ENGINE")
      ->default_str("rocksdb");
  app->add_option("--data-dir", s->data_dir, "directory of the store")
      ->envname("STATOR_DATA_DIR")
      ->capture_default_str();
  app->add_option("--backup-dir", s->backup_dir,
                  "where the backups of tables are: a directory, or a bucket of an S3 endpoint "
                  "(https://HOST/BUCKET/PREFIX); DATA_DIR-backups if absent, memory with "
                  "--in-memory")
      ->envname("STATOR_BACKUP_DIR");
  AddObjectStoreOptions(app, &s->object_store);
  AddStoreBackupOptions(app, &s->store_backup);
  app->add_flag("--in-memory", *in_memory,
                "keep everything in memory and lose it at the end: --engine=memory")
      ->envname("STATOR_IN_MEMORY");
  app->add_option("--ceph-conf", s->ceph_conf,
                  "the cluster's ceph.conf, which names its monitors and the keyring")
      ->envname("STATOR_CEPH_CONF");
  app->add_option("--pool", s->pool, "replicated pool of the cluster")->envname("STATOR_POOL");
  app->add_option("--ceph-user", s->ceph_user, "user of the cluster, without \"client.\"")
      ->envname("STATOR_CEPH_USER")
      ->capture_default_str();
  app->add_option("--ceph-namespace", s->ceph_namespace,
                  "namespace of the pool; each holds a store of its own")
      ->envname("STATOR_CEPH_NAMESPACE");
  app->add_option("--ceph-split-bytes", s->ceph_split_bytes,
                  "a part of a tablet (a RADOS object) is split in two at this size")
      ->check(CLI::Range(uint64_t{4096}, kMostSplitBytes))
      ->envname("STATOR_CEPH_SPLIT_BYTES")
      ->capture_default_str();
  app->add_option("--ceph-split-keys", s->ceph_split_keys, "likewise, at this number of keys")
      ->check(CLI::Range(uint64_t{4}, kMostSplitKeys))
      ->envname("STATOR_CEPH_SPLIT_KEYS")
      ->capture_default_str();
  app->add_option_function<std::string>(
         "--eventual-staleness",
         [s](const std::string& text) { s->eventual_staleness_micros = *ParseDuration(text); },
         "GetItem without ConsistentRead is answered from memory where that is at most so old; 0s: "
         "never")
      ->check(CLI::Validator(
          [](const std::string& text) {
            const std::optional<int64_t> micros = ParseDuration(text);
            return micros && *micros >= 0 && *micros <= kMostStalenessMicros
                       ? std::string()
                       : "not a duration of at most 10s: " + text;
          },
          "DURATION"))
      ->envname("STATOR_EVENTUAL_STALENESS")
      ->default_str("100ms");
  app->add_option("--durability", s->durability,
                  "fsync: a write is answered after fsync; os: after write(), it survives kill -9 "
                  "but no power cut")
      ->transform(OneOf<Durability>({{"fsync", Durability::kFsync}, {"os", Durability::kOs}}))
      ->envname("STATOR_DURABILITY")
      ->default_str("fsync");
  app->add_flag("--accept-lost-writes", s->accept_lost_writes,
                "open a store whose log has lost acknowledged writes, and go on without them")
      ->envname("STATOR_ACCEPT_LOST_WRITES");
  app->add_option("--memory-budget-mb", s->memory_budget_mb,
                  "memory for block cache, indexes, filters and write buffers")
      ->check(CLI::Range(16, 1 << 20))
      ->envname("STATOR_MEMORY_BUDGET_MB")
      ->capture_default_str();
  app->add_option("--io-threads", s->io_threads,
                  "threads that serve connections; 0: one per processor, at most 8")
      ->check(CLI::Range(0, 64))
      ->envname("STATOR_IO_THREADS")
      ->capture_default_str();
  app->add_option("--max-connections", s->max_connections,
                  "client connections open at once; fewer where the limit of open files is low")
      ->check(CLI::Range(1, 1 << 20))
      ->envname("STATOR_MAX_CONNECTIONS")
      ->capture_default_str();
  app->add_option("--max-inflight-mb", s->max_inflight_mb,
                  "memory for requests and for replies that wait for their reader; beyond it 503")
      ->check(CLI::Range(32, 1 << 20))
      ->envname("STATOR_MAX_INFLIGHT_MB")
      ->capture_default_str();
  app->add_option_function<std::string>(
         "--slow-client-timeout",
         [s](const std::string& text) { s->slow_client_timeout_micros = *ParseDuration(text); },
         "a client that sends a body, or takes a reply, more slowly than --min-client-rate for "
         "this time is disconnected; for a twelfth of it while memory is short")
      ->check(DurationOfAtLeast(kShortestSlowClientTimeout))
      ->envname("STATOR_SLOW_CLIENT_TIMEOUT")
      ->default_str("60s");
  app->add_option("--min-client-rate", s->min_client_rate_kb,
                  "KB a second that a client must send of a body, or take of a reply")
      ->check(CLI::Range(0, 1 << 20))
      ->envname("STATOR_MIN_CLIENT_RATE")
      ->capture_default_str();
  app->add_option("--worker-threads", s->worker_threads,
                  "threads that wait for the disk or the cluster; 64 if absent, with rados")
      ->check(CLI::Range(1, 256))
      ->envname("STATOR_WORKER_THREADS")
      ->capture_default_str();
  app->add_option("--account", s->account, "account id in ARNs")
      ->check(Characters("0123456789", 12, 12, "an account id of 12 digits"))
      ->envname("STATOR_ACCOUNT")
      ->capture_default_str();
  app->add_option("--region", s->region, "region in ARNs")
      ->check(Characters("abcdefghijklmnopqrstuvwxyz0123456789-", 1, 63, "a region like us-east-1"))
      ->envname("STATOR_REGION")
      ->capture_default_str();
  app->add_option("--init", s->init_dir,
                  "directory of tables and items to start from (NAME.table.json, NAME.items.jsonl)")
      ->check(CLI::ExistingDirectory)
      ->envname("STATOR_INIT");
  app->add_option(
         "--cors", s->cors,
         "origins that web pages may call from, comma-separated; local: any on loopback; * is any; "
         "none switches it off")
      ->delimiter(',')
      ->check(CLI::Validator(WhyNoOrigin, ""))
      ->envname("STATOR_CORS")
      ->capture_default_str();
  app->add_option("--allowed-hosts", s->allowed_hosts,
                  "names of this server, comma-separated, beside addresses, localhost and names "
                  "without a dot: what browsers may call it; .example.com and *")
      ->delimiter(',')
      ->check(
          CLI::Validator([](const std::string& text) { return HostRules::WhyNot(text); }, "NAME"))
      ->envname("STATOR_ALLOWED_HOSTS");
  app->add_option("--metrics-host", s->metrics_hosts,
                  "likewise, for /metrics only: the name by which Prometheus calls this server")
      ->delimiter(',')
      ->check(
          CLI::Validator([](const std::string& text) { return HostRules::WhyNot(text); }, "NAME"))
      ->envname("STATOR_METRICS_HOST");
  app->add_option("--auth", s->access.mode,
                  "off: whoever reaches the port may do everything; warn: verify signatures and "
                  "policies, log and count what enforce would refuse, and serve it; enforce")
      ->transform(OneOf<AuthMode>(
          {{"off", AuthMode::kOff}, {"warn", AuthMode::kWarn}, {"enforce", AuthMode::kEnforce}}))
      ->envname("STATOR_AUTH")
      ->default_str("off");
  app->add_flag("--insecure", s->access.off_is_said,
                "listen beyond loopback although --auth is off: --auth=off says the same")
      ->envname("STATOR_INSECURE");
  app->add_option("--root-key-file", s->access.root_key_file,
                  "the root user's access key, unless the environment has it; made if missing")
      ->envname("STATOR_ROOT_KEY_FILE")
      ->capture_default_str();
  app->add_option("--master-key-file", s->access.master_key_file,
                  "seals the secrets of users that IAM's calls make; not for --auth=off")
      ->envname("STATOR_MASTER_KEY_FILE");
  app->add_option("--master-key-command", s->access.master_key_command,
                  "likewise, the key that this command prints")
      ->envname("STATOR_MASTER_KEY_COMMAND");
  app->add_option("--audit-log", s->access.audit_file,
                  "write who did what in this file, as CloudTrail does; not for --auth=off")
      ->envname("STATOR_AUDIT_LOG");
  app->add_flag("--audit-data-plane", s->access.audit_data_plane,
                "operations on items too, not only on definitions, identities and settings")
      ->envname("STATOR_AUDIT_DATA_PLANE");
  app->add_option("--audit-max-mb", s->access.audit_max_mb,
                  "at this size the audit log becomes FILE.1, FILE.1 becomes FILE.2, and so on")
      ->check(CLI::Range(1, 1 << 24))
      ->envname("STATOR_AUDIT_MAX_MB")
      ->capture_default_str();
  app->add_option("--audit-files", s->access.audit_files,
                  "files of the audit log; the oldest one goes")
      ->check(CLI::Range(1, 1000))
      ->envname("STATOR_AUDIT_FILES")
      ->capture_default_str();
  AddEncryptionOptions(app, &s->encryption);
  AddTlsOptions(app, &s->tls);
  AddManagementOptions(app, &s->management);
  AddPresenceOptions(app, &s->presence);
  AddIsolationOptions(app, &s->isolation);
  app->add_option("--require-auth", s->require_auth,
                  "with --auth=off: refuse requests that carry no AWS signature")
      ->envname("STATOR_REQUIRE_AUTH")
      ->default_str("true");
  app->add_option("--console", s->console,
                  "on: a web console at /console/; read-only: it offers no writes, as a guard "
                  "against slips; off: there is none")
      ->transform(OneOf<ConsoleMode>({{"on", ConsoleMode::kOn},
                                      {"read-only", ConsoleMode::kReadOnly},
                                      {"off", ConsoleMode::kOff}}))
      ->envname("STATOR_CONSOLE")
      ->default_str("on");
  app->add_option("--console-title", s->console_title,
                  "name of this server at the top of the console")
      ->check(CLI::Validator(
          [](const std::string& text) {
            return text.size() <= kLongestTitle
                       ? std::string()
                       : fmt::format("longer than {} bytes", kLongestTitle);
          },
          "TEXT"))
      ->envname("STATOR_CONSOLE_TITLE");
  app->add_option("--console-colour", s->console_colour, "colour of that name")
      ->check(CLI::IsMember({"red", "orange", "green", "blue"}))
      ->envname("STATOR_CONSOLE_COLOUR");
  app->add_flag("--console-production", s->console_production,
                "let the console ask for the typed name before it deletes or purges anything")
      ->envname("STATOR_CONSOLE_PRODUCTION");
  app->add_flag("--delay-transient-statuses", s->delay_transient_statuses,
                "let tables stay CREATING, UPDATING and DELETING for a few seconds")
      ->envname("STATOR_DELAY_TRANSIENT_STATUSES");
  app->add_flag("--strict", s->strict,
                "refuse settings of tables that have no effect here, such as SSESpecification")
      ->envname("STATOR_STRICT");
  app->add_option_function<std::string>(
         "--ttl-interval",
         [s](const std::string& text) { s->ttl_interval_micros = *ParseDuration(text); },
         "how often expired items are looked for: seconds, or like 500ms, 1m")
      ->check(DurationOfAtLeast(kShortestTtlInterval))
      ->envname("STATOR_TTL_INTERVAL")
      ->default_str("10s");
  app->add_option_function<std::string>(
         "--ttl-delay",
         [s](const std::string& text) { s->ttl_delay_micros = *ParseDuration(text); },
         "expired items are deleted up to that much later, each at a time of its own from --seed, "
         "as "
         "in the cloud, so that readers meet them: seconds, or like 1h; 48h at most")
      ->check(CLI::Validator(
          [](const std::string& text) {
            const std::optional<int64_t> micros = ParseDuration(text);
            return micros && *micros >= 0 && *micros <= kLongestTtlDelay
                       ? std::string()
                       : "not a duration of at most 48h: " + text;
          },
          "DURATION"))
      ->envname("STATOR_TTL_DELAY")
      ->default_str("0s");
  app->add_option_function<std::string>(
         "--pitr-lag", [s](const std::string& text) { s->pitr_lag_micros = *ParseDuration(text); },
         "how far LatestRestorableDateTime of point-in-time recovery is behind the clock; 300s in "
         "the cloud: seconds, or like 500ms, 5m; 1ms to 1h")
      ->check(CLI::Validator(
          [](const std::string& text) {
            const std::optional<int64_t> micros = ParseDuration(text);
            return micros && *micros >= kShortestPitrLag && *micros <= kLongestPitrLag
                       ? std::string()
                       : "not a duration of 1ms to 1h: " + text;
          },
          "DURATION"))
      ->envname("STATOR_PITR_LAG")
      ->default_str("1s");
  app->add_option("--clock", s->clock,
                  "system, or manual: the product's time stands still until POST /_stator/clock "
                  "moves it forward")
      ->transform(
          OneOf<ClockKind>({{"system", ClockKind::kSystem}, {"manual", ClockKind::kManual}}))
      ->envname("STATOR_CLOCK")
      ->default_str("system");
  app->add_option_function<std::string>(
         "--clock-start", [s](const std::string& text) { s->clock_start_micros = ParseTime(text); },
         "the start of a manual clock: ISO 8601 or seconds since the epoch; the time of day if "
         "absent")
      ->check(CLI::Validator(
          [](const std::string& text) {
            return ParseTime(text) ? std::string()
                                   : "not a time like 2026-11-21T12:00:00Z or 1795262400: " + text;
          },
          "TIME"))
      ->envname("STATOR_CLOCK_START");
  app->add_option("--record", s->record_file, "record requests in this file, for `stator advise`")
      ->envname("STATOR_RECORD");
  app->add_option("--record-keys", s->record_keys,
                  "plain, or hashed: keys are hidden and equal ones stay equal")
      ->transform(OneOf<request_log::KeyForm>(
          {{"plain", request_log::KeyForm::kPlain}, {"hashed", request_log::KeyForm::kHashed}}))
      ->envname("STATOR_RECORD_KEYS")
      ->default_str("plain");
  app->add_option("--record-max-mb", s->record_max_mb,
                  "the recording ends when its file is this large")
      ->check(CLI::Range(1, 1 << 24))
      ->envname("STATOR_RECORD_MAX_MB")
      ->capture_default_str();
  app->add_option(
         "--throttling", s->throttling.all,
         "requests beyond the throughput of their table: enforce refuses them, observe lets "
         "them pass and counts them, off measures nothing")
      ->transform(OneOf<throughput::Throttling>({{"off", throughput::Throttling::kOff},
                                                 {"observe", throughput::Throttling::kObserve},
                                                 {"enforce", throughput::Throttling::kEnforce}}))
      ->envname("STATOR_THROTTLING")
      ->default_str("observe");
  app->add_option("--log-level", s->log_level, "debug, info, warn, error or off")
      ->check(CLI::IsMember({"debug", "info", "warn", "error", "off"}))
      ->envname("STATOR_LOG_LEVEL")
      ->capture_default_str();
  app->add_option(
         "--lambda-endpoint", s->lambda_endpoint,
         "URL of a Lambda-compatible runtime, for mappings whose function stator.toml does "
         "not declare (docs/triggers.md)")
      ->check(CalledUrl())
      ->envname("STATOR_LAMBDA_ENDPOINT");
  app->add_option("--kinesis-endpoint", s->kinesis_endpoint,
                  "URL of a server with the API of Kinesis, to which tables with a Kinesis "
                  "destination send their changes (docs/kinesis.md)")
      ->check(CalledUrl())
      ->envname("STATOR_KINESIS_ENDPOINT");
  app->add_option("--kinesis-ca-file", s->kinesis_ca_file,
                  "authorities that may sign the certificate of --kinesis-endpoint, in place of "
                  "the system's")
      ->envname("STATOR_KINESIS_CA_FILE");
  app->add_option("--seed", s->seed, "seed of the random source; 0: from the operating system")
      ->check(WholeNumber<uint64_t>())
      ->envname("STATOR_SEED")
      ->capture_default_str();
}

std::optional<std::string> SettleServe(const CLI::App& serve, bool in_memory, bool speaks_as_local,
                                       ServeSettings* s) {
  if (s->clock_start_micros && s->clock != ClockKind::kManual)
    return "--clock-start is for --clock=manual";
  if (!s->kinesis_ca_file.empty() && !s->kinesis_endpoint.starts_with("https://"))
    return "--kinesis-ca-file is for a --kinesis-endpoint of https";
  if (std::optional<std::string> wrong = SettleAccess(serve, speaks_as_local, &s->access))
    return wrong;
  if (std::optional<std::string> wrong = CheckTls(serve, s->tls, s->port)) return wrong;
  if (std::optional<std::string> wrong =
          CheckManagement(serve, s->management, s->port, s->tls.port))
    return wrong;
  if (std::optional<std::string> wrong = SettleEngine(serve, in_memory, s)) return wrong;
  if (std::optional<std::string> wrong = SettleIsolation(serve, s)) return wrong;
  if (s->cors == std::vector<std::string>{"none"}) s->cors.clear();
  return std::nullopt;
}

}  // namespace stator::server
