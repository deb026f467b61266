#include "table/index_builder.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <utility>

#include "base/log.h"
#include "base/start_thread.h"
#include "table/key_encoding.h"
#include "table/outcomes.h"
#include "table/store.h"

namespace stator::table {
namespace {

// Items of one step: their writes share few group commits and hold no latch for long.
constexpr size_t kStepItems = 128;
constexpr auto kRetryPause = std::chrono::milliseconds(200);
// A table that is damaged is tried again after twice the time of the last attempt, up to this.
constexpr auto kLongestPause = std::chrono::milliseconds(60'000);
constexpr int kDoublings = 9;
// Attempts at a step whose writes fail, the first after a millisecond, before the table is begun
// anew.
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
  // The table may be in the queue already. Adding it again makes sure that work which is asked for
  // while the table is being processed is done afterwards.
  tasks_.push_back({std::move(table_name)});
  BeginThread();
  wake_.notify_all();
}

// If the system creates no thread now, the tasks wait until a later call creates one.
void IndexBuilder::BeginThread() {
  if (!thread_.joinable()) (void)StartThread("indexes", &thread_, [this] { Run(); });
}

void IndexBuilder::AddIfAbsent(const std::string& table_name) {
  {
    MutexLock lock(mutex_);
    if (std::any_of(tasks_.begin(), tasks_.end(),
                    [&](const Task& task) { return task.table_name == table_name; })) {
      if (!stopped_) BeginThread();
      return;
    }
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

bool IndexBuilder::busy() const {
  MutexLock lock(mutex_);
  return std::any_of(tasks_.begin(), tasks_.end(), [](const Task& task) { return !task.damaged; });
}

std::map<std::string, std::string> IndexBuilder::damaged() const {
  MutexLock lock(mutex_);
  std::map<std::string, std::string> errors;
  for (const Task& task : tasks_) {
    if (task.damaged) errors[task.table_name] = task.error;
  }
  return errors;
}

bool IndexBuilder::stopped() const {
  MutexLock lock(mutex_);
  return stopped_;
}

std::deque<IndexBuilder::Task>::iterator IndexBuilder::NextTask(
    std::chrono::steady_clock::time_point now) {
  return std::find_if(tasks_.begin(), tasks_.end(),
                      [now](const Task& task) { return task.due <= now; });
}

void IndexBuilder::Postpone(std::deque<Task>::iterator task, const Error& error) {
  Task again = std::move(*task);
  tasks_.erase(task);
  again.damaged = error.code() == ErrorCode::kCorruption;
  const int doublings = again.damaged ? std::min(again.failures, kDoublings) : 0;
  again.due = std::chrono::steady_clock::now() +
              std::min<std::chrono::milliseconds>(kRetryPause * (1 << doublings), kLongestPause);
  ++again.failures;
  if (std::exchange(again.error, error.message()) != error.message()) {
    if (again.damaged) {
      LogError("index_work_on_damaged_table",
               {{"table", again.table_name}, {"error", again.error}});
    } else {
      LogWarn("index work will be tried again",
              {{"table", again.table_name}, {"error", again.error}});
    }
  }
  tasks_.push_back(std::move(again));
}

void IndexBuilder::Run() {
  while (true) {
    std::string table_name;
    {
      MutexLock lock(mutex_);
      while (!stopped_) {
        const auto next = NextTask(std::chrono::steady_clock::now());
        if (next != tasks_.end()) {
          // To the front, where it is found again.
          std::rotate(tasks_.begin(), next, next + 1);
          break;
        }
        if (tasks_.empty()) {
          wake_.wait(mutex_);
        } else {
          const auto due =
              std::min_element(tasks_.begin(), tasks_.end(), [](const Task& a, const Task& b) {
                return a.due < b.due;
              })->due;
          wake_.wait_until(mutex_, due);
        }
      }
      if (stopped_) return;
      table_name = tasks_.front().table_name;
    }
    const Status done = Work(table_name);
    MutexLock lock(mutex_);
    if (stopped_) return;
    // Others may have been added behind it only.
    if (done.ok()) {
      tasks_.pop_front();
    } else {
      Postpone(tasks_.begin(), done.error());
    }
  }
}

Status IndexBuilder::Work(const std::string& table_name) {
  std::set<uint32_t> failed;  // tablets whose work has met damage
  Status damage;
  while (!stopped()) {
    const TablePtr table = store_.Find(table_name);
    // Another process does it, or this one when it is asked again (Store::CatchUp).
    if (table == nullptr || !store_.MayWork(*table)) return OkStatus();
    const auto& indexes = table->descriptor.indexes;
    const auto next =
        std::find_if(indexes.begin(), indexes.end(), [&failed](const IndexDescriptor& index) {
          return index.state != State::kActive && failed.count(index.tablet_id) == 0;
        });
    const std::optional<ExpiryIndex>& expiry = table->descriptor.expiry;
    Status done;
    uint32_t tablet = 0;
    if (next != indexes.end()) {
      tablet = next->tablet_id;
      done = WorkOn(table_name, *next);
    } else if (expiry && expiry->state != State::kActive && failed.count(expiry->tablet_id) == 0) {
      tablet = expiry->tablet_id;
      done = WorkOn(table_name, *expiry);
    } else {
      return damage;
    }
    if (!done.ok() && done.error().code() == ErrorCode::kCorruption) {
      failed.insert(tablet);
      damage = std::move(done);
      continue;
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
