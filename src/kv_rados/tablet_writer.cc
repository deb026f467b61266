#include "kv_rados/tablet_writer.h"

#include <algorithm>
#include <utility>

#include "kv_rados/routing.h"

namespace stator::kv_rados {
namespace {

bool Meet(const RouteRange& a, const RouteRange& b) {
  return (a.end.empty() || b.begin < a.end) && (b.end.empty() || a.begin < b.end);
}

}  // namespace

void TabletWriter::Enqueue(QueuedBatch batch) {
  if (lookups_ > 0 || parts_.empty()) {
    waiting_.push_back(std::move(batch));
  } else {
    Deal(std::move(batch));
  }
}

void TabletWriter::NoteUnused(std::string_view key) {
  const std::optional<std::string_view> route = RouteOf(tablet_.space, key);
  if (route && !parts_.empty()) PartOf(*route).NoteUnused(key);
}

void TabletWriter::Start() {
  if (parts_.empty() && lookups_ == 0 && !waiting_.empty()) return Open();
  for (PartWriter* part : std::exchange(touched_, {})) part->Start();
}

// ---- dealing out --------------------------------------------------------------------------------

void TabletWriter::Send(QueuedBatch queued, PartWriter& part) {
  part.Enqueue(std::move(queued));
  if (std::find(touched_.begin(), touched_.end(), &part) == touched_.end())
    touched_.push_back(&part);
}

std::vector<PartWriter*> TabletWriter::PartsOf(const kv::DeleteRange& range,
                                               const RouteRange& routes) {
  std::vector<PartWriter*> parts;
  if (!range.end.empty() && range.begin >= range.end) return parts;
  const std::optional<RouteRange> of_keys = RoutesOfKeys(tablet_.space, range.begin, range.end);
  for (const auto& [begin, part] : parts_) {
    if (Meet(part->routes(), routes) && (!of_keys || Meet(part->routes(), *of_keys)))
      parts.push_back(part.get());
  }
  return parts;
}

void TabletWriter::Deal(QueuedBatch queued) {
  if (parts_.size() == 1) return Send(std::move(queued), *parts_.begin()->second);
  const kv::Batch& batch = queued.batch;
  PartWriter* home = nullptr;
  bool spans = false;
  ForEachRoute(batch, [&](kv::Tablet, std::optional<std::string_view> route) {
    if (!route) return spans = true, void();
    PartWriter* part = &PartOf(*route);
    spans |= home != nullptr && home != part;
    home = part;
  });
  std::vector<PartWriter*> ranges;
  for (const kv::DeleteRange& range : batch.range_deletes) {
    for (PartWriter* part : PartsOf(range, queued.routes)) {
      if (std::find(ranges.begin(), ranges.end(), part) == ranges.end()) ranges.push_back(part);
    }
  }
  if (home == nullptr && batch.adds.empty() && ranges.size() > 1)
    return DealAmong(std::move(queued), ranges);
  if (home == nullptr) home = ranges.empty() ? parts_.begin()->second.get() : ranges.front();
  spans |= std::any_of(ranges.begin(), ranges.end(),
                       [home](const PartWriter* part) { return part != home; });
  if (!spans) return Send(std::move(queued), *home);
  context_.statistics.refusals.fetch_add(1, std::memory_order_relaxed);
  context_.finish(
      queued,
      Error(ErrorCode::kSpansUnits,
            "a batch spans parts of a tablet, which are not changed together on this engine."));
}

// To each what lies in it; done when all have done it.
void TabletWriter::DealAmong(QueuedBatch queued, const std::vector<PartWriter*>& parts) {
  std::shared_ptr<FanOutBatch> joint = queued.joint;
  QueuedBatch one{.bytes = queued.bytes, .arrived = queued.arrived, .serial = queued.serial};
  one.batch.after = queued.batch.after;
  one.batch.fences = queued.batch.fences;
  one.batch.range_deletes = queued.batch.range_deletes;
  if (joint == nullptr) {
    joint = std::make_shared<FanOutBatch>();
    joint->whole = std::move(queued);
  } else {
    --joint->left;  // this one becomes several
  }
  joint->left += parts.size();
  for (PartWriter* part : parts) {
    QueuedBatch each{.batch = one.batch,
                     .done = [](const Result<uint64_t>&) {},
                     .bytes = one.bytes,
                     .arrived = one.arrived,
                     .serial = one.serial,
                     .joint = joint,
                     .routes = part->routes()};
    Send(std::move(each), *part);
  }
}

// ---- finding out --------------------------------------------------------------------------------

PartWriter& TabletWriter::Add(PartPtr part, RouteRange routes) {
  const std::string begin = routes.begin;
  auto writer = std::make_unique<PartWriter>(
      std::move(part), std::move(routes), context_,
      [this](PartWriter& from, HeaderPtr header, std::deque<QueuedBatch> batches) {
        OnMoved(from, std::move(header), std::move(batches));
      });
  return *(parts_[begin] = std::move(writer));
}

void TabletWriter::Open() {
  if (PartListPtr parts = context_.map.Cached(tablet_)) return OnOpened(std::move(parts));
  ++lookups_;
  UniqueFunction<void()> task = [this] {
    context_.strand.Run([this, parts = context_.map.PartsOrCreate(tablet_)]() mutable {
      --lookups_;
      OnOpened(std::move(parts));
    });
  };
  if (context_.workers.TryPost(task)) return;
  --lookups_;
  Fail(Error(ErrorCode::kUnavailable, "Too many tablets are being opened."),
       std::exchange(waiting_, {}));
}

void TabletWriter::OnOpened(Result<PartListPtr> parts) {
  if (parts.ok()) {
    for (auto part = (*parts)->begin(); part != (*parts)->end(); ++part) {
      const auto next = std::next(part);
      Add(part->second, {part->first, next == (*parts)->end() ? std::string() : next->first});
    }
    return GoOn();
  }
  // Creating it timed out: again, for it does no harm twice.
  if (parts.error().code() != ErrorCode::kOutcomeUnknown)
    return Fail(parts.error(), std::exchange(waiting_, {}));
  std::erase_if(waiting_, [this](QueuedBatch& batch) {
    const bool late = context_.cluster.PastDeadline(batch.arrived);
    if (late) context_.finish(batch, LateError());
    return late;
  });
  Start();
}

void TabletWriter::GoOn() {
  if (lookups_ > 0) return;
  std::deque<QueuedBatch> waiting = std::exchange(waiting_, {});
  for (QueuedBatch& batch : waiting) Deal(std::move(batch));
  Start();
}

void TabletWriter::OnMoved(PartWriter& part, HeaderPtr header, std::deque<QueuedBatch> batches) {
  ++lookups_;
  auto moved = std::make_shared<std::deque<QueuedBatch>>(std::move(batches));
  UniqueFunction<void()> task = [this, &part, header, moved] {
    context_.strand.Run(
        [this, &part, moved, status = context_.map.Heal(part.part(), header)]() mutable {
          OnHealed(part, std::move(status), std::move(*moved));
        });
  };
  if (context_.workers.TryPost(task)) return;
  OnHealed(part, Error(ErrorCode::kUnavailable, "Too many tablets are being opened."),
           std::move(*moved));
}

void TabletWriter::OnHealed(PartWriter& part, Status status, std::deque<QueuedBatch> batches) {
  --lookups_;
  if (status.ok()) {
    // Only this part's routes are divided; other writers find out for themselves, when they have
    // nothing under way.
    const RouteRange routes = part.routes();
    const PartListPtr known = context_.map.Cached(tablet_);
    for (auto each = known->lower_bound(routes.begin);
         each != known->end() && routes.Has(each->first); ++each) {
      const auto next = std::next(each);
      std::string end = next == known->end() || !routes.Has(next->first) ? routes.end : next->first;
      if (each->first == routes.begin) {
        part.SetRoutes({each->first, std::move(end)});
      } else {
        Add(each->second, {each->first, std::move(end)});
      }
    }
    // They came before whatever waits.
    waiting_.insert(waiting_.begin(), std::make_move_iterator(batches.begin()),
                    std::make_move_iterator(batches.end()));
  } else {
    Fail(status.error(), std::move(batches));
  }
  GoOn();
}

void TabletWriter::Fail(const Error& error, std::deque<QueuedBatch> batches) {
  if (error.code() != ErrorCode::kCorruption && error.code() != ErrorCode::kFenced)
    context_.set_health(error);
  for (QueuedBatch& batch : batches) {
    context_.statistics.refusals.fetch_add(1, std::memory_order_relaxed);
    context_.finish(batch, error);
  }
}

}  // namespace stator::kv_rados
