#include "server/serve.h"

#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>

#include "api/service.h"
#include "base/log.h"
#include "base/random.h"
#include "base/time_text.h"
#include "http/server.h"
#include "kv/memory_engine.h"
#include "kv_rados/rados_engine.h"
#include "kv_rocks/rocks_engine.h"
#include "kv_tx/transaction_engine.h"
#include "server/chores.h"
#include "server/clock_control.h"
#include "server/front_door.h"
#include "server/heat_histories.h"
#include "server/management.h"
#include "server/metrics.h"
#include "server/product_chores.h"
#include "server/recorder.h"
#include "server/seed_data.h"
#include "table/index_builder.h"
#include "table/key_encoding.h"
#include "table/store.h"

namespace stator::server {
namespace {

constexpr int64_t kDrainMicros = 10'000'000;
constexpr size_t kMaxQueuedReads = 4096;

int ProcessorCount() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

LogLevel LevelOf(const std::string& name) {
  if (name == "debug") return LogLevel::kDebug;
  if (name == "warn") return LogLevel::kWarn;
  if (name == "error") return LogLevel::kError;
  if (name == "off") return LogLevel::kOff;
  return LogLevel::kInfo;
}

bool IsLoopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

Result<std::unique_ptr<kv::Engine>> OpenEngine(const ServeSettings& settings) {
  if (settings.engine == EngineKind::kMemory) return std::unique_ptr<kv::Engine>(std::make_unique<kv::MemoryEngine>());
  if (settings.engine == EngineKind::kRados) {
    kv_rados::RadosOptions options;
    options.ceph_conf = settings.ceph_conf;
    options.pool = settings.pool;
    options.user = settings.ceph_user;
    options.name_space = settings.ceph_namespace;
    ASSIGN_OR_RETURN(std::unique_ptr<kv::Engine> rados, kv_rados::OpenRados(options));
    return std::unique_ptr<kv::Engine>(std::make_unique<kv_tx::TransactionEngine>(std::move(rados)));
  }
  kv_rocks::RocksOptions options;
  options.path = settings.data_dir;
  options.memory_budget_bytes = settings.memory_budget_mb << 20;
  options.sync = settings.durability == Durability::kFsync;
  options.items_prefix_bytes = table::kPartitionPrefixBytes;
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(settings.data_dir).lexically_normal(), error);
  if (error) return Error(ErrorCode::kUnavailable, "cannot create the data directory " + settings.data_dir + ": " + error.message());
  return kv_rocks::OpenRocks(options);
}

// Where the data is, for people.
std::string PlaceOf(const ServeSettings& settings) {
  if (settings.engine == EngineKind::kMemory) return "-";
  if (settings.engine == EngineKind::kRocksDb) return settings.data_dir;
  return settings.ceph_namespace.empty() ? "pool " + settings.pool
                                         : "pool " + settings.pool + ", namespace " + settings.ceph_namespace;
}

std::string_view DurabilityOf(const ServeSettings& settings) {
  if (settings.engine == EngineKind::kMemory) return "none";
  if (settings.engine == EngineKind::kRados) return "replicated";
  return settings.durability == Durability::kFsync ? "fsync" : "os";
}

int Fail(std::string_view event, const Error& error) {
  LogError(event, {{"error", error.message()}});
  return 1;
}

void WaitForSignal(const sigset_t& signals) {
  int signal = 0;
  while (sigwait(&signals, &signal) != 0) {
  }
  LogInfo("stopping", {{"signal", signal}});
}

// The product's clock: the system's, or one that its user moves.
struct ClockChoice {
  std::unique_ptr<Clock> clock;
  ManualClock* manual = nullptr;
};

ClockChoice MakeClock(const ServeSettings& settings) {
  if (settings.clock == ClockKind::kSystem) return {std::make_unique<SystemClock>()};
  auto driven = std::make_unique<DrivenClock>(
      settings.clock_start_micros.value_or(SystemClock().NowMicros()));
  ManualClock* manual = driven.get();
  return {std::move(driven), manual};
}

}  // namespace

