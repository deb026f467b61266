#include "table/index_builder.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include "base/log.h"
#include "table/key_encoding.h"
#include "table/store.h"

namespace stator::table {
namespace {

// Items of one step: their writes share few group commits and hold no latch for long.
constexpr size_t kStepItems = 128;
constexpr auto kRetryPause = std::chrono::milliseconds(200);

// Waits for `count` answers; the first error is the outcome.
class Outcomes {
 public:
  explicit Outcomes(size_t count) : left_(count) {}
  void Add(Status status) {
    MutexLock lock(mutex_);
    if (!status.ok() && outcome_.ok()) outcome_ = std::move(status);
    if (--left_ == 0) wake_.notify_all();
  }
  Status Wait() {
    MutexLock lock(mutex_);
    while (left_ > 0) wake_.wait(mutex_);
    return outcome_;
  }

 private:
  Mutex mutex_;
  std::condition_variable_any wake_;
  size_t left_ GUARDED_BY(mutex_);
  Status outcome_ GUARDED_BY(mutex_);
};

bool IsCreating(const IndexDescriptor& index, uint32_t tablet_id) {
  return index.tablet_id == tablet_id && index.state == IndexDescriptor::State::kCreating;
}

// False once somebody deletes the index while it is filled.
bool IsCreating(const TableDescriptor& table, uint32_t tablet_id) {
  return std::any_of(table.indexes.begin(), table.indexes.end(),
                     [&](const IndexDescriptor& index) { return IsCreating(index, tablet_id); });
}

}  // namespace

void PruneAttributeDefinitions(TableDescriptor* descriptor) {
  std::erase_if(descriptor->attribute_definitions, [&](const model::KeyAttribute& attribute) {
    if (descriptor->key_schema.Has(attribute.name)) return false;
    return std::none_of(descriptor->indexes.begin(), descriptor->indexes.end(),
                        [&](const IndexDescriptor& index) { return index.key.Has(attribute.name); });
  });
}

void IndexBuilder::Add(std::string table_name) {
  MutexLock lock(mutex_);
  if (stopped_) return;
  tables_.push_back(std::move(table_name));
  if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
  wake_.notify_all();
}

void IndexBuilder::Stop() {
  std::thread thread;
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    thread = std::move(thread_);
    wake_.notify_all();
  }
  if (thread.joinable()) thread.join();
}

void IndexBuilder::StopOf(Store& store) { store.builder_->Stop(); }

bool IndexBuilder::busy() const {
  MutexLock lock(mutex_);
  return !tables_.empty();
}

bool IndexBuilder::stopped() const {
  MutexLock lock(mutex_);
  return stopped_;
}

void IndexBuilder::Run() {
  while (true) {
    std::string table_name;
    {
      MutexLock lock(mutex_);
      while (tables_.empty() && !stopped_) wake_.wait(mutex_);
      if (stopped_) return;
      table_name = tables_.front();
    }
    const Status done = Work(table_name);
    MutexLock lock(mutex_);
    if (stopped_) return;
    if (done.ok()) {
      tables_.pop_front();
      continue;
    }
    LogWarn("index work will be tried again", {{"table", table_name}, {"error", done.error().message()}});
    wake_.wait_for(mutex_, kRetryPause);
  }
}

Status IndexBuilder::Work(const std::string& table_name) {
  while (!stopped()) {
    const TablePtr table = store_.Find(table_name);
    if (table == nullptr) return OkStatus();
    const auto& indexes = table->descriptor.indexes;
    const auto next = std::find_if(indexes.begin(), indexes.end(), [](const IndexDescriptor& index) {
      return index.state != IndexDescriptor::State::kActive;
    });
    if (next == indexes.end()) return OkStatus();
    Status done = next->state == IndexDescriptor::State::kDeleting ? Remove(table_name, *next) : Fill(table_name, next->tablet_id);
    // A table dropped meanwhile needs no index.
    if (!done.ok() && (done.error().code() != ErrorCode::kResourceNotFound || store_.Find(table_name) != nullptr)) return done;
  }
  return OkStatus();
}

Status IndexBuilder::Fill(const std::string& table_name, uint32_t tablet_id) {
  std::string begin = FirstKeyOfHash(0);
  const std::string end = EndOfItemKeys();
  while (!stopped()) {
    const TablePtr table = store_.Find(table_name);
    if (table == nullptr || !IsCreating(table->descriptor, tablet_id)) return OkStatus();
    std::vector<std::string> keys;
    TRY(store_.Scan(*table, begin, end, false, kv::Tier::kAny, [&](std::string_view key, model::ItemView) {
      keys.emplace_back(key);
      return keys.size() < kStepItems;
    }));
    if (keys.empty()) return Finish(table_name, tablet_id);
    begin = keys.back() + std::string(1, '\0');
    TRY(Reindex(table_name, std::move(keys)));
  }
  return OkStatus();
}

Status IndexBuilder::Reindex(const std::string& table_name, std::vector<std::string> keys) {
  const TablePtr table = store_.Find(table_name);
  if (table == nullptr) return OkStatus();
  auto outcomes = std::make_shared<Outcomes>(keys.size());
  for (std::string& key : keys) {
    std::vector<WriteTarget> targets;
    targets.push_back({table, std::move(key)});
    store_.Write(
        std::move(targets),
        [](const std::vector<model::ItemView>&) -> Result<std::vector<Change>> {
          std::vector<Change> changes(1);
          changes[0].kind = Change::kReindex;
          return changes;
        },
        [outcomes](Status status) { outcomes->Add(std::move(status)); });
  }
  return outcomes->Wait();
}

Status IndexBuilder::Finish(const std::string& table_name, uint32_t tablet_id) {
  auto outcome = std::make_shared<Outcomes>(1);
  store_.Alter(
      table_name,
      [tablet_id](TableDescriptor* descriptor) -> Status {
        for (IndexDescriptor& index : descriptor->indexes) {
          if (IsCreating(index, tablet_id)) index.state = IndexDescriptor::State::kActive;
        }
        return OkStatus();
      },
      [outcome](Result<TablePtr> table) { outcome->Add(table.ok() ? OkStatus() : Status(table.error())); });
  return outcome->Wait();
}

Status IndexBuilder::Remove(const std::string& table_name, const IndexDescriptor& index) {
  auto outcome = std::make_shared<Outcomes>(1);
  std::vector<kv::DeleteRange> ranges;
  ranges.push_back({{kv::Space::kItems, index.tablet_id}, "", ""});
  store_.AlterAndDelete(
      table_name,
      [tablet_id = index.tablet_id](TableDescriptor* descriptor) -> Status {
        // The range may be deleted only with the definition: ids are never used again.
        const size_t removed = std::erase_if(descriptor->indexes, [&](const IndexDescriptor& candidate) {
          return candidate.tablet_id == tablet_id && candidate.state == IndexDescriptor::State::kDeleting;
        });
        if (removed == 0) return Error(ErrorCode::kResourceNotFound, "The index is gone");
        PruneAttributeDefinitions(descriptor);
        return OkStatus();
      },
      std::move(ranges),
      [outcome](Result<TablePtr> table) { outcome->Add(table.ok() ? OkStatus() : Status(table.error())); });
  return outcome->Wait();
}

}  // namespace stator::table
