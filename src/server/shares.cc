#include "server/shares.h"

#include <array>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/mutex_wait.h"
#include "table/item_value.h"

namespace stator::server {
namespace {

constexpr std::string_view kPlanKey = "plan";
constexpr std::string_view kGrantPrefix = "grant/";
constexpr std::string_view kReportPrefix = "report/";

std::string GrantKey(std::string_view name) {
  return std::string(kGrantPrefix) + std::string(name);
}
std::string ReportKey(std::string_view name) {
  return std::string(kReportPrefix) + std::string(name);
}

kv::Put PutOf(std::string key, std::string_view bytes) {
  return {kSharesTablet, std::move(key), table::EncodeItemValue(bytes)};
}

template <typename T>
Result<T> Read(std::string_view value) {
  ASSIGN_OR_RETURN(const std::string_view bytes, table::DecodeItemValue(value));
  return T::Decode(bytes);
}

}  // namespace

Shares::Shares(kv::Engine& engine, ops::Admission& admission, const Clock& clock, Options options)
    : engine_(engine),
      admission_(admission),
      clock_(clock),
      options_(std::move(options)),
      election_(options_.settings),
      allocator_(options_.settings, options_.name) {}

void Shares::Start() {
  const MutexLock lock(mutex_);
  thread_ = std::thread([this] { Run(); });
}

bool Shares::WaitForGrant(int64_t micros) {
  UniqueMutexLock lock(mutex_);
  return wake_.wait_for(lock, std::chrono::microseconds(micros), [this]() REQUIRES(mutex_) {
    return view_.granted || stopped_;
  }) && view_.granted;
}

void Shares::Stop() {
  std::thread thread;
  {
    const MutexLock lock(mutex_);
    if (stopped_) return;
    stopped_ = true;
    thread.swap(thread_);
  }
  wake_.notify_all();
  if (thread.joinable()) thread.join();
  Leave();
}

Shares::View Shares::view() const {
  const MutexLock lock(mutex_);
  View view = view_;
  view.granted = view.granted && admission_.Granted();
  return view;
}

void Shares::Run() {
  for (;;) {
    const Status stepped = Step();
    if (!stepped.ok() && !failing_) {
      LogWarn("capacity cannot be divided among processes now",
              {{"error", stepped.error().message()}});
    }
    failing_ = !stepped.ok();
    UniqueMutexLock lock(mutex_);
    if (wake_.wait_for(lock, std::chrono::microseconds(options_.interval_micros),
                       [this]() REQUIRES(mutex_) { return stopped_; }))
      return;
  }
}

Status Shares::Step() {
  const std::string grant_key = GrantKey(options_.name);
  const std::array<kv::Point, 2> points = {kv::Point{kSharesTablet, kPlanKey},
                                           kv::Point{kSharesTablet, grant_key}};
  std::vector<std::optional<std::string>> values;
  const Status read = engine_.MultiGet(points, kv::Tier::kAny, &values);
  std::optional<throughput::SharePlan> plan;
  std::optional<throughput::GrantRecord> record;
  uint64_t version = 0;
  Status understood = read;
  if (read.ok() && values[0]) {
    version = kv::StampOf(*values[0]);
    if (Result<throughput::SharePlan> decoded = Read<throughput::SharePlan>(*values[0]);
        decoded.ok()) {
      plan = std::move(*decoded);
    } else {
      understood = decoded.error();
    }
  }
  if (read.ok() && values[1]) {
    if (auto decoded = Read<throughput::GrantRecord>(*values[1]); decoded.ok()) {
      record = std::move(*decoded);
    } else {
      understood = decoded.error();
    }
  }

  // Call Receive even if nothing could be read, because the grant must end when its time is up.
  const throughput::ShareHolder::News news =
      holder_.Receive(record ? &*record : nullptr, clock_.TicksMicros());
  if (news.ended) {
    admission_.EndGrant();
    LogWarn("this process has had no part in the capacity of tables for a while",
            {{"allocator", plan ? plan->allocator : ""}});
  }
  if (news.granted)
    holder_.PutInForce(*record, admission_.PutInForce(record->grant, record->moved));
  admission_.SetValidUntil(holder_.valid_until());
  {
    const MutexLock lock(mutex_);
    view_.granted = admission_.Granted();
    if (news.granted) view_.even = record->grant.base;
    if (news.ended) view_.even = 0;
    view_.allocator = plan ? plan->allocator : "";
  }
  wake_.notify_all();
  TRY(std::move(understood));

  if (plan) admission_.FollowDecisions(plan->resources);
  TRY(Tell(clock_.TicksMicros()));
  const bool leads =
      election_.Leads(options_.name, plan ? &*plan : nullptr, version, clock_.TicksMicros());
  if (!leads) {
    admission_.SetDecides(false);
    const MutexLock lock(mutex_);
    view_.allocates = false;
  } else {
    TRY(Allocate());
  }
  return OkStatus();
}

Status Shares::Tell(int64_t ticks) {
  const double seconds = used_until_ == INT64_MIN
                             ? 1
                             : static_cast<double>(std::max<int64_t>(1, ticks - used_until_)) / 1e6;
  used_until_ = ticks;
  const throughput::Report report = holder_.Ask(ticks, admission_.TakeUse(seconds));
  kv::Batch batch;
  batch.puts.push_back(PutOf(ReportKey(options_.name), report.Encode()));
  const Result<uint64_t> written = kv::ApplyAndWait(engine_, std::move(batch));
  // One that may or may not be there is as good as either.
  if (!written.ok() && written.error().code() != ErrorCode::kOutcomeUnknown) return written.error();
  return OkStatus();
}

Status Shares::Allocate() {
  throughput::ShareAllocator::State state;
  std::map<std::string, throughput::Report> reports;
  uint64_t version = 0;
  Status understood;
  // The plan comes first but for grants: were it written while this reads, the guard would say so.
  const std::string plan_key(kPlanKey);
  std::string value;
  ASSIGN_OR_RETURN(const bool planned,
                   engine_.Get(kSharesTablet, kPlanKey, kv::Tier::kAny, &value));
  if (planned) {
    version = kv::StampOf(value);
    ASSIGN_OR_RETURN(state.plan, Read<throughput::SharePlan>(value));
  }
  const auto visit = [&](std::string_view key, std::string_view bytes) {
    if (key.starts_with(kGrantPrefix)) {
      auto record = Read<throughput::GrantRecord>(bytes);
      if (!record.ok())
        understood = record.error();
      else
        state.grants[std::string(key.substr(kGrantPrefix.size()))] = std::move(*record);
    } else if (key.starts_with(kReportPrefix)) {
      auto report = Read<throughput::Report>(bytes);
      if (!report.ok())
        understood = report.error();
      else
        reports[std::string(key.substr(kReportPrefix.size()))] = std::move(*report);
    }
    return understood.ok();
  };
  TRY(engine_.Scan({kSharesTablet, {}, {}}, kv::Tier::kAny, visit));
  TRY(std::move(understood));

  const std::map<uint32_t, throughput::SharedLimits> limits = admission_.Limits();
  throughput::ShareAllocator::Outcome outcome =
      allocator_.Step(clock_.TicksMicros(), reports, std::move(state),
                      [&limits](uint32_t tablet) -> std::optional<throughput::SharedLimits> {
                        const auto found = limits.find(tablet);
                        if (found == limits.end()) return std::nullopt;
                        return found->second;
                      });
  admission_.AddForeign(outcome.used);
  outcome.next.plan.resources = admission_.Decisions();

  kv::Batch batch;
  batch.guards.push_back({kSharesTablet, plan_key, version});
  batch.puts.push_back(PutOf(plan_key, outcome.next.plan.Encode()));
  for (const auto& [name, record] : outcome.next.grants)
    batch.puts.push_back(PutOf(GrantKey(name), record.Encode()));
  for (const std::string& name : outcome.gone) {
    batch.deletes.push_back({kSharesTablet, GrantKey(name)});
    batch.deletes.push_back({kSharesTablet, ReportKey(name)});
  }
  const Result<uint64_t> written = kv::ApplyAndWait(engine_, std::move(batch));
  const bool lost = !written.ok() && written.error().code() == ErrorCode::kGuardFailed;
  // After an unknown outcome it is as it was.
  if (written.ok() || lost) {
    admission_.SetDecides(written.ok());
    const MutexLock lock(mutex_);
    view_.allocates = written.ok();
    view_.processes = outcome.live;
    if (written.ok()) view_.allocator = options_.name;
  }
  // Another one allocates: that is as well.
  if (lost) return OkStatus();
  if (!written.ok()) return written.error();
  return OkStatus();
}

void Shares::Leave() {
  admission_.SetValidUntil(INT64_MIN);
  admission_.SetDecides(false);
  // As far as it goes: what is left ends by itself.
  kv::Batch gone;
  gone.deletes.push_back({kSharesTablet, ReportKey(options_.name)});
  (void)kv::ApplyAndWait(engine_, std::move(gone));
  std::string value;
  const Result<bool> planned = engine_.Get(kSharesTablet, kPlanKey, kv::Tier::kAny, &value);
  if (!planned.ok() || !*planned) return;
  auto plan = Read<throughput::SharePlan>(value);
  if (!plan.ok() || plan->allocator != options_.name) return;
  plan->allocator.clear();
  kv::Batch resigned;
  resigned.guards.push_back({kSharesTablet, std::string(kPlanKey), kv::StampOf(value)});
  resigned.puts.push_back(PutOf(std::string(kPlanKey), plan->Encode()));
  (void)kv::ApplyAndWait(engine_, std::move(resigned));
}

}  // namespace stator::server
