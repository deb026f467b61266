// What is not DynamoDB's API: health, metrics, and the management calls under /_stator/.
//
//   GET  /health/live            200 while the process runs
//   GET  /health/ready           200 while the store takes writes, else 503 with the reason
//   GET  /metrics                Prometheus text
//   GET  /_stator/status         version, engine, tables
//   GET  /_stator/cluster        processes, tablets, leases and unfinished transactions of the
//                                store (cluster_report.h); 404 if no other process can use it
//   POST /_stator/reset          drops all tables and streams; with --init loads the tables again.
//                                {"store": NAME} in the body, unless the store is in memory
//   POST /_stator/tables/NAME/split   splits a partition (split_control.h)
//   GET  /_stator/tables/NAME/partitions   what the throughput model knows (partition_report.h)
//   GET, PUT, DELETE /_stator/throttling, /_stator/tables/NAME/throttling   (throttling_control.h)
//   GET, PUT, DELETE /_stator/tables/NAME/auto-scaling    rules and what they did
//                                (auto_scaling_control.h)
//   GET  /_stator/tables/NAME/heat, .../heat.svg, .../contributor-insights   (table_reports.h)
//   GET  /_stator/clock          what time it is (clock_control.h)
//   POST /_stator/clock          moves a manual clock forward and does what is due by then
//   GET, PUT, DELETE /_stator/faults[/TABLE]    the fault dial (fault_control.h)
//   GET  /_stator/triggers       functions and event source mappings, with what became of changes
//   GET  /_stator/               the list of all calls, made of the rows of AddRoutes
//   GET, POST /_stator/backup, GET /_stator/backup/list    backups of the whole store
//                                (store_backup_control.h)
//   GET  /_stator/console/boot, /_stator/pulse, /_stator/events, /_stator/requests;
//   GET, PUT, DELETE /_stator/recording; GET /_stator/advice, /_stator/series
//   GET  /_stator/tables/NAME/heat/keys, .../cost; POST .../place, POST /_stator/simulate
//                                what the web console asks (src/management)
//   POST /_stator/tables/NAME/past/at, .../difference, .../history, .../undo, .../forget
//                                a table's past (past_control.h)
//
// Calls under /_stator/ want the header `X-Stator-Management: true`, a Host that is a known name of
// this server, and no Origin but the server's own, so that no page of another server can drive a
// developer's server. /metrics wants a known Host.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "audit/trail.h"
#include "base/executor.h"
#include "base/web_origin.h"
#include "guard/gate.h"
#include "http/server.h"
#include "identity/identities.h"
#include "management/advice.h"
#include "management/boot.h"
#include "management/events.h"
#include "management/hot_keys.h"
#include "management/pulse.h"
#include "management/recording.h"
#include "management/request_tail.h"
#include "management/routes.h"
#include "management/series.h"
#include "ops/account_snapshots.h"
#include "ops/context.h"
#include "server/clock_control.h"
#include "server/fault_control.h"
#include "server/metrics.h"
#include "server/peers.h"
#include "server/presence.h"
#include "server/shares.h"
#include "server/table_reports.h"
#include "server/throttling_control.h"
#include "server/transaction_sweep.h"
#include "server/write_links.h"
#include "store_backup/keeper.h"
#include "triggers/kinesis_keeper.h"
#include "triggers/runner.h"

namespace stator::server {

class Management {
 public:
  struct Options {
    std::string engine_name;
    std::string init_dir;
    int64_t started_ticks = 0;
    // Set if several processes serve the store; else null. Must outlive the requests. `faults` and
    // `throttling`: this process's settings, which hold where no common ones are set.
    Peers* peers = nullptr;
    ops::FaultDial::Tables faults = {};
    ops::ThrottlingModes throttling = {};
    const Shares* shares = nullptr;  // with `peers`, like the next
    TransactionSweep* sweep = nullptr;
    const guard::Gate* gate = nullptr;                 // null with --auth=off
    const identity::Identities* identities = nullptr;  // null with --auth=off
    const audit::Trail* audit = nullptr;               // null without an audit log
    HostRules hosts = {};                              // names under which /_stator/ answers
    HostRules metrics_hosts = {};                      // and /metrics
    management::BootSettings boot = {};                // without engine, clock and features
    // Null: the calls note their own events and nothing else is told.
    management::Events* events = nullptr;
    // Null: GET /_stator/requests does not exist.
    management::RequestTail* requests = nullptr;
    // Null: GET /_stator/triggers does not exist.
    triggers::Runner* triggers = nullptr;
    const triggers::KinesisKeeper* kinesis = nullptr;  // null: there are no destinations
    // This and the next two: null: their calls do not exist.
    management::Recording* recording = nullptr;
    management::Series* series = nullptr;
    management::HotKeys* hot_keys = nullptr;
    // Null: this server cannot be drained.
    const Presence* presence = nullptr;
    const WriteLinks* links = nullptr;           // null: this server forwards no writes
    ops::IsolatedAccounts* isolated = nullptr;   // null: access keys have no accounts of their own
    ops::AccountSnapshots* snapshots = nullptr;  // null: the store cannot go back
    // The name of the store, which the body of a reset must repeat. Empty: the store ends with the
    // server, and a reset needs no name.
    std::string store_name = {};
    store_backup::Keeper* store_backups = nullptr;  // null: none are made,
    std::string why_no_store_backups = {};          // for this reason
  };
  // All must outlive the requests.
  Management(ops::Environment& environment, Metrics& metrics, ClockControl& clock,
             const HeatHistories& heat, std::function<http::ServerState()> sockets,
             Options options);

