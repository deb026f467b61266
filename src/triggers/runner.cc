#include "triggers/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/mutex_wait.h"
#include "base/start_thread.h"
#include "ops/streams.h"
#include "stream/reader.h"
#include "table/store.h"

namespace stator::triggers {
namespace {

constexpr auto kTick = std::chrono::milliseconds(20);
constexpr int64_t kDeclareMicros = 1'000'000;
constexpr int64_t kLoadAgainMicros = 1'000'000;
constexpr int64_t kGraceMicros = 3'000'000;

}  // namespace

Runner::Runner(ops::Environment& env, const Clock& machine, Options options)
    : env_(env),
      machine_(machine),
      options_(std::move(options)),
      book_(env.store.engine()),
      changes_(kMostChangeBytes, machine),
      calls_(kMostCallBytes, machine),
      filters_(1, machine) {}

Status Runner::Start() {
  {
    MutexLock lock(mutex_);
    started_ = true;
  }
  TRY(Refresh());
  MutexLock lock(mutex_);
  if (!options_.declared.empty()) BeginThread();
  return OkStatus();
}

void Runner::BeginThread() {
  if (thread_.joinable() || stopped_ || !started_) return;
  (void)StartThread("triggers", &thread_, [this] { Run(); });  // else with the next mapping
}

Status Runner::Refresh() {
  MutexLock once(refreshing_);
  std::vector<StoredMapping> stored;
  if (options_.mappings != nullptr) {
    stored = options_.mappings();
  } else {
    ASSIGN_OR_RETURN(stored, book_.Mappings());
  }
  // The file may have another target under the name since the mapping was made.
  std::map<std::string, std::string> refused;  // why, by UUID
  for (const StoredMapping& each : stored) {
    if (options_.mappings != nullptr) break;
    const Status required = RequireTargets(each.mapping);
    if (!required.ok()) refused.emplace(each.mapping.uuid, required.error().message());
  }
  MutexLock lock(mutex_);
  for (auto at = followings_.begin(); at != followings_.end();) {
    const bool kept = std::any_of(stored.begin(), stored.end(), [&](const StoredMapping& each) {
      return each.mapping.uuid == at->first;
    });
    if (kept) {
      ++at;
      continue;
    }
    Retire(&at->second);
    for (const auto& course : at->second.leaving) {
      course->Stop(/*cancel=*/true);
      gone_.push_back(course);
    }
    at = followings_.erase(at);
  }
  for (StoredMapping& each : stored) {
    Following& following = followings_[each.mapping.uuid];
    if (following.stored.stamp == each.stamp) continue;
    if (following.tally == nullptr) {
      following.tally = std::make_shared<Tally>();
      following.active = std::make_shared<std::atomic<int>>(0);
    }
    Retire(&following);
    following.stored = std::move(each);
    const auto why = refused.find(following.stored.mapping.uuid);
    if (why != refused.end()) {
      following.plan = nullptr;
      following.problem = why->second;
      following.stored.stamp = 0;  // asked again
      continue;
    }
    following.plan = PlanOf(following.stored.mapping, following.tally, &following.problem);
  }
  if (!followings_.empty()) BeginThread();
  wake_.notify_all();
  return OkStatus();
}

std::shared_ptr<const Plan> Runner::PlanOf(const Mapping& mapping, std::shared_ptr<Tally> tally,
                                           std::string* problem) const {
  auto plan = std::make_shared<Plan>();
  plan->mapping = mapping;
  plan->tally = std::move(tally);
  plan->region = env_.settings.region;
  stream::StreamDescriptor named;
  named.table_name = mapping.table;
  named.label = mapping.label;
  plan->stream_arn = ops::StreamArn(env_, named);
  plan->function_arn = fmt::format("arn:aws:lambda:{}:{}:function:{}", env_.settings.region,
                                   env_.settings.account, mapping.function);
  problem->clear();
  for (const std::string& filter : mapping.filters) {
    Result<Pattern> pattern = Pattern::Parse(filter);
    if (!pattern.ok()) {
      *problem = pattern.error().message();
      return nullptr;
    }
    plan->patterns.push_back(*std::move(pattern));
  }
  const FunctionSettings* const function = FindFunction(options_.functions, mapping.function);
  if (function == nullptr) {
    *problem = options_.mappings != nullptr
                   ? "there is no --kinesis-endpoint"
                   : "no [[functions]] of stator.toml has the name " + mapping.function;
    return nullptr;
  }
  plan->function = *function;
  if (mapping.tumbling_seconds > 0 && !AnswersWithState(*function)) {
    *problem = "tumbling windows are for functions with lambda or url, and " + function->name +
               " answers with no state";
    return nullptr;
  }
  if (mapping.on_failure.empty()) return plan;
  const FunctionSettings* const destination =
      FindDestination(mapping.on_failure, &plan->destination_name);
  if (destination == nullptr) {
    *problem = "no [[functions]] of stator.toml is the destination " + mapping.on_failure;
    return nullptr;
  }
  plan->destination = *destination;
  return plan;
}

const FunctionSettings* Runner::FindDestination(std::string_view text, std::string* name) const {
  const size_t cut = text.find_last_of(":/");
  *name = std::string(cut == std::string_view::npos ? text : text.substr(cut + 1));
  for (const FunctionSettings& function : options_.functions)
    if (function.name == *name && *name != "*") return &function;
  return nullptr;
}

void Runner::Retire(Following* following) {
  for (auto& [shard, course] : following->courses) {
    course->Stop(/*cancel=*/false);
    following->leaving.push_back(std::move(course));
  }
  following->courses.clear();
  following->checkpoints.clear();
  following->seen = nullptr;
  following->loaded = false;
}

void Runner::Run() {
  int64_t declare_ticks = 0;
  while (true) {
    if (!options_.declared.empty() && machine_.TicksMicros() >= declare_ticks) {
      declare_ticks = machine_.TicksMicros() + kDeclareMicros;
      Declare();
    }
    UniqueMutexLock lock(mutex_);
    if (stopped_) return;
    Tick();
    if (followings_.empty() && gone_.empty() && options_.declared.empty()) {
      wake_.wait(lock, [this]() REQUIRES(mutex_) { return stopped_ || !followings_.empty(); });
    } else {
      wake_.wait_for(lock, kTick, [this]() REQUIRES(mutex_) { return stopped_; });
    }
    if (stopped_) return;
  }
}

void Runner::Tick() {
  std::erase_if(gone_, [](const auto& course) { return course->IsIdle(); });
  for (auto& [uuid, following] : followings_) TickOne(&following);
  if (!changes_.IsPressed()) return;
  // Changes that got no call now need not be held.
  for (auto& [uuid, following] : followings_) {
    for (const auto& [shard, course] : following.courses) course->Yield();
    for (const auto& course : following.leaving) course->Yield();
  }
  for (const auto& course : gone_) course->Yield();
}

void Runner::TickOne(Following* following) {
  std::vector<std::shared_ptr<Course>>& leaving = following->leaving;
  // No course of this mapping gets new work until all its leaving courses are idle: otherwise
  // changes would be delivered out of order. A leaving course that is idle stores its last
  // checkpoint.
  std::erase_if(leaving, [](const auto& course) {
    if (!course->IsIdle()) return false;
    course->StoreLast();
    return true;
  });
  if (!leaving.empty()) return;
  if (!Prepare(following)) {
    if (!following->courses.empty()) Retire(following);
    return;
  }
  Advance(following);
  Post(following);
}

bool Runner::Prepare(Following* following) {
  const Mapping& mapping = following->stored.mapping;
  if (!mapping.enabled || following->plan == nullptr) return false;
  const stream::StreamPtr stream = env_.store.FindStream(mapping.table, mapping.label);
  if (stream == nullptr) {
    following->problem = "the stream is gone";
    return false;
  }
  following->problem.clear();
  if (options_.is_mine != nullptr && !options_.is_mine(stream->tablet_id)) return false;
  for (const auto& [shard, course] : following->courses) {
    if (!course->lost()) continue;
    Retire(following);
    return false;
  }
  if (following->loaded) return true;
  if (machine_.TicksMicros() < following->load_again_ticks) return false;
  Result<Checkpoints> checkpoints = book_.CheckpointsOf(mapping.uuid);
  if (!checkpoints.ok()) {
    following->load_again_ticks = machine_.TicksMicros() + kLoadAgainMicros;
    following->problem = "its checkpoints cannot be read: " + checkpoints.error().message();
    return false;
  }
  following->checkpoints = *std::move(checkpoints);
  following->loaded = true;
  return true;
}

void Runner::Advance(Following* following) {
  const Mapping& mapping = following->stored.mapping;
  bool ended = false;
  for (auto at = following->courses.begin(); at != following->courses.end();) {
    if (!at->second->finished()) {
      ++at;
      continue;
    }
    following->checkpoints[at->first].ended = true;
    following->leaving.push_back(at->second);
    at = following->courses.erase(at);
    ended = true;
  }
  const stream::StreamPtr stream = env_.store.FindStream(mapping.table, mapping.label);
  if (stream == nullptr || (stream == following->seen && !ended)) return;
  following->seen = stream;
  following->course_problem.clear();
  std::vector<uint32_t> gone;
  for (const auto& [shard, checkpoint] : following->checkpoints) {
    if (stream->Find(shard) == nullptr && following->courses.count(shard) == 0)
      gone.push_back(shard);
  }
  if (!gone.empty() && book_.Forget(mapping.uuid, gone).ok()) {
    for (const uint32_t shard : gone) following->checkpoints.erase(shard);
  }
  const Course::Place place{env_, book_, machine_, changes_, calls_, filters_, trusts_};
  for (const stream::Shard& shard : stream->shards) {
    if (following->courses.count(shard.number) > 0) continue;
    const auto known = following->checkpoints.find(shard.number);
    if (known != following->checkpoints.end() && known->second.ended) continue;
    // All of a parent comes before its children.
    if (!shard.parent_id.empty()) {
      const stream::Shard* const parent = stream::FindShard(*stream, shard.parent_id);
      if (parent != nullptr) {
        const auto done = following->checkpoints.find(parent->number);
        if (done == following->checkpoints.end() || !done->second.ended) continue;
      }
    }
    const Checkpoint start = known != following->checkpoints.end()
                                 ? known->second
                                 : Checkpoint{stream::TrimHorizon(shard), false, 0};
    Result<std::shared_ptr<Course>> course = Course::Make(place, following->plan, shard, start);
    if (!course.ok()) {
      following->course_problem = course.error().message();
      following->seen = nullptr;  // tried again
      continue;
    }
    following->courses.emplace(shard.number, *std::move(course));
  }
}

void Runner::Post(Following* following) {
  const size_t count = following->courses.size();
  if (count == 0) return;
  // Another shard begins each time, so that none has all calls.
  auto at = following->courses.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(following->turn++ % count));
  for (size_t i = 0; i < count; ++i, ++at) {
    if (at == following->courses.end()) at = following->courses.begin();
    const std::shared_ptr<Course>& course = at->second;
    for (size_t lane = 0; lane < course->lanes(); ++lane) {
      const bool own = following->active->load() == 0;
      if (!own && shared_calls_.load() >= kSharedCalls) return;
      if (!course->Claim(lane)) continue;
      following->active->fetch_add(1);
      if (!own) shared_calls_.fetch_add(1);
      const auto leave = [this, own, active = following->active] {
        active->fetch_sub(1);
        if (!own) shared_calls_.fetch_sub(1);
      };
      const bool runs = crew_.Run([course, lane, leave] {
        course->Work(lane);
        leave();
      });
      if (runs) continue;
      course->Unclaim(lane);
      leave();
    }
  }
}

