#include "server/serve.h"

#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <iterator>
#include <thread>

#include "base/log.h"
#include "base/mutex.h"
#include "base/mutex_wait.h"
#include "base/out_of_memory.h"
#include "base/time_text.h"
#include "base/web_origin.h"
#include "http/server.h"
#include "http/tls_keeper.h"
#include "server/descriptors.h"
#include "server/instance.h"
#include "server/open_engine.h"
#include "server/supervisor.h"

namespace stator::server {
namespace {

// A stop waits at most this time for requests that have begun.
constexpr int64_t kDrainMicros = 10'000'000;
// Then their clients are disconnected, and work for them gets this time to end.
constexpr auto kCloseTime = std::chrono::seconds(10);
// A limit of open files that leaves fewer connections is worth a warning.
constexpr int kFewConnections = 4096;
// How often the files of TLS are looked at.
constexpr timespec kTlsFilesPeriod{5, 0};

// Ends the process if it lives for longer than kCloseTime. Clients that have left may leave
// conditions that compute for minutes on one item after another; acknowledged writes are as durable
// as after a kill.
class CloseDeadline {
 public:
  CloseDeadline() : thread_([this] { Run(); }) {}
  ~CloseDeadline() {
    {
      const MutexLock lock(mutex_);
      closed_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }
  CloseDeadline(const CloseDeadline&) = delete;
  CloseDeadline& operator=(const CloseDeadline&) = delete;

 private:
  void Run() {
    UniqueMutexLock lock(mutex_);
    if (wake_.wait_for(lock, kCloseTime, [this]() REQUIRES(mutex_) { return closed_; })) return;
    LogWarn("stop_cut_short",
            {{"waited_seconds", kCloseTime.count()},
             {"reason", "requests of disconnected clients still compute, and are dropped"}});
    ::_exit(0);
  }

  Mutex mutex_;
  std::condition_variable_any wake_;
  bool closed_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

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

std::string_view DurabilityOf(const ServeSettings& settings) {
  if (settings.engine == EngineKind::kMemory) return "none";
  if (settings.engine == EngineKind::kRados) return "replicated";
  return settings.durability == Durability::kFsync ? "fsync" : "os";
}

std::string_view AuthText(AuthMode mode) {
  switch (mode) {
    case AuthMode::kOff: return "off";
    case AuthMode::kWarn: return "warn";
    case AuthMode::kEnforce: return "enforce";
  }
  return "off";
}

int Fail(std::string_view event, const Error& error) {
  LogError(event, {{"error", error.message()}});
  return 1;
}

// Files of a store on this machine.
int64_t CountFiles(const ServeSettings& settings) {
  if (settings.engine != EngineKind::kRocksDb) return 0;
  std::error_code error;
  const std::filesystem::directory_iterator files(settings.data_dir, error);
  return error ? 0 : std::distance(begin(files), end(files));
}

// Returns when the process is to end. Until then keeps the certificate up to date, and lets the
// audit log open its file again at SIGHUP. Both may be null.
void WaitForEnd(const sigset_t& signals, http::TlsKeeper* tls, audit::Trail* audit) {
  int signal = -1;
  while (signal < 0 || signal == SIGHUP) {
    signal = sigtimedwait(&signals, nullptr, tls == nullptr ? nullptr : &kTlsFilesPeriod);
    if (signal >= 0 && signal != SIGHUP) break;
    if (signal == SIGHUP && audit != nullptr) audit->Reopen();
    if (tls != nullptr) tls->Reload(/*always=*/signal == SIGHUP);
  }
  LogInfo("stopping", {{"signal", signal}});
}

// Waits for --drain-time, or until a second signal asks for the end.
void AwaitDrain(const sigset_t& signals, int64_t micros) {
  LogInfo("draining", {{"by", "signal"}, {"seconds", static_cast<double>(micros) / 1e6}});
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(micros);
  int signal = SIGHUP;
  while (signal == SIGHUP || (signal < 0 && errno == EINTR)) {
    const auto left = end - std::chrono::steady_clock::now();
    if (left <= left.zero()) return;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
    const timespec time{seconds.count(), std::chrono::nanoseconds(left - seconds).count()};
    signal = sigtimedwait(&signals, nullptr, &time);
  }
}

// The port that speaks TLS; 0: none.
int TlsPort(const ServeSettings& settings, const http::Server& server) {
  if (!settings.tls.on()) return 0;
  return server.port(settings.tls.port ? 1 : 0);
}

std::string ManagementText(const ManagementSettings& settings, const http::Server& server,
                           int listener) {
  if (!settings.on) return "off";
  return listener < 0 ? "on" : std::to_string(server.port(static_cast<size_t>(listener)));
}

// Where a browser of this machine finds the console.
std::string ConsoleText(const ServeSettings& settings, const http::Server& server, int listener) {
  if (settings.console == ConsoleMode::kOff || !settings.management.on) return "off";
  const bool own = listener >= 0;
  const bool secure = !own && settings.tls.on() && !settings.tls.port;
  const std::vector<std::string>& hosts = own ? settings.management.hosts : settings.hosts;
  const bool here = hosts.empty() || std::any_of(hosts.begin(), hosts.end(), [](const auto& host) {
                      return IsLoopback(host) || host == "0.0.0.0" || host == "::";
                    });
  return fmt::format("http{}://{}:{}/console/", secure ? "s" : "", here ? "localhost" : hosts[0],
                     own ? server.port(static_cast<size_t>(listener)) : server.port());
}

}  // namespace

int Serve(const ServeSettings& settings) {
  SetLogLevel(LevelOf(settings.log_level));
  HandleOutOfMemory();
  // Before any thread exists, so that the signals come to this one only.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  if (settings.tls.on() || !settings.access.audit_file.empty()) sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  const SystemClock machine_clock;  // for what has nothing to do with data

  const DescriptorPlan descriptors =
      DivideDescriptors(RaiseDescriptorLimit(), CountFiles(settings), settings.max_connections);
  http::ServerOptions http_options;
  http_options.max_connections = descriptors.connections;
  http_options.always_served_prefix = "/health/";
  http_options.max_inflight_bytes = static_cast<size_t>(settings.max_inflight_mb) << 20;
  http_options.body_timeout_micros = settings.slow_client_timeout_micros;
  http_options.write_timeout_micros = settings.slow_client_timeout_micros;
  http_options.min_client_bytes_per_second = settings.min_client_rate_kb << 10;
  if (!settings.hosts.empty()) http_options.hosts = settings.hosts;
  const AccessSettings& access = settings.access;
  const ManagementSettings& management = settings.management;
  http::ListenerOptions management_listener;
  if (!management.hosts.empty()) management_listener.hosts = management.hosts;
  std::vector<std::string> all_hosts = http_options.hosts;
  if (management.port) {
    all_hosts.insert(all_hosts.end(), management_listener.hosts.begin(),
                     management_listener.hosts.end());
  }
  for (const std::string& host : all_hosts) {
    if (IsLoopback(host) || access.mode != AuthMode::kOff || access.off_is_said) continue;
    return Fail(
        "access_control_not_chosen",
        ValidationError("listening on " + host +
                        " lets other machines in: choose --auth=enforce (docs/security.md), "
                        "or say --auth=off to let everyone who reaches the port read and "
                        "write everything"));
  }
  http_options.port = settings.port;
  const TlsSettings& tls = settings.tls;
  if (tls.on()) {
    Result<std::unique_ptr<http::TlsKeeper>> keeper = http::TlsKeeper::Open(tls.paths);
    if (!keeper.ok()) return Fail("tls_certificate_not_loaded", keeper.error());
    http_options.tls = *std::move(keeper);
    http_options.max_handshakes = tls.max_handshakes;
    http_options.handshake_timeout_micros = tls.handshake_timeout_micros;
    http_options.secure = !tls.port;
    if (tls.port) http_options.more.push_back({http_options.hosts, *tls.port, true});
  }
  int management_index = -1;
  if (management.port) {
    management_listener.port = *management.port;
    http_options.more.push_back(management_listener);
    management_index = static_cast<int>(http_options.more.size());
  }
  http_options.threads =
      settings.io_threads > 0 ? settings.io_threads : std::min(8, ProcessorCount());
  Result<std::unique_ptr<http::Server>> server =
      http::Server::Listen(http_options, http::Refusals(), machine_clock);
  if (!server.ok()) return Fail("cannot_listen", server.error());
  for (const std::string& host : all_hosts) {
    if (!IsLoopback(host) && access.mode != AuthMode::kEnforce) {
      LogWarn("open_to_the_network", {{"host", host},
                                      {"hint",
                                       "access is not enforced: anyone who reaches this port "
                                       "can read and write everything"}});
    }
  }

  if (OriginRules(settings.cors).any()) {
    LogWarn("any_web_page_may_call",
            {{"cors", "*"},
             {"hint",
              "every page that a browser on this machine opens can read and delete all tables; "
              "--cors=local allows pages on loopback only"}});
  }
  if (descriptors.connections < std::min(settings.max_connections, kFewConnections)) {
    LogWarn("fewer_connections_than_set",
            {{"set", settings.max_connections},
             {"served", descriptors.connections},
             {"open_files_limit", descriptors.limit},
             {"hint", "raise the limit of open files (ulimit -n, LimitNOFILE)"}});
  }

  const Result<std::shared_ptr<const crypt::FileKeys>> keys = OpenFileKeys(settings.encryption);
  if (!keys.ok()) return Fail("cannot_open_store", keys.error());
  if (*keys != nullptr) LogInfo("encryption", {{"key", (*keys)->key_id()}});
  Result<std::unique_ptr<kv::Engine>> engine = OpenEngine(settings, *keys);
  if (!engine.ok()) return Fail("cannot_open_store", engine.error());
  Instance::Options options;
  options.keys = *keys;
  options.port = (*server)->port();
  options.management_listener = management_index;
  options.sockets = [&server] { return (*server)->state(); };
  Result<std::unique_ptr<Instance>> opened =
      Instance::Open(settings, *std::move(engine), std::move(options));
  if (!opened.ok()) return Fail("cannot_serve", opened.error());
  Instance& instance = **opened;
  if (const Status started = instance.Start(); !started.ok())
    return Fail("cannot_serve", started.error());
  std::vector<Executor*> loops;
  (*server)->Start([&instance, &loops](Executor& loop) {
    loops.push_back(&loop);
    return instance.HandlerOf(loop);
  });
  Supervisor supervisor = Supervisor::FromEnvironment();
  if (const auto timeout = WatchdogTimeout()) supervisor.Watch(*timeout, std::move(loops));
  LogInfo("serving", {{"port", (*server)->port()},
                      {"engine", EngineName(settings.engine)},
                      {"store", PlaceOf(settings)},
                      {"durability", DurabilityOf(settings)},
                      {"clock", instance.has_manual_clock()
                                    ? "manual, " + FormatTime(instance.clock().NowMicros())
                                    : "system"},
                      {"throttling", throughput::ThrottlingText(settings.throttling.all)},
                      {"auth", AuthText(access.mode)},
                      {"tls_port", TlsPort(settings, **server)},
                      {"management", ManagementText(management, **server, management_index)},
                      {"console", ConsoleText(settings, **server, management_index)},
                      {"io_threads", http_options.threads},
                      {"max_connections", descriptors.connections},
                      {"max_inflight_mb", settings.max_inflight_mb},
                      {"open_files_limit", descriptors.limit},
                      {"open_files_for_engine", descriptors.engine},
                      {"version", STATOR_VERSION}});
  supervisor.Tell("READY=1");

  WaitForEnd(signals, http_options.tls.get(), instance.audit());
  supervisor.Tell("STOPPING=1");
  supervisor.StopWatching();
  if (settings.presence.drain_micros > 0) {
    instance.BeginDrain();
    (*server)->CloseAfterReplies();
    AwaitDrain(signals, settings.presence.drain_micros);
  }
  instance.StopBackground();
  (*server)->Drain(kDrainMicros);
  {
    const CloseDeadline deadline;
    instance.Close();
    server->reset();  // with what was left on its loops, which needs the instance
  }
  LogInfo("stopped");
  return 0;
}

}  // namespace stator::server
