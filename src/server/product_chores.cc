#include "server/product_chores.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/log.h"
#include "ops/delete_table.h"
#include "table/expiry_sweeper.h"
#include "table/history_upkeep.h"
#include "table/store.h"
#include "table/stream_upkeep.h"
#include "transfer/backups.h"

namespace stator::server {
namespace {

constexpr int64_t kFinishDeletesMicros = 1'000'000;
constexpr int64_t kAdvanceMicros = 1'000'000;
// It does nothing but at the end of each minute.
constexpr int64_t kAutoScalingMicros = 1'000'000;
constexpr int64_t kCountMicros = 60'000'000;
constexpr int64_t kKeepMicros = 60'000'000;  // of history that a crash may lose
constexpr int64_t kStreamUpkeepMicros = 10'000'000;
constexpr int64_t kExpiredBackupsMicros = 60'000'000;
constexpr int64_t kHistoryUpkeepMicros = 60'000'000;
// In the background a sweep works for a quarter of the time, so that a loaded machine, on which
// each step takes longer, is also left alone for longer.
constexpr int64_t kPausePerWork = 3;
// A gentle step is short, so that no request waits for long behind one.
constexpr size_t kGentleStep = 16;
constexpr size_t kStepAtOnce = 256;
constexpr int64_t kLongestPauseMicros = 200'000;
constexpr auto kFillPoll = std::chrono::milliseconds(2);

}  // namespace

void AddProductChores(ops::Environment& environment, Metrics& metrics, HeatHistories& heat,
                      int64_t ttl_interval_micros, const table::ExpiryDelay& ttl_delay,
                      Chores* chores) {
  chores->Add("finish deletes", kFinishDeletesMicros, [&environment](Chores::Pace) {
    ops::FinishDeletes(environment);
    return false;
  });
  if (environment.backups != nullptr) {
    chores->Add("expired backups", kExpiredBackupsMicros, [&environment](Chores::Pace) {
      const Status removed =
          environment.backups->RemoveExpired(environment.clock.NowMicros() / 1000);
      if (!removed.ok()) LogWarn("backup_not_removed", {{"error", removed.error().message()}});
      return false;
    });
  }
  // Before streams are kept up: their shards follow the partitions.
  chores->Add("throughput", kAdvanceMicros, [&environment](Chores::Pace) {
    environment.admission.Advance();
    return false;
  });
  if (environment.admission.shared()) {
    // What others have stored.
    chores->Add("count stored data", kCountMicros, [&environment](Chores::Pace) {
      environment.admission.CountAgain();
      return false;
    });
  }
  // From the start on, so that the first minute is judged by all of it.
  environment.auto_scaler.Step(environment);
  chores->Add("auto scaling", kAutoScalingMicros,
              [&environment](Chores::Pace) { return environment.auto_scaler.Step(environment); });
  chores->Add("keep histories", kKeepMicros, [&metrics, &heat](Chores::Pace) {
    heat.Keep();
    metrics.ForgetGone();
    return false;
  });
  auto sweeper = std::make_shared<table::ExpirySweeper>(
      environment.store, environment.clock,
      [&metrics](const table::ExpirySweeper::Report& report) { metrics.OnExpired(report); },
      ttl_delay);
  chores->Add("time to live", ttl_interval_micros, [&environment, sweeper](Chores::Pace pace) {
    const int64_t start = environment.clock.TicksMicros();
    const bool waits = pace == Chores::Pace::kAtOnce && sweeper->Waits();
    const bool more = sweeper->Step(pace == Chores::Pace::kAtOnce ? kStepAtOnce : kGentleStep);
    if (pace == Chores::Pace::kAtOnce) {
      if (more || !waits) return more;
      std::this_thread::sleep_for(kFillPoll);
      return true;
    }
    if (more) {
      const int64_t worked = environment.clock.TicksMicros() - start;
      const int64_t pause = std::clamp<int64_t>(worked * kPausePerWork, 1, kLongestPauseMicros);
      std::this_thread::sleep_for(std::chrono::microseconds(pause));
    }
    return more;
  });
  chores->Add("streams", kStreamUpkeepMicros, [&environment](Chores::Pace pace) {
    // After a move of the clock, trim everything that has expired, because the caller expects it to
    // be deleted.
    const int64_t trim_step = pace == Chores::Pace::kAtOnce ? 0 : table::kTrimStepMicros;
    if (const Status kept = table::MaintainStreams(environment.store, trim_step); !kept.ok()) {
      LogWarn("stream upkeep will be tried again", {{"error", kept.error().message()}});
    }
    return false;
  });
  chores->Add("change logs", kHistoryUpkeepMicros, [&environment](Chores::Pace) {
    if (const Status kept = table::MaintainChangeLogs(environment.store); !kept.ok())
      LogWarn("change_log_upkeep_failed", {{"error", kept.error().message()}});
    return false;
  });
}

}  // namespace stator::server
