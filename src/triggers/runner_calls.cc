// The calls of the runner: changes of mappings, and reports.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "base/json_writer.h"
#include "base/log.h"
#include "base/time_text.h"
#include "kv/features.h"
#include "ops/streams.h"
#include "stream/reader.h"
#include "table/store.h"
#include "table/token_ledger.h"
#include "triggers/runner.h"

namespace stator::triggers {
namespace {

constexpr int kUpdateTries = 10;

Error NoSuchMapping() {
  return Error(ErrorCode::kResourceNotFound, "The resource you requested does not exist.");
}

// A UUID that the pair of a declared mapping always has.
std::string UuidOf(const Mapping& mapping) {
  std::string hex;
  for (const char byte : table::DigestOf("trigger " + PairKey(mapping)))
    hex += fmt::format("{:02x}", static_cast<uint8_t>(byte));
  return fmt::format("{}-{}-4{}-8{}-{}", hex.substr(0, 8), hex.substr(8, 4), hex.substr(13, 3),
                     hex.substr(17, 3), hex.substr(20, 12));
}

std::optional<int64_t> WholeOf(const std::string& text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Status SetMember(const std::string& name, const std::vector<std::string>& values,
                 Mapping* mapping) {
  if (name == "filters") {
    mapping->filters = values;
    return OkStatus();
  }
  if (values.size() != 1) return ValidationError(name + " takes one value");
  const std::string& text = values.front();
  struct Whole {
    std::string_view name;
    int64_t Mapping::*member;
  };
  static constexpr Whole kWholes[] = {
      {"batch-size", &Mapping::batch},         {"window", &Mapping::window_seconds},
      {"parallelization", &Mapping::parallel}, {"maximum-age", &Mapping::age_seconds},
      {"retries", &Mapping::retries},          {"tumbling-window", &Mapping::tumbling_seconds},
  };
  for (const Whole& whole : kWholes) {
    if (whole.name != name) continue;
    const std::optional<int64_t> number = WholeOf(text);
    if (!number) return ValidationError(name + " must be a whole number, not " + text);
    mapping->*whole.member = *number;
    return OkStatus();
  }
  if (name == "bisect" || name == "report-failures") {
    if (text != "true" && text != "false")
      return ValidationError(name + " must be true or false, not " + text);
    (name == "bisect" ? mapping->bisect : mapping->reports_failures) = text == "true";
  } else if (name == "start") {
    if (text != "latest" && text != "trim-horizon")
      return ValidationError("start must be latest or trim-horizon, not " + text);
    mapping->latest = text == "latest";
  } else if (name == "table") {
    mapping->table = text;
  } else if (name == "function") {
    mapping->function = text;
  } else if (name == "on-failure") {
    mapping->on_failure = text;
  } else {
    return ValidationError(name +
                           " is none of table, function, start, batch-size, window, "
                           "tumbling-window, filters, parallelization, maximum-age, retries, "
                           "bisect, report-failures and "
                           "on-failure");
  }
  return OkStatus();
}

// Whether two mappings do the same, whatever they are called.
bool SameRules(Mapping a, const Mapping& b) {
  a.uuid = b.uuid;
  a.enabled = b.enabled;
  a.latest = b.latest;
  a.declared = b.declared;
  a.modified_micros = b.modified_micros;
  return a == b;
}

}  // namespace

Status AddTrigger(const std::vector<Setting>& settings, std::vector<Mapping>* triggers) {
  Mapping mapping;
  mapping.declared = true;
  for (const Setting& setting : settings) TRY(SetMember(setting.name, setting.values, &mapping));
  if (mapping.table.empty() || mapping.function.empty())
    return ValidationError("each needs table and function");
  TRY(mapping.Check());
  for (const Mapping& other : *triggers) {
    if (other.table == mapping.table && other.function == mapping.function)
      return ValidationError("there are two of " + mapping.table + " and " + mapping.function);
  }
  triggers->push_back(std::move(mapping));
  return OkStatus();
}

Status Runner::RequireTargets(const Mapping& mapping) {
  std::string name;
  const FunctionSettings* const function = FindFunction(options_.functions, mapping.function);
  const FunctionSettings* const destination =
      mapping.on_failure.empty() ? nullptr : FindDestination(mapping.on_failure, &name);
  for (const FunctionSettings* each : {function, destination}) {
    if (each == nullptr || FeatureOf(*each).empty()) continue;
    TRY(kv::RequireFeature(env_.store.engine(), FeatureOf(*each)));
  }
  return OkStatus();
}

Status Runner::Create(const Mapping& mapping) {
  ASSIGN_OR_RETURN(const std::vector<StoredMapping> stored, book_.Mappings());
  for (const StoredMapping& each : stored) {
    if (PairKey(each.mapping) == PairKey(mapping))
      return Error(ErrorCode::kResourceInUse, each.mapping.uuid);
  }
  if (stored.size() >= kMostMappings) {
    return Error(ErrorCode::kLimitExceeded,
                 fmt::format("A store has at most {} event source mappings", kMostMappings));
  }
  const stream::StreamPtr stream = env_.store.FindStream(mapping.table, mapping.label);
  if (stream == nullptr)
    return Error(ErrorCode::kResourceNotFound, "Stream not found: " + mapping.table);
  TRY(RequireTargets(mapping));
  Checkpoints start;
  for (const stream::Shard& shard : stream->shards) {
    Checkpoint checkpoint{stream::TrimHorizon(shard), false, 0};
    if (mapping.latest) {
      ASSIGN_OR_RETURN(checkpoint.next, stream::LatestPosition(env_.store.engine(), shard,
                                                               stream->tablet(), kv::Tier::kAny));
      checkpoint.ended = !shard.open();
    }
    start.emplace(shard.number, checkpoint);
  }
  Status created = book_.Create(mapping, start);
  if (!created.ok() && created.error().code() == ErrorCode::kResourceInUse)
    return Error(ErrorCode::kResourceInUse, "another");
  TRY(std::move(created));
  return Refresh();
}

Result<StoredMapping> Runner::Find(std::string_view uuid) {
  ASSIGN_OR_RETURN(std::vector<StoredMapping> stored, book_.Mappings());
  for (StoredMapping& each : stored)
    if (each.mapping.uuid == uuid) return std::move(each);
  return NoSuchMapping();
}

Result<Mapping> Runner::Update(std::string_view uuid,
                               const std::function<Status(Mapping* mapping)>& change) {
  for (int tries = 0;; ++tries) {
    ASSIGN_OR_RETURN(StoredMapping found, Find(uuid));
    TRY(change(&found.mapping));
    TRY(RequireTargets(found.mapping));
    const Status updated = book_.Update(found.mapping, found.stamp);
    if (updated.ok()) {
      TRY(Refresh());
      return std::move(found.mapping);
    }
    if (updated.error().code() != ErrorCode::kGuardFailed || tries >= kUpdateTries)
      return updated.error();
  }
}

Result<Mapping> Runner::Remove(std::string_view uuid) {
  for (int tries = 0;; ++tries) {
    ASSIGN_OR_RETURN(StoredMapping found, Find(uuid));
    const Status removed = book_.Remove(found.mapping, found.stamp);
    if (removed.ok()) {
      TRY(Refresh());
      return std::move(found.mapping);
    }
    if (removed.error().code() != ErrorCode::kGuardFailed || tries >= kUpdateTries)
      return removed.error();
  }
}

Status Runner::RemoveAll() {
  ASSIGN_OR_RETURN(const std::vector<StoredMapping> stored, book_.Mappings());
  for (const StoredMapping& each : stored) {
    const Result<Mapping> removed = Remove(each.mapping.uuid);
    if (!removed.ok() && removed.error().code() != ErrorCode::kResourceNotFound)
      return removed.error();
  }
  return OkStatus();
}

void Runner::Declare() {
  for (const Mapping& declared : options_.declared) {
    const table::TablePtr table = env_.store.Find(declared.table);
    if (table == nullptr || !table->descriptor.stream_view_type) continue;
    Mapping wanted = declared;
    wanted.label = table->descriptor.stream_label;
    wanted.uuid = UuidOf(wanted);
    wanted.modified_micros = env_.clock.NowMicros();
    std::optional<Mapping> there;
    {
      MutexLock lock(mutex_);
      for (const auto& [uuid, following] : followings_) {
        if (PairKey(following.stored.mapping) == PairKey(wanted)) there = following.stored.mapping;
      }
    }
    Status done;
    if (!there) {
      done = Create(wanted);
    } else if (there->declared && !SameRules(*there, wanted)) {
      Result<Mapping> updated = Update(there->uuid, [&wanted](Mapping* mapping) {
        const Mapping before = *mapping;
        *mapping = wanted;
        mapping->uuid = before.uuid;
        mapping->enabled = before.enabled;
        mapping->latest = before.latest;
        return OkStatus();
      });
      if (!updated.ok()) done = updated.error();
    }
    // Another server may have been faster.
    if (!done.ok() && done.error().code() != ErrorCode::kResourceInUse) {
      LogWarn("trigger_not_declared", {{"table", declared.table},
                                       {"function", declared.function},
                                       {"error", done.error().message()}});
    } else if (!done.ok()) {
      (void)Refresh().ok();
    }
  }
}

std::vector<Runner::State> Runner::States() const {
  std::vector<State> states;
  MutexLock lock(mutex_);
  for (const auto& [uuid, following] : followings_) {
    State state{following.stored.mapping, following.tally->result(), !following.courses.empty()};
    const std::string& problem =
        following.problem.empty() ? following.course_problem : following.problem;
    if (!problem.empty()) state.result.text = "PROBLEM: " + problem;
    states.push_back(std::move(state));
  }
  return states;
}

std::vector<Runner::Figures> Runner::figures() const {
  std::vector<Figures> all;
  MutexLock lock(mutex_);
  for (const auto& [uuid, following] : followings_) {
    const Tally& tally = *following.tally;
    Figures figures;
    figures.uuid = uuid;
    figures.table = following.stored.mapping.table;
    figures.function = following.stored.mapping.function;
    figures.invocations = tally.invocations;
    figures.failures = tally.failures;
    figures.not_run = tally.not_run;
    figures.delivered = tally.delivered;
    figures.filtered = tally.filtered;
    figures.exhausted = tally.exhausted;
    figures.expired = tally.expired;
    figures.unreported = tally.unreported;
    figures.gaps = tally.gaps;
    figures.windows_lost = tally.windows_lost;
    figures.too_large = tally.too_large;
    figures.refused = tally.refused;
    for (const auto& [shard, course] : following.courses) {
      const Course::View view = course->view();
      figures.lag_micros = std::max(figures.lag_micros, view.lag_micros);
      figures.queued += view.queued;
    }
    all.push_back(std::move(figures));
  }
  return all;
}

bool Runner::IsFinished(std::string_view uuid) const {
  MutexLock lock(mutex_);
  const auto found = followings_.find(uuid);
  if (found == followings_.end()) return false;
  const Following& following = found->second;
  const Mapping& mapping = following.stored.mapping;
  const stream::StreamPtr stream = env_.store.FindStream(mapping.table, mapping.label);
  if (stream == nullptr) return true;
  if (stream->enabled() || !following.loaded || !following.courses.empty()) return false;
  return std::all_of(stream->shards.begin(), stream->shards.end(), [&](const stream::Shard& shard) {
    const auto checkpoint = following.checkpoints.find(shard.number);
    return checkpoint != following.checkpoints.end() && checkpoint->second.ended;
  });
}

Runner::Memory Runner::memory() const { return {changes_.view(), calls_.view()}; }

void Runner::WriteReport(JsonWriter* to) const {
  const std::vector<Figures> all = figures();
  const std::vector<State> states = States();
  JsonWriter& json = *to;
  json.Key("functions").Open('[');
  for (const FunctionSettings& function : options_.functions) {
    json.Open('{').Field("name", function.name);
    switch (function.kind) {
      case FunctionSettings::Kind::kInvoke: json.Field("lambda", function.url); break;
      case FunctionSettings::Kind::kPlain: json.Field("url", function.url); break;
      case FunctionSettings::Kind::kDirectory: json.Field("directory", function.directory); break;
      case FunctionSettings::Kind::kBucket: json.Field("bucket", function.bucket); break;
      case FunctionSettings::Kind::kKinesis:
        json.Field("kinesis", function.url);
        if (!function.stream.empty()) json.Field("stream", function.stream);
        break;
      case FunctionSettings::Kind::kKafka:
        json.Field("kafka", function.brokers).Field("topic", function.topic);
        break;
    }
    json.Key("signed").Bool(!function.secret.empty());
    json.Field("timeout_seconds", static_cast<double>(function.timeout_micros) / 1e6).Close('}');
  }
  json.Close(']').Key("memory").Open('{');
  const auto add = [&json](std::string_view name, const Account::View& view) {
    json.Key(name).Open('{').Key("most_bytes").Whole(static_cast<int64_t>(view.most));
    json.Key("held_bytes").Whole(static_cast<int64_t>(view.held));
    json.Key("peak_bytes").Whole(static_cast<int64_t>(view.peak));
    json.Key("waiting").Whole(static_cast<int64_t>(view.waiting)).Close('}');
  };
  add("changes", changes_.view());
  add("calls", calls_.view());
  json.Close('}').Key("mappings").Open('[');
  for (const State& state : states) {
    const auto of = std::find_if(all.begin(), all.end(), [&](const Figures& each) {
      return each.uuid == state.mapping.uuid;
    });
    json.Open('{').Field("uuid", state.mapping.uuid).Field("table", state.mapping.table);
    json.Field("stream", state.mapping.label).Field("function", state.mapping.function);
    json.Key("enabled").Bool(state.mapping.enabled).Key("runs_here").Bool(state.runs_here);
    json.Field("last_result", state.result.text);
    if (of != all.end()) {
      json.Key("invocations").Whole(static_cast<int64_t>(of->invocations));
      json.Key("failures").Whole(static_cast<int64_t>(of->failures));
      json.Key("not_run").Whole(static_cast<int64_t>(of->not_run));
      json.Key("delivered").Whole(static_cast<int64_t>(of->delivered));
      json.Key("filtered").Whole(static_cast<int64_t>(of->filtered));
      json.Key("exhausted").Whole(static_cast<int64_t>(of->exhausted));
      json.Key("expired").Whole(static_cast<int64_t>(of->expired));
      json.Key("unreported").Whole(static_cast<int64_t>(of->unreported));
      json.Key("windows_lost").Whole(static_cast<int64_t>(of->windows_lost));
      json.Key("refused").Whole(static_cast<int64_t>(of->refused));
      json.Key("gaps").Whole(static_cast<int64_t>(of->gaps));
      json.Field("lag_seconds", static_cast<double>(of->lag_micros) / 1e6);
    }
    json.Key("shards").Open('[');
    MutexLock lock(mutex_);
    const auto following = followings_.find(state.mapping.uuid);
    if (following != followings_.end()) {
      for (const auto& [shard, course] : following->second.courses) {
        const Course::View view = course->view();
        json.Open('{').Field("shard", view.shard_id).Field("next", view.next);
        json.Key("queued").Whole(static_cast<int64_t>(view.queued));
        json.Key("queued_bytes").Whole(static_cast<int64_t>(view.queued_bytes));
        json.Key("failures_in_a_row").Whole(view.failures);
        if (view.window) {
          json.Key("window").Open('{').Field("start", FormatTime(view.window->start_micros));
          json.Field("end", FormatTime(view.window->end_micros));
          json.Key("state_bytes")
              .Whole(view.window->state == nullptr
                         ? 0
                         : static_cast<int64_t>(view.window->state->size()));
          json.Close('}');
        }
        json.Field("lag_seconds", static_cast<double>(view.lag_micros) / 1e6).Close('}');
      }
    }
    json.Close(']').Close('}');
  }
  json.Close(']');
}

}  // namespace stator::triggers
