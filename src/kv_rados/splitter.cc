#include "kv_rados/splitter.h"

#include <fmt/format.h>

#include <cerrno>
#include <utility>

#include "base/log.h"
#include "base/mutex_wait.h"
#include "kv_rados/routing.h"
#include "kv_rados/split_point.h"

namespace stator::kv_rados {
namespace {

constexpr int64_t kLookIntervalMicros = 500'000;
// A part that cannot or need not be split is considered again after kWaitMicros; after a failed
// split, after kWaitAfterErrorMicros.
constexpr int64_t kWaitMicros = 60'000'000, kWaitAfterErrorMicros = 2'000'000;

}  // namespace

Splitter::Splitter(Cluster& cluster, TabletMap& map, std::string process)
    : cluster_(cluster),
      map_(map),
      process_(std::move(process)),
      wake_(cluster.host()),
      answered_(cluster.host()),
      thread_(cluster.host(), [this] { Run(); }) {}

void Splitter::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    wake_.NotifyAll();
  }
  if (thread_.joinable()) thread_.Join();
  MutexLock lock(mutex_);
  for (const Task& task : std::exchange(tasks_, {}))
    Answer(task, Error(ErrorCode::kUnavailable, "The store is closing."));
}

void Splitter::Answer(const Task& task, Status status) {
  if (task.asked == nullptr) return;
  *task.asked = std::move(status);
  answered_.NotifyAll();
}

void Splitter::Consider(const PartPtr& part, const PartSize& size) {
  const RadosOptions& options = cluster_.options();
  if (size.bytes < options.split_bytes && size.keys < options.split_keys) return;
  if (part->tablet.space == kv::Space::kCatalog) return;
  MutexLock lock(mutex_);
  Again& again = again_[part->object];
  const bool grown = size.bytes >= again.amount.bytes || size.keys >= again.amount.keys;
  if (stopping_ || again.queued || (!grown && cluster_.clock().TicksMicros() < again.ticks)) return;
  again.queued = true;
  tasks_.push_back({part, {size.bytes, size.keys}, nullptr});
  wake_.NotifyAll();
}

void Splitter::Watch(const PartPtr& part) {
  MutexLock lock(mutex_);
  if (watched_.try_emplace(part->object, Watched{part, {}, cluster_.clock().TicksMicros()}).second)
    wake_.NotifyAll();
}

