#include "server/management.h"

#include <fmt/format.h>

#include <optional>

#include "api/attribute_json.h"
#include "base/log.h"
#include "base/pump.h"
#include "server/auto_scaling_control.h"
#include "server/cluster_report.h"
#include "server/partition_report.h"
#include "server/report_json.h"
#include "server/seed_data.h"
#include "server/split_control.h"
#include "server/table_path.h"
#include "server/throttling_control.h"
#include "server/throughput_metrics.h"
#include "table/partition_split.h"
#include "table/store.h"
#include "table/stream_upkeep.h"

namespace stator::server {
namespace {

// Of calls that wait for the cluster, which may take long while it has trouble.
constexpr int kThreadsOnANetwork = 4;
constexpr std::string_view kManagementHeader = "X-Stator-Management";

http::Reply Text(int status, std::string body) {
  http::Reply reply;
  reply.status = status;
  reply.headers.emplace_back("Content-Type", "text/plain; charset=utf-8");
  reply.body = std::move(body);
  return reply;
}

http::Reply Json(int status, std::string body) {
  http::Reply reply;
  reply.status = status;
  reply.headers.emplace_back("Content-Type", "application/json");
  reply.body = std::move(body);
  return reply;
}

http::Reply Message(int status, std::string_view message) {
  return Json(status, fmt::format(R"({{"message":{}}})", Quoted(message)));
}

std::string_view PathOf(std::string_view target) { return target.substr(0, target.find('?')); }

// Drops every table and waits for it.
Status DropAll(ops::Environment& environment) {
  Pump pump;
  for (const table::TablePtr& table : environment.store.List()) {
    std::optional<Status> outcome;
    environment.store.Drop(
        table->descriptor.name, [](const table::TableDescriptor&) { return OkStatus(); },
        [&](Result<table::TablePtr> dropped) {
          // Posted, because `outcome` belongs to this thread.
          pump.Post([&outcome, dropped = std::move(dropped)]() mutable {
            outcome = dropped.ok() ? OkStatus() : Status(std::move(dropped).error());
          });
        });
    pump.RunUntil([&outcome] { return outcome.has_value(); });
    if (!outcome->ok() && outcome->error().code() != ErrorCode::kResourceNotFound)
      return std::move(*outcome);
  }
  return table::RemoveDisabledStreams(environment.store);
}

http::Reply Failure(const Error& error) {
  const int status = error.code() == ErrorCode::kResourceNotFound ? 404
                     : error.code() == ErrorCode::kValidation     ? 400
                                                                  : 500;
  return Message(status, error.message());
}

}  // namespace

Management::Management(ops::Environment& environment, Metrics& metrics, ClockControl& clock,
                       const HeatHistories& heat, std::function<int()> connections, Options options)
    : environment_(environment),
      metrics_(metrics),
      clock_(clock),
      faults_(environment),
      throttling_(environment.admission),
      heat_(heat),
      reports_(environment, heat),
      connections_(std::move(connections)),
      options_(std::move(options)),
      slow_calls_(options_.peers == nullptr ? 1 : kThreadsOnANetwork, 256) {
  if (options_.peers == nullptr) return;
  faults_.Share(options_.peers->settings(), options_.faults);
  throttling_.Share(options_.peers->settings(), options_.throttling);
}

bool Management::Owns(std::string_view target) {
  const std::string_view path = PathOf(target);
  return path.starts_with("/_stator/") || path == "/metrics" || path.starts_with("/health/");
}

void Management::Handle(std::unique_ptr<http::Exchange> exchange) {
  const http::Request& request = exchange->request();
  const std::string_view path = PathOf(request.target);
  if (path.starts_with("/_stator/")) {
    if (!request.header("Origin").empty()) {
      return exchange->Send(
          Message(403, "Management calls are not for web pages: the request has an Origin header"));
    }
    if (request.header(kManagementHeader) != "true") {
      return exchange->Send(
          Message(403, "Management calls need the header X-Stator-Management: true"));
    }
    if (path == "/_stator/reset" && request.method == "POST") {
      return HandleSlowly(std::move(exchange), [this](const http::Request&) { return Reset(); });
    }
    if (path == "/_stator/clock" && request.method == "GET")
      return exchange->Send(Json(200, clock_.Render()));
    if (path == "/_stator/clock" && request.method == "POST") {
      if (!clock_.manual())
        return exchange->Send(
            Message(409, "The clock is the system's; a server with --clock=manual has one to set"));
      return HandleSlowly(std::move(exchange),
                          [this](const http::Request& moved) { return MoveClock(moved); });
    }
    if (const auto table = TableIn(path, "/split"); table && request.method == "POST")
      return Split(std::string(*table), std::move(exchange));
    if (const auto table = TableIn(path, "/partitions"); table && request.method == "GET") {
      return HandleSlowly(std::move(exchange),
                          [this, table = std::string(*table)](const http::Request&) {
                            return RenderPartitions(table);
                          });
    }
    if (const auto table = TableIn(path, "/throttling"); table || path == "/_stator/throttling") {
      if (ThrottlingControl::Takes(request.method)) {
        const auto name = table ? std::optional<std::string>(*table) : std::nullopt;
        return HandleSetting(std::move(exchange), [this, name](const http::Request& asked) {
          return HandleThrottling(name, asked);
        });
      }
    }
    if (const auto table = TableIn(path, "/auto-scaling");
        table &&
        (request.method == "GET" || request.method == "PUT" || request.method == "DELETE")) {
      return HandleSlowly(
          std::move(exchange), [this, name = std::string(*table)](const http::Request& asked) {
            Result<std::string> answer =
                HandleAutoScaling(environment_, name, asked.method, asked.body);
            return answer.ok() ? Json(200, *std::move(answer)) : Failure(answer.error());
          });
    }
    if (request.method == "GET" && TableReports::Owns(path)) {
      return HandleSlowly(std::move(exchange),
                          [this](const http::Request& asked) { return RenderReport(asked); });
    }
    if (FaultControl::Owns(path, request.method)) {
      return HandleSetting(std::move(exchange),
                           [this](const http::Request& asked) { return HandleFaults(asked); });
    }
    if (path == "/_stator/status" && request.method == "GET") {
      return HandleSlowly(std::move(exchange),
                          [this](const http::Request&) { return RenderStatus(); });
    }
    if (path == "/_stator/cluster" && request.method == "GET") {
      if (options_.sweep == nullptr)
        return exchange->Send(Message(404, "This server has its store to itself"));
      return HandleSlowly(std::move(exchange),
                          [this](const http::Request&) { return RenderCluster(); });
    }
  } else if (request.method == "GET" || request.method == "HEAD") {
    if (path == "/health/live") return exchange->Send(Text(200, "live\n"));
    if (path == "/health/ready") return exchange->Send(Ready());
    if (path == "/metrics") return exchange->Send(RenderMetrics());
  }
  if (path.starts_with("/_stator/"))
    return exchange->Send(Message(404, "There is no such management call"));
  exchange->Send(Text(404, "There is no such page\n"));
}

http::Reply Management::HandleFaults(const http::Request& request) {
  Result<std::string> answer = faults_.Handle(PathOf(request.target), request.method, request.body);
  return answer.ok() ? Json(200, *std::move(answer)) : Failure(answer.error());
}

void Management::HandleSetting(std::unique_ptr<http::Exchange> exchange,
                               UniqueFunction<http::Reply(const http::Request&)> call) {
  if (options_.peers != nullptr) return HandleSlowly(std::move(exchange), std::move(call));
  exchange->Send(call(exchange->request()));
}

http::Reply Management::RenderReport(const http::Request& request) const {
  Result<TableReports::Report> report = reports_.Render(request.target, request.header("Accept"));
  if (!report.ok()) return Failure(report.error());
  http::Reply reply = Json(200, std::move(report->body));
  reply.headers[0].second = std::move(report->content_type);
  return reply;
}

http::Reply Management::HandleThrottling(std::optional<std::string> table,
                                         const http::Request& request) {
  Result<std::string> answer = throttling_.Handle(table, request.method, request.body);
  return answer.ok() ? Json(200, *std::move(answer)) : Failure(answer.error());
}

http::Reply Management::RenderPartitions(std::string_view table) const {
  Result<std::string> report = PartitionReport(environment_, heat_, table);
  return report.ok() ? Json(200, *std::move(report)) : Failure(report.error());
}

http::Reply Management::Ready() const {
  Status health =
      options_.peers != nullptr ? options_.peers->Ready() : environment_.store.engine().Health();
  if (health.ok() && environment_.admission.Enforces() && !environment_.admission.Granted()) {
    health = Error(
        ErrorCode::kUnavailable,
        "This process has no part of the capacity of tables now: it throttles every request.");
  }
  return health.ok() ? Text(200, "ready\n") : Text(503, health.error().message() + "\n");
}

http::Reply Management::RenderMetrics() const {
  std::map<std::string, double> gauges;
  for (const auto& [name, value] : environment_.store.engine().Statistics()) {
    std::string clean = (name.starts_with("kv_") ? "stator_" : "stator_kv_") + name;
    for (char& c : clean) {
      if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
    }
    gauges[clean] = value;
  }
  gauges["stator_connections"] = connections_();
  gauges["stator_tables"] = static_cast<double>(environment_.store.List().size());
  gauges["stator_uptime_seconds"] =
      static_cast<double>(environment_.clock.TicksMicros() - options_.started_ticks) * 1e-6;
  if (options_.shares != nullptr) {
    const Shares::View view = options_.shares->view();
    gauges["stator_shares_granted"] = view.granted ? 1 : 0;
    gauges["stator_shares_even_part"] = view.even;
    gauges["stator_shares_allocator"] = view.allocates ? 1 : 0;
    if (view.allocates) gauges["stator_shares_processes"] = static_cast<double>(view.processes);
  }
  if (options_.sweep != nullptr) {
    const TransactionSweep::View view = options_.sweep->view();
    gauges["stator_swept_tablets"] = static_cast<double>(view.tablets);
    gauges["stator_unfinished_transactions"] = static_cast<double>(view.unfinished);
    gauges["stator_oldest_unfinished_transaction_seconds"] = view.oldest_seconds;
  }
  http::Reply reply = Text(200, metrics_.Render(gauges, ThroughputMetrics(environment_)));
  reply.headers[0].second = "text/plain; version=0.0.4; charset=utf-8";
  return reply;
}

http::Reply Management::RenderStatus() const {
  std::string tables;
  for (const table::TablePtr& table : environment_.store.List()) {
    if (!tables.empty()) tables.push_back(',');
    const Result<table::TableCounts> counts = environment_.store.Counts(*table);
    tables += fmt::format(R"({{"name":{},"items":{},"bytes":{},"partitions":{}}})",
                          Quoted(table->descriptor.name), counts.ok() ? counts->items : -1,
                          counts.ok() ? counts->bytes : -1, table->descriptor.partitions.size());
  }
  const Status health = environment_.store.engine().Health();
  return Json(
      200,
      fmt::format(
          R"({{"version":"{}","engine":{},"region":{},"account":{},"writable":{},"tables":[{}]}})",
          STATOR_VERSION, Quoted(options_.engine_name), Quoted(environment_.settings.region),
          Quoted(environment_.settings.account), health.ok(), tables));
}

http::Reply Management::RenderCluster() const {
  const Result<ClusterReport> report = MakeClusterReport(
      options_.sweep->engine(), options_.peers->fleet().roll(), SystemClock().NowMicros());
  return report.ok() ? Json(200, RenderJson(*report)) : Failure(report.error());
}

void Management::Split(std::string table_name, std::unique_ptr<http::Exchange> exchange) {
  const Result<SplitRequest> request = ParseSplitRequest(exchange->request().body);
  if (!request.ok()) return exchange->Send(Failure(request.error()));
  const Result<std::optional<uint64_t>> at = ResolveSplit(environment_, table_name, *request);
  if (!at.ok()) return exchange->Send(Failure(at.error()));
  Executor& loop = exchange->loop();
  auto shared = std::make_shared<std::unique_ptr<http::Exchange>>(std::move(exchange));
  std::string missing = "There is no table " + table_name;
  table::SplitPartition(
      environment_.store, std::move(table_name), *at,
      [shared = std::move(shared), &loop,
       missing = std::move(missing)](Result<table::TablePtr> table) mutable {
        RunOn(loop,
              [shared = std::move(shared), table = std::move(table), missing = std::move(missing)] {
                if (table.ok()) return (*shared)->Send(Json(200, RenderSplit(**table)));
                const bool absent = table.error().code() == ErrorCode::kResourceNotFound;
                (*shared)->Send(absent ? Message(404, missing) : Failure(table.error()));
              });
      });
}

http::Reply Management::Reset() {
  Status status = DropAll(environment_);
  if (status.ok() && !options_.init_dir.empty()) {
    if (Result<Seeded> seeded = LoadSeedData(environment_, options_.init_dir); !seeded.ok()) {
      status = std::move(seeded).error();
    }
  }
  LogInfo("reset", {{"outcome", status.ok() ? "ok" : status.error().message()}});
  return status.ok() ? Json(200, "{}") : Message(500, status.error().message());
}

http::Reply Management::MoveClock(const http::Request& request) {
  const Status moved = clock_.Move(request.body);
  if (moved.ok()) return Json(200, clock_.Render());
  return Message(moved.error().code() == ErrorCode::kValidation ? 400 : 503,
                 moved.error().message());
}

void Management::HandleSlowly(std::unique_ptr<http::Exchange> exchange,
                              UniqueFunction<http::Reply(const http::Request&)> call) {
  Executor& loop = exchange->loop();
  auto shared = std::make_shared<std::unique_ptr<http::Exchange>>(std::move(exchange));
  UniqueFunction<void()> task = [shared, &loop, call = std::move(call)]() mutable {
    http::Reply reply = call((*shared)->request());
    // Nothing of the exchange stays on this thread: it must end in its loop's turn.
    loop.Post([shared = std::move(shared), reply = std::move(reply)]() mutable {
      (*shared)->Send(std::move(reply));
    });
  };
  if (!slow_calls_.TryPost(task))
    (*shared)->Send(Message(503, "The server is overloaded, try again"));
}

}  // namespace stator::server
