// What is not DynamoDB's API: health, metrics, and the management calls under /_stator/.
//
//   GET  /health/live            200 while the process runs
//   GET  /health/ready           200 while the store takes writes, else 503 with the reason
//   GET  /metrics                Prometheus text
//   GET  /_stator/status         version, engine, tables
//   POST /_stator/reset          drops all tables and streams; with --init loads the tables again
//   POST /_stator/tables/NAME/split   splits a partition: {"partition": 2}, {"hash": "123"} (the lowest of the upper half), or
//                                the widest one in its middle; answers the lowest hash of each partition
//
// Calls under /_stator/ want the header `X-Stator-Management: true` and refuse any Origin, so that no web page can drive a
// developer's server.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/executor.h"
#include "http/server.h"
#include "ops/context.h"
#include "server/metrics.h"

namespace stator::server {

class Management {
 public:
  struct Options {
    std::string engine_name;
    std::string init_dir;
    int64_t started_ticks = 0;
  };
  // All must outlive the requests.
  Management(ops::Environment& environment, const Metrics& metrics, std::function<int()> connections, Options options);

  // Whether a request target belongs here.
  static bool Owns(std::string_view target);
  // Answers it.
  void Handle(std::unique_ptr<http::Exchange> exchange);
  // Waits for a reset under way; later ones are refused. To be called while store and engine are still there.
  void Stop() { resets_.Stop(); }

 private:
  void Reset(std::unique_ptr<http::Exchange> exchange);
  void Split(std::string table_name, std::unique_ptr<http::Exchange> exchange);
  http::Reply Ready() const;
  http::Reply RenderMetrics() const;
  http::Reply RenderStatus() const;

  ops::Environment& environment_;
  const Metrics& metrics_;
  const std::function<int()> connections_;
  const Options options_;
  // A reset waits for writes, which may wait for the disk on a worker: it must not stand in their way on the same pool.
  WorkerPool resets_{1, 16};
};

}  // namespace stator::server
