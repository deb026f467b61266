#include "transfer/backups.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/mutex_wait.h"
#include "table/item_value.h"
#include "table/key_encoding.h"
#include "table/table_name.h"
#include "transfer/item_check.h"

namespace stator::transfer {
namespace {

constexpr uint64_t kMostManifestBytes = 64 << 20;
constexpr size_t kItemsBetweenLooks = 256;
constexpr int64_t kMostIdMillis = 99'999'999'999'999;  // 14 digits

Result<Manifest> ReadManifest(Folders& folders, const std::string& id) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ObjectReader> object, folders.Read(id, kManifestName));
  if (object->size() > kMostManifestBytes) return CorruptionError("manifest.json is too large");
  std::string text;
  TRY(object->Read(0, object->size(), &text));
  ASSIGN_OR_RETURN(Manifest manifest, DecodeManifest(text));
  if (manifest.id != id)
    return CorruptionError(fmt::format("manifest.json is of the backup {}", manifest.id));
  return manifest;
}

Error NoBackup(std::string_view id) {
  return Error(ErrorCode::kResourceNotFound, fmt::format("There is no backup {}.", id));
}

}  // namespace

Result<std::unique_ptr<Backups>> Backups::Open(table::Store& store, const Clock& clock,
                                               Random& random, BackupOptions options) {
  std::unique_ptr<Backups> backups(new Backups(store, clock, random, std::move(options)));
  if (backups->pinner_ == nullptr)
    return Error(ErrorCode::kUnavailable, "This engine cannot read a table as of one moment.");
  TRY(backups->ReadFolders());
  backups->thread_ = std::thread([raw = backups.get()] { raw->Run(); });
  return backups;
}

Backups::Backups(table::Store& store, const Clock& clock, Random& random, BackupOptions options)
    : store_(store),
      clock_(clock),
      random_(random),
      options_(std::move(options)),
      pinner_(store.engine().pinner()) {}

Backups::~Backups() { Stop(); }

void Backups::AskToStop() {
  const MutexLock lock(mutex_);
  stopped_ = true;
  wake_.notify_all();
}

void Backups::Stop() {
  AskToStop();
  options_.folders->Cancel();
  std::deque<Job> left;
  {
    const MutexLock lock(mutex_);
    left = std::move(jobs_);
    jobs_.clear();
  }
  if (thread_.joinable()) thread_.join();
}

void Backups::Keep(BackupPtr backup) {
  Drop(backup->manifest.id);
  manifest_bytes_ += EncodeManifest(backup->manifest).size();
  for (std::string& group : GroupsOf(backup->manifest))
    groups_.emplace(std::move(group), backup->manifest.id);
  backups_[backup->manifest.id] = std::move(backup);
}

void Backups::Drop(const std::string& id) {
  const auto found = backups_.find(id);
  if (found == backups_.end()) return;
  manifest_bytes_ -= EncodeManifest(found->second->manifest).size();
  for (std::string& group : GroupsOf(found->second->manifest))
    groups_.erase({std::move(group), id});
  backups_.erase(found);
}

std::string Backups::GroupOf(bool system, bool of_table, std::string_view name) {
  std::string group = {system ? 's' : 'u', of_table ? 't' : 'a'};
  return group.append(name);
}

std::array<std::string, 2> Backups::GroupsOf(const Manifest& manifest) {
  const bool system = IsSystemId(manifest.id);
  const std::string& table = manifest.table.name;
  return {GroupOf(system, false, table::AccountIn(table)), GroupOf(system, true, table)};
}

Status Backups::ReadFolders() {
  ASSIGN_OR_RETURN(const std::vector<std::string> found, options_.folders->Open());
  const MutexLock lock(mutex_);
  for (const std::string& id : found) {
    if (!IsBackupId(id)) continue;
    Result<Manifest> manifest = ReadManifest(*options_.folders, id);
    if (!manifest.ok()) {
      LogError("backup_not_read", {{"place", options_.folders->place()},
                                   {"backup", id},
                                   {"error", manifest.error().message()}});
      continue;
    }
    Keep(std::make_shared<Backup>(Backup{*std::move(manifest), Backup::State::kAvailable}));
  }
  return OkStatus();
}

