#include "server/cluster_command.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "base/clock.h"
#include "base/log.h"
#include "base/printable.h"
#include "kv_rados/rados_engine.h"
#include "kv_tx/transaction_engine.h"
#include "server/cluster_report.h"

namespace stator::server {
namespace {

Result<ClusterReport> Look(const ClusterCommand& command) {
  kv_rados::RadosOptions options;
  options.ceph_conf = command.ceph_conf;
  options.pool = command.pool;
  options.user = command.ceph_user;
  options.name_space = command.ceph_namespace;
  options.look_only = true;
  ASSIGN_OR_RETURN(std::unique_ptr<kv::Engine> pool, kv_rados::OpenRados(options));
  kv_tx::TransactionEngine engine(std::move(pool), {.threads = 1});
  const SystemClock clock;
  ASSIGN_OR_RETURN(const fleet::Roll roll, WatchRoll(engine, clock));
  return MakeClusterReport(engine, roll, clock.NowMicros());
}

}  // namespace

int Execute(const ClusterCommand& command) {
  SetLogLevel(LogLevel::kWarn);
  const Result<ClusterReport> report = Look(command);
  if (!report.ok()) {
    fmt::print(stderr, "{}\n", PrintableLines(report.error().message()));
    return 1;
  }
  if (command.json) {
    fmt::print("{}\n", RenderJson(*report));
  } else {
    fmt::print("{}", PrintableLines(RenderText(*report)));
  }
  return 0;
}

}  // namespace stator::server
