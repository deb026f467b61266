#include "kv_rados/tablet_writer.h"

#include <algorithm>

namespace stator::kv_rados {

void TabletWriter::Enqueue(QueuedBatch batch) {
  if (part_ != nullptr) {
    part_->Enqueue(std::move(batch));
  } else {
    waiting_.push_back(std::move(batch));
  }
}

void TabletWriter::Start() {
  if (part_ != nullptr) return part_->Start();
  if (!opening_ && !waiting_.empty()) Open();
}

void TabletWriter::Open() {
  if (PartPtr part = context_.map.FindCached(tablet_)) return OnOpened(std::move(part));
  opening_ = true;
  UniqueFunction<void()> task = [this] {
    context_.thread.Post([this, part = context_.map.FindOrCreate(tablet_, {})]() mutable {
      opening_ = false;
      OnOpened(std::move(part));
    });
  };
  if (context_.workers.TryPost(task)) return;
  opening_ = false;
  Fail(Error(ErrorCode::kUnavailable, "Too many tablets are being opened."));
}

void TabletWriter::OnOpened(Result<PartPtr> part) {
  if (part.ok()) {
    part_ = std::make_unique<PartWriter>(std::move(*part), context_);
    for (QueuedBatch& batch : waiting_) part_->Enqueue(std::move(batch));
    waiting_.clear();
    return part_->Start();
  }
  // Creating it timed out: again, for it does no harm twice.
  if (part.error().code() != ErrorCode::kOutcomeUnknown) return Fail(part.error());
  std::erase_if(waiting_, [this](QueuedBatch& batch) {
    const bool late = context_.cluster.PastDeadline(batch.arrived);
    if (late) context_.finish(batch, LateError());
    return late;
  });
  Start();
}

void TabletWriter::Fail(const Error& error) {
  if (error.code() != ErrorCode::kCorruption) context_.set_health(error);
  std::deque<QueuedBatch> refused;
  refused.swap(waiting_);
  for (QueuedBatch& batch : refused) {
    context_.statistics.refusals.fetch_add(1, std::memory_order_relaxed);
    context_.finish(batch, error);
  }
}

}  // namespace stator::kv_rados
