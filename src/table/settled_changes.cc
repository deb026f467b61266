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
  bool hold = false;
  {
    MutexLock lock(mutex_);
    if (logs_.size() > kMostLogs)
      std::erase_if(logs_, [](const auto& entry) { return !entry.second.holding; });
    Log& log = logs_[log_tablet_id];
    settled = micros <= log.until_micros;
    if (!settled) {
      log.waiting.emplace_back(micros, std::move(done));
      hold = !log.holding;
      log.holding = true;
    }
  }
  if (settled) return done(OkStatus());
  if (hold) Hold(table, log_tablet_id);
}

void SettledChanges::Hold(const std::string& table, uint32_t log_tablet_id) {
  auto until = std::make_shared<int64_t>(-1);
  store_.WhileQuiet(
      table,
      [this, until](const TablePtr&) -> Status {
        // A later change may have this time, but no earlier one.
        *until = store_.change_clock().At(store_.clock().NowMicros()) - 1;
        return OkStatus();
      },
      [this, table, log_tablet_id, until](Status held) {
        Answer(table, log_tablet_id, std::move(held), *until);
      });
}

void SettledChanges::Answer(const std::string& table, uint32_t log_tablet_id, Status held,
                            int64_t until_micros) {
  std::vector<Done> answered;
  bool again = false;
  {
    MutexLock lock(mutex_);
    Log& log = logs_[log_tablet_id];
    log.until_micros = std::max(log.until_micros, until_micros);
    auto later = log.waiting.begin();
    for (auto& [micros, done] : log.waiting) {
      if (!held.ok() || micros <= log.until_micros) {
        answered.push_back(std::move(done));
      } else {
        *later++ = {micros, std::move(done)};
      }
    }
    log.waiting.erase(later, log.waiting.end());
    again = !log.waiting.empty();
    log.holding = again;
  }
  for (Done& done : answered) done(held.ok() ? OkStatus() : Status(held.error()));
  if (again) Hold(table, log_tablet_id);
}

}  // namespace stator::table
