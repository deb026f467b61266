#include "triggers/course.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>

#include "base/json_writer.h"
#include "base/log.h"
#include "base/time_text.h"
#include "table/store.h"
#include "triggers/event.h"

namespace stator::triggers {
namespace {

// [D] The service looks at each shard four times a second.
constexpr int64_t kPollMicros = 200'000;
// An engine behind a network.
constexpr int64_t kFarPollMicros = 500'000;
constexpr int64_t kSliceMicros = 1'000'000;
constexpr int64_t kStoreMicros = 100'000;
constexpr int64_t kStoreAgainMicros = 1'000'000;
constexpr size_t kPageRecords = 1000;
// The lanes of a shard hold at most this, and one page more.
constexpr size_t kMostQueuedBytes = 12 << 20;
constexpr size_t kMostQueuedBatches = 10;
// The courses of a process share this; each may hold a page whatever the others hold.
constexpr size_t kMostQueuedTogether = 96 << 20;
constexpr size_t kPagesOfShare = 8;
constexpr size_t kMostPageBytes = 1 << 20;
constexpr int kLastStoreTries = 1000;

LaneRules RulesOf(const Plan& plan) {
  const Mapping& mapping = plan.mapping;
  LaneRules rules;
  rules.batch = static_cast<size_t>(mapping.batch);
  rules.window_micros = mapping.window_seconds * 1'000'000;
  // The stream may lose older changes at any time.
  rules.age_micros = stream::kRetentionMicros;
  if (mapping.age_seconds >= 0)
    rules.age_micros = std::min(rules.age_micros, mapping.age_seconds * 1'000'000);
  rules.retries = mapping.retries;
  rules.bisect = mapping.bisect;
  rules.reports = plan.destination.has_value();
  return rules;
}

}  // namespace

void Tally::NoteResult(std::string text, int64_t now) {
  MutexLock lock(mutex_);
  result_.text = std::move(text);
  result_.at_micros = now;
}

Tally::Result Tally::result() const {
  MutexLock lock(mutex_);
  return result_;
}

Course::Course(const Place& place, std::shared_ptr<const Plan> plan, const stream::Shard& shard,
               const Checkpoint& start)
    : place_(place),
      plan_(std::move(plan)),
      shard_(shard.number),
      shard_id_(stream::ShardIdOf(shard)),
      read_to_(start.next),
      stored_(start) {
  place_.courses.fetch_add(1, std::memory_order_relaxed);
}

Result<std::shared_ptr<Course>> Course::Make(const Place& place, std::shared_ptr<const Plan> plan,
                                             const stream::Shard& shard, const Checkpoint& start) {
  std::shared_ptr<Course> course(new Course(place, plan, shard, start));
  for (int64_t lane = 0; lane < plan->mapping.parallel; ++lane) {
    Part& part = course->parts_.emplace_back(RulesOf(*plan), place.env.random);
    ASSIGN_OR_RETURN(part.target, MakeTarget(plan->function, place.machine, place.env.clock));
    if (!plan->destination) continue;
    ASSIGN_OR_RETURN(part.destination,
                     MakeTarget(*plan->destination, place.machine, place.env.clock));
  }
  return course;
}

Course::~Course() { place_.courses.fetch_sub(1, std::memory_order_relaxed); }

size_t Course::Share() const {
  const int64_t courses = std::max<int64_t>(1, place_.courses.load());
  return std::min(kMostQueuedBytes, kMostQueuedTogether / static_cast<size_t>(courses));
}

bool Course::MayRead() const {
  if (reading_ || read_all_) return false;
  if (!more_ && place_.machine.TicksMicros() < next_read_ticks_) return false;
  size_t bytes = 0, changes = 0;
  for (const Part& part : parts_) {
    bytes += part.lane.bytes();
    changes += part.lane.queue().size();
  }
  const size_t most = static_cast<size_t>(plan_->mapping.batch) * kMostQueuedBatches;
  return bytes < Share() && changes < std::max(most, kPageRecords);
}

bool Course::Claim(size_t lane) {
  MutexLock lock(mutex_);
  Part& part = parts_[lane];
  if (stopped_ || lost_ || part.busy) return false;
  const bool due = place_.env.clock.NowMicros() >= part.due_micros;
  const bool reads = !part.lane.IsFull() && MayRead();
  // A lane that read a change for this one has set due_micros.
  const bool stores = lane == 0 && !storing_ && AllDelivered() && !stored_.ended;
  part.busy = due || reads || stores;
  return part.busy;
}

void Course::Unclaim(size_t lane) {
  MutexLock lock(mutex_);
  parts_[lane].busy = false;
}

void Course::Work(size_t lane) {
  const int64_t until = place_.machine.TicksMicros() + kSliceMicros;
  MutexLock lock(mutex_);
  Part& part = parts_[lane];
  while (!stopped_ && !lost_) {
    while (!stopped_ && !part.lane.IsFull() && MayRead()) Read();
    const Lane::Step step = part.lane.Next(place_.env.clock.NowMicros(), read_all_);
    Settle(&part);
    part.due_micros = step.what == Lane::Do::kWait ? step.due_micros : INT64_MIN;
    if (step.what != Lane::Do::kWait) Perform(step, &part);
    StoreIfDue();
    if (step.what == Lane::Do::kWait && (part.lane.IsFull() || !more_ || !MayRead())) break;
    if (place_.machine.TicksMicros() >= until) break;
  }
  part.busy = false;
}

void Course::Read() {
  reading_ = true;
  const int64_t began = place_.machine.TicksMicros();
  const stream::Position from = read_to_;
  mutex_.unlock();
  const Mapping& mapping = plan_->mapping;
  const stream::StreamPtr stream = place_.env.store.FindStream(mapping.table, mapping.label);
  const stream::Shard* const shard = stream == nullptr ? nullptr : stream->Find(shard_);
  kv::Engine& engine = place_.env.store.engine();
  std::optional<Result<stream::Page>> page;
  if (shard != nullptr)
    page = stream::ReadShard(engine, *stream, *shard, from,
                             {kPageRecords, std::min(kMostPageBytes, Share() / kPagesOfShare)},
                             kv::Tier::kAny);
  mutex_.lock();
  reading_ = false;
  last_read_ticks_ = began;
  const int64_t poll = engine.capabilities().blocking ? kFarPollMicros : kPollMicros;
  next_read_ticks_ = place_.machine.TicksMicros() + poll;
  more_ = false;
  if (shard == nullptr) {
    // It went with its last record.
    read_all_ = true;
    return;
  }
  if (page->ok()) return TakePage(*stream, **std::move(page));
  if (page->error().code() == ErrorCode::kTrimmedDataAccess) {
    plan_->tally->gaps.fetch_add(1, std::memory_order_relaxed);
    LogWarn("trigger_lost_changes", {{"mapping", mapping.uuid}, {"shard", shard_id_}});
    plan_->tally->NoteResult(
        "PROBLEM: the checkpoint is older than the stream's 24 hours: changes of " + shard_id_ +
            " are lost",
        place_.env.clock.NowMicros());
    read_to_ = std::max(read_to_, stream::TrimHorizon(*shard));
    more_ = true;
    return;
  }
  plan_->tally->NoteResult("PROBLEM: the stream cannot be read: " + page->error().message(),
                           place_.env.clock.NowMicros());
}

void Course::TakePage(const stream::StreamDescriptor& stream, stream::Page page) {
  const int64_t now = place_.env.clock.NowMicros();
  simdjson::dom::parser parser;
  uint64_t filtered = 0;
  for (const stream::Record& record : page.records) {
    Change change{record.position, record.created_micros, now,
                  RecordJson(stream, record, plan_->region, plan_->stream_arn)};
    if (!plan_->patterns.empty()) {
      simdjson::dom::element json;
      const bool parsed = parser.parse(change.json).get(json) == simdjson::SUCCESS;
      const bool wanted =
          parsed && std::any_of(plan_->patterns.begin(), plan_->patterns.end(),
                                [json](const Pattern& p) { return p.Matches(json); });
      if (!wanted) {
        ++filtered;
        continue;
      }
    }
    const size_t lane =
        parts_.size() == 1 ? 0 : std::hash<std::string_view>()(record.keys) % parts_.size();
    parts_[lane].lane.Add(std::move(change));
    parts_[lane].due_micros = INT64_MIN;
  }
  plan_->tally->filtered.fetch_add(filtered, std::memory_order_relaxed);
  read_to_ = page.next;
  read_all_ = page.ended;
  more_ = page.more;
}

void Course::Settle(Part* part) {
  const Lane::Counts& now = part->lane.counts();
  Tally& tally = *plan_->tally;
  const auto add = [](std::atomic<uint64_t>* to, uint64_t count) {
    to->fetch_add(count, std::memory_order_relaxed);
  };
  add(&tally.delivered, now.delivered - part->counted.delivered);
  add(&tally.exhausted, now.exhausted - part->counted.exhausted);
  add(&tally.expired, now.expired - part->counted.expired);
  add(&tally.unreported, now.unreported - part->counted.unreported);
  part->counted = now;
}

void Course::Perform(const Lane::Step& step, Part* part) {
  Batch batch;
  batch.uuid = plan_->mapping.uuid;
  batch.table = plan_->mapping.table;
  batch.shard_id = shard_id_;
  batch.reports_failures = plan_->mapping.reports_failures;
  batch.changes.reserve(step.count);
  for (size_t i = 0; i < step.count; ++i) batch.changes.push_back(&part->lane.queue()[i]);
  const Clock& clock = place_.env.clock;
  if (step.what == Lane::Do::kReport) {
    batch.function = plan_->destination_name;
    mutex_.unlock();
    const Outcome outcome =
        part->destination->Report(batch, DocumentOf(batch, step, clock.NowMicros()));
    mutex_.lock();
    const bool ok = outcome.kind == Outcome::Kind::kDone;
    if (!ok)
      plan_->tally->NoteResult("PROBLEM: the destination on failure: " + outcome.text,
                               clock.NowMicros());
    part->lane.OnReported(ok, clock.NowMicros());
  } else {
    batch.function = plan_->mapping.function;
    mutex_.unlock();
    const Outcome outcome = part->target->Deliver(batch);
    mutex_.lock();
    // A call that was cancelled says nothing of the function.
    if (stopped_ && outcome.kind == Outcome::Kind::kNotRun) return;
    Tally& tally = *plan_->tally;
    tally.invocations.fetch_add(1, std::memory_order_relaxed);
    const int64_t now = clock.NowMicros();
    switch (outcome.kind) {
      case Outcome::Kind::kDone:
        part->lane.OnDone();
        tally.NoteResult("OK", now);
        break;
      case Outcome::Kind::kFailed:
        part->lane.OnFailed(outcome.first_failed, now);
        tally.failures.fetch_add(1, std::memory_order_relaxed);
        tally.NoteResult("PROBLEM: Function call failed: " + outcome.text, now);
        break;
      case Outcome::Kind::kNotRun:
        part->lane.OnNotRun(outcome.first_failed, now);
        tally.not_run.fetch_add(1, std::memory_order_relaxed);
        tally.NoteResult("PROBLEM: the function could not be called: " + outcome.text, now);
        break;
    }
  }
  Settle(part);
}

std::string Course::DocumentOf(const Batch& batch, const Lane::Step& step, int64_t now) const {
  const Change& first = *batch.changes.front();
  const Change& last = *batch.changes.back();
  JsonWriter json;
  json.Open('{').Key("requestContext").Open('{');
  json.Field("requestId",
             fmt::format("{}-{}", plan_->mapping.uuid, stream::SequenceNumberOf(first.position)));
  json.Field("functionArn", plan_->function_arn).Field("condition", step.condition);
  json.Key("approximateInvokeCount").Whole(step.invocations).Close('}');
  json.Key("responseContext").Open('{').Key("statusCode").Whole(200);
  json.Field("executedVersion", "$LATEST").Field("functionError", "Unhandled").Close('}');
  json.Field("version", "1.0").Field("timestamp", FormatTime(now));
  json.Key("DDBStreamBatchInfo").Open('{').Field("shardId", shard_id_);
  json.Field("startSequenceNumber", stream::SequenceNumberOf(first.position));
  json.Field("endSequenceNumber", stream::SequenceNumberOf(last.position));
  json.Field("approximateArrivalOfFirstRecord", FormatTime(first.created_micros));
  json.Field("approximateArrivalOfLastRecord", FormatTime(last.created_micros));
  json.Key("batchSize").Whole(static_cast<int64_t>(batch.changes.size()));
  json.Field("streamArn", plan_->stream_arn).Close('}').Close('}');
  std::string document = json.Take();
  document.resize(document.size() - 2);  // the bracket and the line feed
  return document + ",\"payload\":" + EventJson(batch.changes) + "}";
}

stream::Position Course::Progress() const {
  stream::Position progress = read_to_;
  for (const Part& part : parts_) {
    if (!part.lane.queue().empty())
      progress = std::min(progress, part.lane.queue().front().position);
  }
  return progress;
}

bool Course::AllDelivered() const {
  return read_all_ && std::all_of(parts_.begin(), parts_.end(),
                                  [](const Part& part) { return part.lane.queue().empty(); });
}

void Course::StoreIfDue() {
  if (storing_ || lost_) return;
  Checkpoint next{Progress(), AllDelivered(), stored_.stamp};
  if (next.next == stored_.next && next.ended == stored_.ended) return;
  const int64_t ticks = place_.machine.TicksMicros();
  if (ticks < next_store_ticks_) return;
  storing_ = true;
  next_store_ticks_ = ticks + kStoreMicros;
  mutex_.unlock();
  place_.book.StoreCheckpoint(
      plan_->mapping.uuid, shard_, next,
      [self = shared_from_this(), next](Result<uint64_t> stamp) { self->OnStored(next, stamp); });
  mutex_.lock();
}

void Course::OnStored(const Checkpoint& checkpoint, const Result<uint64_t>& stamp) {
  MutexLock lock(mutex_);
  storing_ = false;
  if (stamp.ok()) {
    stored_ = checkpoint;
    stored_.stamp = *stamp;
    last_error_.clear();
    return;
  }
  const ErrorCode code = stamp.error().code();
  if (code == ErrorCode::kGuardFailed || code == ErrorCode::kOutcomeUnknown) {
    lost_ = true;
    return;
  }
  next_store_ticks_ = place_.machine.TicksMicros() + kStoreAgainMicros;
  if (last_error_ == stamp.error().message()) return;
  last_error_ = stamp.error().message();
  LogWarn("checkpoint_not_stored",
          {{"mapping", plan_->mapping.uuid}, {"shard", shard_id_}, {"error", last_error_}});
}

void Course::Hurry() {
  MutexLock lock(mutex_);
  next_read_ticks_ = 0;
}

bool Course::IsSettled(int64_t since) const {
  MutexLock lock(mutex_);
  if (!read_all_ && (more_ || last_read_ticks_ < since)) return false;
  const int64_t now = place_.env.clock.NowMicros();
  return std::all_of(parts_.begin(), parts_.end(), [now](const Part& part) {
    return !part.busy && (part.lane.queue().empty() || part.due_micros > now);
  });
}

void Course::Stop(bool cancel) {
  {
    MutexLock lock(mutex_);
    stopped_ = true;
  }
  if (!cancel) return;
  for (Part& part : parts_) {
    part.target->Cancel();
    if (part.destination != nullptr) part.destination->Cancel();
  }
}

bool Course::IsIdle() const {
  MutexLock lock(mutex_);
  return !storing_ &&
         std::none_of(parts_.begin(), parts_.end(), [](const Part& part) { return part.busy; });
}

void Course::StoreLast() {
  for (int tries = 0; tries < kLastStoreTries && !IsIdle(); ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  MutexLock lock(mutex_);
  next_store_ticks_ = 0;
  StoreIfDue();
  for (int tries = 0; tries < kLastStoreTries && storing_; ++tries) {
    mutex_.unlock();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    mutex_.lock();
  }
}

bool Course::finished() const {
  MutexLock lock(mutex_);
  return stored_.ended;
}

bool Course::lost() const {
  MutexLock lock(mutex_);
  return lost_;
}

Course::View Course::view() const {
  MutexLock lock(mutex_);
  View view;
  view.shard_id = shard_id_;
  view.next = stream::SequenceNumberOf(Progress());
  const int64_t now = place_.env.clock.NowMicros();
  for (const Part& part : parts_) {
    view.queued += part.lane.queue().size();
    view.queued_bytes += part.lane.bytes();
    view.failures = std::max(view.failures, part.lane.failures());
    if (!part.lane.queue().empty())
      view.lag_micros = std::max(view.lag_micros, now - part.lane.queue().front().created_micros);
  }
  return view;
}

}  // namespace stator::triggers
