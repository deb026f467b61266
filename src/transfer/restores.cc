#include "transfer/restores.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/log.h"
#include "base/mutex_wait.h"
#include "base/time_text.h"
#include "copy/writer.h"
#include "table/import_mark.h"
#include "transfer/await_catalog.h"
#include "transfer/data_file.h"
#include "transfer/item_check.h"

namespace stator::transfer {
namespace {

constexpr size_t kItemsBetweenLooks = 256;
// Each has about a megabyte at most.
constexpr size_t kWritesInFlight = 16;

// Returns what a table is restored from, for people.
std::string NameOf(const table::RestoreSource& source) {
  if (!source.moment_micros) return "the backup " + source.backup_id;
  return fmt::format("{} as of {}", source.table_name, FormatTime(*source.moment_micros));
}

// Returns OK if `table` is still the table that is being restored, and kResourceInUse if another
// table has its name now.
Status CheckSame(const table::TablePtr& table, const table::TableDescriptor& descriptor) {
  if (descriptor.restore && descriptor.table_id == table->descriptor.table_id) return OkStatus();
  return Error(ErrorCode::kResourceInUse, "the table is not being restored any more");
}

}  // namespace

void Restores::Start() {
  for (const table::TablePtr& table : store_.List()) {
    const std::optional<table::RestoreSource>& source = table->descriptor.restore;
    if (!source || table::IsImport(*source)) continue;
    Job job = GoOnWith(table);
    LogInfo("restore_goes_on", {{"table", table->descriptor.name}, {"source", NameOf(*source)}});
    const MutexLock lock(mutex_);
    ++running_;
    jobs_.push_back(std::move(job));
  }
  thread_ = std::thread([this] { Run(); });
}

Restores::Job Restores::GoOnWith(const table::TablePtr& table) {
  const table::RestoreSource& source = *table->descriptor.restore;
  Job job{table, nullptr, OkStatus()};
  if (!source.moment_micros) {
    const Result<BackupPtr> backup = backups_.Use(source.backup_id);
    if (!backup.ok() && backup.error().code() != ErrorCode::kResourceInUse)
      job.ready = backup.error();
    return job;
  }
  const table::TablePtr read = store_.Find(source.table_name);
  if (read == nullptr || read->descriptor.table_id != source.table_id) {
    job.ready = Error(ErrorCode::kResourceNotFound, "that table is gone");
    return job;
  }
  const auto& log = read->descriptor.change_log;
  if (!log || log->since_micros > *source.moment_micros) {
    job.ready = Error(ErrorCode::kResourceNotFound, "its point-in-time recovery was turned off");
    return job;
  }
  Result<std::unique_ptr<PastTable>> past = PastTable::Pin(store_, *read, *source.moment_micros);
  if (past.ok()) {
    job.past = *std::move(past);
  } else {
    job.ready = std::move(past).error();
  }
  return job;
}

void Restores::Stop() {
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
    wake_.notify_all();
  }
  // A call that fails now stops no restore: it goes on at the next start.
  backups_.AskToStop();
  backups_.folders().Cancel();
  if (thread_.joinable()) thread_.join();
  // Pins go before the engine.
  const MutexLock lock(mutex_);
  jobs_.clear();
}

Status Restores::Reserve() {
  const MutexLock lock(mutex_);
  if (stopped_) return Error(ErrorCode::kUnavailable, "The server is stopping.");
  if (running_ >= kMostRestores) {
    return Error(
        ErrorCode::kLimitExceeded,
        fmt::format("Only {} restore operations can run at the same time.", kMostRestores));
  }
  ++running_;
  return OkStatus();
}

void Restores::GiveUp() {
  const MutexLock lock(mutex_);
  --running_;
}

void Restores::Begin(const table::TablePtr& table, std::unique_ptr<PastTable> past) {
  const MutexLock lock(mutex_);
  jobs_.push_back({table, std::move(past), OkStatus()});
  wake_.notify_all();
}

size_t Restores::running() const {
  const MutexLock lock(mutex_);
  return running_;
}

