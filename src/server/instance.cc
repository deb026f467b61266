#include "server/instance.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "access/crypto.h"
#include "api/attribute_json.h"
#include "base/log.h"
#include "identity/root_key.h"
#include "kv/features.h"
#include "ops/bulk_operations.h"
#include "ops/delete_table.h"
#include "ops/export_filter.h"
#include "ops/imports.h"
#include "ops/new_table.h"
#include "ops/table_capacity.h"
#include "server/open_engine.h"
#include "server/product_chores.h"
#include "server/seed_data.h"
#include "server/store_backup_control.h"
#include "server/store_backup_settings.h"
#include "server/store_secret.h"
#include "table/settings_feature.h"
#include "transfer/encrypted_folders.h"

namespace stator::server {
namespace {

constexpr size_t kMaxQueuedReads = 4096;
constexpr int64_t kEventsMicros = 1'000'000;
constexpr int64_t kTriggersMicros = 3'600'000'000;  // they run by themselves
constexpr int64_t kIsolatedMicros = 60'000'000;
constexpr int64_t kStoreBackupsMicros = 1'000'000;
constexpr auto kStoreBackupPoll = std::chrono::milliseconds(2);
constexpr int64_t kSettleMicros = 5'000'000;
constexpr uint64_t kMostObjectBytes = uint64_t{1} << 30;     // of objects in memory
constexpr std::string_view kIdentityFeature = "identities";  // of kv/features.cc
constexpr int64_t kGoneAccountsMicros = 60'000'000;
constexpr std::string_view kIdentityTopic = "identities";
// Processes that are there need some seconds to make room; one that has died keeps its part a
// little longer.
constexpr int64_t kWaitForGrantMicros = 15'000'000;

std::string EndpointOf(const ServeSettings& settings, uint16_t port) {
  return AdvertisedEndpoint(settings.presence,
                            settings.hosts.empty() ? "localhost" : settings.hosts.front(), port);
}

// A name that the server listens on is one of its own.
std::vector<std::string> AllowedHosts(const ServeSettings& settings) {
  std::vector<std::string> names = settings.allowed_hosts;
  for (const std::vector<std::string>* hosts : {&settings.hosts, &settings.management.hosts}) {
    for (const std::string& host : *hosts)
      if (HostRules::WhyNot(host).empty() && host != "*") names.push_back(host);
  }
  return names;
}

std::vector<std::string> MetricsHosts(const ServeSettings& settings) {
  std::vector<std::string> names = AllowedHosts(settings);
  names.insert(names.end(), settings.metrics_hosts.begin(), settings.metrics_hosts.end());
  return names;
}

bool OnLoopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

management::BootSettings BootSettingsOf(const ServeSettings& settings) {
  management::BootSettings boot;
  if (settings.engine == EngineKind::kRocksDb)
    boot.durability = settings.durability == Durability::kFsync ? "fsync" : "os";
  for (const std::string& host : settings.hosts) boot.loopback = boot.loopback && OnLoopback(host);
  boot.access_control = settings.access.mode == AuthMode::kEnforce;
  boot.title = settings.console_title;
  boot.colour = settings.console_colour;
  boot.production = settings.console_production;
  boot.read_only = settings.console == ConsoleMode::kReadOnly;
  return boot;
}

// Returns a directory of a setting, which is beside the data directory if it is not set; empty: in
// memory.
std::string DirectoryOf(const ServeSettings& settings, const std::string& set, const char* suffix) {
  if (!set.empty()) return set;
  if (settings.engine != EngineKind::kRocksDb) return "";
  std::string directory = settings.data_dir;
  while (directory.size() > 1 && directory.back() == '/') directory.pop_back();
  return directory + suffix;
}

}  // namespace

Instance::Instance(const ServeSettings& settings, std::unique_ptr<kv::Engine> engine,
                   Options options)
    : settings_(settings),
      options_(std::move(options)),
      random_(settings.seed != 0 ? settings.seed : SystemSeed()),
      engine_(std::move(engine)),
      workers_(settings.worker_threads, kMaxQueuedReads) {}

Instance::~Instance() { Close(); }

Result<std::unique_ptr<Instance>> Instance::Open(const ServeSettings& settings,
                                                 std::unique_ptr<kv::Engine> engine,
                                                 Options options) {
  std::unique_ptr<Instance> instance(new Instance(settings, std::move(engine), std::move(options)));
  TRY(instance->OpenClock());
  TRY(instance->OpenStore());
  TRY(instance->OpenRecorder());
  TRY(instance->OpenAccess());
  TRY(instance->OpenBackups());
  TRY(instance->OpenIsolation());
  instance->OpenSnapshots();
  TRY(instance->OpenExchange());
  TRY(instance->OpenStoreBackups());
  instance->OpenRest();
  return instance;
}

Status Instance::OpenClock() {
  const bool manual = settings_.clock == ClockKind::kManual;
  if (!engine_->capabilities().exclusive) {
    fleet::Beat beat;
    beat.endpoint = EndpointOf(settings_, options_.port);
    beat.version = STATOR_VERSION;
    beat.clock = manual ? "manual" : "system";
    beat.started_micros = machine_clock_.NowMicros();
    beat.datacenter = settings_.presence.datacenter;
    beat.rack = settings_.presence.rack;
    if (settings_.presence.forward_writes && settings_.engine == EngineKind::kRados) {
      ASSIGN_OR_RETURN(links_, WriteLinks::Listen(settings_.presence, settings_.hosts));
      beat.link = links_->AddressFor(beat.endpoint);
    }
    const auto known = kv::KnownFeatures();
    beat.features = kv::JoinFeatures({known.begin(), known.end()});
    SeededRandom ids(SystemSeed());
    peers_ = std::make_unique<Peers>(*engine_, machine_clock_, fleet::DrawId(ids), std::move(beat));
    if (auto* const keeper = engine_->feature_keeper()) {
      keeper->SetFeatureCheck(
          [this](std::string_view name) { return peers_->fleet().CheckFeature(name); });
    }
    TRY(peers_->CheckClocks());
  }
  if (!manual) {
    clock_ = std::make_unique<SystemClock>();
    return peers_ != nullptr ? SharedClock::Forget(peers_->settings()) : OkStatus();
  }
  const int64_t now = machine_clock_.NowMicros();
  auto driven = std::make_unique<DrivenClock>(
      peers_ != nullptr ? 0 : settings_.clock_start_micros.value_or(now));
  manual_clock_ = driven.get();
  clock_ = std::move(driven);
  if (peers_ == nullptr) return OkStatus();
  shared_clock_ = std::make_unique<SharedClock>(peers_->settings(), *manual_clock_);
  return shared_clock_->Join(settings_.clock_start_micros, now);
}

Status Instance::OpenStore() {
  ASSIGN_OR_RETURN(store_, table::Store::Open(*engine_, *clock_, workers_));
  if (peers_ != nullptr) TRY(peers_->ShareAges(store_->ages()));
  ops::Settings shown;
  shown.account = settings_.account;
  shown.region = settings_.region;
  shown.endpoint = "localhost:" + std::to_string(options_.port);
  shown.throughput = settings_.model;
  shown.delay_transient_statuses = settings_.delay_transient_statuses;
  shown.strict = settings_.strict;
  shown.kinesis = !settings_.kinesis_endpoint.empty();
  shown.pitr_lag_micros = settings_.pitr_lag_micros;
  environment_.reset(new ops::Environment{*store_, *clock_, random_, workers_, shown});
  TRY(OpenSeal());
  if (peers_ != nullptr) {
    environment_->admission.Share();
    shares_ = std::make_unique<Shares>(*engine_, environment_->admission, *clock_,
                                       Shares::Options{.name = peers_->id()});
  }
  environment_->admission.Start(settings_.throttling, shown.throughput);
  environment_->auto_scaler.SetDefaults(settings_.auto_scaling);
  ops::SetAllFaults(*environment_, settings_.faults);
  if (settings_.init_dir.empty()) return OkStatus();
  Result<Seeded> seeded = LoadSeedData(*environment_, settings_.init_dir);
  if (!seeded.ok()) {
    return Error(seeded.error().code(),
                 "cannot load what to start from: " + seeded.error().message());
  }
  LogInfo("init_loaded", {{"tables", seeded->tables}, {"items", seeded->items}});
  return OkStatus();
}

Status Instance::OpenSeal() {
  const Result<std::string> secret = StoreSecret(*engine_);
  if (secret.ok()) {
    environment_->seal = Seal(*secret);
    return OkStatus();
  }
  // A single server on a full disk must still serve reads. Its tokens are valid until it ends. With
  // several servers, tokens of one would not be valid at another, so the start fails.
  if (peers_ != nullptr || secret.error().code() == ErrorCode::kCorruption) return secret.error();
  LogWarn("no_secret_stored", {{"error", secret.error().message()},
                               {"effect", "iterators and tokens end with this process"}});
  return OkStatus();
}

Status Instance::OpenRecorder() {
  if (settings_.record_file.empty()) return OkStatus();
  RecorderOptions options;
  options.path = settings_.record_file;
  options.keys = settings_.record_keys;
  options.most_bytes = settings_.record_max_mb << 20;
  options.new_secret = {SystemSeed(), SystemSeed()};
  ASSIGN_OR_RETURN(recorder_, Recorder::Open(std::move(options), *store_, *clock_));
  LogInfo("recording", {{"file", settings_.record_file}});
  return OkStatus();
}

Result<std::shared_ptr<const access::Keyring>> Instance::OpenKeyring() {
  ASSIGN_OR_RETURN(std::vector<std::string> keys, MasterKeysOf(settings_.access));
  if (keys.empty() && settings_.engine == EngineKind::kMemory)
    keys.push_back(secure_random_.Bytes(32));
  if (keys.empty()) return std::shared_ptr<const access::Keyring>();
  ASSIGN_OR_RETURN(access::Keyring keyring, access::Keyring::FromKeys(std::move(keys)));
  return std::shared_ptr<const access::Keyring>(
      std::make_shared<access::Keyring>(std::move(keyring)));
}

void Instance::RefreshIdentities() {
  if (identities_ == nullptr) return;
  if (const Status read = identities_->Refresh(); !read.ok())
    LogWarn("identities_not_read", {{"error", read.error().message()}});
}

Status Instance::OpenAccess() {
  const AccessSettings& access = settings_.access;
  if (access.mode == AuthMode::kOff) return OkStatus();
  std::optional<identity::KeyPair> root = access.root;
  if (!root) {
    // A key that each server made for itself would be good for one of them only.
    if (settings_.engine == EngineKind::kRados && !access.root_key_file_given) {
      return ValidationError(
          "several servers may share this store, so the root key must be given: set "
          "STATOR_ROOT_ACCESS_KEY_ID and STATOR_ROOT_SECRET_ACCESS_KEY, or --root-key-file, alike "
          "on all of them");
    }
    ASSIGN_OR_RETURN(identity::RootKey key,
                     identity::ReadOrMakeRootKey(access.root_key_file, &secure_random_));
    if (key.made) LogInfo("root_key_made", {{"file", access.root_key_file}});
    root = std::move(key.pair);
  }
  identity::Identities::Options options;
  options.account = settings_.account;
  options.root = std::move(root);
  options.accounts = access.accounts;
  options.users = access.users;
  ASSIGN_OR_RETURN(options.keyring, OpenKeyring());
  options.shared = peers_ != nullptr;
  options.prepare = [this]() -> Status {
    TRY(kv::RequireFeature(*engine_, kIdentityFeature));
    // The first change in a declared account stores a record of it (identity/identities.cc).
    return settings_.access.accounts.empty() ? OkStatus() : table::RequireAccounts(*store_);
  };
  if (peers_ != nullptr) {
    options.announce = [this] {
      if (const Status told = peers_->messages().Announce(kIdentityTopic); !told.ok())
        LogWarn("identities_not_acknowledged", {{"error", told.error().message()}});
    };
  }
  ASSIGN_OR_RETURN(identities_, identity::Identities::Open(*engine_, machine_clock_, secure_random_,
                                                           std::move(options)));
  resource_policies_ = std::make_unique<ResourcePolicyKeeper>(*identities_, *store_);
  environment_->resource_policies = resource_policies_.get();
  const auto make_gate = [&](guard::Mode mode) {
    guard::Gate::Options gate{mode, settings_.account, settings_.region, secure_random_.Bytes(32)};
    gate.resources = resource_policies_.get();
    if (peers_ != nullptr) gate.fresh = [this] { return identities_->Fresh(); };
    return std::make_unique<guard::Gate>(machine_clock_, *identities_, std::move(gate));
  };
  gate_ = make_gate(access.mode == AuthMode::kEnforce ? guard::Mode::kEnforce : guard::Mode::kWarn);
  strict_gate_ = make_gate(guard::Mode::kEnforce);
  if (!access.audit_file.empty()) {
    audit::Trail::Options log;
    log.path = access.audit_file;
    log.most_bytes = access.audit_max_mb << 20;
    log.most_files = access.audit_files;
    log.data_plane = access.audit_data_plane;
    log.origin = {settings_.account, settings_.region, EndpointOf(settings_, options_.port)};
    ASSIGN_OR_RETURN(audit_, audit::Trail::Open(std::move(log), machine_clock_));
  }
  iam_ = std::make_unique<iam::Service>(*identities_, *strict_gate_, *environment_, audit_.get());
  iam_door_ = std::make_unique<IamDoor>(*iam_, HostRules(AllowedHosts(settings_)));
  if (peers_ != nullptr) {
    peers_->messages().On(std::string(kIdentityTopic),
                          [this](std::string_view) { RefreshIdentities(); });
  }
  return OkStatus();
}

Status Instance::OpenBackups() {
  if (store_->engine().pinner() == nullptr) return OkStatus();
  transfer::BackupOptions options;
  const std::string directory = DirectoryOf(settings_, settings_.backup_dir, "-backups");
  const bool in_bucket = IsUrl(directory);
  if (in_bucket) {
    ASSIGN_OR_RETURN(options.folders,
                     OpenS3Folders(directory, settings_.object_store, machine_clock_));
  } else {
    options.folders = directory.empty() ? transfer::MakeMemoryFolders()
                                        : transfer::MakeDirectoryFolders(
                                              directory, transfer::Backups::kLeastFreeBytes);
  }
  options.tell = [this](std::string_view kind, const std::string&, const std::string& text) {
    events_->Note(kind, text);
  };
  if (options_.keys != nullptr && !directory.empty() && !in_bucket)
    transfer::RenewBackupKeys(directory, *options_.keys);
  options.folders = transfer::MakeEncryptedFolders(std::move(options.folders), options_.keys);
  ASSIGN_OR_RETURN(backups_,
                   transfer::Backups::Open(*store_, *clock_, random_, std::move(options)));
  environment_->backups = backups_.get();
  restores_ = std::make_unique<transfer::Restores>(*store_, *backups_);
  environment_->restores = restores_.get();
  return OkStatus();
}

Status Instance::OpenIsolation() {
  const IsolationSettings& isolation = settings_.isolation;
  if (!isolation.by_key) return OkStatus();
  if (kv::RequiredFeatures(*engine_).contains(kIdentityFeature)) {
    return ValidationError(
        "--isolate=access-key is for a store without users, roles and accounts, and this one has "
        "some: start it with --auth=enforce, or take another --data-dir");
  }
  ops::IsolatedAccounts::Options options;
  options.most = isolation.most_accounts;
  options.idle_micros = isolation.idle_micros;
  isolated_ = std::make_unique<ops::IsolatedAccounts>(*environment_, options);
  TRY(isolated_->Adopt());
  LogInfo("isolating", {{"by", "access-key"},
                        {"accounts", isolated_->totals().accounts},
                        {"most", options.most},
                        {"idle_seconds", options.idle_micros / 1'000'000}});
  return OkStatus();
}

void Instance::OpenSnapshots() {
  if (store_->shared() || store_->engine().rewinder() == nullptr) return;
  snapshots_ = std::make_unique<ops::AccountSnapshots>(*environment_, isolated_.get(),
                                                       ops::AccountSnapshots::Options{});
  if (isolated_ != nullptr)
    isolated_->OnDrop([this](const std::string& account) { snapshots_->ForgetAll(account); });
}

Status Instance::OpenExchange() {
  if (backups_ == nullptr) return OkStatus();
  std::unique_ptr<exchange::ObjectStore> objects;
  if (settings_.object_store.is_url()) {
    ASSIGN_OR_RETURN(objects, OpenS3(settings_.object_store, machine_clock_));
  } else {
    const std::string directory = DirectoryOf(settings_, settings_.object_store.place, "-objects");
    objects = directory.empty()
                  ? exchange::MakeMemoryObjects(kMostObjectBytes)
                  : exchange::MakeDirectoryObjects(directory, transfer::Backups::kLeastFreeBytes);
  }
  exchange::Options options;
  options.codec.append_json = api::AppendItemJson;
  options.codec.read_json = api::ReadItem;
  options.codec.check_item = ops::CheckImportedItem;
  options.codec.compile_condition = ops::CompileRecordCondition;
  options.codec.compile_filter = ops::CompileExportFilter;
  options.codec.check_table = [this](const table::TableDescriptor& table) {
    return ops::CheckAccountQuota(*environment_, table);
  };
  options.account = settings_.account;
  options.tell = [this](std::string_view kind, const std::string&, const std::string& text) {
    events_->Note(kind, text);
  };
  ASSIGN_OR_RETURN(exchange_, exchange::Exchange::Open(*store_, *clock_, random_,
                                                       std::move(objects), std::move(options)));
  backups_->SetCompanion(exchange_.get());
  return OkStatus();
}

Status Instance::OpenStoreBackups() {
  if (settings_.engine != EngineKind::kRocksDb) return OkStatus();
  // Links of a backup that a kill ended hold files that the store has dropped since.
  store_backup::RemoveCheckpoint(settings_.data_dir);
  const StoreBackupSettings& settings = settings_.store_backup;
  if (settings.place.empty()) return OkStatus();
  store_backup::KeeperOptions options;
  ASSIGN_OR_RETURN(
      options.place,
      OpenStoreBackupPlace(settings.place, settings_.object_store.ca_file, machine_clock_));
  options.data_dir = settings_.data_dir;
  options.every_micros = settings.every_micros;
  options.keep = settings.keep;
  options.bytes_per_second = static_cast<uint64_t>(settings.rate_mb) * 1'000'000;
  options.version = STATOR_VERSION;
  if (options_.keys != nullptr) options.key_id = options_.keys->key_id();
  options.tell = [this](std::string_view kind, const std::string& text) {
    events_->Note(kind, text);
  };
  store_backups_ = std::make_unique<store_backup::Keeper>(*engine_, *clock_, std::move(options));
  return OkStatus();
}

void Instance::OpenTriggers() {
  triggers::Runner::Options options;
  options.functions = settings_.functions;
  options.declared = settings_.triggers;
  if (!settings_.lambda_endpoint.empty()) {
    triggers::FunctionSettings any;
    any.name = "*";
    any.kind = triggers::FunctionSettings::Kind::kInvoke;
    any.url = settings_.lambda_endpoint;
    std::erase_if(options.functions, [](const auto& each) { return each.name == "*"; });
    options.functions.push_back(std::move(any));
  }
  if (peers_ != nullptr)
    options.is_mine = [this](uint32_t tablet) { return peers_->IsMine(tablet); };
  triggers_ = std::make_unique<triggers::Runner>(*environment_, machine_clock_, std::move(options));
  triggers::KinesisKeeper::Options kinesis;
  kinesis.endpoint = settings_.kinesis_endpoint;
  kinesis.authorities_file = settings_.kinesis_ca_file;
  if (peers_ != nullptr)
    kinesis.is_mine = [this](uint32_t tablet) { return peers_->IsMine(tablet); };
  kinesis_ =
      std::make_unique<triggers::KinesisKeeper>(*environment_, machine_clock_, std::move(kinesis));
  triggers_service_ = std::make_unique<triggers::Service>(*environment_, *triggers_, gate_.get(),
                                                          audit_.get(), settings_.require_auth);
  triggers_door_ =
      std::make_unique<TriggersDoor>(*triggers_service_, HostRules(AllowedHosts(settings_)));
}

void Instance::OpenRest() {
  presence_ = std::make_unique<Presence>(settings_.presence, EndpointOf(settings_, options_.port),
                                         peers_.get());
  presence_->Follow();
  OpenTriggers();
  heat_ = std::make_unique<HeatHistories>(*environment_, has_manual_clock());
  events_ = std::make_unique<management::Events>(*environment_);
  events_->Listen();
  events_->Look();
  auto* const transactions = dynamic_cast<kv_tx::TransactionEngine*>(engine_.get());
  if (peers_ != nullptr && transactions != nullptr) {
    sweep_ = std::make_unique<TransactionSweep>(
        *transactions, machine_clock_, [this](uint32_t owner) { return peers_->IsMine(owner); },
        options_.sweep);
  }
  metrics_ = std::make_unique<Metrics>(
      [this](std::string_view name) { return store_->Find(name) != nullptr; });
  recording_ = std::make_unique<management::Recording>(*clock_, machine_clock_, recorder_.get());
  tail_ = std::make_unique<management::RequestTail>(*clock_, manual_clock_ != nullptr,
                                                    machine_clock_, recording_.get());
  series_ = std::make_unique<management::Series>(machine_clock_);
  hot_keys_ = std::make_unique<management::HotKeys>(*environment_);
  api::Registry registry;
  api::RegisterAll(&registry);
  api::ServiceOptions service_options;
  service_options.origins = OriginRules(settings_.cors);
  service_options.hosts = HostRules(AllowedHosts(settings_));
  service_options.gate = gate_.get();
  service_options.audit = audit_.get();
  service_options.isolated = isolated_.get();
  service_ = std::make_unique<api::Service>(
      *environment_, std::move(registry),
      std::make_unique<api::ShapeAuthenticator>(settings_.require_auth), service_options,
      metrics_.get(), tail_.get());
  chores_ = std::make_unique<Chores>(*clock_);
  chores_->Add("events", kEventsMicros, [this](Chores::Pace) {
    events_->Look();
    return false;
  });
  chores_->Add("hot keys", management::HotKeys::kLookMicros, [this](Chores::Pace) {
    hot_keys_->Look();
    return false;
  });
  machine_chores_ = std::make_unique<Chores>(machine_clock_);
  machine_chores_->Add("series", management::Series::kLookMicros, [this](Chores::Pace) {
    series_->Look(metrics_->TotalsByOperation(), Metrics::LatencyBounds(),
                  [this](std::string_view name) { return store_->Find(name) != nullptr; });
    return false;
  });
  if (manual_clock_ != nullptr) {
    // Its standing still keeps no line about refusals back.
    machine_chores_->Add("refusals", kEventsMicros, [this](Chores::Pace) {
      environment_->admission.Advance();
      return false;
    });
  }
  AddProductChores(*environment_, *metrics_, *heat_, settings_.ttl_interval_micros,
                   {settings_.ttl_delay_micros / 1'000'000, settings_.seed}, chores_.get());
  chores_->Add("tables of deleted accounts", kGoneAccountsMicros, [this](Chores::Pace) {
    if (identities_ == nullptr || identities_->CountDeletedAccounts() == 0) return false;
    ops::DropTablesOfAccounts(*store_, [this](std::string_view account) {
      return identities_->IsDeletedAccount(account);
    });
    return false;
  });
  chores_->Add("triggers", kTriggersMicros, [this](Chores::Pace pace) {
    // Before a manual clock is moved, deliver the changes that are there: a move by days would make
    // them too old.
    if (pace != Chores::Pace::kAtOnce || manual_clock_ == nullptr) return false;
    triggers_->Settle(kSettleMicros);
    kinesis_->Settle(kSettleMicros);
    return false;
  });
  if (store_backups_ != nullptr && settings_.store_backup.every_micros > 0) {
    chores_->Add("store backups", kStoreBackupsMicros, [this](Chores::Pace pace) {
      const bool runs = store_backups_->Look();
      if (pace == Chores::Pace::kGentle || !runs) return false;
      std::this_thread::sleep_for(kStoreBackupPoll);
      return true;
    });
  }
  if (isolated_ != nullptr) {
    chores_->Add("isolated accounts", kIsolatedMicros,
                 [this](Chores::Pace) { return isolated_->DropIdle(); });
  }
  clock_control_ = std::make_unique<ClockControl>(*clock_, manual_clock_, *chores_,
                                                  shared_clock_.get(), peers_.get());
  management_ = std::make_unique<Management>(
      *environment_, *metrics_, *clock_control_, *heat_, options_.sockets,
      Management::Options{std::string(EngineName(settings_.engine)),
                          settings_.init_dir,
                          clock_->TicksMicros(),
                          peers_.get(),
                          settings_.faults,
                          settings_.throttling,
                          shares_.get(),
                          sweep_.get(),
                          gate_.get(),
                          identities_.get(),
                          audit_.get(),
                          HostRules(AllowedHosts(settings_)),
                          HostRules(MetricsHosts(settings_)),
                          BootSettingsOf(settings_),
                          events_.get(),
                          tail_.get(),
                          triggers_.get(),
                          kinesis_.get(),
                          recording_.get(),
                          series_.get(),
                          hot_keys_.get(),
                          presence_.get(),
                          links_.get(),
                          isolated_.get(),
                          snapshots_.get(),
                          StoreNameOf(settings_),
                          store_backups_.get(),
                          WhyNoStoreBackups(settings_.engine)});
  scaling_ = std::make_unique<scaling::Service>(*environment_, gate_.get(), audit_.get(),
                                                settings_.require_auth);
  scaling_door_ = std::make_unique<ScalingDoor>(*scaling_, HostRules(AllowedHosts(settings_)));
  front_door_ = std::make_unique<FrontDoor>(
      *service_, *management_, *environment_, gate_.get(), iam_door_.get(), audit_.get(),
      engine_->capabilities().blocking, settings_.console != ConsoleMode::kOff,
      FrontDoor::ManagementPlace{settings_.management.on, options_.management_listener},
      scaling_door_.get(), triggers_door_.get(), presence_.get(), isolated_ != nullptr);
}

Status Instance::Start() {
  if (peers_ != nullptr) {
    if (links_ != nullptr) {
      ASSIGN_OR_RETURN(const std::string secret, StoreSecret(*engine_));
      TRY(links_->Start(*service_, *engine_, *peers_, machine_clock_, secret));
    }
    TRY(peers_->Start(*chores_, [this] {
      if (const Status caught_up = store_->CatchUp(); !caught_up.ok())
        LogWarn("catalog_not_read", {{"error", caught_up.error().message()}});
      RefreshIdentities();
      if (links_ != nullptr) links_->Follow();
      if (const Status read = triggers_->Refresh(); !read.ok())
        LogWarn("mappings_not_read", {{"error", read.error().message()}});
    }));
    store_->SetWorkPredicate(
        [this](const table::Table& table) { return peers_->IsMine(table.descriptor.tablet_id); });
    store_->ListenTo([this](std::string_view message, UniqueFunction<void()> acknowledge) {
      peers_->messages().Receive(message, std::move(acknowledge));
    });
    shares_->Start();
    if (sweep_ != nullptr) sweep_->Start();
    // Without a part of the capacity it would refuse everything.
    if (environment_->admission.Enforces() && !shares_->WaitForGrant(kWaitForGrantMicros))
      LogWarn("no_part_of_the_capacity_yet", {{"waited_seconds", kWaitForGrantMicros / 1'000'000}});
  }
  // Goes on with what a killed process has left, though a manual clock stands still.
  if (backups_ != nullptr) ops::FinishDeletes(*environment_);
  chores_->Start();
  machine_chores_->Start();
  if (restores_ != nullptr) restores_->Start();
  if (exchange_ != nullptr) exchange_->Start();
  if (store_backups_ != nullptr) store_backups_->Start();
  TRY(triggers_->Start());
  TRY(kinesis_->Start());
  return OkStatus();
}

void Instance::BeginDrain() { presence_->BeginStop(); }

void Instance::StopBackground() {
  if (std::exchange(stopped_, true)) return;
  if (links_ != nullptr) links_->BeginStop();
  // Abort the calls that wait for an identity provider, so that the end of the server does not wait
  // for them.
  if (iam_ != nullptr) iam_->StopFetching();
  if (triggers_ != nullptr) triggers_->Stop();
  if (kinesis_ != nullptr) kinesis_->Stop();
  if (isolated_ != nullptr) isolated_->Stop();
  // First, so that no move of the clock is waited for.
  if (store_backups_ != nullptr) store_backups_->Stop();
  if (chores_ != nullptr) chores_->Stop();
  if (machine_chores_ != nullptr) machine_chores_->Stop();
  if (exchange_ != nullptr) exchange_->Stop();
  if (restores_ != nullptr) restores_->Stop();
  if (backups_ != nullptr) backups_->Stop();
  if (peers_ == nullptr) return;
  if (sweep_ != nullptr) sweep_->Stop();
  if (store_ != nullptr) store_->ListenTo(nullptr);
  peers_->Stop();
}

void Instance::Close() {
  StopBackground();
  if (std::exchange(closed_, true)) return;
  if (links_ != nullptr) links_->Stop();
  if (front_door_ != nullptr) front_door_->Stop();
  if (iam_door_ != nullptr) iam_door_->Stop();
  if (scaling_door_ != nullptr) scaling_door_->Stop();
  if (triggers_door_ != nullptr) triggers_door_->Stop();
  if (management_ != nullptr) management_->Stop();
  if (shares_ != nullptr) shares_->Stop();
  if (heat_ != nullptr) {
    // What was used since the last look at the meters.
    environment_->admission.Advance();
    environment_->admission.TellAllRefusals();
    heat_->Keep();
  }
  if (resource_policies_ != nullptr) resource_policies_->Stop();
  workers_.Stop();
  if (recorder_ != nullptr) recorder_->Stop();
  if (audit_ != nullptr) audit_->Stop();
  // The engine finishes what is queued while everything its callbacks touch is still there.
  if (store_ != nullptr) store_->Stop();
  snapshots_.reset();
  engine_.reset();
}

}  // namespace stator::server
