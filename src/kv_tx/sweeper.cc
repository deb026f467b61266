#include "kv_tx/sweeper.h"

#include <algorithm>
#include <atomic>
#include <vector>

namespace stator::kv_tx {
namespace {

// A process that does not know the outcome of its commit searches for the record for less than this
// time.
constexpr int64_t kKeepCommittedMicros = int64_t{600} * 1'000'000;

}  // namespace

struct Sweeper::Waiting {
  std::atomic<size_t> left = 0;
  Mutex mutex;
  Status status GUARDED_BY(mutex);

  void Done(Status of, Scheduler& scheduler) {
    if (!of.ok()) {
      MutexLock lock(mutex);
      status = std::move(of);
    }
    --left;
    scheduler.Wake();
  }
};

Status Sweeper::Await(const std::shared_ptr<Waiting>& waiting) {
  core_.scheduler.Await([&] { return waiting->left == 0; });
  MutexLock lock(waiting->mutex);
  return waiting->status;
}

Status Sweeper::ForEach(kv::Tablet tablet, char kind, Visit visit) {
  std::vector<std::pair<std::string, std::string>> found;
  const std::string begin = FirstOfKind(kind), end = EndOfKind(kind);
  Status read = core_.inner.Scan({tablet, begin, end}, kv::Tier::kAny,
                                 [&](std::string_view key, std::string_view value) {
                                   found.emplace_back(key, value);
                                   return true;
                                 });
  if (!read.ok()) return read.error().code() == ErrorCode::kFenced ? OkStatus() : read;
  for (const auto& [key, value] : found) TRY(visit(key, value));
  return OkStatus();
}

Status Sweeper::Notes(kv::Tablet tablet, int64_t written_before) {
  const auto waiting = std::make_shared<Waiting>();
  Status read =
      ForEach(tablet, kNoteKind, [&](const std::string& key, const std::string& value) -> Status {
        ASSIGN_OR_RETURN(const Note note, DecodeNote(tablet, value));
        if (note.time_micros > written_before) return OkStatus();
        ++waiting->left;
        resolver_.ResolveUnit(note.transaction, {tablet, key}, 0,
                              [waiting, scheduler = &core_.scheduler](Status settled) {
                                waiting->Done(std::move(settled), *scheduler);
                              });
        return OkStatus();
      });
  Status settled = Await(waiting);
  return read.ok() ? settled : read;
}

Status Sweeper::SettleNotes(kv::Tablet tablet) { return Notes(tablet, INT64_MAX); }

Status Sweeper::RollShares(const TransactionRef& transaction, const Record& record) {
  const auto waiting = std::make_shared<Waiting>();
  waiting->left = record.shares.size();
  for (const Participation& share : record.shares) {
    resolver_.Roll(transaction, share, Decision::kCommitted,
                   [waiting, scheduler = &core_.scheduler](Status rolled) {
                     waiting->Done(std::move(rolled), *scheduler);
                   });
  }
  return Await(waiting);
}

Status Sweeper::RollForward(kv::Tablet tablet) {
  return ForEach(tablet, kRecordKind,
                 [&](const std::string& key, const std::string& value) -> Status {
                   ASSIGN_OR_RETURN(const Record record, DecodeRecord(value));
                   const auto id = IdOfKey(key);
                   if (!id || record.state != Decision::kCommitted) return OkStatus();
                   return RollShares({*id, tablet, key}, record);
                 });
}

Status Sweeper::Sweep(kv::Tablet tablet, int64_t older_than_micros) {
  const int64_t now = core_.clock.NowMicros();
  TRY(Notes(tablet, now - older_than_micros));
  const auto waiting = std::make_shared<Waiting>();
  Status read =
      ForEach(tablet, kRecordKind, [&](const std::string& key, const std::string& value) -> Status {
        ASSIGN_OR_RETURN(const Record record, DecodeRecord(value));
        const auto id = IdOfKey(key);
        const bool committed = record.state == Decision::kCommitted;
        const int64_t keep = committed ? std::max(older_than_micros, kKeepCommittedMicros)
                                       : core_.options.keep_aborted_micros;
        if (!id || now - record.time_micros < older_than_micros) return OkStatus();
        if (committed) TRY(RollShares({*id, tablet, key}, record));
        if (now - record.time_micros < keep) return OkStatus();
        kv::Batch batch;
        batch.guards.push_back({tablet, key, kv::StampOf(value)});
        batch.deletes.push_back({tablet, key});
        ++waiting->left;
        core_.inner.Apply(
            std::move(batch), [waiting, scheduler = &core_.scheduler](Result<uint64_t> removed) {
              const bool fine = removed.ok() || removed.error().code() == ErrorCode::kGuardFailed;
              waiting->Done(fine ? OkStatus() : Status(removed.error()), *scheduler);
            });
        return OkStatus();
      });
  Status removed = Await(waiting);
  return read.ok() ? removed : read;
}

}  // namespace stator::kv_tx
