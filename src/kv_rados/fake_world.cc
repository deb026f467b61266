#include "kv_rados/fake_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace stator::kv_rados::simulation {
namespace {

constexpr double kLate = 0.02;  // that an event is a late operation, if there is one
constexpr FakeFaults kSilence = {.lost_answer = 0.4, .late = 0.2, .never = 0.3};
constexpr uint64_t kMaxEvents = 400'000;

}  // namespace

Process::Process(World& in, int process_number)
    : world(in), number(process_number), host(in.fibers, process_number) {}

World::World(uint64_t seed, const Trouble& how_much, const RadosOptions& options,
             const Limits& limits, FakeCluster::Observer& observer, Verdict& to_tell)
    : random(seed),
      trouble(how_much),
      verdict(to_tell),
      fibers(clock),
      cluster(fibers, clock, random, observer),
      options_(options),
      limits_(limits),
      frozen_(1, false) {
  cluster.faults = trouble.faults;
}

World::~World() { Abandon(); }

// Engines that are still open end like killed ones.
void World::Abandon() {
  quiet_ = true;
  events = 0;
  for (const auto& process : processes) {
    if (process->engine != nullptr || fibers.Alive(process->number) > 0) End(*process);
  }
  while (Step()) {
  }
}

Process& World::Start(std::vector<Client> clients) {
  const int number = static_cast<int>(processes.size()) + 1;
  processes.push_back(std::make_unique<Process>(*this, number));
  frozen_.push_back(false);
  Process& process = *processes.back();
  process.clients = clients.size();
  fibers.Start(number, [this, &process, clients = std::move(clients)]() mutable {
    Open(process);
    for (Client& client : clients) {
      if (process.engine == nullptr) {
        --process.clients;
        Changed();
        continue;
      }
      fibers.Start(process.number, [&process, client = std::move(client)] {
        client(process);
        --process.clients;
        process.world.Changed();
      });
    }
  });
  return process;
}

void World::Open(Process& process) {
  RadosOptions options = options_;
  options.user = FakeCluster::UserOf(process.number);
  options.clock = &clock;
  for (int attempt = 0; !process.dead; ++attempt) {
    auto connection = Cluster::Connect(
        options, {.api = FakeCluster::api(), .host = &process.host, .limits = limits_});
    auto engine = OpenOn(std::move(connection).value(),
                         fmt::format("{:030x}{:02x}", process.number, attempt));
    if (engine.ok()) {
      process.engine = wrap ? wrap(process, std::move(engine).value()) : std::move(engine).value();
      return;
    }
    if (quiet_ && !process.dead)
      return verdict.Fail("a store cannot be opened: " + engine.error().message());
  }
}

void World::Close(Process& process) {
  if (process.engine == nullptr) return;
  for (const auto& [name, value] : process.engine->Statistics()) statistics[name] += value;
  process.engine = nullptr;
}

// The process takes no further part. Its engine is closed once its clients have noticed.
void World::End(Process& process) {
  if (process.dead) return;
  process.dead = true;
  process.frozen_until = 0;
  if (on_kill) on_kill(process);
  cluster.Kill(process.number);
  fibers.Start(0, [this, &process] {
    Await([&process] { return process.clients == 0; });
    Close(process);
  });
}

void World::Disturb() {
  if (quiet_ || processes.empty()) return;
  const double chance = random.Unit();
  Process& process = *processes[random.Below(processes.size())];
  double below = trouble.kill;
  if (chance < below) {
    if (process.dead) return;
    ++kills;
    End(process);
    if (on_end) on_end(process);
    return;
  }
  if (chance < (below += trouble.shut_out)) {
    if (process.dead) return;
    ++shut_outs;
    cluster.ShutOut(process.number);
    if (on_end) on_end(process);
    return;
  }
  if (chance < (below += trouble.freeze)) {
    if (process.dead) return;
    ++freezes;
    process.frozen_until =
        clock.TicksMicros() + static_cast<int64_t>(random.Below(30'000'000)) + 1000;
    return;
  }
  if (chance < (below += trouble.silence)) {
    ++silences;
    cluster.faults = kSilence;
    silent_until_ = clock.TicksMicros() + static_cast<int64_t>(random.Below(25'000'000));
    return;
  }
  if (chance < below + trouble.fill && !cluster.full()) {
    ++fills;
    cluster.SetFull(true);
    full_until_ = clock.TicksMicros() + static_cast<int64_t>(random.Below(15'000'000));
  }
}

bool World::Step() {
  if (++events > kMaxEvents) return verdict.Fail("the simulation does not come to an end"), false;
  Disturb();
  const int64_t now = clock.TicksMicros();
  int64_t next = INT64_MAX;
  for (const auto& process : processes) {
    if (quiet_) process->frozen_until = 0;
    const bool frozen = process->frozen_until > now;
    frozen_[static_cast<size_t>(process->number)] = frozen;
    if (frozen) next = std::min(next, process->frozen_until);
  }
  if (cluster.full() && (quiet_ || full_until_ <= now)) cluster.SetFull(false);
  if (cluster.full()) next = std::min(next, full_until_);
  if (!quiet_ && silent_until_ <= now) cluster.faults = trouble.faults;
  ready_.clear();
  events_.clear();
  fibers.AppendReady(frozen_, &ready_);
  cluster.AppendEvents(frozen_, &events_);
  const auto late = std::find_if(events_.begin(), events_.end(), [](const auto& event) {
    return event.kind == FakeCluster::Event::Kind::kLate;
  });
  if (late != events_.end() && Chance(kLate)) {
    events_.erase(events_.begin(), late);
    cluster.Run(events_[random.Below(events_.size())]);
    return true;
  }
  events_.erase(late, events_.end());
  const size_t choices = ready_.size() + events_.size();
  if (choices == 0) {
    next = std::min({next, fibers.NextTime(frozen_), cluster.NextTime(frozen_)});
    if (next == INT64_MAX) return false;
    clock.AdvanceMicros(std::max<int64_t>(next - now, 0));
    return true;
  }
  const size_t choice = random.Below(choices);
  if (choice < ready_.size()) {
    fibers.Run(ready_[choice]);
  } else {
    cluster.Run(events_[choice - ready_.size()]);
  }
  clock.AdvanceMicros(static_cast<int64_t>(random.Below(200)));
  return verdict.ok() || quiet_;
}

void World::RunClients() {
  const auto busy = [this] {
    return std::any_of(processes.begin(), processes.end(),
                       [](const auto& process) { return process->clients > 0; });
  };
  while (busy() && verdict.ok()) {
    if (!Step()) return verdict.Fail("clients wait for what will never happen");
  }
}

void World::Settle(const Client& check) {
  quiet_ = true;
  cluster.faults = {};
  cluster.DropLate();
  Start({check});
  RunClients();
  bool closed = false;
  fibers.Start(0, [this, &closed] {
    for (size_t i = 0; i < processes.size(); ++i) {
      if (!processes[i]->dead) Close(*processes[i]);
    }
    closed = true;
  });
  while (!closed && verdict.ok()) {
    if (!Step()) return verdict.Fail("an engine does not close");
  }
  while (verdict.ok() && Step()) {
  }
}

void World::Await(FunctionRef<bool()> ready) {
  while (!ready()) fibers.Wait(&events, std::nullopt);
}

}  // namespace stator::kv_rados::simulation
