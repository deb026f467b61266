#include "triggers/course.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/json_writer.h"
#include "base/log.h"
#include "base/time_text.h"

namespace stator::triggers {
namespace {

constexpr int64_t kSliceMicros = 1'000'000;
constexpr int64_t kStoreMicros = 100'000;
// A checkpoint is stored as much less often as its state has more bytes than this.
constexpr int64_t kStateBytes = 64 << 10;
constexpr int64_t kStoreAgainMicros = 1'000'000;
constexpr int kLastStoreTries = 1000;

LaneRules RulesOf(const Plan& plan, const Target& target) {
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
  rules.tumbling_micros = mapping.tumbling_seconds * 1'000'000;
  rules.event_bytes = target.most_bytes();
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
      held_(place.changes),
      page_(place.changes),
      read_to_(start.next),
      next_take_(kTurnBytes),
      sifted_to_(start.next),
      stored_(start) {}

Result<std::shared_ptr<Course>> Course::Make(const Place& place, std::shared_ptr<const Plan> plan,
                                             const stream::Shard& shard, const Checkpoint& start) {
  std::shared_ptr<Course> course(new Course(place, plan, shard, start));
  for (int64_t lane = 0; lane < plan->mapping.parallel; ++lane) {
    // Without windows there is one lane that ends what an earlier mapping left open.
    ASSIGN_OR_RETURN(std::unique_ptr<Target> target,
                     MakeTarget(plan->function, place.machine, place.env.clock, &place.trusts));
    Part& part = course->parts_.emplace_back(RulesOf(*plan, *target), place.env.random,
                                             lane == 0 ? start.tumbling : Tumbling());
    part.target = std::move(target);
    if (!plan->destination) continue;
    ASSIGN_OR_RETURN(part.destination,
                     MakeTarget(*plan->destination, place.machine, place.env.clock, &place.trusts));
  }
  return course;
}

bool Course::Claim(size_t lane) {
  MutexLock lock(mutex_);
  Part& part = parts_[lane];
  if (stopped_ || lost_ || part.busy) return false;
  const bool due = place_.env.clock.NowMicros() >= part.due_micros;
  if (part.forgotten && part.lane.queue().empty()) {
    part.busy = due && !reading_ && TakeMemory();
    return part.busy;
  }
  // A poll reads as much as memory allows; without memory it only finds out whether the shard has
  // more.
  const bool reads = IsHungry(part) && MayRead() && (!more_ || TakeMemory());
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
    if (part.forgotten && part.lane.queue().empty()) {
      if (reading_ || place_.env.clock.NowMicros() < part.due_micros) break;
      Resume(&part);
    }
    bool lacking = false;
    while (!stopped_ && !lacking && IsHungry(part) && MayRead()) lacking = !Read();
    const Lane::Step step =
        part.lane.Next(place_.env.clock.NowMicros(), read_all_ && !part.forgotten,
                       part.forgotten ? INT64_MIN : seen_micros_);
    Settle(&part);
    part.due_micros = step.what == Lane::Do::kWait ? step.due_micros : INT64_MIN;
    if (step.what != Lane::Do::kWait) {
      ReturnMemory();
      Perform(step, &part);
    }
    if (part.forgotten && part.lane.queue().empty()) part.due_micros = part.lane.not_before();
    StoreIfDue();
    if (step.what == Lane::Do::kWait && (lacking || !IsHungry(part) || !more_ || !MayRead())) break;
    if (place_.machine.TicksMicros() >= until) break;
  }
  ReturnMemory();
  part.busy = false;
  YieldPart(&part);
}

void Course::Resume(Part* part) {
  part->forgotten = false;
  seen_micros_ = INT64_MIN;
  read_to_ = std::min(read_to_, part->next);
  read_all_ = false;
  more_ = true;
}

void Course::Forget(Part* part, size_t kept) {
  const std::deque<Change>& queue = part->lane.queue();
  if (kept >= queue.size()) return;
  part->forgotten = true;
  part->next = queue[kept].position;
  part->forgotten_micros = queue[kept].created_micros;
  part->lane.Forget(kept);
}

void Course::YieldPart(Part* part) {
  if (part->lane.queue().empty() || !place_.changes.IsPressed()) return;
  if (part->busy && part->in_call == 0) return;
  Forget(part, part->in_call);
  if (part->sent && !part->stripped) {
    part->lane.Strip(part->in_call);
    part->stripped = true;
  }
  Balance();
}

void Course::Yield() {
  MutexLock lock(mutex_);
  for (Part& part : parts_) YieldPart(&part);
}

void Course::Balance() {
  size_t bytes = 0;
  for (const Part& part : parts_) bytes += part.lane.held_bytes();
  held_.Keep(std::min(bytes, held_.held()));
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
  if (now.windows_lost > part->counted.windows_lost) {
    add(&tally.windows_lost, now.windows_lost - part->counted.windows_lost);
    LogWarn("trigger_window_lost", {{"mapping", plan_->mapping.uuid}, {"shard", shard_id_}});
    tally.NoteResult("PROBLEM: the final call of a window failed until it was given up",
                     place_.env.clock.NowMicros());
  }
  part->counted = now;
  Balance();
}

// A call under way, as its course sees it.
class Course::Call final : public BatchListener {
 public:
  Call(Course& course, Part& part) : course_(course), part_(part) {}
  void OnSent() override {
    MutexLock lock(course_.mutex_);
    part_.sent = true;
    course_.YieldPart(&part_);
  }
  bool OnAgain() override {
    MutexLock lock(course_.mutex_);
    part_.sent = false;
    return !part_.stripped;
  }

