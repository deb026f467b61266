#include "exchange/job_list.h"

#include <fmt/format.h>

#include "base/log.h"
#include "base/mutex_wait.h"
#include "table/table_name.h"

namespace stator::exchange {
template <typename AnyJob>
kv::Put JobList<AnyJob>::PutOf(const AnyJob& job) {
  kv::Put put;
  put.tablet = kJobTablet;
  put.key = KeyOf(job.id);
  put.value.assign(kv::kStampBytes, '\0');
  put.value.push_back(RecordVersionOf(job));
  put.value.append(EncodeJob(job));
  return put;
}

template <typename AnyJob>
void JobList<AnyJob>::Keep(JobPtr job) {
  if (const auto found = jobs_.find(job->id); found != jobs_.end()) Drop(found);
  bytes_ += EncodeJob(*job).size();
  of_tables_.emplace(job->table_name, job->id);
  if (job->client_token) of_tokens_.emplace(*job->client_token, job->id);
  jobs_[job->id] = std::move(job);
}

template <typename AnyJob>
typename JobList<AnyJob>::Jobs::iterator JobList<AnyJob>::Drop(typename Jobs::iterator job) {
  const AnyJob& gone = *job->second;
  bytes_ -= EncodeJob(gone).size();
  of_tables_.erase({gone.table_name, gone.id});
  if (gone.client_token) of_tokens_.erase({*gone.client_token, gone.id});
  return jobs_.erase(job);
}

template <typename AnyJob>
Status JobList<AnyJob>::Read() {
  const std::string begin = KeyOf("");
  std::string end = begin;
  ++end.back();
  std::vector<JobPtr> found;
  TRY(engine_.Scan({kJobTablet, begin, end}, kv::Tier::kAny,
                   [&found](std::string_view key, std::string_view value) {
                     auto job = std::make_shared<AnyJob>();
                     const size_t head = kv::kStampBytes + 1;
                     if (value.size() < head || value[kv::kStampBytes] < 1 ||
                         value[kv::kStampBytes] > kNewestRecordVersion ||
                         !DecodeJob(value.substr(head), job.get()).ok() || KeyOf(job->id) != key) {
                       LogError("job_not_read", {{"key", key}});
                       return true;
                     }
                     found.push_back(std::move(job));
                     return true;
                   }));
  const MutexLock lock(mutex_);
  for (JobPtr& job : found) Keep(std::move(job));
  return OkStatus();
}

template <typename AnyJob>
void JobList<AnyJob>::Start(Work work) {
  {
    const MutexLock lock(mutex_);
    work_ = std::move(work);
    for (const auto& [id, job] : jobs_) {
      if (job->state != JobState::kInProgress) continue;
      ++in_progress_;
      queue_.push_back(id);
      LogInfo("job_goes_on", {{"job", KeyOf(id)}, {"table", job->table_name}});
    }
  }
  thread_ = std::thread([this] { Run(); });
}

template <typename AnyJob>
void JobList<AnyJob>::AskToStop() {
  const MutexLock lock(mutex_);
  stopped_ = true;
  wake_.notify_all();
}

template <typename AnyJob>
void JobList<AnyJob>::Stop() {
  AskToStop();
  if (thread_.joinable()) thread_.join();
}

template <typename AnyJob>
bool JobList<AnyJob>::stopped() const {
  const MutexLock lock(mutex_);
  return stopped_;
}

template <typename AnyJob>
typename JobList<AnyJob>::JobPtr JobList<AnyJob>::FindToken(const std::string& token,
                                                            std::string_view account) const {
  const int64_t since = clock_.NowMicros() - kTokenMicros;
  const MutexLock lock(mutex_);
  JobPtr found;  // the newest one
  for (auto it = of_tokens_.lower_bound({token, ""}); it != of_tokens_.end() && it->first == token;
       ++it) {
    const JobPtr& job = jobs_.find(it->second)->second;
    if (job->start_micros > since && table::AccountIn(job->table_name) == account) found = job;
  }
  return found;
}

template <typename AnyJob>
Result<std::pair<typename JobList<AnyJob>::JobPtr, bool>> JobList<AnyJob>::Reserve(AnyJob job) {
  if (const size_t bytes = EncodeJob(job).size(); bytes > kMostJobBytes) {
    return ValidationError(fmt::format(
        "The parameters of the request are too long to be kept: {} bytes of at most {}.", bytes,
        kMostJobBytes));
  }
  const MutexLock lock(mutex_);
  const int64_t now = clock_.NowMicros();
  if (job.client_token) {
    for (auto it = of_tokens_.lower_bound({*job.client_token, ""});
         it != of_tokens_.end() && it->first == *job.client_token; ++it) {
      const JobPtr& other = jobs_.find(it->second)->second;
      if (other->parameters == job.parameters && other->start_micros > now - kTokenMicros &&
          other->state == JobState::kInProgress)
        return std::pair(other, false);
    }
  }
  if (stopped_) return Error(ErrorCode::kUnavailable, "The server is stopping.");
  if (in_progress_ >= kMostInProgress) {
    return Error(ErrorCode::kLimitExceeded,
                 fmt::format("Too many jobs of this kind are in progress: at most {} at once.",
                             kMostInProgress));
  }
  do {
    job.id = fmt::format("{:014}-{:08x}", now / 1000, static_cast<uint32_t>(random_.Next()));
  } while (jobs_.count(job.id) != 0);
  job.start_micros = now / 1000 * 1000;
  ++in_progress_;
  const auto added = std::make_shared<const AnyJob>(std::move(job));
  Keep(added);
  return std::pair(JobPtr(added), true);
}

template <typename AnyJob>
void JobList<AnyJob>::GiveUp(const JobPtr& job) {
  const MutexLock lock(mutex_);
  --in_progress_;
  if (const auto found = jobs_.find(job->id); found != jobs_.end()) Drop(found);
}

template <typename AnyJob>
void JobList<AnyJob>::Forget(kv::Batch* batch) {
  const int64_t since = clock_.NowMicros() - kListedMicros;
  for (auto it = jobs_.begin(); it != jobs_.end();) {
    const AnyJob& job = *it->second;
    if (job.state == JobState::kInProgress) {
      ++it;
      continue;
    }
    if (job.end_micros > since && jobs_.size() <= kMostKept && bytes_ <= kMostKeptBytes) break;
    batch->deletes.push_back({kJobTablet, KeyOf(it->first)});
    it = Drop(it);
  }
}

template <typename AnyJob>
void JobList<AnyJob>::Add(const JobPtr& job, UniqueFunction<void(Status)> done) {
  kv::Batch batch;
  batch.puts.push_back(PutOf(*job));
  {
    const MutexLock lock(mutex_);
    Forget(&batch);
  }
  engine_.Apply(std::move(batch),
                [this, job, done = std::move(done)](Result<uint64_t> put) mutable {
                  if (!put.ok()) {
                    GiveUp(job);
                    return done(std::move(put).error());
                  }
                  {
                    const MutexLock lock(mutex_);
                    Keep(job);
                    queue_.push_back(job->id);
                    wake_.notify_all();
                  }
                  done(OkStatus());
                });
}

template <typename AnyJob>
Status JobList<AnyJob>::Change(const AnyJob& job) {
  kv::Batch batch;
  batch.puts.push_back(PutOf(job));
  const Result<uint64_t> put = kv::ApplyAndWait(engine_, std::move(batch));
  const MutexLock lock(mutex_);
  const auto found = jobs_.find(job.id);
  if (found != jobs_.end() && found->second->state == JobState::kInProgress &&
      job.state != JobState::kInProgress)
    --in_progress_;
  Keep(std::make_shared<const AnyJob>(job));
  return put.ok() ? OkStatus() : Status(put.error());
}

template <typename AnyJob>
void JobList<AnyJob>::Show(const AnyJob& job) {
  const MutexLock lock(mutex_);
  Keep(std::make_shared<const AnyJob>(job));
}

template <typename AnyJob>
typename JobList<AnyJob>::JobPtr JobList<AnyJob>::Find(std::string_view id) const {
  const MutexLock lock(mutex_);
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : found->second;
}

template <typename AnyJob>
std::vector<typename JobList<AnyJob>::JobPtr> JobList<AnyJob>::List() const {
  const int64_t since = clock_.NowMicros() - kListedMicros;
  const MutexLock lock(mutex_);
  std::vector<JobPtr> list;
  for (auto it = jobs_.rbegin(); it != jobs_.rend(); ++it) {
    if (it->second->state == JobState::kInProgress || it->second->end_micros > since)
      list.push_back(it->second);
  }
  return list;
}

template <typename AnyJob>
std::vector<typename JobList<AnyJob>::JobPtr> JobList<AnyJob>::Page(std::string_view account,
                                                                    std::string_view table,
                                                                    std::string_view before,
                                                                    size_t most) const {
  const int64_t since = clock_.NowMicros() - kListedMicros;
  std::vector<JobPtr> page;
  const auto take = [&](const JobPtr& job) {
    if (job->state == JobState::kInProgress || job->end_micros > since) page.push_back(job);
  };
  const MutexLock lock(mutex_);
  if (!table.empty()) {
    if (table::AccountIn(table) != account) return page;
    const std::string name(table);
    auto it = before.empty() ? of_tables_.lower_bound({name + '\0', ""})
                             : of_tables_.lower_bound({name, std::string(before)});
    while (page.size() < most && it != of_tables_.begin() && (--it)->first == name)
      take(jobs_.find(it->second)->second);
    return page;
  }
  // Jobs are of the default account alone, unless another version has made others: an account
  // without any does not look through theirs.
  if (!account.empty()) {
    const auto first = of_tables_.lower_bound({table::StoreName(account, ""), ""});
    if (first == of_tables_.end() || table::AccountIn(first->first) != account) return page;
  }
  for (auto it = before.empty() ? jobs_.end() : jobs_.lower_bound(before);
       page.size() < most && it != jobs_.begin();) {
    --it;
    if (table::AccountIn(it->second->table_name) == account) take(it->second);
  }
  return page;
}

template <typename AnyJob>
size_t JobList<AnyJob>::in_progress() const {
  const MutexLock lock(mutex_);
  return in_progress_;
}

template <typename AnyJob>
void JobList<AnyJob>::Run() {
  for (;;) {
    JobPtr job;
    {
      UniqueMutexLock lock(mutex_);
      wake_.wait(lock, [this]() REQUIRES(mutex_) { return stopped_ || !queue_.empty(); });
      if (stopped_) return;
      job = jobs_[queue_.front()];
      queue_.pop_front();
    }
    std::optional<AnyJob> ended = work_(*job);
    if (!ended) continue;
    if (const Status stored = Change(*ended); !stored.ok())
      LogWarn("job_not_stored", {{"job", KeyOf(job->id)}, {"error", stored.error().message()}});
  }
}

template class JobList<ExportJob>;
template class JobList<ImportJob>;
template class JobList<BulkJob>;

}  // namespace stator::exchange