bool Restores::stopped() const {
  const MutexLock lock(mutex_);
  return stopped_;
}

void Restores::Run() {
  for (;;) {
    Job job;
    {
      UniqueMutexLock lock(mutex_);
      wake_.wait(lock, [this]() REQUIRES(mutex_) { return stopped_ || !jobs_.empty(); });
      if (stopped_) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    const std::string name = job.table->descriptor.name;
    const table::RestoreSource source = *job.table->descriptor.restore;
    const std::string from = NameOf(source);
    Status done = std::move(job.ready);
    if (done.ok()) done = Fill(&job);
    job.past = nullptr;
    // Before the table is ACTIVE: a client that sees it so may use the backup again.
    if (!source.moment_micros) backups_.Release(source.backup_id);
    if (done.ok()) done = Complete(job.table);
    if (!done.ok() && stopped()) return;
    std::string text = fmt::format("{} was restored from {}.", name, from);
    if (!done.ok()) {
      text = fmt::format("{} could not be restored from {} and is gone: {}", name, from,
                         done.error().message());
      if (const Status dropped = Drop(job.table);
          !dropped.ok() && dropped.error().code() != ErrorCode::kResourceNotFound) {
        text = fmt::format(
            "{} could not be restored from {}: {}. The next start tries "
            "again, because it could not be dropped: {}",
            name, from, done.error().message(), dropped.error().message());
      }
    }
    {
      const MutexLock lock(mutex_);
      --running_;
    }
    backups_.Tell(done.ok() ? "table_restored" : "restore_failed", name, text);
  }
}

Status Restores::Fill(Job* job) {
  const table::TablePtr& table = job->table;
  copy::Options options;
  options.in_flight = kWritesInFlight;
  copy::Writer writer(store_, table, options);
  int64_t items = 0;
  const auto add = [&](std::string_view item) -> Result<std::string> {
    if (static_cast<size_t>(++items) % kItemsBetweenLooks == 0 && stopped())
      return Error(ErrorCode::kUnavailable, "the server is stopping");
    ASSIGN_OR_RETURN(std::string key, CheckedKeyOf(table->key_schema(), item));
    TRY(writer.Add(key, item));
    return key;
  };
  if (job->past != nullptr) {
    TRY(job->past->Read([&](std::string_view key, std::string_view item) -> Status {
      ASSIGN_OR_RETURN(const std::string added, add(item));
      if (added == key) return OkStatus();
      return CorruptionError("an item of the table or of its change log is damaged");
    }));
  } else {
    const BackupPtr backup = backups_.Find(table->descriptor.restore->backup_id);
    if (backup == nullptr) return Error(ErrorCode::kResourceNotFound, "the backup is gone");
    const Manifest& manifest = backup->manifest;
    const auto visit = [&](std::string_view item) -> Status {
      const Result<std::string> added = add(item);
      return added.ok() ? OkStatus() : Status(added.error());
    };
    for (size_t i = 0; i < manifest.files.size(); ++i)
      TRY(ReadDataFile(backups_.folders(), manifest, i, visit));
    items = manifest.item_count;
  }
  TRY(writer.Finish());
  ASSIGN_OR_RETURN(const table::TableCounts counts, store_.Counts(*table));
  if (counts.items == items) return OkStatus();
  return CorruptionError(fmt::format("the table has {} items and not {}", counts.items, items));
}

Status Restores::Complete(const table::TablePtr& table) {
  return AwaitCatalog([&](auto done) {
    store_.Alter(
        table->descriptor.name,
        [table](table::TableDescriptor* descriptor) -> Status {
          TRY(CheckSame(table, *descriptor));
          descriptor->restore.reset();
          return OkStatus();
        },
        std::move(done));
  });
}

Status Restores::Drop(const table::TablePtr& table) {
  return AwaitCatalog([&](auto done) {
    store_.Drop(
        table->descriptor.name,
        [table](const table::TableDescriptor& descriptor) { return CheckSame(table, descriptor); },
        std::move(done));
  });
}

}  // namespace stator::transfer
