#include "server/cluster_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/printable.h"
#include "fleet/shared_settings.h"
#include "kv_rados/rados_engine.h"
#include "kv_tx/transaction_engine.h"
#include "server/cluster_report.h"
#include "server/presence_settings.h"

namespace stator::server {
namespace {

constexpr auto kBetweenLooks = std::chrono::milliseconds(200);

Result<std::unique_ptr<kv_tx::TransactionEngine>> Open(const ClusterCommand& command) {
  kv_rados::RadosOptions options;
  options.ceph_conf = command.ceph_conf;
  options.pool = command.pool;
  options.user = command.ceph_user;
  options.name_space = command.ceph_namespace;
  options.look_only = command.kind == ClusterCommand::Kind::kStatus;
  ASSIGN_OR_RETURN(std::unique_ptr<kv::Engine> pool, kv_rados::OpenRados(options));
  return std::make_unique<kv_tx::TransactionEngine>(std::move(pool), kv_tx::Options{.threads = 1});
}

Result<std::string> Look(kv_tx::TransactionEngine& engine, bool json) {
  const SystemClock clock;
  ASSIGN_OR_RETURN(const fleet::Membership membership, WatchMembership(engine, clock));
  ASSIGN_OR_RETURN(const ClusterReport report,
                   MakeClusterReport(engine, membership, clock.NowMicros()));
  return json ? RenderJson(report) + "\n" : PrintableLines(RenderText(report));
}

bool IsNamed(const fleet::Member& member, const std::string& name) {
  return member.id == name || member.beat.endpoint == name ||
         AddressOf(member.beat.endpoint) == name;
}

// Returns the one living server that is meant. kValidation if there is none, or if several are.
Result<fleet::Member> Find(const fleet::Membership& membership, const std::string& name) {
  std::vector<fleet::Member> found;
  std::string alive;
  for (const auto& [id, member] : membership.members) {
    if (!member.alive) continue;
    alive += fmt::format("{}{} ({})", alive.empty() ? "" : ", ", member.beat.endpoint, id);
    if (IsNamed(member, name)) found.push_back(member);
  }
  if (found.size() == 1) return found.front();
  return ValidationError(fmt::format("{} is {}. Living servers: {}.", name,
                                     found.empty() ? "no living server of this store"
                                                   : "the address of several servers: say the id",
                                     alive.empty() ? "none" : alive));
}

// Stores (or, without `drain`, removes) the setting that tells server `id` to drain. Also removes
// such settings of servers that do not exist any more.
Status Ask(kv::Engine& engine, const fleet::Membership& membership, const std::string& id,
           bool drain) {
  ASSIGN_OR_RETURN(const auto settings, fleet::ReadSettings(engine));
  kv::Batch batch;
  const auto key = [](const std::string& name) {
    return fleet::KeyOf(fleet::kSettingPrefix, name);
  };
  for (const auto& [name, text] : settings) {
    if (!name.starts_with(fleet::kDrainSetting)) continue;
    const std::string of = name.substr(fleet::kDrainSetting.size());
    if (of != id && !membership.members.contains(of))
      batch.deletes.push_back({fleet::kFleetTablet, key(name)});
  }
  const std::string own = key(fleet::DrainSetting(id));
  if (drain) {
    batch.puts.push_back({fleet::kFleetTablet, own, fleet::EncodeRecord("on")});
  } else {
    batch.deletes.push_back({fleet::kFleetTablet, own});
  }
  Result<uint64_t> set = kv::ApplyAndWait(engine, std::move(batch));
  return set.ok() ? OkStatus() : Status(std::move(set).error());
}

Result<std::string> Drain(kv_tx::TransactionEngine& engine, const ClusterCommand& command) {
  const SystemClock clock;
  ASSIGN_OR_RETURN(const fleet::Membership membership, WatchMembership(engine, clock));
  ASSIGN_OR_RETURN(const fleet::Member server, Find(membership, command.server));
  if (!server.beat.draining) {
    return ValidationError(fmt::format(
        "The server at {} has version {}, which cannot be asked to drain: stop it instead.",
        server.beat.endpoint, server.beat.version));
  }
  bool another = false;
  for (const auto& [id, member] : membership.members)
    another |= id != server.id && member.alive && !member.beat.draining.value_or(false);
  if (!command.undo && !another && !command.last) {
    return ValidationError(fmt::format(
        "{} is the last server that does not drain: clients would find none. --last drains it "
        "nevertheless.",
        server.beat.endpoint));
  }
  TRY(Ask(engine, membership, server.id, !command.undo));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(command.timeout_seconds);
  while (true) {
    ASSIGN_OR_RETURN(const fleet::Membership now, fleet::ReadMembership(engine));
    const auto found = now.members.find(server.id);
    if (found == now.members.end()) return fmt::format("{} has stopped.\n", server.beat.endpoint);
    if (found->second.beat.draining == !command.undo) break;
    if (std::chrono::steady_clock::now() > end) {
      return Error(ErrorCode::kUnavailable,
                   fmt::format("{} did not answer within {} seconds. It was asked, and will do so "
                               "when it lives.",
                               server.beat.endpoint, command.timeout_seconds));
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
  if (command.undo)
    return fmt::format("{} does not drain any more: it is ready again.\n", server.beat.endpoint);
  return fmt::format(
      "{0} drains: /health/ready says 503 there and /localnodes leaves it out. It goes on "
      "serving.\n"
      "Stop it when load balancers and clients have noticed; `stator cluster drain --undo {0}` "
      "takes it back.\n",
      server.beat.endpoint);
}

void AddPool(CLI::App* app, const char* user_help, ClusterCommand* command) {
  app->add_option("--ceph-conf", command->ceph_conf, "the cluster's ceph.conf")
      ->envname("STATOR_CEPH_CONF")
      ->required();
  app->add_option("--pool", command->pool, "the pool with the store")
      ->envname("STATOR_POOL")
      ->required();
  app->add_option("--ceph-user", command->ceph_user, user_help)
      ->envname("STATOR_CEPH_USER")
      ->capture_default_str();
  app->add_option("--ceph-namespace", command->ceph_namespace, "namespace of the pool")
      ->envname("STATOR_CEPH_NAMESPACE");
}

}  // namespace

CLI::App* AddClusterCommand(CLI::App* app, ClusterCommand* command) {
  CLI::App* cluster = app->add_subcommand("cluster", "look at a store on a Ceph cluster");
  cluster->require_subcommand(1);
  CLI::App* status = cluster->add_subcommand(
      "status", "print its processes, its tablets, and unfinished transactions; needs no server");
  AddPool(status, "user of the cluster, without \"client.\"; osd 'allow rx' is enough", command);
  status->add_flag("--json", command->json, "print one JSON object");
  // What the environment says of one subcommand must not replace what is given to the other.
  const auto given = std::make_shared<ClusterCommand>();
  CLI::App* drain = cluster->add_subcommand(
      "drain", "ask a server to send its clients elsewhere before it is stopped");
  drain
      ->add_option("SERVER", given->server,
                   "id, endpoint or address of the server, as status shows it")
      ->required();
  drain->add_flag("--undo", given->undo, "the server is to serve again");
  drain->add_flag("--last", given->last, "even if no other server is left");
  drain->add_option("--timeout", given->timeout_seconds, "seconds to wait for the server")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  AddPool(drain, "user of the cluster, without \"client.\"; it must be able to write", given.get());
  drain->callback([command, given] {
    *command = *given;
    command->kind = ClusterCommand::Kind::kDrain;
  });
  return cluster;
}

int Execute(const ClusterCommand& command) {
  SetLogLevel(LogLevel::kWarn);
  const Result<std::string> text = [&command]() -> Result<std::string> {
    ASSIGN_OR_RETURN(const std::unique_ptr<kv_tx::TransactionEngine> engine, Open(command));
    return command.kind == ClusterCommand::Kind::kDrain ? Drain(*engine, command)
                                                        : Look(*engine, command.json);
  }();
  if (!text.ok()) {
    fmt::print(stderr, "{}\n", PrintableLines(text.error().message()));
    return 1;
  }
  fmt::print("{}", *text);
  return 0;
}

}  // namespace stator::server
