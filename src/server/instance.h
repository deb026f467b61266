// Everything of a server between its engine and its sockets.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "api/service.h"
#include "audit/trail.h"
#include "base/clock.h"
#include "base/executor.h"
#include "base/random.h"
#include "crypt/file_keys.h"
#include "exchange/exchange.h"
#include "guard/gate.h"
#include "http/server.h"
#include "iam/service.h"
#include "identity/identities.h"
#include "kv/engine.h"
#include "management/events.h"
#include "ops/account_snapshots.h"
#include "ops/context.h"
#include "ops/isolated_accounts.h"
#include "server/chores.h"
#include "server/clock_control.h"
#include "server/front_door.h"
#include "server/heat_histories.h"
#include "server/iam_door.h"
#include "server/management.h"
#include "server/metrics.h"
#include "server/peers.h"
#include "server/presence.h"
#include "server/recorder.h"
#include "server/resource_policy_keeper.h"
#include "server/settings.h"
#include "server/shared_clock.h"
#include "server/shares.h"
#include "server/transaction_sweep.h"
#include "server/triggers_door.h"
#include "server/write_links.h"
#include "store_backup/keeper.h"
#include "table/store.h"
#include "transfer/backups.h"
#include "transfer/restores.h"
#include "triggers/kinesis_keeper.h"
#include "triggers/runner.h"
#include "triggers/service.h"

namespace stator::server {

// The calls are for one thread; requests come on those of their loops.
class Instance {
 public:
  struct Options {
    uint16_t port = 0;                            // that it is reached at
    std::shared_ptr<const crypt::FileKeys> keys;  // of backups; null: they are plain
    std::function<http::ServerState()> sockets;   // what the HTTP server holds now
    int management_listener = -1;                 // FrontDoor::ManagementPlace::listener
    TransactionSweep::Options sweep = {};
  };
  // Reads the store, loads what --init names, and joins the other processes of the store, if there
  // can be any: then it may wait for seconds for those that may have died. Of the settings those
  // about sockets are not looked at, nor those of engines.
  static Result<std::unique_ptr<Instance>> Open(const ServeSettings& settings,
                                                std::unique_ptr<kv::Engine> engine,
                                                Options options);
  // Stops what has not been stopped.
  ~Instance();

  // Begins the background work. Once, before requests.
  Status Start();
  http::Handler HandlerOf(Executor& loop) { return front_door_->HandlerOf(loop); }

  // Is not ready from now on, and tells the other processes so. Serves as before.
  void BeginDrain();
  // Ends the background work, and tells the other processes of the store that this one leaves.
  // Running requests go on. Idempotent.
  void StopBackground();
  // Stores what is still in memory and closes the store. Call it when no request is under way.
  // Idempotent.
  void Close();

  const Clock& clock() const { return *clock_; }
  bool has_manual_clock() const { return manual_clock_ != nullptr; }
  kv::Engine& engine() { return *engine_; }
  // Null without an audit log.
  audit::Trail* audit() { return audit_.get(); }
  ops::Environment& environment() { return *environment_; }
  // Null if no other process can serve the store.
  Peers* peers() { return peers_.get(); }
  // Null under the same condition, or if the engine has no transactions of its own to sweep.
  TransactionSweep* sweep() { return sweep_.get(); }

 private:
  Instance(const ServeSettings& settings, std::unique_ptr<kv::Engine> engine, Options options);
  Status OpenClock();
  Status OpenStore();
  Status OpenSeal();
  Status OpenRecorder();
  Status OpenAccess();
  Status OpenBackups();
  Status OpenIsolation();
  void OpenSnapshots();
  Status OpenExchange();
  // Null if the store's identities cannot be changed, for want of a master key.
  Result<std::shared_ptr<const access::Keyring>> OpenKeyring();
  void RefreshIdentities();
  Status OpenStoreBackups();
  void OpenTriggers();
  void OpenRest();

  const ServeSettings settings_;
  const Options options_;
  const SystemClock machine_clock_;  // for what has nothing to do with data
  SeededRandom random_;
  std::unique_ptr<kv::Engine> engine_;
  std::unique_ptr<Peers> peers_;
  std::unique_ptr<Presence> presence_;
  std::unique_ptr<WriteLinks> links_;  // null: no writes are forwarded
  std::unique_ptr<Clock> clock_;
  ManualClock* manual_clock_ = nullptr;  // the same, if it is a user's to move
  std::unique_ptr<SharedClock> shared_clock_;
  WorkerPool workers_;
  std::unique_ptr<table::Store> store_;
  std::unique_ptr<ops::Environment> environment_;
  std::unique_ptr<Shares>
      shares_;  // this and the next: null if no other process can serve the store
  std::unique_ptr<TransactionSweep> sweep_;
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<transfer::Backups> backups_;           // null if the engine cannot make any
  std::unique_ptr<transfer::Restores> restores_;         // null under the same condition
  std::unique_ptr<ops::IsolatedAccounts> isolated_;      // null: keys have no accounts of their own
  std::unique_ptr<ops::AccountSnapshots> snapshots_;     // null if the engine cannot go back
  std::unique_ptr<exchange::Exchange> exchange_;         // the same
  std::unique_ptr<store_backup::Keeper> store_backups_;  // null without a place for them
  access::SystemSecureRandom secure_random_;
  // This and the next six: null with --auth=off.
  std::unique_ptr<identity::Identities> identities_;
  std::unique_ptr<ResourcePolicyKeeper> resource_policies_;
  std::unique_ptr<guard::Gate> gate_;
  std::unique_ptr<guard::Gate> strict_gate_;  // of IAM and STS: refuses with --auth=warn too
  std::unique_ptr<audit::Trail> audit_;       // null without --audit-log, too
  std::unique_ptr<iam::Service> iam_;
  std::unique_ptr<IamDoor> iam_door_;
  std::unique_ptr<scaling::Service> scaling_;
  std::unique_ptr<ScalingDoor> scaling_door_;
  std::unique_ptr<triggers::Runner> triggers_;
  std::unique_ptr<triggers::KinesisKeeper> kinesis_;
  std::unique_ptr<triggers::Service> triggers_service_;
  std::unique_ptr<TriggersDoor> triggers_door_;
  std::unique_ptr<HeatHistories> heat_;
  std::unique_ptr<management::Events> events_;
  std::unique_ptr<Metrics> metrics_;
  std::unique_ptr<management::Recording> recording_;
  std::unique_ptr<management::RequestTail> tail_;
  std::unique_ptr<management::Series> series_;
  std::unique_ptr<management::HotKeys> hot_keys_;
  std::unique_ptr<api::Service> service_;
  std::unique_ptr<Chores> chores_;
  // By the machine's clock, which a manual one does not stop.
  std::unique_ptr<Chores> machine_chores_;
  std::unique_ptr<ClockControl> clock_control_;
  std::unique_ptr<Management> management_;
  std::unique_ptr<FrontDoor> front_door_;
  bool stopped_ = false;
  bool closed_ = false;
};

}  // namespace stator::server