Result<BackupPtr> Backups::Create(const table::TablePtr& table, std::string name) {
  return Begin(table, std::move(name), false, nullptr);
}

Result<BackupPtr> Backups::CreateSystem(const table::TablePtr& table, Made then) {
  return Begin(table, std::string(table::ShownName(table->descriptor.name)) + "$DeletedTableBackup",
               true, std::move(then));
}

BackupPtr Backups::FindSystem(std::string_view table, std::string_view table_id) const {
  const std::string group = GroupOf(true, true, table);
  const MutexLock lock(mutex_);
  for (auto it = groups_.lower_bound({group, ""}); it != groups_.end() && it->first == group;
       ++it) {
    const BackupPtr& backup = backups_.find(it->second)->second;
    if (backup->manifest.table.table_id == table_id) return backup;
  }
  return nullptr;
}

Status Backups::RemoveExpired(int64_t now_millis) {
  Status outcome;
  for (const BackupPtr& backup : List()) {
    const Manifest& manifest = backup->manifest;
    if (!IsSystemId(manifest.id) || manifest.created_millis + kSystemLifeMillis > now_millis)
      continue;
    const Result<BackupPtr> removed = Delete(manifest.id);
    if (!removed.ok() && removed.error().code() != ErrorCode::kResourceInUse && outcome.ok())
      outcome = removed.error();
  }
  return outcome;
}

Result<BackupPtr> Backups::Begin(const table::TablePtr& table, std::string name, bool system,
                                 Made then) {
  {
    const MutexLock lock(mutex_);
    if (stopped_) return Error(ErrorCode::kUnavailable, "The server is stopping.");
    if (creating_ >= kMostCreating) {
      return Error(ErrorCode::kLimitExceeded,
                   fmt::format("Too many backups are being created: at most {} at once. Retry when "
                               "one of them is AVAILABLE.",
                               kMostCreating));
    }
    if (manifest_bytes_ >= (system ? 2 : 1) * options_.most_manifest_bytes) {
      return Error(ErrorCode::kLimitExceeded,
                   fmt::format("Too many backups are kept: {}, whose descriptions take {} bytes of "
                               "at most {}. Delete some of them.",
                               backups_.size(), manifest_bytes_, options_.most_manifest_bytes));
    }
    ++creating_;
  }
  const std::string begin = table::FirstKeyOfHash(0);
  const std::string end = table::EndOfItemKeys();
  kv::Range range;
  range.tablet = table->descriptor.tablet();
  range.begin = begin;
  range.end = end;
  const int64_t now = clock_.NowMicros();
  Result<std::unique_ptr<kv::PinnedRange>> pinned = pinner_->Pin(range);
  Manifest manifest;
  manifest.name = std::move(name);
  manifest.created_millis = now / 1000;
  manifest.table = DefinitionOf(table->descriptor);
  if (const Result<table::TableCounts> counts = store_.Counts(*table); counts.ok()) {
    manifest.item_count = counts->items;
    manifest.table_bytes = counts->bytes;
  }
  const MutexLock lock(mutex_);
  if (!pinned.ok() || stopped_) {
    --creating_;
    if (!pinned.ok()) return std::move(pinned).error();
    return Error(ErrorCode::kUnavailable, "The server is stopping.");
  }
  // An id of the system has nothing but its time to be unique.
  for (int64_t millis = manifest.created_millis;; millis += system) {
    manifest.id = fmt::format("{:014}-{:08x}", millis,
                              system ? uint32_t{0} : static_cast<uint32_t>(random_.Next()));
    manifest.created_millis = millis;
    if (backups_.count(manifest.id) == 0 && IsSystemId(manifest.id) == system) break;
  }
  BackupPtr backup =
      std::make_shared<Backup>(Backup{std::move(manifest), Backup::State::kCreating});
  Keep(backup);
  jobs_.push_back({backup, *std::move(pinned), clock_.TicksMicros(), std::move(then)});
  wake_.notify_all();
  return backup;
}