  // Whether a request target belongs here.
  static bool Owns(std::string_view target);
  // Answers it.
  void Handle(std::unique_ptr<http::Exchange> exchange);
  // Waits for a reset or a move of the clock under way; later ones are refused. To be called while
  // store and engine are still there, and after the chores were stopped.
  void Stop() {
    stopping_ = true;
    slow_calls_.Stop();
    scrapes_.Stop();
    reads_.Stop();
    plays_.Stop();
    past_.Stop();
  }

 private:
  // Each adds rows to `routes_`. AddRoutes calls the others, which add the calls of one subject.
  void AddRoutes();
  void AddSettings();
  void AddConsole();
  void AddHistory();
  void AddPast();
  void AddAccess();
  void AddIsolation();
  void AddSnapshots();
  void AddStoreBackup();
  http::Reply BeginStoreBackup();
  management::Sources SourcesOf();
  // Makes the reply, where the row says.
  void Run(const management::Route& route, std::string_view name,
           std::unique_ptr<http::Exchange> exchange);
  void Split(std::string table_name, std::unique_ptr<http::Exchange> exchange);
  // Makes the reply on a thread of the pool; 503 if its queue is full.
  void HandleOn(WorkerPool& pool, std::unique_ptr<http::Exchange> exchange,
                UniqueFunction<http::Reply(const http::Request&)> call);
  http::Reply Reset(const management::Call& call);
  http::Reply MoveClock(const management::Call& call);
  http::Reply HandleThrottling(std::optional<std::string> table, const management::Call& call);
  http::Reply RenderReport(const management::Call& call) const;
  http::Reply RenderEvents(const management::Call& call) const;
  http::Reply RenderRequests(const management::Call& call) const;
  http::Reply HandleRecording(const management::Call& call);
  http::Reply MakeAdvice(const management::Call& call);
  http::Reply RenderHotKeys(const management::Call& call) const;
  http::Reply RenderCost(const management::Call& call) const;
  Status ReadyStatus() const;
  http::Reply Ready() const;
  http::Reply RenderMetrics(const http::Request& request) const;
  http::Reply RenderStatus() const;
  http::Reply RenderCluster() const;

  ops::Environment& environment_;
  Metrics& metrics_;
  ClockControl& clock_;
  FaultControl faults_;
  ThrottlingControl throttling_;
  const HeatHistories& heat_;
  TableReports reports_;
  const std::function<http::ServerState()> sockets_;
  const Options options_;
  const SystemClock machine_clock_;
  const std::unique_ptr<management::Events> own_events_;
  management::Events* const events_;
  const management::Sources facts_;
  management::Pulse pulse_;
  std::optional<management::Advice> advice_;  // with options_.recording
  management::Routes routes_;                 // not changed once it is made
  // These calls wait for writes, which may wait for the disk on a worker: they must not stand in
  // their way on the same pool.
  WorkerPool slow_calls_;
  // The metrics of thousands of tables are megabytes of text: one scrape is rendered at a time, and
  // not behind a reset.
  WorkerPool scrapes_;
  mutable std::atomic<int64_t> page_bytes_{0};  // of the last page of metrics, as text
  // Threads for reports. They are separate so that a report does not wait for a reset or a move of
  // the clock.
  WorkerPool reads_;
  // The thread for simulations, which compute for seconds. It is one, so that they leave the other
  // processors free.
  WorkerPool plays_;
  // Threads for reads of the past, which take some 100 ms a page. They are separate so that slow
  // changes do not wait for them.
  WorkerPool past_;
  std::atomic<bool> stopping_ = false;
};

}  // namespace stator::server
