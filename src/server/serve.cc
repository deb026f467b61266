#include "server/serve.h"

#include <sched.h>
#include <signal.h>

#include <algorithm>

#include "base/log.h"
#include "base/time_text.h"
#include "http/server.h"
#include "server/instance.h"
#include "server/open_engine.h"

namespace stator::server {
namespace {

constexpr int64_t kDrainMicros = 10'000'000;

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

  http::ServerOptions http_options;
  if (!settings.hosts.empty()) http_options.hosts = settings.hosts;
  http_options.port = settings.port;
  http_options.threads =
      settings.io_threads > 0 ? settings.io_threads : std::min(8, ProcessorCount());
  Result<std::unique_ptr<http::Server>> server =
      http::Server::Listen(http_options, http::Refusals(), machine_clock);
  if (!server.ok()) return Fail("cannot_listen", server.error());
  for (const std::string& host : http_options.hosts) {
    if (!IsLoopback(host)) {
      LogWarn("open_to_the_network", {{"host", host},
                                      {"hint",
                                       "signatures are not verified: anyone who reaches this port "
                                       "can read and write everything"}});
    }
  }

  Result<std::unique_ptr<kv::Engine>> engine = OpenEngine(settings);
  if (!engine.ok()) return Fail("cannot_open_store", engine.error());
  Instance::Options options;
  options.port = (*server)->port();
  options.connections = [&server] { return (*server)->connections(); };
  Result<std::unique_ptr<Instance>> opened =
      Instance::Open(settings, *std::move(engine), std::move(options));
  if (!opened.ok()) return Fail("cannot_serve", opened.error());
  Instance& instance = **opened;
  if (const Status started = instance.Start(); !started.ok())
    return Fail("cannot_serve", started.error());
  (*server)->Start([&instance](Executor& loop) { return instance.HandlerOf(loop); });
  LogInfo("serving", {{"port", (*server)->port()},
                      {"engine", EngineName(settings.engine)},
                      {"store", PlaceOf(settings)},
                      {"durability", DurabilityOf(settings)},
                      {"clock", instance.has_manual_clock()
                                    ? "manual, " + FormatTime(instance.clock().NowMicros())
                                    : "system"},
                      {"throttling", throughput::ThrottlingText(settings.throttling.all)},
                      {"io_threads", http_options.threads},
                      {"version", STATOR_VERSION}});

  WaitForSignal(signals);
  instance.StopBackground();
  (*server)->Drain(kDrainMicros);
  instance.Close();
  server->reset();  // with what was left on its loops, which needs the instance
  LogInfo("stopped");
  return 0;
}

}  // namespace stator::server
