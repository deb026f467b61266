#include "triggers/kinesis_keeper.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/mutex_wait.h"
#include "base/pump.h"
#include "table/store.h"

namespace stator::triggers {
namespace {

using Destination = table::KinesisDestination;
using State = Destination::Status;

constexpr auto kTick = std::chrono::milliseconds(100);
// The tick while no destination is active. It is longer, because each tick looks at all tables.
constexpr auto kIdleTick = std::chrono::milliseconds(500);
constexpr auto kNoEndpointTick = std::chrono::seconds(10);
// The pause between two checks of a stream (kCheckAgainMicros), and the time for which a failing
// check is repeated (kMostCheckMicros).
constexpr int64_t kCheckAgainMicros = 1'000'000;
constexpr int64_t kMostCheckMicros = 30'000'000;
constexpr int64_t kCheckTimeoutMicros = 5'000'000;
constexpr int64_t kPutTimeoutMicros = 15'000'000;
constexpr int64_t kUpdateMicros = 500'000;
// Timeouts for sending the remaining changes when a destination is disabled (kMostDisablingMicros)
// or its table is deleted (kMostDrainMicros).
constexpr int64_t kMostDisablingMicros = 10'000'000;
constexpr int64_t kMostDrainMicros = 60'000'000;
// [D] The service's words, whatever was the reason.
constexpr std::string_view kNoPermission = "User does not have a permission to use kinesis stream";

FunctionSettings EndpointOf(const KinesisKeeper::Options& options, int64_t timeout_micros) {
  FunctionSettings endpoint;
  endpoint.name = "*";
  endpoint.kind = FunctionSettings::Kind::kKinesis;
  endpoint.url = options.endpoint;
  endpoint.authorities_file = options.authorities_file;
  endpoint.timeout_micros = timeout_micros;
  return endpoint;
}

// Each change that courses must know has another stamp.
uint64_t StampOf(const Mapping& mapping) {
  return 1 + (mapping.enabled ? 1 : 0) + (mapping.micros ? 2 : 0);
}

}  // namespace

KinesisKeeper::KinesisKeeper(ops::Environment& env, const Clock& machine, Options options)
    : env_(env),
      machine_(machine),
      options_(std::move(options)),
      book_(env.store.engine()),
      runner_(env, machine, [this] {
        Runner::Options of_runner;
        if (!options_.endpoint.empty())
          of_runner.functions.push_back(EndpointOf(options_, kPutTimeoutMicros));
        of_runner.is_mine = options_.is_mine;
        of_runner.mappings = [this] {
          MutexLock lock(mutex_);
          return mappings_;
        };
        return of_runner;
      }()) {}

Status KinesisKeeper::Start() {
  if (options_.endpoint.empty()) {
    for (const table::TablePtr& table : env_.store.ListOf("")) {
      if (table->descriptor.captures())
        LogWarn("kinesis_without_endpoint", {{"table", table->descriptor.name}});
    }
  } else {
    ASSIGN_OR_RETURN(const access::SigningKey key, FindKinesisKey(options_.endpoint));
    (void)key;
    ASSIGN_OR_RETURN(asking_, KinesisClient::Make(EndpointOf(options_, kCheckTimeoutMicros),
                                                  machine_, &trusts_));
    checker_ = std::make_unique<KinesisChecker>(
        [this](const std::string& arn) { return asking_->Check(arn); },
        [this] { asking_->Cancel(); });
    checker_->Start();
  }
  TRY(runner_.Start());
  thread_ = std::thread([this] { Run(); });
  return OkStatus();
}

void KinesisKeeper::Stop() {
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    wake_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  if (checker_ != nullptr) checker_->Stop();
  runner_.Stop();
}

void KinesisKeeper::Run() {
  while (true) {
    const std::chrono::milliseconds pause = !followed_.empty()          ? kTick
                                            : options_.endpoint.empty() ? kNoEndpointTick
                                                                        : kIdleTick;
    {
      UniqueMutexLock lock(mutex_);
      wake_.wait_for(lock, pause, [this]() REQUIRES(mutex_) { return stopped_; });
      if (stopped_) return;
    }
    Look();
    Finish();
    Refresh();
  }
}

void KinesisKeeper::Look() {
  std::set<std::string> seen;
  for (const table::TablePtr& table : env_.store.ListOf("")) {
    for (const Destination& each : table->descriptor.kinesis) {
      if (each.status == State::kDisabled || each.status == State::kEnableFailed) continue;
      const stream::StreamPtr stream =
          env_.store.FindStream(table->descriptor.name, table->descriptor.capture_label);
      if (stream == nullptr && each.captures()) continue;
      if (stream != nullptr && options_.is_mine != nullptr && !options_.is_mine(stream->tablet_id))
        continue;
      seen.insert(each.id);
      Lead(table->descriptor, each);
    }
  }
  seen_ = std::move(seen);
  std::erase_if(since_, [this](const auto& each) { return !seen_.contains(each.first.substr(1)); });
  std::erase_if(next_check_, [this](const auto& each) { return !seen_.contains(each.first); });
  if (checker_ != nullptr) checker_->Keep(seen_);
}

void KinesisKeeper::Lead(const table::TableDescriptor& table, const Destination& destination) {
  const int64_t now = machine_.TicksMicros();
  // Statuses are told apart by a letter before the id.
  const char letter = static_cast<char>('a' + static_cast<int>(destination.status));
  const int64_t since = since_.try_emplace(letter + destination.id, now).first->second;
  Followed& followed = followed_[destination.id];
  followed.mapping.uuid = destination.id;
  followed.mapping.table = table.name;
  followed.mapping.label = table.capture_label;
  followed.mapping.function = destination.stream_arn;
  followed.mapping.batch = kMostPutRecords;
  followed.mapping.micros = destination.precision.value_or(0) == 1;
  followed.mapping.enabled = destination.status != State::kEnabling;
  switch (destination.status) {
    case State::kEnabling: Check(table, destination); break;
    case State::kUpdating:
      if (now - since >= kUpdateMicros)
        (void)SetStatus(table, destination, State::kActive, "").ok();
      break;
    case State::kDisabling:
      if (!runner_.IsFinished(destination.id) && now - since < kMostDisablingMicros) break;
      if (SetStatus(table, destination, State::kDisabled, "").ok()) followed.until_ticks = now;
      break;
    case State::kActive:
    case State::kDisabled:
    case State::kEnableFailed: break;
  }
}

void KinesisKeeper::Check(const table::TableDescriptor& table, const Destination& destination) {
  if (checker_ == nullptr) return;
  const int64_t now = machine_.TicksMicros();
  int64_t& next = next_check_[destination.id];
  const std::optional<Status> outcome = checker_->Take(destination.id);
  if (!outcome) {
    if (now >= next) checker_->Ask(destination.id, destination.stream_arn);
    return;
  }
  const Status& checked = *outcome;
  next = now + kCheckAgainMicros;
  if (checked.ok()) {
    (void)SetStatus(table, destination, State::kActive, "").ok();
    return;
  }
  const bool refused = checked.error().code() == ErrorCode::kAccessDenied;
  const auto since = since_.find('a' + destination.id);
  if (!refused && since != since_.end() && now - since->second < kMostCheckMicros) return;
  LogWarn("kinesis_not_enabled", {{"table", table.name},
                                  {"stream", destination.stream_arn},
                                  {"error", checked.error().message()}});
  const std::string text =
      refused ? std::string(kNoPermission)
              : "The Kinesis endpoint cannot be used: " + checked.error().message();
  if (SetStatus(table, destination, State::kEnableFailed, text).ok())
    followed_[destination.id].until_ticks = now;
}

void KinesisKeeper::Finish() {
  const int64_t now = machine_.TicksMicros();
  for (auto at = followed_.begin(); at != followed_.end();) {
    Followed& followed = at->second;
    const Mapping& mapping = followed.mapping;
    const stream::StreamPtr stream = env_.store.FindStream(mapping.table, mapping.label);
    const bool mine =
        stream == nullptr || options_.is_mine == nullptr || options_.is_mine(stream->tablet_id);
    if (seen_.contains(at->first) && followed.until_ticks == INT64_MAX) {
      ++at;
      continue;
    }
    // The table is gone, or the destination is done with, or another process has it.
    if (mine && stream != nullptr && followed.until_ticks == INT64_MAX) {
      followed.until_ticks = now + kMostDrainMicros;
      followed.mapping.enabled = true;
    }
    const bool over =
        !mine || stream == nullptr || now >= followed.until_ticks || runner_.IsFinished(at->first);
    if (!over || (stream != nullptr && mine && stream->enabled())) {
      ++at;
      continue;
    }
    const std::string id = at->first;
    at = followed_.erase(at);
    Refresh();  // so that the runner lets it go
    if (!mine) continue;
    if (stream != nullptr) {
      Pump pump;
      bool removed = false;
      env_.store.RemoveStream(stream, [&](Status) { pump.Post([&removed] { removed = true; }); });
      pump.RunUntil([&removed] { return removed; });
    }
    if (const Status forgotten = book_.ForgetAll(id); !forgotten.ok())
      LogWarn("checkpoints_not_removed", {{"error", forgotten.error().message()}});
  }
}

void KinesisKeeper::Refresh() {
  std::vector<StoredMapping> mappings;
  std::map<std::string, uint64_t> stamps;
  for (const auto& [id, followed] : followed_) {
    const uint64_t stamp = StampOf(followed.mapping);
    mappings.push_back({followed.mapping, stamp});
    stamps[id] = stamp;
  }
  if (stamps == shown_) return;
  shown_ = std::move(stamps);
  {
    MutexLock lock(mutex_);
    mappings_ = std::move(mappings);
  }
  if (const Status refreshed = runner_.Refresh(); !refreshed.ok())
    LogWarn("kinesis_not_followed", {{"error", refreshed.error().message()}});
}

Status KinesisKeeper::SetStatus(const table::TableDescriptor& table, const Destination& seen,
                                State status, const std::string& description) {
  Pump pump;
  std::optional<Status> outcome;
  env_.store.Alter(
      table.name,
      [seen, status, description,
       now = env_.clock.NowMicros()](table::TableDescriptor* descriptor) -> Status {
        const auto found = std::find_if(
            descriptor->kinesis.begin(), descriptor->kinesis.end(),
            [&](const Destination& each) { return each.id == seen.id && each == seen; });
        if (found == descriptor->kinesis.end())
          return Error(ErrorCode::kResourceNotFound, "The destination has changed");
        found->status = status;
        found->description = description;
        found->changed_micros = now;
        return OkStatus();
      },
      [&](Result<table::TablePtr> altered) {
        pump.Post([&outcome, altered = std::move(altered)]() mutable {
          outcome = altered.ok() ? OkStatus() : Status(std::move(altered).error());
        });
      });
  pump.RunUntil([&outcome] { return outcome.has_value(); });
  return std::move(*outcome);
}

}  // namespace stator::triggers