void Splitter::Run() {
  UniqueMutexLock lock(mutex_);
  while (!stopping_) {
    const auto ready = [this]() REQUIRES(mutex_) { return stopping_ || !tasks_.empty(); };
    if (watched_.empty()) {
      wake_.Wait(lock, [&]() REQUIRES(mutex_) { return ready() || !watched_.empty(); });
    } else if (!ready()) {
      wake_.WaitFor(lock, kLookIntervalMicros);
    }
    if (stopping_) return;
    std::optional<Task> task;
    if (!tasks_.empty()) {
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    lock.unlock();
    if (task) Do(*task);
    Look();
    lock.lock();
  }
}

void Splitter::Do(const Task& task) {
  const Result<bool> done = Split(task.part, task.asked != nullptr);
  if (task.asked != nullptr) {
    MutexLock lock(mutex_);
    return Answer(task, done.ok() ? OkStatus() : Status(done.error()));
  }
  if (!done.ok() && !stopping()) {
    LogWarn("a part was not split",
            {{"object", task.part->object}, {"reason", done.error().message()}});
  }
  MutexLock lock(mutex_);
  if (done.ok() && *done) {
    again_.erase(task.part->object);
    return;
  }
  Again& again = again_[task.part->object] = {};
  if (!done.ok()) {
    again.ticks = cluster_.clock().TicksMicros() + kWaitAfterErrorMicros;
  } else {
    again.ticks = cluster_.clock().TicksMicros() + kWaitMicros;
    again.amount = {task.told.bytes + cluster_.options().split_bytes / 8,
                    task.told.keys + cluster_.options().split_keys / 8};
  }
}

// ---- one's own splits ---------------------------------------------------------------------------

PartSplit Splitter::Carrier(const PartPtr& part) {
  return {cluster_,
          map_,
          process_,
          part,
          [this] { return !stopping(); },
          [this](int step) {
            const auto& told = cluster_.options().split_step;
            return told ? told(step) : OkStatus();
          }};
}

Result<bool> Splitter::Split(const PartPtr& part, bool forced) {
  const RadosOptions& options = cluster_.options();
  const auto refuse = [&](std::string_view why) -> Result<bool> {
    if (forced)
      return Error(ErrorCode::kUnavailable, fmt::format("The part {} {}.", part->object, why));
    return false;
  };
  ASSIGN_OR_RETURN(const HeaderPtr header, ReadHeader(cluster_, *part));
  if (header->header.fence == kv::kDroppedFence) return refuse("was dropped");
  if (header->header.state != PartHeader::State::kOpen) {
    Watch(part);
    return refuse("is being split already");
  }
  PartSurvey survey(part->tablet.space);
  ASSIGN_OR_RETURN(const bool read,
                   WalkPart(cluster_, *part, header,
                            [&survey](std::string_view key, size_t bytes, uint64_t stamp) {
                              survey.Note(key, bytes, stamp);
                            }));
  if (!read) return refuse("has changed");
  const Amount amount = survey.amount();
  if (!forced && amount.bytes < options.split_bytes && amount.keys < options.split_keys)
    return false;
  const std::optional<Amount> limit =
      forced ? std::nullopt : std::optional(Amount{options.split_bytes, options.split_keys});
  const std::optional<std::string> boundary =
      part->tablet.space == kv::Space::kCatalog ? std::nullopt : survey.Boundary(limit);
  if (!boundary) return refuse("cannot be divided");
  const int64_t started = cluster_.clock().TicksMicros();
  PartSplit split = Carrier(part);
  Watch(part);  // whatever becomes of it: an error may come from a step that was taken
  ASSIGN_OR_RETURN(const bool begun, split.Begin(header, *boundary));
  if (!begun) return refuse("is being split already");
  ASSIGN_OR_RETURN(const bool done, split.CarryOn());
  if (!done) return refuse("is being split by another process now");
  splits_.fetch_add(1, std::memory_order_relaxed);
  LogInfo("a part was split",
          {{"object", part->object},
           {"bytes", amount.bytes},
           {"keys", amount.keys},
           {"milliseconds", (cluster_.clock().TicksMicros() - started) / 1000}});
  return true;
}

Status Splitter::SplitNow(kv::Tablet tablet, std::string_view route) {
  ASSIGN_OR_RETURN(const Place place, map_.Locate(tablet, route));
  if (place.part == nullptr)
    return Error(ErrorCode::kUnavailable, "The tablet was never written to.");
  const auto asked = std::make_shared<std::optional<Status>>();
  UniqueMutexLock lock(mutex_);
  if (stopping_) return Error(ErrorCode::kUnavailable, "The store is closing.");
  tasks_.push_back({place.part, {}, asked});
  wake_.NotifyAll();
  answered_.Wait(lock, [&asked] { return asked->has_value(); });
  return **asked;
}

// ---- those of others ----------------------------------------------------------------------------

Result<bool> Splitter::IsOver(const Part& part, std::string* seen) {
  ASSIGN_OR_RETURN(const HeaderPtr header, ReadHeader(cluster_, part));
  const PartHeader& is = header->header;
  if (is.fence == kv::kDroppedFence) return true;
  if (is.state != PartHeader::State::kCopying && is.state != PartHeader::State::kLeaving)
    return true;
  *seen = header->bytes;
  const std::string child = PartObject(part.tablet, is.other);
  std::unique_ptr<ReadOp> read;
  const int result = cluster_.Read(
      child, [](ReadOp& op) { op.Attributes(); }, &read);
  if (result < 0 && result != -ENOENT) return cluster_.ErrorOf(result, child, false);
  if (result >= 0) seen->append(read->attribute(kHeaderAttribute));
  return false;
}

Status Splitter::CarryOn(const PartPtr& part) {
  LogInfo("a split that stands still is carried on", {{"object", part->object}});
  PartSplit split = Carrier(part);
  ASSIGN_OR_RETURN(const bool done, split.CarryOn());
  if (done) taken_over_.fetch_add(1, std::memory_order_relaxed);
  return OkStatus();
}

void Splitter::Look() {
  std::map<std::string, Watched> watched;
  {
    MutexLock lock(mutex_);
    watched = watched_;
  }
  for (auto& [object, each] : watched) {
    if (stopping()) return;
    std::string seen;
    const Result<bool> over = IsOver(*each.part, &seen);
    if (!over.ok()) continue;
    const int64_t now = cluster_.clock().TicksMicros();
    if (!*over && seen == each.seen &&
        now - each.since >= cluster_.options().split_takeover_seconds * 1'000'000LL) {
      const Status status = CarryOn(each.part);
      if (!status.ok() && !stopping()) {
        LogWarn("a split was not carried on",
                {{"object", object}, {"reason", status.error().message()}});
      }
      seen.clear();
    }
    MutexLock lock(mutex_);
    if (*over) {
      watched_.erase(object);
    } else if (Watched& kept = watched_[object]; seen != kept.seen) {
      kept.seen = std::move(seen);
      kept.since = cluster_.clock().TicksMicros();
    }
  }
}

void Splitter::AddStatistics(std::map<std::string, double>* statistics) const {
  (*statistics)["kv_rados_splits"] = static_cast<double>(splits_.load(std::memory_order_relaxed));
  (*statistics)["kv_rados_splits_taken_over"] =
      static_cast<double>(taken_over_.load(std::memory_order_relaxed));
}

}  // namespace stator::kv_rados