void Runner::Settle(int64_t most_micros) {
  if (!options_.declared.empty()) Declare();
  const int64_t since = machine_.TicksMicros();
  // A shard that ends makes room for others, which begin at the next tick.
  int quiet = 0;
  for (int64_t now = since; now - since < most_micros && quiet < 2; now = machine_.TicksMicros()) {
    {
      MutexLock lock(mutex_);
      if (stopped_ || !thread_.joinable()) return;
      bool settled = true;
      for (const auto& [uuid, following] : followings_) {
        if (!following.stored.mapping.enabled || following.plan == nullptr) continue;
        settled = settled && following.leaving.empty();
        for (const auto& [shard, course] : following.courses) {
          if (course->IsSettled(since)) continue;
          course->Hurry();
          settled = false;
        }
      }
      quiet = settled ? quiet + 1 : 0;
    }
    std::this_thread::sleep_for(kTick);
  }
}

void Runner::Stop() {
  std::thread thread;
  {
    MutexLock lock(mutex_);
    if (stopped_) return;
    stopped_ = true;
    thread = std::move(thread_);
    wake_.notify_all();
  }
  if (thread.joinable()) thread.join();
  std::vector<std::shared_ptr<Course>> courses;
  {
    MutexLock lock(mutex_);
    for (auto& [uuid, following] : followings_) {
      Retire(&following);
      courses.insert(courses.end(), following.leaving.begin(), following.leaving.end());
    }
    courses.insert(courses.end(), gone_.begin(), gone_.end());
  }
  const int64_t until = machine_.TicksMicros() + kGraceMicros;
  const auto idle = [](const auto& course) { return course->IsIdle(); };
  while (!std::all_of(courses.begin(), courses.end(), idle) && machine_.TicksMicros() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  for (const auto& course : courses) course->Stop(/*cancel=*/true);
  crew_.Stop();
  for (const auto& course : courses) course->StoreLast();
}

}  // namespace stator::triggers
