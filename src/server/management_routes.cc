// The calls that a server has, by its options: each names the path, where its handler runs, and
// what it does (Management::AddRoutes).
#include <fmt/format.h>

#include <optional>

#include "base/json_writer.h"
#include "base/thread_cpu_clock.h"
#include "management/place.h"
#include "management/play.h"
#include "management/reply.h"
#include "server/auto_scaling_control.h"
#include "server/isolation_control.h"
#include "server/management.h"
#include "server/partition_report.h"
#include "server/past_control.h"
#include "server/store_backup_control.h"
#include "server/why_control.h"

namespace stator::server {

using management::Answer;
using management::Call;
using management::Failure;
using management::Json;
using management::Message;
using management::OrOverloaded;
using management::Route;

namespace {

// A list of backups waits for the place where they are, which may be far: not before a report.
constexpr Route::Runs kSlowStoreBackups = Route::Runs::kPast;

}  // namespace

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
        [this](const Call&) {
          JsonWriter json;
          json.Open('{');
          options_.triggers->WriteReport(&json);
          if (options_.kinesis != nullptr) {
            json.Key("kinesis").Open('{');
            options_.kinesis->runner().WriteReport(&json);
            json.Close('}');
          }
          json.Close('}');
          return Json(200, json.Take());
        });
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
        routes_.Add({row.method, path, "409: not on a pool", Route::Runs::kHere, [](const Call&) {
                       return Message(
                           409,
                           "Snapshots are for a server with a store of its own, in memory or "
                           "in a data directory: one on a pool has backups");
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

}  // namespace stator::server
