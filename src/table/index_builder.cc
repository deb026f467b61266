#include "table/index_builder.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include "base/log.h"
#include "table/key_encoding.h"
#include "table/outcomes.h"
#include "table/store.h"

namespace stator::table {
namespace {

// Items of one step: their writes share few group commits and hold no latch for long.
constexpr size_t kStepItems = 128;
constexpr auto kRetryPause = std::chrono::milliseconds(200);
// Of a step whose writes fail, the first after a millisecond, before the table is begun anew.
constexpr int kAttempts = 10;

using State = IndexDescriptor::State;

}  // namespace

void PruneAttributeDefinitions(TableDescriptor* descriptor) {
  std::erase_if(descriptor->attribute_definitions, [&](const model::KeyAttribute& attribute) {
    if (descriptor->key_schema.Has(attribute.name)) return false;
    return std::none_of(
        descriptor->indexes.begin(), descriptor->indexes.end(),
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

void IndexBuilder::AddIfAbsent(const std::string& table_name) {
  {
    MutexLock lock(mutex_);
    if (std::find(tables_.begin(), tables_.end(), table_name) != tables_.end()) return;
  }
  Add(table_name);
}

void IndexBuilder::BeginStop() {
  MutexLock lock(mutex_);
  stopped_ = true;
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

void IndexBuilder::StopOf(Store& store) { store.Stop(); }

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
    LogWarn("index work will be tried again",
            {{"table", table_name}, {"error", done.error().message()}});
    wake_.wait_for(mutex_, kRetryPause);
  }
}

Status IndexBuilder::Work(const std::string& table_name) {
  while (!stopped()) {
    const TablePtr table = store_.Find(table_name);
    // Another process does it, or this one when it is asked again (Store::CatchUp).
    if (table == nullptr || !store_.MayWork(*table)) return OkStatus();
    const auto& indexes = table->descriptor.indexes;
    const auto next =
        std::find_if(indexes.begin(), indexes.end(),
                     [](const IndexDescriptor& index) { return index.state != State::kActive; });
    const std::optional<ExpiryIndex>& expiry = table->descriptor.expiry;
    Status done;
    if (next != indexes.end()) {
      done = WorkOn(table_name, *next);
    } else if (expiry && expiry->state != State::kActive) {
      done = WorkOn(table_name, *expiry);
    } else {
      return OkStatus();
    }
    // Another process was faster.
    if (store_.shared() && !done.ok() && done.error().code() == ErrorCode::kResourceNotFound)
      continue;
    // A table dropped meanwhile needs no index.
    if (!done.ok() &&
        (done.error().code() != ErrorCode::kResourceNotFound || store_.Find(table_name) != nullptr))
      return done;
  }
  return OkStatus();
}

Status IndexBuilder::WorkOn(const std::string& table_name, const IndexDescriptor& index) {
  const uint32_t tablet_id = index.tablet_id;
  if (index.state == State::kCreating) {
    const auto is_creating = [tablet_id](const IndexDescriptor& candidate) {
      return candidate.tablet_id == tablet_id && candidate.state == State::kCreating;
    };
    return Fill(
        table_name,
        [is_creating](const TableDescriptor& table) {
          return std::any_of(table.indexes.begin(), table.indexes.end(), is_creating);
        },
        [is_creating](TableDescriptor* descriptor) {
          for (IndexDescriptor& candidate : descriptor->indexes) {
            if (is_creating(candidate)) candidate.state = State::kActive;
          }
        });
  }
  return Remove(
      table_name, {kv::Space::kItems, tablet_id}, [tablet_id](TableDescriptor* descriptor) {
        const size_t removed =
            std::erase_if(descriptor->indexes, [tablet_id](const IndexDescriptor& candidate) {
              return candidate.tablet_id == tablet_id && candidate.state == State::kDeleting;
            });
        if (removed > 0) PruneAttributeDefinitions(descriptor);
        return removed > 0;
      });
}

Status IndexBuilder::WorkOn(const std::string& table_name, const ExpiryIndex& expiry) {
  const uint32_t tablet_id = expiry.tablet_id;
  if (expiry.state == State::kCreating) {
    const auto is_creating = [tablet_id](const TableDescriptor& table) {
      return table.expiry && table.expiry->tablet_id == tablet_id &&
             table.expiry->state == State::kCreating;
    };
    return Fill(table_name, is_creating, [is_creating](TableDescriptor* descriptor) {
      if (is_creating(*descriptor)) descriptor->expiry->state = State::kActive;
    });
  }
  return Remove(table_name, expiry.tablet(), [tablet_id](TableDescriptor* descriptor) {
    std::optional<ExpiryIndex>& mine = descriptor->expiry;
    if (!mine || mine->tablet_id != tablet_id || mine->state != State::kDeleting) return false;
    mine.reset();
    return true;
  });
}

Status IndexBuilder::Fill(const std::string& table_name,
                          std::function<bool(const TableDescriptor&)> is_creating,
                          std::function<void(TableDescriptor*)> activate) {
  std::string begin = FirstKeyOfHash(0);
  const std::string end = EndOfItemKeys();
  while (!stopped()) {
    const TablePtr table = store_.Find(table_name);
    // Somebody may delete what is being filled.
    if (table == nullptr || !is_creating(table->descriptor)) return OkStatus();
    std::vector<std::string> keys;
    TRY(store_.Scan(*table, begin, end, false, kv::Tier::kAny,
                    [&](std::string_view key, model::ItemView) {
                      keys.emplace_back(key);
                      return keys.size() < kStepItems;
                    }));
    if (keys.empty()) {
      return Alter(table_name, {},
                   [activate = std::move(activate)](TableDescriptor* descriptor) -> Status {
                     activate(descriptor);
                     return OkStatus();
                   });
    }
    begin = keys.back() + std::string(1, '\0');
    for (int attempt = 1; !keys.empty(); ++attempt) {
      Status failed = Reindex(table_name, &keys);
      if (failed.ok()) break;
      // A large table would never be through if it began anew after each failure.
      if (attempt == kAttempts || failed.error().code() == ErrorCode::kResourceNotFound)
        return failed;
      {
        MutexLock lock(mutex_);
        if (stopped_) return OkStatus();
        wake_.wait_for(mutex_, std::min<std::chrono::milliseconds>(
                                   kRetryPause, std::chrono::milliseconds(1 << attempt)));
      }
      // Where nothing can be read, a write might wait for long.
      TRY(store_.Scan(*table, begin, end, false, kv::Tier::kAny,
                      [](std::string_view, model::ItemView) { return false; }));
    }
  }
  return OkStatus();
}

Status IndexBuilder::Reindex(const std::string& table_name, std::vector<std::string>* keys) {
  const TablePtr table = store_.Find(table_name);
  if (table == nullptr) {
    keys->clear();
    return OkStatus();
  }
  // Whether it failed, each written by its own callback.
  const auto failed = std::make_shared<std::vector<char>>(keys->size());
  const auto outcomes = std::make_shared<Outcomes>(keys->size());
  for (size_t i = 0; i < keys->size(); ++i) {
    std::vector<WriteTarget> targets;
    targets.push_back({table, (*keys)[i]});
    store_.Write(
        std::move(targets),
        [](const std::vector<model::ItemView>&) -> Result<std::vector<Change>> {
          std::vector<Change> changes(1);
          changes[0].kind = Change::kReindex;
          return changes;
        },
        [outcomes, failed, i](Status status) {
          (*failed)[i] = !status.ok();
          outcomes->Add(std::move(status));
        });
  }
  const Status done = outcomes->Wait();
  std::vector<std::string> left;
  for (size_t i = 0; i < keys->size(); ++i) {
    if ((*failed)[i]) left.push_back(std::move((*keys)[i]));
  }
  *keys = std::move(left);
  return done;
}

Status IndexBuilder::Remove(const std::string& table_name, kv::Tablet tablet,
                            std::function<bool(TableDescriptor*)> erase) {
  return Alter(table_name, {{tablet, "", ""}},
               [erase = std::move(erase)](TableDescriptor* descriptor) -> Status {
                 // The range may be deleted only with the definition: ids are never used again.
                 if (!erase(descriptor))
                   return Error(ErrorCode::kResourceNotFound, "The index is gone");
                 return OkStatus();
               });
}

Status IndexBuilder::Alter(const std::string& table_name, std::vector<kv::DeleteRange> ranges,
                           std::function<Status(TableDescriptor*)> change) {
  auto outcome = std::make_shared<Outcomes>(1);
  store_.AlterAndDelete(
      table_name,
      [change = std::move(change)](TableDescriptor* descriptor) { return change(descriptor); },
      std::move(ranges),
      [outcome](Result<TablePtr> table) {
        outcome->Add(table.ok() ? OkStatus() : Status(table.error()));
      });
  return outcome->Wait();
}

}  // namespace stator::table
