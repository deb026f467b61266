#include "table/settled_changes.h"

#include <algorithm>
#include <memory>

#include "table/store.h"

namespace stator::table {
namespace {

// Logs that are remembered at most; those of tables that are gone are among them.
constexpr size_t kMostLogs = 10'000;

}  // namespace

void SettledChanges::Await(const std::string& table, uint32_t log_tablet_id, int64_t micros,
                           Done done) {
  bool settled = false;
  bool begin = false;
  {
    MutexLock lock(mutex_);
    if (logs_.size() > kMostLogs)
      std::erase_if(logs_, [](const auto& entry) { return !entry.second.awaiting; });
    Log& log = logs_[log_tablet_id];
    settled = micros <= log.until_micros;
    if (!settled) {
      log.waiting.emplace_back(micros, std::move(done));
      begin = !log.awaiting;
      log.awaiting = true;
    }
  }
  if (settled) return done(OkStatus());
  if (begin) AwaitWrites(table, log_tablet_id);
}

void SettledChanges::AwaitWrites(const std::string& table, uint32_t log_tablet_id) {
  const TablePtr found = store_.Find(table);
  if (found == nullptr) {
    return Answer(table, log_tablet_id,
                  Error(ErrorCode::kResourceNotFound,
                        "Requested resource not found: Table: " + std::string(ShownName(table)) +
                            " not found"),
                  -1);
  }
  // A write gets its time inside the gate. So a write that enters the gate from now on has a time
  // that is not below `until` + 1. Writes inside the gates of earlier versions had left before this
  // version existed.
  const int64_t until = store_.change_clock().At(store_.clock().NowMicros()) - 1;
  found->gate->AwaitThoseInside([this, found, table, log_tablet_id, until] {
    Answer(table, log_tablet_id, OkStatus(), until);
  });
}

void SettledChanges::Answer(const std::string& table, uint32_t log_tablet_id, Status awaited,
                            int64_t until_micros) {
  std::vector<Done> answered;
  bool again = false;
  {
    MutexLock lock(mutex_);
    Log& log = logs_[log_tablet_id];
    log.until_micros = std::max(log.until_micros, until_micros);
    auto later = log.waiting.begin();
    for (auto& [micros, done] : log.waiting) {
      if (!awaited.ok() || micros <= log.until_micros) {
        answered.push_back(std::move(done));
      } else {
        *later++ = {micros, std::move(done)};
      }
    }
    log.waiting.erase(later, log.waiting.end());
    again = !log.waiting.empty();
    log.awaiting = again;
  }
  for (Done& done : answered) done(awaited.ok() ? OkStatus() : Status(awaited.error()));
  if (again) AwaitWrites(table, log_tablet_id);
}

}  // namespace stator::table
