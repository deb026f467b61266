#include "server/management.h"

#include <fmt/format.h>

#include <optional>

#include "api/attribute_json.h"
#include "base/accept_encoding.h"
#include "base/compress.h"
#include "base/log.h"
#include "base/pump.h"
#include "base/time_text.h"
#include "management/cost.h"
#include "management/reply.h"
#include "ops/table_settings.h"
#include "server/cluster_report.h"
#include "server/report_json.h"
#include "server/seed_data.h"
#include "server/split_control.h"
#include "server/store_backup_control.h"
#include "server/throttling_control.h"
#include "server/throughput_metrics.h"
#include "server/trigger_metrics.h"
#include "simdjson.h"
#include "table/partition_split.h"
#include "table/store.h"
#include "table/stream_upkeep.h"

namespace stator::server {

using management::Answer;
using management::Call;
using management::Failure;
using management::Json;
using management::Message;
using management::OrOverloaded;
using management::Route;

namespace {

// The number of threads for calls that wait for the cluster, which may take long while it has
// trouble.
constexpr int kThreadsOnANetwork = 4;
constexpr size_t kCompressAboveBytes = 4096;
constexpr int64_t kCostMicros = int64_t{7} * 86'400 * 1'000'000;
// Scrapes that wait for the one that is rendered.
constexpr size_t kMaxScrapes = 8;
// Pages of metrics below it are made whatever the account of memory says.
constexpr int64_t kLongPageBytes = 1 << 20;
// The body of any call; some calls have a lower bound of their own.
constexpr size_t kMostBodyBytes = 1 << 20;
// Reports have two, so that a long one leaves a thread for the others.
constexpr int kReadingThreads = 2;
// Reads of the past have two, too: nothing else waits behind them.
constexpr int kPastThreads = 2;
// The number of simulations that may wait for the running one. The last of them waits about 10 s.
constexpr size_t kMaxPlays = 4;
// The number of calls on a table's past that may wait for one of the kPastThreads threads. The last
// of them waits some seconds.
constexpr size_t kMostPastCalls = 64;
// This text reaches only a client that has closed no more than its sending side of the connection.
constexpr std::string_view kClientLeft =
    "The client closed its side of the connection before the call was made";
constexpr std::string_view kManagementHeader = "X-Stator-Management";

http::Reply Text(int status, std::string body) {
  http::Reply reply;
  reply.status = status;
  reply.headers.emplace_back("Content-Type", "text/plain; charset=utf-8");
  reply.body = std::move(body);
  return reply;
}

// Why a request may be the work of a web page of another server; empty if it is not.
std::string WhyForeign(const HostRules& hosts, const http::Request& request) {
  return WhyForeignPage(
      hosts, {request.header("Host"), request.header("Origin"), request.header("Sec-Fetch-Site")});
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

// The value of {"store": ...}; empty if the body is another.
std::string StoreIn(std::string_view body) {
  simdjson::dom::parser parser;
  simdjson::dom::element json;
  std::string_view name;
  if (parser.parse(simdjson::padded_string(body)).get(json) != simdjson::SUCCESS ||
      json["store"].get(name) != simdjson::SUCCESS)
    return "";
  return std::string(name);
}

// A parameter that is a duration, in microseconds; `absent` where it is not there. kValidation.
Result<int64_t> DurationIn(std::string_view query, std::string_view name, int64_t absent) {
  const std::optional<std::string> text = management::Parameter(query, name);
  if (!text) return absent;
  const std::optional<int64_t> duration = ParseDuration(*text);
  if (!duration || *duration <= 0)
    return ValidationError(
        fmt::format("{} must be a duration such as 90s or 12h: {}", name, *text));
  return *duration;
}

}  // namespace

Management::Management(ops::Environment& environment, Metrics& metrics, ClockControl& clock,
                       const HeatHistories& heat, std::function<http::ServerState()> sockets,
                       Options options)
    : environment_(environment),
      metrics_(metrics),
      clock_(clock),
      faults_(environment),
      throttling_(environment.admission),
      heat_(heat),
      reports_(environment, heat, options.hot_keys),
      sockets_(std::move(sockets)),
      options_(std::move(options)),
      own_events_(options_.events == nullptr ? std::make_unique<management::Events>(environment)
                                             : nullptr),
      events_(options_.events != nullptr ? options_.events : own_events_.get()),
      facts_(SourcesOf()),
      pulse_(environment, *events_, facts_),
      slow_calls_(options_.peers == nullptr ? 1 : kThreadsOnANetwork, 256),
      scrapes_(1, kMaxScrapes),
      reads_(kReadingThreads, 256),
      plays_(1, kMaxPlays),
      past_(kPastThreads, kMostPastCalls) {
  if (options_.recording != nullptr)
    advice_.emplace(environment, *options_.recording, machine_clock_);
  AddRoutes();
  if (options_.peers == nullptr) return;
  faults_.Share(options_.peers->settings(), options_.faults);
  throttling_.Share(options_.peers->settings(), options_.throttling);
}

management::Sources Management::SourcesOf() {
  management::Sources sources;
  sources.requests = [this] { return metrics_.Totals(); };
  sources.heat = [this](uint32_t tablet, throughput::HeatHistory::Window window) {
    return heat_.Map(tablet, std::move(window));
  };
  sources.not_ready = [this] {
    const Status ready = ReadyStatus();
    return ready.ok() ? std::string() : ready.error().message();
  };
  sources.manual_clock = clock_.manual();
  return sources;
}

bool Management::Owns(std::string_view target) {
  const std::string_view path = PathOf(target);
  return path.starts_with("/_stator/") || path == "/metrics" || path.starts_with("/health/");
}

void Management::Handle(std::unique_ptr<http::Exchange> exchange) {
  const http::Request& request = exchange->request();
  const std::string_view path = PathOf(request.target);
  if (path.starts_with("/_stator/")) {
    if (const std::string why = WhyForeign(options_.hosts, request); !why.empty())
      return exchange->Send(Message(403, why));
    if (request.header(kManagementHeader) != "true") {
      return exchange->Send(
          Message(403, "Management calls need the header X-Stator-Management: true"));
    }
    if (request.body.size() > kMostBodyBytes)
      return exchange->Send(Message(413, "The body of a management call is longer than 1 MB"));
    const bool slash = path.ends_with('/') && path != "/_stator/";
    const management::Routes::Found found =
        routes_.Find(request.method, path.substr(0, path.size() - (slash ? 1 : 0)));
    if (found.route != nullptr) return Run(*found.route, found.name, std::move(exchange));
    if (!found.allowed.empty()) {
      http::Reply reply = Message(
          405, fmt::format("This call is made with {}, not {}", found.allowed, request.method));
      reply.headers.emplace_back("Allow", found.allowed);
      return exchange->Send(std::move(reply));
    }
  } else if (request.method == "GET" || request.method == "HEAD") {
    if (path == "/health/live") return exchange->Send(Text(200, "live\n"));
    if (path == "/health/ready") return exchange->Send(Ready());
    if (path == "/metrics") {
      if (const std::string why = WhyForeign(options_.metrics_hosts, request); !why.empty())
        return exchange->Send(Text(403, why + "\n"));
      return HandleOn(scrapes_, std::move(exchange),
                      [this](const http::Request& asked) { return RenderMetrics(asked); });
    }
  }
  if (path.starts_with("/_stator/"))
    return exchange->Send(Message(404, "There is no such management call"));
  exchange->Send(Text(404, "There is no such page\n"));
}

void Management::Run(const Route& route, std::string_view name,
                     std::unique_ptr<http::Exchange> exchange) {
  if (!route.handler) return Split(std::string(name), std::move(exchange));
  if (route.runs == Route::Runs::kHere) {
    Call call = management::CallOf(exchange->request());
    call.name = name;
    return exchange->Send(route.handler(call));
  }
  const bool plays = route.runs == Route::Runs::kPlaying;
  WorkerPool& pool = plays                                 ? plays_
                     : route.runs == Route::Runs::kReading ? reads_
                     : route.runs == Route::Runs::kPast    ? past_
                                                           : slow_calls_;
  Executor& loop = exchange->loop();
  auto shared = std::make_shared<std::unique_ptr<http::Exchange>>(std::move(exchange));
  UniqueFunction<void()> task = [shared, &loop, &route, name]() mutable {
    // The name is a view of the request, which is there until the reply is.
    const http::Exchange& exchange = **shared;
    Call call = management::CallOf(exchange.request());
    call.name = name;
    call.has_left = [&exchange] { return exchange.HasLeft(); };
    // A call that changes something is made, whether its client waits for the answer or not.
    const bool leaves = route.runs != Route::Runs::kSlowly && call.has_left();
    http::Reply reply = leaves ? Message(503, kClientLeft) : route.handler(call);
    // Nothing of the exchange stays on this thread: it must end in its loop's turn.
    loop.Post([shared = std::move(shared), reply = std::move(reply)]() mutable {
      (*shared)->Send(std::move(reply));
    });
  };
  if (pool.TryPost(task)) return;
  (*shared)->Send(Message(503, plays ? "Too many simulations wait; try again in some seconds"
                                     : "The server is overloaded, try again"));
}

http::Reply Management::HandleRecording(const Call& call) {
  if (call.method == "PUT") {
    const Result<int64_t> minutes = management::MinutesIn(call.body);
    if (!minutes.ok()) return Failure(minutes.error());
    options_.recording->Begin(*minutes);
  } else if (call.method == "DELETE") {
    options_.recording->End();
  }
  return Json(200, management::RenderRecording(options_.recording->view()));
}

http::Reply Management::MakeAdvice(const Call& call) {
  const Result<int64_t> last = DurationIn(call.query, "last", 0);
  if (!last.ok()) return Failure(last.error());
  const Result<throughput::UnitPrices> prices = management::PricesIn(call.query);
  if (!prices.ok()) return Failure(prices.error());
  return OrOverloaded(advice_->Make(*last, *prices));
}

http::Reply Management::RenderHotKeys(const Call& call) const {
  const Result<management::HotKeys::Query> query =
      management::HotKeysQuery(call.query, environment_.clock.NowMicros());
  return query.ok() ? Answer(options_.hot_keys->Render(call.name, *query)) : Failure(query.error());
}

http::Reply Management::RenderCost(const Call& call) const {
  const Result<int64_t> last = DurationIn(call.query, "last", kCostMicros);
  if (!last.ok()) return Failure(last.error());
  const Result<throughput::UnitPrices> prices = management::PricesIn(call.query);
  if (!prices.ok()) return Failure(prices.error());
  return Answer(management::CostOf(environment_, facts_, call.name, *last, *prices));
}

http::Reply Management::RenderEvents(const Call& call) const {
  const Result<int64_t> since = management::WholeParameter(call.query, "since", 0);
  if (!since.ok()) return Failure(since.error());
  const Result<int64_t> limit = management::WholeParameter(call.query, "limit", 200);
  if (!limit.ok()) return Failure(limit.error());
  return Json(200, events_->Since(*since, management::Parameter(call.query, "table"),
                                  std::min(*limit, management::Events::kMostReturned),
                                  management::Parameter(call.query, "brief") == "true"));
}

http::Reply Management::RenderRequests(const Call& call) const {
  const Result<int64_t> since = management::WholeParameter(call.query, "since", 0);
  if (!since.ok()) return Failure(since.error());
  const Result<int64_t> limit = management::WholeParameter(call.query, "limit", 200);
  if (!limit.ok()) return Failure(limit.error());
  return Json(200, options_.requests->Since(
                       *since, std::min(*limit, management::RequestTail::kMostReturned)));
}

http::Reply Management::RenderReport(const Call& call) const {
  std::string target(call.path);
  if (!call.query.empty()) target += "?" + std::string(call.query);
  Result<TableReports::Report> report = reports_.Render(target, call.accept);
  if (!report.ok()) return Failure(report.error());
  http::Reply reply = Json(200, std::move(report->body));
  reply.headers[0].second = std::move(report->content_type);
  return reply;
}

http::Reply Management::HandleThrottling(std::optional<std::string> table, const Call& call) {
  return Answer(throttling_.Handle(table, call.method, call.body));
}

Status Management::ReadyStatus() const {
  if (options_.presence != nullptr) TRY(options_.presence->Ready());
  Status health =
      options_.peers != nullptr ? options_.peers->Ready() : environment_.store.engine().Health();
  if (health.ok() && environment_.admission.Enforces() && !environment_.admission.Granted()) {
    health = Error(
        ErrorCode::kUnavailable,
        "This process has no part of the capacity of tables now: it throttles every request.");
  }
  const http::ServerState sockets = sockets_();
  if (health.ok() && sockets.max_inflight_bytes > 0 &&
      sockets.inflight_bytes >= sockets.max_inflight_bytes) {
    health = Error(ErrorCode::kUnavailable,
                   fmt::format("Requests and replies hold {} MB, as much as --max-inflight-mb "
                               "allows: every request is refused.",
                               sockets.inflight_bytes >> 20));
  }
  return health;
}

http::Reply Management::Ready() const {
  const Status health = ReadyStatus();
  return health.ok() ? Text(200, "ready\n") : Text(503, health.error().message() + "\n");
}

http::Reply Management::RenderMetrics(const http::Request& request) const {
  std::map<std::string, double> gauges;
  for (const auto& [name, value] : environment_.store.engine().Statistics()) {
    std::string clean = (name.starts_with("kv_") ? "stator_" : "stator_kv_") + name;
    for (char& c : clean) {
      if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
    }
    gauges[clean] = value;
  }
  if (options_.links != nullptr) {
    for (const auto& [name, value] : options_.links->Statistics()) gauges["stator_" + name] = value;
  }
  gauges["stator_damaged_tables"] = static_cast<double>(environment_.store.DamagedTables().size());
  gauges["stator_dropped_waiting"] = static_cast<double>(environment_.store.space().view().waiting);
  const http::ServerState sockets = sockets_();
  gauges["stator_connections"] = sockets.connections;
  gauges["stator_connections_limit"] = sockets.max_connections;
  gauges["stator_connections_refused"] = static_cast<double>(sockets.refused_connections);
  gauges["stator_connections_slow"] = static_cast<double>(sockets.slow_clients);
  gauges["stator_inflight_bytes"] = static_cast<double>(sockets.inflight_bytes);
  gauges["stator_inflight_limit_bytes"] = static_cast<double>(sockets.max_inflight_bytes);
  gauges["stator_inflight_refused"] = static_cast<double>(sockets.refused_requests);
  if (sockets.certificate_expires_seconds != 0) {
    gauges["stator_tls_handshakes"] = static_cast<double>(sockets.handshakes);
    gauges["stator_tls_handshakes_failed"] = static_cast<double>(sockets.failed_handshakes);
    gauges["stator_tls_handshakes_crowded_out"] =
        static_cast<double>(sockets.crowded_out_handshakes);
    gauges["stator_tls_certificate_expires_seconds"] =
        static_cast<double>(sockets.certificate_expires_seconds);
  }
  gauges["stator_tables"] = static_cast<double>(environment_.store.List().size());
  if (options_.isolated != nullptr) {
    const ops::IsolatedAccounts::Totals totals = options_.isolated->totals();
    gauges["stator_isolated_accounts"] = static_cast<double>(totals.accounts);
    gauges["stator_isolated_accounts_limit"] =
        static_cast<double>(options_.isolated->options().most);
    gauges["stator_isolated_accounts_dropped"] = static_cast<double>(totals.dropped);
    gauges["stator_isolated_accounts_refused"] = static_cast<double>(totals.refused);
  }
  if (options_.gate != nullptr) {
    const guard::Gate::Counts counts = options_.gate->counts();
    gauges["stator_unverified_signatures"] = static_cast<double>(counts.signatures);
    gauges["stator_denied_requests"] = static_cast<double>(counts.denials);
  }
  if (options_.audit != nullptr) {
    const audit::Trail::View view = options_.audit->view();
    gauges["stator_audit_records"] = static_cast<double>(view.written);
    gauges["stator_audit_records_dropped"] = static_cast<double>(view.dropped);
    gauges["stator_audit_failing"] = view.failing ? 1 : 0;
  }
  gauges["stator_uptime_seconds"] =
      static_cast<double>(environment_.clock.TicksMicros() - options_.started_ticks) * 1e-6;
  if (options_.store_backups != nullptr) AddStoreBackupGauges(*options_.store_backups, &gauges);
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
  std::vector<prometheus::MetricFamily> families = ThroughputMetrics(environment_);
  if (options_.triggers != nullptr) AddTriggerMetrics(*options_.triggers, &families);
  if (options_.kinesis != nullptr) AddKinesisMetrics(options_.kinesis->runner(), &families);
  http::Reply reply = Text(200, metrics_.Render(gauges, std::move(families)));
  page_bytes_.store(static_cast<int64_t>(reply.body.size()), std::memory_order_relaxed);
  reply.headers[0].second = "text/plain; version=0.0.4; charset=utf-8";
  if (reply.body.size() > kCompressAboveBytes &&
      AcceptsEncoding(request.header("Accept-Encoding"), "gzip")) {
    reply.body = Gzip(reply.body);
    reply.headers.emplace_back("Content-Encoding", "gzip");
  }
  return reply;
}

http::Reply Management::RenderStatus() const {
  std::string tables;
  for (const table::TablePtr& table : environment_.store.List()) {
    if (!tables.empty()) tables.push_back(',');
    const Result<table::TableCounts> counts = environment_.store.Counts(*table);
    std::string without_effect;
    for (const std::string_view setting : ops::SettingsWithoutEffect(table->descriptor))
      without_effect += (without_effect.empty() ? "" : ",") + Quoted(setting);
    if (!without_effect.empty()) without_effect = R"(,"without_effect":[)" + without_effect + "]";
    tables += fmt::format(R"({{"name":{},"items":{},"bytes":{},"partitions":{}{}}})",
                          Quoted(table->descriptor.name), counts.ok() ? counts->items : -1,
                          counts.ok() ? counts->bytes : -1, table->descriptor.partitions.size(),
                          without_effect);
  }
  std::string damaged;
  for (const auto& [table, error] : environment_.store.DamagedTables()) {
    if (!damaged.empty()) damaged.push_back(',');
    damaged += Quoted(table) + ":" + Quoted(error);
  }
  const Status health = environment_.store.engine().Health();
  return Json(
      200,
      fmt::format(
          R"({{"version":"{}","engine":{},"store":{},"region":{},"account":{},"writable":{},)"
          R"("tables":[{}],"damaged":{{{}}},"dropped_waiting":{},"store_backup":{}}})",
          STATOR_VERSION, Quoted(options_.engine_name),
          options_.store_name.empty() ? std::string("null") : Quoted(options_.store_name),
          Quoted(environment_.settings.region), Quoted(environment_.settings.account), health.ok(),
          tables, damaged, environment_.store.space().view().waiting,
          options_.store_backups == nullptr ? "null" : RenderStoreBackup(*options_.store_backups)));
}

http::Reply Management::RenderCluster() const {
  const Result<ClusterReport> report = MakeClusterReport(
      options_.sweep->engine(), options_.peers->fleet().membership(), SystemClock().NowMicros());
  if (!report.ok()) return Failure(report.error());
  // Names the server that made the report: the page marks it.
  return Json(200, fmt::format(R"({{"by":{},)", Quoted(options_.peers->id())) +
                       RenderJson(*report).substr(1));
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

http::Reply Management::Reset(const Call& call) {
  if (!options_.store_name.empty() && StoreIn(call.body) != options_.store_name) {
    return Message(400, fmt::format("A reset drops all tables, and this store outlives the server: "
                                    "repeat its name in the body, {{\"store\":{}}}",
                                    Quoted(options_.store_name)));
  }
  Status status = options_.triggers == nullptr ? OkStatus() : options_.triggers->RemoveAll();
  if (status.ok()) status = DropAll(environment_);
  if (status.ok() && !options_.init_dir.empty()) {
    if (Result<Seeded> seeded = LoadSeedData(environment_, options_.init_dir); !seeded.ok()) {
      status = std::move(seeded).error();
    }
  }
  LogInfo("reset", {{"outcome", status.ok() ? "ok" : status.error().message()}});
  if (status.ok()) events_->Note("reset", "All tables were dropped by a reset");
  return status.ok() ? Json(200, "{}") : Message(500, status.error().message());
}

http::Reply Management::MoveClock(const Call& call) {
  const Status moved = clock_.Move(call.body);
  if (moved.ok()) {
    events_->Note("clock", "The clock was moved");
    return Json(200, clock_.Render());
  }
  return Message(moved.error().code() == ErrorCode::kValidation ? 400 : 503,
                 moved.error().message());
}

void Management::HandleOn(WorkerPool& pool, std::unique_ptr<http::Exchange> exchange,
                          UniqueFunction<http::Reply(const http::Request&)> call) {
  Executor& loop = exchange->loop();
  auto shared = std::make_shared<std::unique_ptr<http::Exchange>>(std::move(exchange));
  UniqueFunction<void()> task = [this, shared, &loop, call = std::move(call)]() mutable {
    // A page is made of parts that take several times as much memory as its text. A short one is
    // given while the memory is full, too: that is when it is needed.
    const int64_t page = page_bytes_.load(std::memory_order_relaxed);
    const bool room = page < kLongPageBytes || (*shared)->memory().TryGrow(4 * page);
    http::Reply reply = room ? call((*shared)->request())
                             : Message(503, "The memory for requests is full, try again");
    // Nothing of the exchange stays on this thread: it must end in its loop's turn.
    loop.Post([shared = std::move(shared), reply = std::move(reply)]() mutable {
      (*shared)->Send(std::move(reply));
    });
  };
  if (!pool.TryPost(task)) (*shared)->Send(Message(503, "The server is overloaded, try again"));
}

}  // namespace stator::server
