#include "kv_tx/simulation_world.h"

#include <algorithm>

#include "kv/fixed_bytes.h"

namespace stator::kv_tx::simulation {
namespace {

constexpr int kDepth = 3;
constexpr int kAwaits = 2;
// "\x02name" is a counter that may be in any part. Under the key returned here a part keeps its
// share of it.
bool IsShared(kv::Tablet tablet, std::string_view key) {
  return tablet.space == kv::Space::kItems && !key.empty() && key[0] == '\x02';
}
std::string ShareKey(std::string_view key, std::string_view part) {
  return std::string(key).append("/").append(part);
}

// Returns the tablet of a batch, if it names keys.
std::optional<kv::Tablet> TabletOf(const kv::Batch& batch) {
  if (!batch.guards.empty()) return batch.guards.front().tablet;
  if (!batch.puts.empty()) return batch.puts.front().tablet;
  if (!batch.deletes.empty()) return batch.deletes.front().tablet;
  return std::nullopt;
}

Error Unavailable() { return Error(ErrorCode::kUnavailable, "Simulated: unavailable."); }

}  // namespace

void SimulatedScheduler::Post(UniqueFunction<void()> task, int64_t delay_micros) {
  tasks_.emplace(hurrying_ ? 0 : world_.clock.TicksMicros() + delay_micros, std::move(task));
}

void SimulatedScheduler::Await(FunctionRef<bool()> ready) { world_.Await(ready, abandoned_); }

void SimulatedScheduler::Hurry() {
  hurrying_ = true;
  std::multimap<int64_t, UniqueFunction<void()>> tasks;
  tasks.swap(tasks_);
  for (auto& [time, task] : tasks) tasks_.emplace(0, std::move(task));
}

bool SimulatedScheduler::Runnable() const { return NextTime() <= world_.clock.TicksMicros(); }

void SimulatedScheduler::RunOne() {
  // Chooses among the tasks whose time has come.
  size_t due = 0;
  for (auto at = tasks_.begin(); at != tasks_.end() && at->first <= world_.clock.TicksMicros();
       ++at)
    ++due;
  auto chosen = std::next(tasks_.begin(), static_cast<long>(world_.random.Below(due)));
  UniqueFunction<void()> task = std::move(chosen->second);
  tasks_.erase(chosen);
  task();
}

SimulatedEngine::SimulatedEngine(World& world, std::unique_ptr<kv::Engine> store)
    : world_(world), store_(std::move(store)) {}
SimulatedEngine::~SimulatedEngine() = default;

Status SimulatedEngine::MayRead() {
  if (dead_) return Unavailable();
  world_.Interleave();
  if (dead_ || (!world_.quiet && world_.Chance(world_.faults.unreadable))) return Unavailable();
  return OkStatus();
}

Result<bool> SimulatedEngine::Get(kv::Tablet tablet, std::string_view key, kv::Tier tier,
                                  std::string* value) {
  if (tier != kv::Tier::kAny)
    return dead_ ? Result<bool>(Unavailable()) : store_->Get(tablet, key, tier, value);
  TRY(MayRead());
  if (!IsShared(tablet, key)) return store_->Get(tablet, key, tier, value);
  int64_t sum = 0;
  bool found = false;
  uint64_t stamp = 0;
  Status bad;
  TRY(store_->Scan({tablet, key, "\x03"}, tier,
                   [&](std::string_view share, std::string_view count) {
                     if (!share.starts_with(ShareKey(key, ""))) return true;
                     const Result<int64_t> part = kv::CounterOf(count);
                     if (!part.ok()) bad = part.error();
                     if (part.ok()) sum += *part;
                     stamp = std::max(stamp, kv::StampOf(count));
                     found = true;
                     return true;
                   }));
  TRY(std::move(bad));
  if (found) *value = kv::EncodeCounter(stamp, sum);
  return found;
}

Status SimulatedEngine::MultiGet(std::span<const kv::Point> points, kv::Tier tier,
                                 std::vector<std::optional<std::string>>* values) {
  if (tier == kv::Tier::kAny) TRY(MayRead());
  if (dead_) return Unavailable();
  return store_->MultiGet(points, tier, values);
}

Status SimulatedEngine::Scan(const kv::Range& range, kv::Tier tier,
                             FunctionRef<bool(std::string_view, std::string_view)> visit) {
  TRY(MayRead());
  return store_->Scan(range, tier, visit);
}

Result<kv::Unit> SimulatedEngine::UnitOf(kv::Tablet tablet, std::string_view key, kv::Tier tier) {
  if (dead_) return Unavailable();
  if (IsShared(tablet, key)) return kv::Unit{tablet, {}};
  if (tier != kv::Tier::kAny && world_.Chance(0.5))
    return Error(ErrorCode::kWouldBlock, "simulated");
  return store_->UnitOf(tablet, key, tier);
}

bool SimulatedEngine::SpansUnits(const kv::Batch& batch) const {
  // The process need not know.
  if (world_.random.Below(2) == 0) return false;
  kv::Batch routed = batch;
  std::erase_if(routed.adds, [](const kv::Add& add) { return IsShared(add.tablet, add.key); });
  return store_->SpansUnits(routed);
}

Status SimulatedEngine::RaiseFence(kv::Tablet tablet, uint64_t fence) {
  if (dead_) return Unavailable();
  return store_->RaiseFence(tablet, fence);
}

void SimulatedEngine::Apply(kv::Batch batch, kv::ApplyDone done) {
  if (dead_) return done(Unavailable());
  kv::Tablet tablet{};
  bool first = true;
  bool several = false;
  const auto look = [&](const auto& named) {
    for (const auto& each : named) {
      several |= !first && each.tablet != tablet;
      tablet = each.tablet;
      first = false;
    }
  };
  look(batch.guards);
  look(batch.puts);
  look(batch.deletes);
  look(batch.adds);
  look(batch.range_deletes);
  look(batch.fences);
  if (several) return done(Error(ErrorCode::kSpansUnits, "Simulated: several tablets."));
  const bool barrier = batch.empty();
  Operation operation{++issued_, std::move(batch), std::move(done), !frozen_, barrier, {}};
  // A barrier has a queue of its own.
  queues_[barrier ? kv::Tablet{kv::Space::kCatalog, UINT32_MAX} : tablet].push_back(
      std::move(operation));
}

bool SimulatedEngine::CanApply(const Queue& queue, size_t* index) const {
  for (size_t i = 0; i < queue.size(); ++i) {
    const Operation& operation = queue[i];
    if (operation.outcome) {
      // A refusal is reported before later batches are looked at.
      if (!operation.outcome->ok()) return false;
      continue;
    }
    if (!operation.sent && frozen_) return false;
    if (operation.barrier) {
      for (const auto& [tablet, other] : queues_) {
        if (&other != &queue && other.front().number < operation.number) return false;
      }
    }
    *index = i;
    return true;
  }
  return false;
}

bool SimulatedEngine::CanDeliver(const Queue& queue) const {
  return !frozen_ && queue.front().outcome.has_value();
}

bool SimulatedEngine::Runnable() const {
  size_t index = 0;
  return std::any_of(queues_.begin(), queues_.end(), [&](const auto& entry) {
    return CanApply(entry.second, &index) || CanDeliver(entry.second);
  });
}

void SimulatedEngine::RunOne() {
  std::vector<std::pair<kv::Tablet, bool>> choices;
  for (const auto& [tablet, queue] : queues_) {
    size_t index = 0;
    if (CanApply(queue, &index)) choices.emplace_back(tablet, true);
    if (CanDeliver(queue)) choices.emplace_back(tablet, false);
  }
  const auto [tablet, apply] = choices[world_.random.Below(choices.size())];
  if (!apply) return DeliverOne(tablet);
  size_t index = 0;
  Queue& queue = queues_[tablet];
  if (CanApply(queue, &index)) ApplyOne(queue, index);
}

void SimulatedEngine::ApplyOne(Queue& queue, size_t index) {
  Operation& operation = queue[index];
  const bool faults = !world_.quiet && !operation.barrier;
  // The share of a counter that may be in any part is kept in the unit of the rest of the batch.
  std::string part;
  const auto take = [&](kv::Tablet tablet, std::string_view key) {
    if (!IsShared(tablet, key)) part = world_.PartOf(tablet, key);
  };
  for (const kv::Add& add : operation.batch.adds) take(add.tablet, add.key);
  for (const kv::Delete& gone : operation.batch.deletes) take(gone.tablet, gone.key);
  for (const kv::Put& put : operation.batch.puts) take(put.tablet, put.key);
  for (const kv::Guard& guard : operation.batch.guards) take(guard.tablet, guard.key);
  for (kv::Add& add : operation.batch.adds) {
    if (IsShared(add.tablet, add.key)) add.key = ShareKey(add.key, part);
  }
  const std::shared_ptr<kv::BatchFate> fate = operation.batch.fate;
  const auto apply = [&, tablet = TabletOf(operation.batch)] {
    store_->Apply(std::move(operation.batch), [&](Result<uint64_t> result) {
      if (result.ok() && tablet) world_.stamps[*tablet] = *result;
      operation.outcome = std::move(result);
    });
  };
  if (faults && world_.Chance(world_.faults.unavailable)) {
    // The batch had been given a stamp, which the next applied batch gets again.
    if (const auto tablet = TabletOf(operation.batch); fate != nullptr && tablet)
      fate->stamp = world_.stamps[*tablet] + 1;
    operation.outcome = Unavailable();
    return;
  }
  if (faults && world_.Chance(world_.faults.unknown)) {
    ++world_.unknowns;
    switch (world_.random.Below(3)) {
      case 0: break;
      case 1: world_.late.push_back(std::move(operation.batch)); break;
      default:
        apply();
        if (!operation.outcome->ok()) return;
    }
    operation.outcome = Error(ErrorCode::kOutcomeUnknown, "Simulated: no answer.");
    return;
  }
  apply();
}

void SimulatedEngine::DeliverOne(kv::Tablet tablet) {
  const auto queue = queues_.find(tablet);
  Operation operation = std::move(queue->second.front());
  queue->second.pop_front();
  if (queue->second.empty()) queues_.erase(queue);
  operation.done(std::move(*operation.outcome));
}

void SimulatedEngine::Freeze(bool frozen) {
  frozen_ = frozen;
  if (frozen) return;
  for (auto& [tablet, queue] : queues_) {
    for (Operation& operation : queue) operation.sent = true;
  }
}

void SimulatedEngine::Kill() {
  dead_ = true;
  frozen_ = false;
  std::map<kv::Tablet, Queue> queues;
  queues.swap(queues_);
  for (auto& [tablet, queue] : queues) {
    for (Operation& operation : queue) {
      // A reader of a dead process's leftovers must not depend on the order of operations still to
      // come.
      if (!operation.outcome && operation.sent && world_.random.Below(2) == 0) {
        kv::Batch copy = operation.batch;
        for (kv::Add& add : copy.adds) {
          if (IsShared(add.tablet, add.key))
            add.key = ShareKey(
                add.key,
                world_.PartOf(add.tablet, copy.guards.empty() ? "" : copy.guards.front().key));
        }
        if (!operation.barrier) world_.late.push_back(std::move(copy));
      }
    }
  }
  for (auto& [tablet, queue] : queues) {
    for (Operation& operation : queue) operation.done(Unavailable());
  }
}

Process::Process(World& its_world) : world(its_world), scheduler(its_world, abandoned) {
  auto inner = std::make_unique<SimulatedEngine>(world, world.memory.Attach());
  connection = inner.get();
  Options options;
  options.clock = &world.clock;
  options.seed = world.random.Next() | 1;
  options.scheduler = &scheduler;
  engine = std::make_unique<TransactionEngine>(std::move(inner), options);
}

Process::~Process() = default;

World::World(uint64_t seed, const Faults& its_faults)
    : random(seed),
      faults(its_faults),
      memory([this](kv::Tablet tablet, std::string_view key) { return PartOf(tablet, key); }),
      raw(memory.Attach()) {}

World::~World() {
  quiet = true;
  act = nullptr;
  for (auto& process : processes) {
    process->frozen = false;
    process->connection->Freeze(false);
    if (!process->dead) process->connection->Kill();
    process->dead = true;
  }
  for (auto& process : processes) {
    process->abandoned = false;
    process->engine.reset();
    process->connection = nullptr;
  }
}

void World::Divide(kv::Tablet tablet, const std::string& bound) {
  std::vector<std::string>& bounds = bounds_[tablet];
  const auto at = std::lower_bound(bounds.begin(), bounds.end(), bound);
  if (at != bounds.end() && *at == bound) return;
  bounds.insert(at, bound);
  ++divisions;
}

std::string World::PartOf(kv::Tablet tablet, std::string_view key) const {
  std::string_view route = RouteOf(key);
  if (IsShared(tablet, route)) {
    const size_t slash = route.find('/');
    if (slash != std::string_view::npos) return std::string(route.substr(slash + 1));
  }
  const auto bounds = bounds_.find(tablet);
  if (bounds == bounds_.end()) return "0";
  return std::to_string(std::upper_bound(bounds->second.begin(), bounds->second.end(), route) -
                        bounds->second.begin());
}

Process& World::Start() {
  processes.push_back(std::make_unique<Process>(*this));
  return *processes.back();
}

void World::Kill(Process& process) {
  ++kills;
  process.dead = true;
  process.abandoned = true;
  process.frozen = false;
  if (on_kill) on_kill(process);
  process.connection->Kill();
}

void World::Disturb() {
  if (quiet) return;
  if (Chance(faults.kill)) {
    std::vector<Process*> alive;
    for (auto& process : processes) {
      if (!process->dead) alive.push_back(process.get());
    }
    if (alive.size() > 1) Kill(*alive[random.Below(alive.size())]);
  }
  if (Chance(faults.freeze)) {
    Process& process = *processes[random.Below(processes.size())];
    if (!process.dead) {
      process.frozen = !process.frozen;
      process.connection->Freeze(process.frozen);
      freezes += process.frozen;
    }
  }
}

bool World::Step() {
  ++events;
  clock.AdvanceMicros(static_cast<int64_t>(random.Below(50)));
  Disturb();
  std::vector<std::function<void()>> choices;
  for (auto& process : processes) {
    Process* of = process.get();
    if (!of->abandoned && !of->frozen && of->scheduler.Runnable())
      choices.push_back([of] { of->scheduler.RunOne(); });
    if (of->connection != nullptr && of->connection->Runnable()) {
      for (int weight = 0; weight < 2; ++weight)
        choices.push_back([of] { of->connection->RunOne(); });
    }
  }
  if (!late.empty() && (quiet || random.Below(20) == 0)) {
    choices.push_back([this] {
      const size_t chosen = random.Below(late.size());
      kv::Batch batch = std::move(late[chosen]);
      late.erase(late.begin() + static_cast<long>(chosen));
      if (random.Below(3) == 0) return;  // never
      ++applied_late;
      raw->Apply(std::move(batch), [](Result<uint64_t>) {});
    });
  }
  if (depth_ == 0 && awaits_ < kAwaits && act && random.Below(4) == 0 && act()) return true;
  if (choices.empty()) return false;
  choices[random.Below(choices.size())]();
  return true;
}

bool World::Advance() {
  int64_t next = INT64_MAX;
  bool frozen = false;
  for (auto& process : processes) {
    frozen |= process->frozen;
    if (!process->frozen && !process->abandoned)
      next = std::min(next, process->scheduler.NextTime());
  }
  if (next != INT64_MAX) {
    clock.AdvanceMicros(std::max<int64_t>(1, next - clock.TicksMicros()));
    return true;
  }
  if (!frozen) return act != nullptr;
  // Only frozen processes have events left.
  for (auto& process : processes) {
    process->frozen = false;
    process->connection->Freeze(false);
  }
  return true;
}

void World::Settle() {
  quiet = true;
  for (auto& process : processes) {
    process->frozen = false;
    process->connection->Freeze(false);
  }
  const std::function<bool()> before = std::exchange(act, nullptr);
  while (Step() || Advance()) {
  }
  act = before;
}

void World::Interleave() {
  if (depth_ >= kDepth) return;
  ++depth_;
  // Mostly no event or few; sometimes as many as a transaction has from its commit to its end.
  const uint64_t kind = random.Below(40);
  for (uint64_t left = kind < 20 ? 0 : random.Below(kind < 39 ? 4 : 100); left > 0; --left) Step();
  --depth_;
}

void World::Await(FunctionRef<bool()> ready, const bool& abandoned) {
  ++awaits_;
  while (!ready() && !abandoned) {
    if (!Step() && !Advance()) std::abort();  // no event is left that could make it ready
  }
  --awaits_;
}

}  // namespace stator::kv_tx::simulation
