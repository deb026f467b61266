#include "server/management.h"

#include <fmt/format.h>

#include <optional>

#include "api/attribute_json.h"
#include "base/accept_encoding.h"
#include "base/compress.h"
#include "base/log.h"
#include "base/pump.h"
#include "base/thread_cpu_clock.h"
#include "base/time_text.h"
#include "management/cost.h"
#include "management/place.h"
#include "management/play.h"
#include "management/reply.h"
#include "ops/table_settings.h"
#include "server/auto_scaling_control.h"
#include "server/cluster_report.h"
#include "server/isolation_control.h"
#include "server/partition_report.h"
#include "server/past_control.h"
#include "server/report_json.h"
#include "server/seed_data.h"
#include "server/split_control.h"
#include "server/store_backup_control.h"
#include "server/throttling_control.h"
#include "server/throughput_metrics.h"
#include "server/trigger_metrics.h"
#include "server/why_control.h"
#include "simdjson.h"
#include "table/partition_split.h"
#include "table/store.h"
#include "table/stream_upkeep.h"

namespace stator::server {

using management::Call;
using management::Failure;
using management::Json;
using management::Message;
using management::Route;

namespace {

// Of calls that wait for the cluster, which may take long while it has trouble.
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
// Simulations that wait for the one that is played: the last of them waits 10 s.
constexpr size_t kMaxPlays = 4;
// Calls of the past that wait for them: the last of them waits some seconds.
constexpr size_t kMostPastCalls = 64;
// Is read by a client that has closed its side of the connection only.
constexpr std::string_view kClientLeft =
    "The client closed its side of the connection before the call was made";
constexpr std::string_view kManagementHeader = "X-Stator-Management";
// A list of backups waits for the place where they are, which may be far: not before a report.
constexpr Route::Runs kSlowStoreBackups = Route::Runs::kPast;

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

http::Reply Answer(Result<std::string> answer) {
  return answer.ok() ? Json(200, *std::move(answer)) : Failure(answer.error());
}

// Answers 503 for kUnavailable, 409 where something stands in the way, and like Answer otherwise.
http::Reply OrOverloaded(Result<std::string> answer) {
  if (!answer.ok() && (answer.error().code() == ErrorCode::kResourceInUse ||
                       answer.error().code() == ErrorCode::kLimitExceeded))
    return Message(409, answer.error().message());
  if (!answer.ok() && answer.error().code() == ErrorCode::kUnavailable)
    return Message(503, answer.error().message());
  return Answer(std::move(answer));
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

void Management::AddRoutes() {
  const auto add = [this](std::string_view method, std::string_view path, Route::Runs runs,
                          std::string_view does, auto handler) {
    routes_.Add({method, path, does, runs, std::move(handler)});
  };
  constexpr auto kHere = Route::Runs::kHere;
  constexpr auto kReading = Route::Runs::kReading;
  constexpr auto kSlowly = Route::Runs::kSlowly;
  add("GET", "/_stator/", kHere, "lists all calls",
      [this](const Call&) { return Json(200, routes_.Index()); });
  add("GET", "/_stator/status", kReading, "version, engine, tables",
      [this](const Call&) { return RenderStatus(); });
  if (options_.sweep != nullptr) {
    add("GET", "/_stator/cluster", kSlowly, "processes, tablets and leases of the store",
        [this](const Call&) { return RenderCluster(); });
  } else {
    add("GET", "/_stator/cluster", kHere, "404: this server has its store to itself",
        [](const Call&) { return Message(404, "This server has its store to itself"); });
  }
  add("POST", "/_stator/reset", kSlowly, "drops all tables and loads those of --init",
      [this](const Call& call) { return Reset(call); });
  add("GET", "/_stator/clock", kHere, "the product's time",
      [this](const Call&) { return Json(200, clock_.Render()); });
  if (clock_.manual()) {
    add("POST", "/_stator/clock", kSlowly, "moves the manual clock",
        [this](const Call& call) { return MoveClock(call); });
  } else {
    add("POST", "/_stator/clock", kHere, "409: only --clock=manual can be moved", [](const Call&) {
      return Message(409, "The clock is the system's; a server with --clock=manual has one to set");
    });
  }
  routes_.Add({"POST", "/_stator/tables/NAME/split", "splits a partition", kHere, nullptr});
  add("GET", "/_stator/tables/NAME/partitions", kReading, "what the throughput model knows",
      [this](const Call& call) {
        return Answer(PartitionReport(environment_, heat_, call.name, clock_.manual()));
      });
  for (const std::string_view path : {"/_stator/tables/NAME/heat", "/_stator/tables/NAME/heat.svg",
                                      "/_stator/tables/NAME/contributor-insights"}) {
    add("GET", path, kReading,
        path.ends_with("insights") ? "the hottest and the most throttled keys"
                                   : "units by time and key range",
        [this](const Call& call) { return RenderReport(call); });
  }
  if (options_.triggers != nullptr) {
    add("GET", "/_stator/triggers", kReading, "functions, mappings and how far they are",
        [this](const Call&) { return Json(200, options_.triggers->Report()); });
  }
  AddSettings();
  AddConsole();
  AddHistory();
  AddPast();
  AddAccess();
  AddIsolation();
  AddSnapshots();
  AddStoreBackup();
}

void Management::AddStoreBackup() {
  constexpr std::string_view kPath = "/_stator/backup";
  constexpr std::string_view kListPath = "/_stator/backup/list";
  store_backup::Keeper* const keeper = options_.store_backups;
  if (keeper == nullptr) {
    for (const auto& [method, path] :
         {std::pair{"POST", kPath}, std::pair{"GET", kPath}, std::pair{"GET", kListPath}}) {
      routes_.Add({method, path, "409: this server makes no backups of its store",
                   Route::Runs::kHere,
                   [this](const Call&) { return Message(409, options_.why_no_store_backups); }});
    }
    return;
  }
  routes_.Add({"POST", kPath, "begins a backup of the whole store", Route::Runs::kHere,
               [this](const Call&) { return BeginStoreBackup(); }});
  routes_.Add({"GET", kPath, "the last backup of the store, and the one that is being made",
               Route::Runs::kHere,
               [keeper](const Call&) { return Json(200, RenderStoreBackup(*keeper)); }});
  routes_.Add({"GET", kListPath, "all backups of the store in its place", kSlowStoreBackups,
               [keeper](const Call&) { return OrOverloaded(RenderStoreBackups(*keeper)); }});
}

http::Reply Management::BeginStoreBackup() {
  // The counts of before, so that who asks can tell when its own has ended.
  std::string state = RenderStoreBackup(*options_.store_backups);
  if (options_.store_backups->Begin()) return Json(202, std::move(state));
  return Message(409,
                 "A backup of the store is being made already, of an earlier moment: ask again "
                 "when it is done");
}

void Management::AddAccess() {
  constexpr std::string_view kPath = "/_stator/access/why";
  constexpr std::string_view kDoes = "which statement lets a principal do what, or not";
  if (options_.gate == nullptr || options_.identities == nullptr) {
    routes_.Add({"POST", kPath, "409: with --auth=off everything is allowed", Route::Runs::kHere,
                 [](const Call&) {
                   return Message(409, "With --auth=off everything is allowed to everyone");
                 }});
    return;
  }
  routes_.Add({"POST", kPath, kDoes, Route::Runs::kReading, [this](const Call& call) {
                 return Answer(
                     HandleWhy(call.body, *options_.identities, *options_.gate, environment_));
               }});
}

void Management::AddIsolation() {
  constexpr std::string_view kList = "/_stator/accounts";
  constexpr std::string_view kDrop = "/_stator/accounts/NAME";
  if (options_.isolated == nullptr) {
    for (const auto& [method, path] : {std::pair{"GET", kList}, std::pair{"DELETE", kDrop}}) {
      routes_.Add({method, path, "409: only with --isolate=access-key", Route::Runs::kHere,
                   [](const Call&) {
                     return Message(409,
                                    "Access keys have no accounts of their own: start the server "
                                    "with --isolate=access-key");
                   }});
    }
    return;
  }
  routes_.Add({"GET", kList, "accounts of access keys; after=ACCOUNT, limit=N",
               Route::Runs::kReading, [this](const Call& call) {
                 return Answer(ListIsolatedAccounts(environment_, *options_.isolated, call.query));
               }});
  routes_.Add({"DELETE", kDrop, "drops the account of an access key with all that it has",
               Route::Runs::kSlowly, [this](const Call& call) {
                 return OrOverloaded(
                     DropIsolatedAccount(environment_, *options_.isolated, call.name));
               }});
}

void Management::AddSnapshots() {
  struct Row {
    std::string_view method, word, does;
    Result<std::string> (*call)(const Management&, const Call&);
  };
  static constexpr Row kRows[] = {
      {"POST", "snapshot", "remembers the state of an account; name=NAME",
       [](const Management& m, const Call& call) {
         return TakeSnapshot(*m.options_.snapshots, call.name, call.query);
       }},
      {"POST", "restore", "returns an account to a snapshot; name=NAME",
       [](const Management& m, const Call& call) {
         return RestoreSnapshot(m.environment_, *m.options_.snapshots, call.name, call.query);
       }},
      {"GET", "snapshots", "snapshots of an account, and what they hold",
       [](const Management& m, const Call& call) {
         return ListSnapshots(*m.options_.snapshots, call.name);
       }},
      {"DELETE", "snapshots", "forgets a snapshot; name=NAME",
       [](const Management& m, const Call& call) {
         return ForgetSnapshot(*m.options_.snapshots, call.name, call.query);
       }},
  };
  static const std::string kPaths[] = {"/_stator/snapshot",  "/_stator/accounts/NAME/snapshot",
                                       "/_stator/restore",   "/_stator/accounts/NAME/restore",
                                       "/_stator/snapshots", "/_stator/accounts/NAME/snapshots"};
  for (const Row& row : kRows) {
    for (const std::string& path : kPaths) {
      if (std::string_view(path).substr(path.rfind('/') + 1) != row.word) continue;
      if (options_.snapshots == nullptr) {
        routes_.Add(
            {row.method, path, "409: only with --in-memory", Route::Runs::kHere, [](const Call&) {
               return Message(409,
                              "Snapshots are for a server with --in-memory: one that keeps "
                              "its store on disk or in a pool has backups");
             }});
        continue;
      }
      routes_.Add({row.method, path, row.does, Route::Runs::kSlowly,
                   [this, &row](const Call& call) { return OrOverloaded(row.call(*this, call)); }});
    }
  }
}

void Management::AddSettings() {
  // Several processes share these settings through the store.
  const auto runs = options_.peers != nullptr ? Route::Runs::kSlowly : Route::Runs::kHere;
  for (const std::string_view method : {"GET", "PUT"}) {
    const bool get = method == "GET";
    routes_.Add({method, "/_stator/throttling",
                 get ? "the mode of all tables, and those that differ" : "sets the mode of all",
                 runs, [this](const Call& call) { return HandleThrottling(std::nullopt, call); }});
  }
  for (const std::string_view method : {"GET", "PUT", "DELETE"}) {
    const bool get = method == "GET";
    routes_.Add(
        {method, "/_stator/tables/NAME/throttling",
         get ? "the mode of one table" : "changes the mode of one table", runs,
         [this](const Call& call) { return HandleThrottling(std::string(call.name), call); }});
    routes_.Add({method, "/_stator/tables/NAME/auto-scaling",
                 get ? "rules of auto scaling, and what they did" : "changes the rules",
                 Route::Runs::kSlowly, [this](const Call& call) {
                   return Answer(HandleAutoScaling(environment_, std::string(call.name),
                                                   call.method, call.body));
                 }});
    for (const std::string_view path : {"/_stator/faults", "/_stator/faults/NAME"}) {
      routes_.Add({method, path,
                   get ? "faults that are set, and how often they struck" : "changes the faults",
                   runs, [this](const Call& call) {
                     http::Reply reply = Answer(faults_.Handle(call.path, call.method, call.body));
                     if (reply.status == 200 && call.method != "GET") {
                       events_->Note("faults", call.method == "DELETE" ? "Faults were removed"
                                                                       : "Faults were set");
                     }
                     return reply;
                   }});
    }
  }
}

void Management::AddConsole() {
  management::BootSettings boot = options_.boot;
  boot.engine = options_.engine_name;
  boot.manual_clock = clock_.manual();
  boot.features = {"pulse", "events", "place", "simulate", "cost"};
  if (options_.sweep != nullptr) boot.features.push_back("cluster");
  if (options_.requests != nullptr) boot.features.push_back("requests");
  if (environment_.backups != nullptr) boot.features.push_back("point-in-time");
  if (options_.recording != nullptr) boot.features.push_back("advice");
  if (options_.series != nullptr) boot.features.push_back("series");
  if (options_.hot_keys != nullptr) boot.features.push_back("heat-keys");
  constexpr auto kReading = Route::Runs::kReading;
  routes_.Add({"GET", "/_stator/console/boot", "what the web console asks once", Route::Runs::kHere,
               [this, boot = std::move(boot)](const Call&) {
                 return Json(200, management::Boot(environment_, boot));
               }});
  routes_.Add({"GET", "/_stator/pulse", "what all tables do now; since=SEQ: what has changed",
               kReading, [this](const Call& call) {
                 const Result<int64_t> since = management::WholeParameter(call.query, "since", 0);
                 return since.ok() ? Json(200, pulse_.Since(*since)) : Failure(since.error());
               }});
  routes_.Add({"GET", "/_stator/events", "what happened; since=SEQ, table=NAME, limit=N", kReading,
               [this](const Call& call) { return RenderEvents(call); }});
  if (options_.requests != nullptr) {
    routes_.Add({"GET", "/_stator/requests",
                 "requests of now, kept while this is asked for; since=SEQ, limit=N", kReading,
                 [this](const Call& call) { return RenderRequests(call); }});
  }
  routes_.Add({"POST", "/_stator/tables/NAME/place", "in which partitions a key lies", kReading,
               [this](const Call& call) {
                 return Answer(management::PlaceOf(environment_, call.name, call.body));
               }});
  routes_.Add({"POST", "/_stator/simulate", "plays a scenario", Route::Runs::kPlaying,
               [this](const Call& call) {
                 Result<std::string> played =
                     management::Play(call.body, ThreadCpuClock(), stopping_);
                 return OrOverloaded(std::move(played));
               }});
}

void Management::AddHistory() {
  constexpr auto kReading = Route::Runs::kReading;
  if (options_.recording != nullptr) {
    constexpr std::pair<std::string_view, std::string_view> kRecording[] = {
        {"GET", "whether requests are kept for advice, and how many"},
        {"PUT", "keeps requests for advice, for {\"minutes\": N}"},
        {"DELETE", "ends that; what was kept stays until the next PUT"}};
    for (const auto& [method, does] : kRecording) {
      routes_.Add({method, "/_stator/recording", does, Route::Runs::kHere,
                   [this](const Call& call) { return HandleRecording(call); }});
    }
    routes_.Add({"GET", "/_stator/advice", "what stator advise finds in them; last=DURATION",
                 kReading, [this](const Call& call) { return MakeAdvice(call); }});
  }
  if (options_.series != nullptr) {
    routes_.Add(
        {"GET", "/_stator/series", "requests by time; by=operation or table, name=, last=, step=",
         kReading, [this](const Call& call) {
           const Result<management::Series::Query> query = management::SeriesQuery(call.query);
           return query.ok() ? Json(200, options_.series->Render(*query)) : Failure(query.error());
         }});
  }
  if (options_.hot_keys != nullptr) {
    routes_.Add({"GET", "/_stator/tables/NAME/heat/keys",
                 "hottest keys of a window; from=, to=, fromHash=, toHash=, index=", kReading,
                 [this](const Call& call) { return RenderHotKeys(call); }});
  }
  routes_.Add({"GET", "/_stator/tables/NAME/cost",
               "a month of this load in each way to pay; last=DURATION", kReading,
               [this](const Call& call) { return RenderCost(call); }});
}

void Management::AddPast() {
  constexpr std::pair<std::string_view, std::string_view> kCalls[] = {
      {"/_stator/tables/NAME/past/at", "items as they were at a moment"},
      {"/_stator/tables/NAME/past/difference", "items that differ between two moments"},
      {"/_stator/tables/NAME/past/history", "the changes of one item"},
      {"/_stator/tables/NAME/past/undo", "undoes a range of time; says what it would do first"},
      {"/_stator/tables/NAME/past/forget", "erases the history of an item that is deleted"}};
  for (const auto& [path, does] : kCalls) {
    const std::string_view what = path.substr(path.rfind('/') + 1);
    // One change at a time, as all that is slow; the pages that only read do not hold these.
    const bool changes = what == "undo" || what == "forget";
    const Route::Runs runs = changes ? Route::Runs::kSlowly : Route::Runs::kPast;
    routes_.Add(
        {"POST", path, does, runs, [this, what, changes](const Call& call) {
           if (stopping_) return Message(503, "The server is stopping");
           http::Reply reply = OrOverloaded(HandlePast(environment_, what, call.name, call.body,
                                                       changes ? nullptr : call.has_left));
           const std::string table(call.name);
           if (reply.status == 200 && what == "forget")
             events_->Note("forget", "The history of an item of table " + table + " was erased");
           // The first page of one that changes something.
           if (reply.status == 200 && what == "undo" &&
               reply.body.find(R"("applied":true)") != std::string::npos &&
               call.body.find("\"start\"") == std::string_view::npos)
             events_->Note("undo", "A range of time of table " + table + " was undone");
           return reply;
         }});
  }
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
