#include "server/instance.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "server/product_chores.h"
#include "server/seed_data.h"

namespace stator::server {
namespace {

constexpr size_t kMaxQueuedReads = 4096;
// Processes that are there need some seconds to make room; one that has died keeps its part a
// little longer.
constexpr int64_t kWaitForGrantMicros = 15'000'000;

std::string EndpointOf(const ServeSettings& settings, uint16_t port) {
  const std::string host = settings.hosts.empty() ? "localhost" : settings.hosts.front();
  return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" +
         std::to_string(port);
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
    SeededRandom ids(SystemSeed());
    peers_ = std::make_unique<Peers>(*engine_, machine_clock_, fleet::DrawId(ids), std::move(beat));
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
  ops::Settings shown;
  shown.account = settings_.account;
  shown.region = settings_.region;
  shown.endpoint = "localhost:" + std::to_string(options_.port);
  shown.throughput = settings_.model;
  shown.delay_transient_statuses = settings_.delay_transient_statuses;
  environment_.emplace(*store_, *clock_, random_, workers_, shown);
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

void Instance::OpenRest() {
  heat_ = std::make_unique<HeatHistories>(*environment_, has_manual_clock());
  auto* const transactions = dynamic_cast<kv_tx::TransactionEngine*>(engine_.get());
  if (peers_ != nullptr && transactions != nullptr) {
    sweep_ = std::make_unique<TransactionSweep>(
        *transactions, machine_clock_, [this](uint32_t owner) { return peers_->IsMine(owner); },
        options_.sweep);
  }
  metrics_ = std::make_unique<Metrics>(
      [this](std::string_view name) { return store_->Find(name) != nullptr; });
  api::Registry registry;
  api::RegisterAll(&registry);
  api::ServiceOptions service_options;
  service_options.allowed_origins = settings_.cors;
  service_ = std::make_unique<api::Service>(
      *environment_, std::move(registry),
      std::make_unique<api::ShapeAuthenticator>(settings_.require_auth), service_options,
      metrics_.get(), recorder_.get());
  chores_ = std::make_unique<Chores>(*clock_);
  AddProductChores(*environment_, *metrics_, *heat_, settings_.ttl_interval_micros, chores_.get());
  clock_control_ = std::make_unique<ClockControl>(*clock_, manual_clock_, *chores_,
                                                  shared_clock_.get(), peers_.get());
  management_ = std::make_unique<Management>(
      *environment_, *metrics_, *clock_control_, *heat_, options_.connections,
      Management::Options{std::string(EngineName(settings_.engine)), settings_.init_dir,
                          clock_->TicksMicros(), peers_.get(), settings_.faults,
                          settings_.throttling, shares_.get(), sweep_.get()});
  front_door_ =
      std::make_unique<FrontDoor>(*service_, *management_, engine_->capabilities().blocking);
}

Status Instance::Start() {
  if (peers_ != nullptr) {
    TRY(peers_->Start(*chores_, [this] {
      if (const Status caught_up = store_->CatchUp(); !caught_up.ok())
        LogWarn("catalog_not_read", {{"error", caught_up.error().message()}});
    }));
    store_->SetWorkPredicate(
        [this](const table::Table& table) { return peers_->IsMine(table.descriptor.tablet_id); });
    store_->ListenTo([this](std::string_view message, UniqueFunction<void()> acknowledge) {
      peers_->messages().Hear(message, std::move(acknowledge));
    });
    shares_->Start();
    if (sweep_ != nullptr) sweep_->Start();
    // Without a part of the capacity it would refuse everything.
    if (environment_->admission.Enforces() && !shares_->WaitForGrant(kWaitForGrantMicros))
      LogWarn("no_part_of_the_capacity_yet", {{"waited_seconds", kWaitForGrantMicros / 1'000'000}});
  }
  chores_->Start();
  return OkStatus();
}

void Instance::StopBackground() {
  if (std::exchange(stopped_, true)) return;
  // First, so that no move of the clock is waited for.
  if (chores_ != nullptr) chores_->Stop();
  if (peers_ == nullptr) return;
  if (sweep_ != nullptr) sweep_->Stop();
  if (store_ != nullptr) store_->ListenTo(nullptr);
  peers_->Stop();
}

void Instance::Close() {
  StopBackground();
  if (std::exchange(closed_, true)) return;
  if (front_door_ != nullptr) front_door_->Stop();
  if (management_ != nullptr) management_->Stop();
  if (shares_ != nullptr) shares_->Stop();
  if (heat_ != nullptr) {
    // What was used since the last look at the meters.
    environment_->admission.Advance();
    heat_->Keep();
  }
  workers_.Stop();
  if (recorder_ != nullptr) recorder_->Stop();
  // The engine finishes what is queued while everything its callbacks touch is still there.
  if (store_ != nullptr) store_->Stop();
  engine_.reset();
}

}  // namespace stator::server
