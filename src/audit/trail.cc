#include "audit/trail.h"

#include <fmt/format.h>

#include <chrono>
#include <future>
#include <utility>

#include "base/log.h"
#include "base/mutex_wait.h"

namespace stator::audit {
namespace {

// Time that a record waits at most, unless many come.
constexpr auto kPause = std::chrono::milliseconds(100);
constexpr size_t kWriteBytes = 256 << 10;
constexpr std::string_view kQueueFull = "the queue was full";
constexpr std::string_view kDiskFull = "the file could not be written";
constexpr std::string_view kUnverified = "too many requests a second did not verify";

}  // namespace

Result<std::unique_ptr<Trail>> Trail::Open(Options options, const Clock& clock) {
  ASSIGN_OR_RETURN(std::unique_ptr<LogFile> file,
                   LogFile::Open(options.path, options.most_bytes, options.most_files));
  std::unique_ptr<Trail> trail(new Trail(std::move(options), std::move(file), clock));
  // On a disk that is full already the first change is refused, too.
  trail->SetState(trail->MakeRoom(0), false);
  trail->thread_ = std::thread([t = trail.get()] { t->Run(); });
  return trail;
}

Trail::Trail(Options options, std::unique_ptr<LogFile> file, const Clock& clock)
    : options_(std::move(options)),
      file_(std::move(file)),
      clock_(clock),
      ids_(SystemSeed()),
      room_(file_->room()) {}

Trail::~Trail() { Stop(); }

Result<Trail::Slot> Trail::Reserve() {
  const int before = changes_.fetch_add(1, std::memory_order_relaxed);
  Slot slot(this);
  if (before >= kMostChanges) {
    return Error(ErrorCode::kUnavailable,
                 fmt::format("{} changes wait for the audit log; retry", kMostChanges));
  }
  const int64_t needed = (before + 1) * static_cast<int64_t>(kMaxLineBytes);
  if (broken_.load(std::memory_order_relaxed) || (failing_.load(std::memory_order_relaxed) &&
                                                  room_.load(std::memory_order_relaxed) < needed)) {
    const MutexLock lock(mutex_);
    return Error(
        ErrorCode::kUnavailable,
        "the change is refused because it could not be recorded in the audit log: " + failure_);
  }
  return slot;
}

void Trail::WriteChange(Slot slot, Record record, UniqueFunction<void()> written) {
  // The slot is taken until the line is written.
  Entry entry{std::move(record), true,
              [slot = std::move(slot), written = std::move(written)]() mutable {
                if (written) written();
              }};
  {
    const MutexLock lock(mutex_);
    if (!stopping_) {
      queue_.push_back(std::move(entry));
      hurry_ = true;
    }
  }
  wake_.notify_one();
}

void Trail::WriteChangeAndWait(Slot slot, Record record) {
  auto done = std::make_shared<std::promise<void>>();
  std::future<void> written = done->get_future();
  WriteChange(std::move(slot), std::move(record), [done] { done->set_value(); });
  // Stopped, it lets the promise go.
  done.reset();
  written.wait();
}

void Trail::Drop(const std::string& name, std::string_view reason) {
  auto gap = gaps_.find(reason);
  if (gap == gaps_.end()) gap = gaps_.emplace(std::string(reason), Dropped()).first;
  ++gap->second[name];
  dropped_.fetch_add(1, std::memory_order_relaxed);
}

bool Trail::MayWriteUnverified() {
  const int64_t second = clock_.TicksMicros() / 1'000'000;
  if (second != unverified_second_) {
    unverified_second_ = second;
    unverified_ = 0;
  }
  return ++unverified_ <= kMostUnverified;
}

void Trail::Write(Record record) {
  const size_t weight = record.weight();
  bool hurry = false;
  {
    const MutexLock lock(mutex_);
    if (stopping_) return;
    if (record.caller == nullptr && !record.error_code.empty() && !MayWriteUnverified())
      return Drop(record.name, kUnverified);
    if (queued_bytes_ + weight > options_.most_queued_bytes) return Drop(record.name, kQueueFull);
    const size_t half = options_.most_queued_bytes / 2;
    hurry = queued_bytes_ < half && queued_bytes_ + weight >= half;
    queued_bytes_ += weight;
    hurry_ = hurry_ || hurry;
    queue_.push_back({std::move(record), false, nullptr});
  }
  if (hurry) wake_.notify_one();
}

void Trail::Reopen() {
  {
    const MutexLock lock(mutex_);
    reopen_ = true;
    hurry_ = true;
  }
  wake_.notify_one();
}

void Trail::Stop() {
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
  if (!late_.empty())
    LogError("audit_records_lost", {{"file", file_->path()}, {"changes", late_.size()}});
}

Trail::View Trail::view() const {
  return {written_.load(std::memory_order_relaxed), dropped_.load(std::memory_order_relaxed),
          failing_.load(std::memory_order_relaxed)};
}

void Trail::Run() {
  for (bool last = false; !last;) {
    std::deque<Entry> batch;
    bool reopen = false;
    {
      UniqueMutexLock lock(mutex_);
      wake_.wait_for(lock, kPause, [this]() REQUIRES(mutex_) { return stopping_ || hurry_; });
      last = stopping_;
      hurry_ = false;
      reopen = std::exchange(reopen_, false);
      batch.swap(queue_);
      queued_bytes_ = 0;
    }
    // Also without a word, where a tool moved the file away.
    if (reopen || !batch.empty()) {
      const Status opened = file_->Reopen();
      if (!opened.ok()) LogWarn("audit_log_not_reopened", {{"error", opened.error().message()}});
    }
    if (!state_.ok() && late_.empty() && batch.empty()) TryAgain();
    WriteLate();
    WriteBatch(std::move(batch));
    WriteGaps();
    room_.store(file_->room(), std::memory_order_relaxed);
  }
}

void Trail::SetState(const Status& status, bool broken) {
  broken_.store(broken, std::memory_order_relaxed);
  if (status.ok() == state_.ok()) return;
  state_ = status;
  {
    const MutexLock lock(mutex_);
    failure_ = status.ok() ? "" : status.error().message();
  }
  room_.store(file_->room(), std::memory_order_relaxed);
  failing_.store(!status.ok(), std::memory_order_relaxed);
  if (status.ok()) {
    LogInfo("audit_log_recovered", {{"file", file_->path()}});
  } else {
    LogError("audit_log_failing", {{"error", status.error().message()}});
  }
}

void Trail::TryAgain() {
  if (broken_.load(std::memory_order_relaxed)) {
    const Status synced = file_->Sync();
    if (!synced.ok()) return;
  }
  SetState(MakeRoom(0), false);
}

Status Trail::MakeRoom(size_t bytes) {
  // After a failure there must be more, or the state would go to and fro with the size of lines.
  const int64_t margin = state_.ok() ? 0 : LogFile::kReserveBytes / 4;
  return file_->MakeRoom(static_cast<int64_t>(bytes) + margin);
}

bool Trail::AppendChange(const std::string& line) {
  // Beyond the space that is kept only if need be.
  const Status made = MakeRoom(line.size());
  const Status appended = file_->Append(line);
  SetState(appended.ok() ? made : appended, !appended.ok());
  if (!appended.ok()) return false;
  written_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

bool Trail::AppendOthers(std::string_view lines) {
  const Status made = MakeRoom(lines.size());
  if (!made.ok()) {
    SetState(made, broken_.load(std::memory_order_relaxed));
    return false;
  }
  const Status appended = file_->Append(lines);
  SetState(appended, !appended.ok());
  return appended.ok();
}

void Trail::WriteOthers(Lines* lines) {
  if (lines->text.empty()) return;
  if (AppendOthers(lines->text)) {
    written_.fetch_add(static_cast<int64_t>(lines->names.size()), std::memory_order_relaxed);
  } else {
    const MutexLock lock(mutex_);
    for (const std::string& name : lines->names) Drop(name, kDiskFull);
  }
  lines->text.clear();
  lines->names.clear();
}

void Trail::WriteLate() {
  if (late_.empty()) return;
  size_t done = 0;
  while (done < late_.size() && AppendChange(late_[done])) ++done;
  late_.erase(late_.begin(), late_.begin() + static_cast<std::ptrdiff_t>(done));
}

void Trail::WriteBatch(std::deque<Entry> batch) {
  bool any_change = false;
  Lines others;
  for (Entry& entry : batch) {
    const std::string line = RenderLine(entry.record, options_.origin, NewEventId());
    if (!entry.change) {
      others.text += line;
      others.names.push_back(std::move(entry.record.name));
      if (others.text.size() >= kWriteBytes) WriteOthers(&others);
      continue;
    }
    WriteOthers(&others);
    any_change = true;
    if (!late_.empty() || !AppendChange(line)) late_.push_back(line);
  }
  WriteOthers(&others);
  if (!any_change) return;
  if (const Status synced = file_->Sync(); !synced.ok()) SetState(synced, true);
  for (Entry& entry : batch) {
    if (entry.change) entry.written();
  }
}

void Trail::WriteGaps() {
  std::map<std::string, Dropped, std::less<>> gaps;
  {
    const MutexLock lock(mutex_);
    gaps.swap(gaps_);
  }
  for (auto& [reason, dropped] : gaps) {
    const std::string line =
        RenderGap(clock_.NowMicros(), dropped, reason, options_.origin, NewEventId());
    if (AppendOthers(line)) continue;
    // Said when there is room again.
    const MutexLock lock(mutex_);
    for (const auto& [name, count] : dropped) gaps_[reason][name] += count;
  }
}

std::string Trail::NewEventId() {
  const uint64_t high = ids_.Next();
  const uint64_t low = ids_.Next();
  return fmt::format("{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}", high >> 32, high >> 16 & 0xffff,
                     high & 0xfff, low >> 48 & 0xfff, low & 0xffffffffffff);
}

}  // namespace stator::audit
