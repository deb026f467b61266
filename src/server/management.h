// What is not DynamoDB's API: health, metrics, and the management calls under /_stator/.
//
//   GET  /health/live            200 while the process runs
//   GET  /health/ready           200 while the store takes writes, else 503 with the reason
//   GET  /metrics                Prometheus text
//   GET  /_stator/status         version, engine, tables
//   GET  /_stator/cluster        processes, tablets, leases and unfinished transactions of the
//                                store (cluster_report.h); 404 if no other process can use it
//   POST /_stator/reset          drops all tables and streams; with --init loads the tables again
//   POST /_stator/tables/NAME/split   splits a partition (split_control.h)
//   GET  /_stator/tables/NAME/partitions   what the throughput model knows (partition_report.h)
//   GET, PUT, DELETE /_stator/throttling, /_stator/tables/NAME/throttling   (throttling_control.h)
//   GET, PUT, DELETE /_stator/tables/NAME/auto-scaling    rules and what they did
//                                (auto_scaling_control.h)
//   GET  /_stator/tables/NAME/heat, .../heat.svg, .../contributor-insights   (table_reports.h)
//   GET  /_stator/clock          what time it is (clock_control.h)
//   POST /_stator/clock          moves a manual clock forward and does what is due by then
//   GET, PUT, DELETE /_stator/faults[/TABLE]    the fault dial (fault_control.h)
//
// Calls under /_stator/ want the header `X-Stator-Management: true` and refuse any Origin, so that
// no web page can drive a developer's server.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/executor.h"
#include "http/server.h"
#include "ops/context.h"
#include "server/clock_control.h"
#include "server/fault_control.h"
#include "server/metrics.h"
#include "server/peers.h"
#include "server/shares.h"
#include "server/table_reports.h"
#include "server/throttling_control.h"
#include "server/transaction_sweep.h"

namespace stator::server {

class Management {
 public:
  struct Options {
    std::string engine_name;
    std::string init_dir;
    int64_t started_ticks = 0;
    // Where several processes serve the store; else null. It outlives the requests. With it go the
    // process's own settings, for what nobody has set for all.
    Peers* peers = nullptr;
    ops::FaultDial::Tables faults = {};
    ops::ThrottlingModes throttling = {};
    const Shares* shares = nullptr;  // with `peers`, like the next
    TransactionSweep* sweep = nullptr;
  };
  // All must outlive the requests.
  Management(ops::Environment& environment, Metrics& metrics, ClockControl& clock,
             const HeatHistories& heat, std::function<int()> connections, Options options);

  // Whether a request target belongs here.
  static bool Owns(std::string_view target);
  // Answers it.
  void Handle(std::unique_ptr<http::Exchange> exchange);
  // Waits for a reset or a move of the clock under way; later ones are refused. To be called while
  // store and engine are still there, and after the chores were stopped.
  void Stop() { slow_calls_.Stop(); }

 private:
  void Split(std::string table_name, std::unique_ptr<http::Exchange> exchange);
  // Makes the reply on a thread that may wait.
  void HandleSlowly(std::unique_ptr<http::Exchange> exchange,
                    UniqueFunction<http::Reply(const http::Request&)> call);
  http::Reply Reset();
  http::Reply MoveClock(const http::Request& request);
  // Here and now, or on a thread that may wait if what is set is shared.
  void HandleSetting(std::unique_ptr<http::Exchange> exchange,
                     UniqueFunction<http::Reply(const http::Request&)> call);
  http::Reply HandleFaults(const http::Request& request);
  http::Reply HandleThrottling(std::optional<std::string> table, const http::Request& request);
  http::Reply RenderPartitions(std::string_view table) const;
  http::Reply RenderReport(const http::Request& request) const;
  http::Reply Ready() const;
  http::Reply RenderMetrics() const;
  http::Reply RenderStatus() const;
  http::Reply RenderCluster() const;

  ops::Environment& environment_;
  Metrics& metrics_;
  ClockControl& clock_;
  FaultControl faults_;
  ThrottlingControl throttling_;
  const HeatHistories& heat_;
  TableReports reports_;
  const std::function<int()> connections_;
  const Options options_;
  // These calls wait for writes, which may wait for the disk on a worker: they must not stand in
  // their way on the same pool.
  WorkerPool slow_calls_;
};

}  // namespace stator::server
