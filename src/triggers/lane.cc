#include "triggers/lane.h"

#include <algorithm>
#include <utility>

namespace stator::triggers {
namespace {

// Reports are given up when what they tell of is older than this.
constexpr int64_t kReportMicros = 24 * int64_t{3'600'000'000};

// Bytes that an event has around its records.
constexpr size_t kEventFrame = 16;
// Bytes that what is told of a window has around its state.
constexpr size_t kWindowFrame = 1024;

}  // namespace

void Lane::Add(Change change) {
  bytes_ += change.text.size() + 1;
  queue_.push_back(std::move(change));
}

void Lane::Pop(size_t count) {
  for (size_t i = 0; i < count; ++i) {
    bytes_ -= queue_.front().text.size() + 1;
    queue_.pop_front();
  }
}

void Lane::Forget(size_t kept) {
  if (kept >= queue_.size()) return;
  if (kept == 0 && pieces_.empty() && !discard_)
    window_from_ = std::min(window_from_, queue_.front().queued_micros);
  for (size_t i = kept; i < queue_.size(); ++i) bytes_ -= queue_[i].text.size() + 1;
  queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(kept), queue_.end());
}

void Lane::Strip(size_t count) {
  for (size_t i = 0; i < count; ++i) {
    bytes_ -= queue_[i].text.size();
    std::string().swap(queue_[i].text);
  }
}

void Lane::Restart() {
  pieces_.clear();
  discard_.reset();
  window_from_ = INT64_MAX;
}

void Lane::Shorten() {
  Piece& piece = pieces_.back();
  if (piece.count <= queue_.size()) return;
  Piece front = piece;
  front.count = queue_.size();
  piece.count -= front.count;
  pieces_.push_back(front);
}

void Lane::Delay(int64_t now) {
  const int64_t doublings = std::min<int64_t>(failures_, 20);
  const int64_t most = std::min(kFirstDelayMicros << doublings, kLongestDelayMicros);
  ++failures_;
  not_before_ =
      now + most / 2 + static_cast<int64_t>(random_.Below(static_cast<uint64_t>(most / 2)));
}

bool Lane::DiscardAged(int64_t now) {
  const size_t most =
      pieces_.empty() ? queue_.size() : std::min(pieces_.back().count, queue_.size());
  size_t aged = 0;
  while (aged < most && queue_[aged].created_micros < now - rules_.age_micros) ++aged;
  if (aged == 0) return false;
  discard_ = Discard{aged, true, pieces_.empty() ? 0 : pieces_.back().invocations};
  if (!pieces_.empty()) {
    pieces_.back().count -= aged;
    if (pieces_.back().count == 0) pieces_.pop_back();
  }
  not_before_ = INT64_MIN;
  failures_ = 0;
  return true;
}

bool Lane::IsOver(bool last, int64_t seen_micros) const {
  if (early_ || rules_.tumbling_micros == 0) return true;
  const int64_t end = tumbling_.open->end_micros;
  if (!queue_.empty()) return queue_.front().created_micros >= end;
  return last || seen_micros >= end + kLateMicros;
}

void Lane::Close() {
  // The changes behind a window that ended early still belong to its time.
  if (!early_ && rules_.tumbling_micros > 0) tumbling_.ended_micros = tumbling_.open->end_micros;
  tumbling_.open.reset();
  early_ = false;
  final_attempts_ = failures_ = 0;
  not_before_ = INT64_MIN;
}

bool Lane::FormBatch(int64_t now, bool last, int64_t* due) {
  size_t count = 0;
  size_t bytes = kEventFrame;
  bool full = false;
  int64_t most_created = INT64_MAX;
  std::optional<OpenWindow> window = tumbling_.open;
  if (rules_.tumbling_micros > 0) {
    if (!window) {
      window =
          OpenFor(queue_.front().created_micros, rules_.tumbling_micros, tumbling_.ended_micros);
    }
    most_created = window->end_micros - 1;
    bytes += kWindowFrame + (window->state == nullptr ? 0 : window->state->size());
  }
  for (const Change& change : queue_) {
    // The first is of the window: otherwise that would be over.
    if (count > 0 && change.created_micros > most_created) {
      full = true;
      break;
    }
    bytes += change.text.size() + 1;
    if (count > 0 && bytes > rules_.event_bytes) {
      full = true;
      break;
    }
    if (++count == rules_.batch) {
      full = true;
      break;
    }
  }
  int64_t window_ends = std::min(window_from_, queue_.front().queued_micros) + rules_.window_micros;
  if (window) window_ends = std::min(window_ends, window->end_micros);
  if (!full && !last && now < window_ends) {
    *due = window_ends;
    return false;
  }
  pieces_.push_back({count, 0, 0});
  tumbling_.open = std::move(window);
  window_from_ = INT64_MAX;
  return true;
}

Lane::Step Lane::Next(int64_t now, bool last, int64_t seen_micros) {
  Step step;
  while (true) {
    if (discard_) {
      reporting_ = std::min(discard_->count, queue_.size());
      if (reporting_ == 0) return step;
      if (!rules_.reports) {
        DropDiscarded(true);
        continue;
      }
      if (now < not_before_) {
        step.due_micros = not_before_;
        return step;
      }
      step.what = Do::kReport;
      step.count = reporting_;
      step.condition = discard_->by_age ? "RecordAgeExceeded" : "RetryAttemptsExhausted";
      step.invocations = discard_->invocations;
      return step;
    }
    if (pieces_.empty() && tumbling_.open && IsOver(last, seen_micros)) {
      if (now < not_before_) {
        step.due_micros = not_before_;
        return step;
      }
      step.what = Do::kFinish;
      return step;
    }
    if (queue_.empty()) return step;
    if (DiscardAged(now)) continue;
    if (pieces_.empty() && !FormBatch(now, last, &step.due_micros)) return step;
    Shorten();
    if (now < not_before_) {
      step.due_micros = not_before_;
      return step;
    }
    step.what = Do::kInvoke;
    step.count = pieces_.back().count;
    return step;
  }
}

void Lane::OnDone() {
  counts_.delivered += pieces_.back().count;
  Pop(pieces_.back().count);
  pieces_.pop_back();
  failures_ = 0;
  not_before_ = INT64_MIN;
}

void Lane::OnFailed(size_t first_failed, int64_t now) {
  Piece& piece = pieces_.back();
  ++piece.invocations;
  first_failed = std::min(first_failed, piece.count - 1);
  if (first_failed > 0) {
    counts_.delivered += first_failed;
    Pop(first_failed);
    piece.count -= first_failed;
    piece.attempts = 0;
    failures_ = 0;
  }
  if (rules_.bisect && (first_failed > 0 || piece.count > 1)) {
    // A split is no retry.
    if (first_failed == 0) {
      const size_t half = piece.count / 2;
      const Piece front{half, piece.attempts, piece.invocations};
      piece.count -= half;
      pieces_.push_back(front);
    }
    not_before_ = INT64_MIN;
    return;
  }
  ++piece.attempts;
  if (rules_.retries >= 0 && piece.attempts > rules_.retries) {
    discard_ = Discard{piece.count, false, piece.invocations};
    pieces_.pop_back();
    failures_ = 0;
    not_before_ = INT64_MIN;
    return;
  }
  Delay(now);
}

void Lane::OnHopeless(size_t hopeless) {
  Piece& piece = pieces_.back();
  ++piece.invocations;
  hopeless = std::min(hopeless, piece.count - 1);
  counts_.delivered += hopeless;
  Pop(hopeless);
  discard_ = Discard{1, false, piece.invocations};
  piece.count -= hopeless + 1;
  piece.attempts = 0;
  if (piece.count == 0) pieces_.pop_back();
  failures_ = 0;
  not_before_ = INT64_MIN;
}

void Lane::OnNotRun(size_t delivered, int64_t now) {
  Piece& piece = pieces_.back();
  delivered = std::min(delivered, piece.count - 1);
  if (delivered > 0) {
    counts_.delivered += delivered;
    Pop(delivered);
    piece.count -= delivered;
    failures_ = 0;
  }
  Delay(now);
}

void Lane::DropDiscarded(bool reported) {
  (discard_->by_age ? counts_.expired : counts_.exhausted) += reporting_;
  if (!reported) counts_.unreported += reporting_;
  Pop(reporting_);
  discard_->count -= reporting_;
  if (discard_->count == 0) discard_.reset();
  failures_ = 0;
  not_before_ = INT64_MIN;
}

void Lane::OnFinished() { Close(); }

void Lane::OnNotFinished(bool ran, int64_t now) {
  if (ran) ++final_attempts_;
  const bool exhausted = rules_.retries >= 0 && final_attempts_ > rules_.retries;
  if (exhausted || now - tumbling_.open->end_micros > rules_.age_micros) {
    ++counts_.windows_lost;
    return Close();
  }
  Delay(now);
}

void Lane::SetState(std::string state) {
  if (tumbling_.open) tumbling_.open->state = std::make_shared<const std::string>(std::move(state));
}

bool Lane::EndEarly() {
  if (!tumbling_.open || tumbling_.open->state == nullptr) return false;
  early_ = true;
  pieces_.clear();
  failures_ = 0;
  not_before_ = INT64_MIN;
  return true;
}

void Lane::OnReported(bool ok, int64_t now) {
  if (ok) return DropDiscarded(true);
  const int64_t age = now - queue_[reporting_ - 1].created_micros;
  if (age > rules_.age_micros + kReportMicros) return DropDiscarded(false);
  Delay(now);
}

}  // namespace stator::triggers