 private:
  Course& course_;
  Part& part_;
};

void Course::Perform(const Lane::Step& step, Part* part) {
  Call call(*this, *part);
  Batch batch;
  batch.uuid = plan_->mapping.uuid;
  batch.table = plan_->mapping.table;
  batch.shard_id = shard_id_;
  batch.reports_failures = plan_->mapping.reports_failures;
  batch.listener = &call;
  batch.calls = &place_.calls;
  batch.changes.reserve(step.count);
  for (size_t i = 0; i < step.count; ++i) batch.changes.push_back(&part->lane.queue()[i]);
  part->in_call = step.count;
  part->sent = part->stripped = false;
  const bool reports = step.what == Lane::Do::kReport;
  std::optional<WindowCall> window;
  if (!reports && part->lane.tumbling().open) {
    window = {*part->lane.tumbling().open, step.what == Lane::Do::kFinish, part->lane.early(),
              plan_->stream_arn};
    batch.window = &*window;
  }
  batch.function = reports ? plan_->destination_name : plan_->mapping.function;
  mutex_.unlock();
  const Outcome outcome =
      reports
          ? part->destination->Report(batch, DocumentOf(batch, step, place_.env.clock.NowMicros()))
          : part->target->Deliver(batch);
  mutex_.lock();
  part->in_call = 0;
  // A call that was cancelled says nothing of the function.
  if (stopped_ && outcome.kind == Outcome::Kind::kNotRun && !reports) return;
  const bool all = Note(outcome, step.what, &part->lane);
  if (part->stripped && !all) Forget(part, 0);
  part->sent = part->stripped = false;
  Settle(part);
}

bool Course::TakeState(Outcome* outcome, Lane* lane) {
  if (!outcome->state || !lane->tumbling().open) return true;
  const size_t bytes = outcome->state->size();
  if (bytes <= kMostStateBytes) {
    lane->SetState(*std::move(outcome->state));
    return true;
  }
  if (lane->EndEarly()) return false;
  outcome->kind = Outcome::Kind::kFailed;
  outcome->first_failed = 0;
  outcome->text = fmt::format("the state has {} bytes; the most is {}", bytes, kMostStateBytes);
  return true;
}

bool Course::Note(Outcome outcome, Lane::Do what, Lane* lane) {
  const int64_t now = place_.env.clock.NowMicros();
  Tally& tally = *plan_->tally;
  if (what == Lane::Do::kReport) {
    const bool ok = outcome.kind == Outcome::Kind::kDone;
    if (!ok) tally.NoteResult("PROBLEM: the destination on failure: " + outcome.text, now);
    lane->OnReported(ok, now);
    return ok;
  }
  const bool finishes = what == Lane::Do::kFinish;
  if (!finishes && !TakeState(&outcome, lane)) {
    tally.invocations.fetch_add(1, std::memory_order_relaxed);
    tally.NoteResult("OK", now);
    return false;
  }
  tally.invocations.fetch_add(1, std::memory_order_relaxed);
  tally.refused.fetch_add(outcome.refused, std::memory_order_relaxed);
  switch (outcome.kind) {
    case Outcome::Kind::kDone:
      finishes ? lane->OnFinished() : lane->OnDone();
      tally.NoteResult("OK", now);
      break;
    case Outcome::Kind::kFailed:
      if (finishes) {
        lane->OnNotFinished(true, now);
      } else if (outcome.hopeless) {
        lane->OnHopeless(outcome.first_failed);
      } else {
        lane->OnFailed(outcome.first_failed, now);
      }
      tally.failures.fetch_add(1, std::memory_order_relaxed);
      tally.NoteResult("PROBLEM: Function call failed: " + outcome.text, now);
      break;
    case Outcome::Kind::kNotRun:
      finishes ? lane->OnNotFinished(false, now) : lane->OnNotRun(outcome.first_failed, now);
      tally.not_run.fetch_add(1, std::memory_order_relaxed);
      tally.NoteResult(fmt::format("PROBLEM: {}{}", parts_.front().target->not_run(), outcome.text),
                       now);
      break;
  }
  return outcome.kind == Outcome::Kind::kDone;
}

Tumbling Course::Windows() const { return parts_.front().lane.tumbling(); }

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
  return document;
}

stream::Position Course::Progress() const {
  stream::Position progress = read_to_;
  for (const Part& part : parts_) {
    if (part.forgotten) progress = std::min(progress, part.next);
    if (!part.lane.queue().empty())
      progress = std::min(progress, part.lane.queue().front().position);
  }
  return progress;
}

bool Course::AllDelivered() const {
  return read_all_ && std::all_of(parts_.begin(), parts_.end(), [](const Part& part) {
           return part.lane.queue().empty() && !part.forgotten && !part.lane.tumbling().open;
         });
}

void Course::StoreIfDue() {
  if (storing_ || lost_) return;
  Checkpoint next{Progress(), AllDelivered(), stored_.stamp, Windows()};
  if (next.next == stored_.next && next.ended == stored_.ended && next.tumbling == stored_.tumbling)
    return;
  const int64_t ticks = place_.machine.TicksMicros();
  if (ticks < next_store_ticks_) return;
  storing_ = true;
  int64_t states = 1;
  if (next.tumbling.open && next.tumbling.open->state != nullptr)
    states += static_cast<int64_t>(next.tumbling.open->state->size()) / kStateBytes;
  next_store_ticks_ = ticks + states * kStoreMicros;
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
    const bool empty = part.lane.queue().empty() && !part.forgotten;
    return !part.busy && (empty || part.due_micros > now);
  });
}

void Course::Stop(bool cancel) {
  {
    MutexLock lock(mutex_);
    stopped_ = stopping_ = true;
    ReturnMemory();
    page_.Leave();
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
    if (part.lane.tumbling().open) view.window = part.lane.tumbling().open;
    if (!part.lane.queue().empty()) {
      view.lag_micros = std::max(view.lag_micros, now - part.lane.queue().front().created_micros);
    } else if (part.forgotten) {
      view.lag_micros = std::max(view.lag_micros, now - part.forgotten_micros);
    }
  }
  return view;
}

}  // namespace stator::triggers