BackupPtr Backups::Find(std::string_view id) const {
  const MutexLock lock(mutex_);
  const auto found = backups_.find(id);
  return found == backups_.end() ? nullptr : found->second;
}

std::vector<BackupPtr> Backups::List() const {
  const MutexLock lock(mutex_);
  std::vector<BackupPtr> list;
  list.reserve(backups_.size());
  for (const auto& entry : backups_) list.push_back(entry.second);
  return list;
}

std::vector<BackupPtr> Backups::Page(const Wanted& wanted, std::string_view after,
                                     size_t most) const {
  // Ids begin with the time of their creation.
  const auto first_at = [](int64_t millis) {
    return fmt::format("{:014}", std::clamp(millis, int64_t{0}, kMostIdMillis));
  };
  std::string from(after);
  if (!from.empty()) from += '\0';
  if (wanted.from_millis) from = std::max(from, first_at(*wanted.from_millis));
  std::vector<BackupPtr> page;
  if (!wanted.table.empty() && table::AccountIn(wanted.table) != wanted.account) return page;
  const MutexLock lock(mutex_);
  for (const bool system : {false, true}) {
    if (!(system ? wanted.system : wanted.user)) continue;
    const std::string group = GroupOf(system, !wanted.table.empty(),
                                      wanted.table.empty() ? wanted.account : wanted.table);
    size_t taken = 0;
    for (auto it = groups_.lower_bound({group, from});
         it != groups_.end() && it->first == group && taken < most; ++it, ++taken) {
      const BackupPtr& backup = backups_.find(it->second)->second;
      if (wanted.until_millis && backup->manifest.created_millis >= *wanted.until_millis) break;
      page.push_back(backup);
    }
  }
  std::sort(page.begin(), page.end(),
            [](const BackupPtr& a, const BackupPtr& b) { return a->manifest.id < b->manifest.id; });
  if (page.size() > most) page.resize(most);
  return page;
}

Result<BackupPtr> Backups::Delete(std::string_view id) {
  BackupPtr backup;
  {
    const MutexLock lock(mutex_);
    const auto found = backups_.find(id);
    if (found == backups_.end()) return NoBackup(id);
    backup = found->second;
    if (backup->state == Backup::State::kCreating)
      return Error(ErrorCode::kResourceInUse, "Backup is being created: ");
    const auto [held, fresh] = held_.emplace(std::string(id), Hold::kDeleted);
    if (!fresh && held->second == Hold::kDeleted) return NoBackup(id);
    if (!fresh) return Error(ErrorCode::kResourceInUse, "Backup is being used to restore table: ");
  }
  const Status removed = options_.folders->Remove(std::string(id));
  const MutexLock lock(mutex_);
  held_.erase(held_.find(id));
  TRY(removed);
  Drop(backup->manifest.id);
  return backup;
}

Result<BackupPtr> Backups::Use(std::string_view id) {
  const MutexLock lock(mutex_);
  const auto found = backups_.find(id);
  if (found == backups_.end()) return NoBackup(id);
  if (found->second->state == Backup::State::kCreating)
    return Error(ErrorCode::kResourceInUse, "Backup is being created: ");
  const auto [held, fresh] = held_.emplace(std::string(id), Hold::kUsed);
  if (!fresh && held->second == Hold::kDeleted) return NoBackup(id);
  if (!fresh)
    return Error(ErrorCode::kResourceInUse, "Backup is being used to restore another table: ");
  return found->second;
}

