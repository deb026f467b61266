// How a course reads, renders and filters changes, with memory that it has taken before.
#include <algorithm>
#include <functional>
#include <thread>
#include <utility>

#include "base/byte_buffer.h"
#include "base/log.h"
#include "table/store.h"
#include "triggers/course.h"
#include "triggers/event.h"

namespace stator::triggers {
namespace {

// [D] The service looks at each shard four times a second.
constexpr int64_t kPollMicros = 200'000;
// An engine behind a network.
constexpr int64_t kFarPollMicros = 500'000;
constexpr size_t kPageRecords = 1000;
// The lanes of a shard hold at most this, and one page more.
constexpr size_t kMostQueuedBytes = 12 << 20;
constexpr size_t kMostQueuedBatches = 10;
constexpr size_t kMostPageBytes = 1 << 20;
// The memory of a page: its records, and the frames of their parts.
constexpr size_t kPageBytes = kMostPageBytes + (512 << 10);
static_assert(kPageBytes + (1 << 20) == Course::kTurnBytes);
// Bytes that parsing takes for each byte: simdjson has indexes, a tape, strings, a padded copy.
constexpr size_t kParsing = 16;
// The filters of a page may take this many steps at the same time as other courses. Beyond it only
// one course at a time continues.
constexpr uint64_t kFreeSteps = 1'000'000;
// The page ends after the change with which its filters have taken this many steps.
constexpr uint64_t kMostSteps = 20'000'000;
constexpr auto kTurnPause = std::chrono::milliseconds(2);
}  // namespace

bool Course::MayRead() const {
  if (reading_ || read_all_) return false;
  if (!more_ && place_.machine.TicksMicros() < next_read_ticks_) return false;
  size_t bytes = 0, changes = 0;
  for (const Part& part : parts_) {
    bytes += part.lane.held_bytes();
    changes += part.lane.queue().size();
  }
  const size_t most = static_cast<size_t>(plan_->mapping.batch) * kMostQueuedBatches;
  return bytes < kMostQueuedBytes && changes < std::max(most, kPageRecords);
}

bool Course::IsHungry(const Part& part) const {
  if (part.forgotten || part.lane.IsFull()) return false;
  return part.lane.queue().empty() || !place_.changes.IsPressed();
}

Account::Need Course::NeedOfRead() const {
  return held_.held() == 0 ? Account::Need::kMust : Account::Need::kTurn;
}

bool Course::TakeMemory() {
  if (!granted_) granted_ = page_.Take(next_take_, NeedOfRead());
  return granted_;
}

void Course::ReturnMemory() {
  if (!granted_ || reading_) return;
  granted_ = false;
  page_.Keep(0);
}

Course::Sieve Course::SieveOf() const {
  Sieve sieve;
  sieve.need = NeedOfRead();
  sieve.counted = sifted_to_;
  for (const Part& part : parts_) {
    sieve.from.push_back(part.forgotten ? std::nullopt
                                        : std::optional<stream::Position>(part.next));
  }
  return sieve;
}

bool Course::Read() {
  const bool polls = !more_;
  if (polls && !granted_) granted_ = page_.Take(next_take_, Account::Need::kMore);
  if (!polls && !TakeMemory()) return false;
  const bool whole = std::exchange(granted_, false);
  reading_ = true;
  const int64_t began = place_.machine.TicksMicros();
  const int64_t clock_began = place_.env.clock.NowMicros();
  const stream::Position from = read_to_;
  const Sieve sieve = SieveOf();
  mutex_.unlock();
  const Mapping& mapping = plan_->mapping;
  const stream::StreamPtr stream = place_.env.store.FindStream(mapping.table, mapping.label);
  const stream::Shard* const shard = stream == nullptr ? nullptr : stream->Find(shard_);
  kv::Engine& engine = place_.env.store.engine();
  std::optional<Error> failure;
  Catch caught;
  caught.next = from;
  if (shard != nullptr && whole) {
    const Result<stream::Page> page = stream::ReadShard(
        engine, *stream, *shard, from, {kPageRecords, kMostPageBytes}, kv::Tier::kAny);
    if (page.ok()) {
      caught = Sift(*stream, *page, sieve);
    } else {
      failure = page.error();
    }
  } else if (shard != nullptr) {
    const Result<stream::Position> latest =
        stream::LatestPosition(engine, *shard, stream->tablet(), kv::Tier::kAny);
    if (latest.ok()) {
      // A page is asked for in turn, also where it says that records are lost.
      caught.more = *latest > from || from < shard->trimmed_to;
      caught.ended = !caught.more && !shard->open();
    } else {
      failure = latest.error();
    }
  }
  mutex_.lock();
  reading_ = false;
  last_read_ticks_ = began;
  const int64_t poll = engine.capabilities().blocking ? kFarPollMicros : kPollMicros;
  next_read_ticks_ = place_.machine.TicksMicros() + poll;
  more_ = false;
  next_take_ = std::max(kTurnBytes, kPageBytes + caught.lacking);
  const bool lacking = caught.lacking > 0;
  if (shard == nullptr) {
    // It went with its last record.
    read_all_ = true;
  } else if (failure) {
    OnReadFailed(*failure, *shard);
  } else {
    const bool whole_shard = !caught.more;
    Add(std::move(caught));
    if (whole_shard) seen_micros_ = clock_began;
  }
  page_.Keep(0);
  Balance();
  return !lacking;
}

void Course::OnReadFailed(const Error& error, const stream::Shard& shard) {
  if (error.code() == ErrorCode::kTrimmedDataAccess) {
    plan_->tally->gaps.fetch_add(1, std::memory_order_relaxed);
    LogWarn("trigger_lost_changes", {{"mapping", plan_->mapping.uuid}, {"shard", shard_id_}});
    plan_->tally->NoteResult(
        "PROBLEM: the checkpoint is older than the stream's 24 hours: changes of " + shard_id_ +
            " are lost",
        place_.env.clock.NowMicros());
    read_to_ = std::max(read_to_, stream::TrimHorizon(shard));
    for (Part& part : parts_) {
      if (part.lane.queue().empty() && !part.forgotten) part.lane.Restart();
    }
    more_ = true;
    return;
  }
  plan_->tally->NoteResult("PROBLEM: the stream cannot be read: " + error.message(),
                           place_.env.clock.NowMicros());
}

std::optional<bool> Course::Matches(std::string_view json, simdjson::dom::parser* parser,
                                    uint64_t* steps, Account::Share* turn) {
  const auto goes_on = [&] {
    while (!stopping_ && *steps > kFreeSteps && turn->held() == 0 &&
           !turn->Take(1, Account::Need::kTurn))
      std::this_thread::sleep_for(kTurnPause);
    return !stopping_.load();
  };
  simdjson::dom::element record;
  if (parser->parse(json.data(), json.size()).get(record) != simdjson::SUCCESS) return false;
  for (const Pattern& pattern : plan_->patterns) {
    const std::optional<bool> matches = pattern.Matches(record, steps, goes_on);
    if (!matches || *matches) return matches;
  }
  return false;
}

Course::Catch Course::Sift(const stream::StreamDescriptor& stream, const stream::Page& page,
                           const Sieve& sieve) {
  Catch caught;
  const int64_t now = place_.env.clock.NowMicros();
  const bool filters = !plan_->patterns.empty();
  const Target& target = *parts_.front().target;
  Account::Share turn(place_.filters);
  simdjson::dom::parser parser;
  ByteBuffer scratch;
  uint64_t steps = 0;
  const auto end_before = [&](const stream::Position& position) {
    caught.next = position;
    caught.ended = false;
    caught.more = true;
    return std::move(caught);
  };
  caught.next = page.next;
  caught.ended = page.ended;
  caught.more = page.more;
  for (const stream::Record& record : page.records) {
    const size_t lane =
        parts_.size() == 1 ? 0 : std::hash<std::string_view>()(record.keys) % parts_.size();
    if (!sieve.from[lane] || record.position < *sieve.from[lane]) continue;
    if (steps > kMostSteps || stopping_) return end_before(record.position);
    const size_t most = MostRecordBytes(record, plan_->region, plan_->stream_arn);
    const size_t need = 2 * most + kScratchBytes + kChangeBytes + (filters ? kParsing * most : 0);
    const size_t held = page_.held() - kPageBytes - caught.bytes;
    const bool first = caught.changes.empty();
    if (need > held && !page_.Take(need - held, first ? sieve.need : Account::Need::kMore)) {
      if (first) caught.lacking = need;
      return end_before(record.position);
    }
    Change change{record.position, record.created_micros, now};
    target.Render({stream, record, plan_->region, plan_->stream_arn, plan_->mapping.micros, most},
                  &scratch, &change);
    if (change.text.size() > target.most_change_bytes()) {
      plan_->tally->too_large.fetch_add(1, std::memory_order_relaxed);
      LogWarn("kinesis_record_too_large",
              {{"table", plan_->mapping.table}, {"event_bytes", change.text.size()}});
      continue;
    }
    if (filters) {
      const std::optional<bool> wanted = Matches(change.json(), &parser, &steps, &turn);
      if (!wanted) return end_before(record.position);
      if (!*wanted) {
        caught.filtered += record.position >= sieve.counted;
        continue;
      }
    }
    caught.bytes += change.text.size() + 1 + kChangeBytes;
    caught.changes.emplace_back(lane, std::move(change));
  }
  return caught;
}

void Course::Add(Catch caught) {
  page_.MoveTo(&held_, caught.bytes);
  for (auto& [lane, change] : caught.changes) {
    Part& part = parts_[lane];
    // The lane has forgotten changes meanwhile, and will read this one again.
    if (part.forgotten || change.position < part.next) continue;
    part.next = change.position.Next();
    part.lane.Add(std::move(change));
    part.due_micros = INT64_MIN;
  }
  plan_->tally->filtered.fetch_add(caught.filtered, std::memory_order_relaxed);
  read_to_ = caught.next;
  sifted_to_ = std::max(sifted_to_, caught.next);
  read_all_ = caught.ended;
  more_ = caught.more;
}

}  // namespace stator::triggers