int Serve(const ServeSettings& settings) {
  SetLogLevel(LevelOf(settings.log_level));
  // Before any thread exists, so that the signals come to this one only.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  const SystemClock machine_clock;  // for what has nothing to do with data
  const ClockChoice chosen_clock = MakeClock(settings);
  const Clock& clock = *chosen_clock.clock;
  SeededRandom random(settings.seed != 0 ? settings.seed : SystemSeed());

  http::ServerOptions http_options;
  if (!settings.hosts.empty()) http_options.hosts = settings.hosts;
  http_options.port = settings.port;
  http_options.threads = settings.io_threads > 0 ? settings.io_threads : std::min(8, ProcessorCount());
  Result<std::unique_ptr<http::Server>> server =
      http::Server::Listen(http_options, http::Refusals(), machine_clock);
  if (!server.ok()) return Fail("cannot_listen", server.error());
  for (const std::string& host : http_options.hosts) {
    if (!IsLoopback(host)) {
      LogWarn("open_to_the_network", {{"host", host}, {"hint", "signatures are not verified: anyone who reaches this port can read and write everything"}});
    }
  }

  Result<std::unique_ptr<kv::Engine>> engine = OpenEngine(settings);
  if (!engine.ok()) return Fail("cannot_open_store", engine.error());
  WorkerPool workers(settings.worker_threads, kMaxQueuedReads);
  Result<std::unique_ptr<table::Store>> store = table::Store::Open(**engine, clock, workers);
  if (!store.ok()) return Fail("cannot_read_catalog", store.error());

  ops::Settings shown;
  shown.account = settings.account;
  shown.region = settings.region;
  shown.endpoint = "localhost:" + std::to_string((*server)->port());
  shown.throughput = settings.model;
  shown.delay_transient_statuses = settings.delay_transient_statuses;
  ops::Environment environment{**store, clock, random, workers, shown};

  environment.admission.Start(settings.throttling, shown.throughput);
  environment.auto_scaler.SetDefaults(settings.auto_scaling);
  ops::SetAllFaults(environment, settings.faults);

  if (!settings.init_dir.empty()) {
    const Result<Seeded> seeded = LoadSeedData(environment, settings.init_dir);
    if (!seeded.ok()) return Fail("cannot_load_init", seeded.error());
    LogInfo("init_loaded", {{"tables", seeded->tables}, {"items", seeded->items}});
  }

  std::unique_ptr<Recorder> recorder;
  if (!settings.record_file.empty()) {
    RecorderOptions options;
    options.path = settings.record_file;
    options.keys = settings.record_keys;
    options.most_bytes = settings.record_max_mb << 20;
    options.new_secret = {SystemSeed(), SystemSeed()};
    Result<std::unique_ptr<Recorder>> opened = Recorder::Open(std::move(options), **store, clock);
    if (!opened.ok()) return Fail("cannot_record", opened.error());
    recorder = std::move(*opened);
    LogInfo("recording", {{"file", settings.record_file}});
  }

  HeatHistories heat(environment, chosen_clock.manual != nullptr);
  Metrics metrics([&store](std::string_view name) { return (*store)->Find(name) != nullptr; });
  api::Registry registry;
  api::RegisterAll(&registry);
  api::ServiceOptions service_options;
  service_options.allowed_origins = settings.cors;
  api::Service service(environment, std::move(registry), std::make_unique<api::ShapeAuthenticator>(settings.require_auth),
                       service_options, &metrics, recorder.get());
  Chores chores(clock);
  AddProductChores(environment, metrics, heat, settings.ttl_interval_micros, &chores);
  ClockControl clock_control(clock, chosen_clock.manual, chores);
  Management management(
      environment, metrics, clock_control, heat, [&server] { return (*server)->connections(); },
      {std::string(EngineName(settings.engine)), settings.init_dir, clock.TicksMicros()});
  FrontDoor front_door(service, management, (*engine)->capabilities().blocking);
  chores.Start();
  (*server)->Start([&](Executor& loop) { return front_door.HandlerOf(loop); });
  LogInfo("serving",
          {{"port", (*server)->port()},
           {"engine", EngineName(settings.engine)},
           {"store", PlaceOf(settings)},
           {"durability", DurabilityOf(settings)},
           {"clock",
            chosen_clock.manual == nullptr ? "system" : "manual, " + FormatTime(clock.NowMicros())},
           {"throttling", throughput::ThrottlingText(settings.throttling.all)},
           {"io_threads", http_options.threads},
           {"version", STATOR_VERSION}});

  WaitForSignal(signals);
  // First, so that no move of the clock is waited for.
  chores.Stop();
  (*server)->Drain(kDrainMicros);
  front_door.Stop();
  management.Stop();
  // What was used since the last look at the meters.
  environment.admission.Advance();
  heat.Keep();
  workers.Stop();
  if (recorder != nullptr) recorder->Stop();
  // The engine finishes what is queued while everything its callbacks touch is still there.
  table::IndexBuilder::StopOf(**store);
  engine->reset();
  LogInfo("stopped");
  return 0;
}

}  // namespace stator::server