void Backups::Release(std::string_view id) {
  const MutexLock lock(mutex_);
  if (const auto held = held_.find(id); held != held_.end()) held_.erase(held);
}

void Backups::Tell(std::string_view kind, const std::string& table, const std::string& text) const {
  LogInfo(kind, {{"table", table}, {"text", text}});
  if (options_.tell) options_.tell(kind, table, text);
}

size_t Backups::creating() const {
  const MutexLock lock(mutex_);
  return creating_;
}

bool Backups::stopped() const {
  const MutexLock lock(mutex_);
  return stopped_;
}

void Backups::Run() {
  for (;;) {
    Job job;
    {
      UniqueMutexLock lock(mutex_);
      wake_.wait(lock, [this]() REQUIRES(mutex_) { return stopped_ || !jobs_.empty(); });
      if (stopped_) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    Manifest manifest = job.backup->manifest;
    const std::string id = manifest.id;
    const Status written = Write(&job, &manifest);
    job.pinned = nullptr;
    if (!written.ok()) {
      if (const Status removed = options_.folders->Remove(id); !removed.ok())
        LogWarn("backup_not_removed", {{"backup", id}, {"error", removed.error().message()}});
    }
    const std::string table = manifest.table.name;
    const std::string text =
        written.ok()
            ? fmt::format("The backup {} ({}) of {} has {} items in {} bytes.", manifest.name, id,
                          table, manifest.item_count, manifest.size_bytes())
            : fmt::format("The backup {} ({}) of {} could not be made and is gone: {}",
                          manifest.name, id, table, written.error().message());
    bool stopped = false;
    {
      const MutexLock lock(mutex_);
      --creating_;
      stopped = stopped_;
      if (written.ok()) {
        Keep(std::make_shared<Backup>(Backup{std::move(manifest), Backup::State::kAvailable}));
      } else {
        Drop(id);
      }
    }
    if (!stopped && job.then) job.then(written.ok());
    if (!stopped) Tell(written.ok() ? "backup_made" : "backup_failed", table, text);
  }
}

Status Backups::Write(Job* job, Manifest* manifest) const {
  DataWriter writer(*options_.folders, manifest->id, options_.limits);
  int64_t items = 0;
  int64_t bytes = 0;
  const auto visit = [&](std::string_view key, std::string_view value) -> Status {
    ASSIGN_OR_RETURN(const std::string_view encoded, table::DecodeItemValue(value));
    // The engine's checksums say that the bytes are those that were written, and not that they are
    // an item.
    const Result<std::string> checked = CheckedKeyOf(manifest->table.key_schema, encoded);
    if (!checked.ok() || *checked != key) return CorruptionError("an item of the table is damaged");
    ++items;
    bytes += static_cast<int64_t>(model::ItemView(encoded).size_bytes());
    if (static_cast<size_t>(items) % kItemsBetweenLooks == 0) {
      if (stopped()) return Error(ErrorCode::kUnavailable, "the server is stopping");
      if (clock_.TicksMicros() - job->pinned_ticks > kMostMicros)
        return Error(ErrorCode::kUnavailable, "it took longer than 12 hours");
    }
    return writer.Add(encoded);
  };
  for (bool more = true; more;) {
    if (stopped()) return Error(ErrorCode::kUnavailable, "the server is stopping");
    ASSIGN_OR_RETURN(more, job->pinned->Next(visit));
  }
  job->pinned = nullptr;
  ASSIGN_OR_RETURN(manifest->files, writer.Finish());
  manifest->item_count = items;
  manifest->table_bytes = bytes;
  ASSIGN_OR_RETURN(const std::unique_ptr<ObjectWriter> object,
                   options_.folders->Write(manifest->id, kManifestName));
  TRY(object->Append(EncodeManifest(*manifest)));
  TRY(object->Finish());
  return options_.folders->Publish(manifest->id);
}

}  // namespace stator::transfer
