// Several stores on one store in memory, as processes share a cluster, for tests of what has to
// hold among them.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/executor.h"
#include "base/mutex.h"
#include "kv/fault_engine.h"
#include "kv/shared_memory.h"
#include "kv_tx/transaction_engine.h"
#include "table/index_builder.h"
#include "table/key_encoding.h"
#include "table/store.h"
#include "table/test_await.h"
#include "table/test_settle.h"

namespace stator::table::test {

// An engine whose process may die, or stand still.
class MortalEngine final : public kv::Engine, public kv::Bulletin {
 public:
  explicit MortalEngine(std::unique_ptr<kv::Engine> inner) : inner_(std::move(inner)) {}

  // Lets so many more changes of the store happen; the one after them and everything from then on
  // does not, and is refused.
  void DieAfter(int changes) { left_ = changes; }
  bool dead() const { return dead_; }
  // From now on calls wait until Thaw; or only from the next change of the store behind so many on.
  void Freeze() { frozen_ = true; }
  void FreezeAfter(int changes) { until_frozen_ = changes; }
  void Thaw() {
    until_frozen_ = kNever;
    frozen_ = false;
    frozen_.notify_all();
  }
  bool frozen() const { return frozen_; }
  // What happens once, before a key of the tablet is read next, not from memory.
  void BeforeNextRead(kv::Tablet tablet, std::function<void()> happens) {
    MutexLock lock(mutex_);
    before_read_ = {tablet, std::move(happens)};
  }

  kv::Capabilities capabilities() const override { return inner_->capabilities(); }
  Result<bool> Get(kv::Tablet tablet, std::string_view key, kv::Tier tier,
                   std::string* value) override {
    TRY(Live());
    if (tier == kv::Tier::kAny) Happen(tablet);
    return inner_->Get(tablet, key, tier, value);
  }
  // Answers come from other threads, several at a time.
  void GetLater(kv::Tablet tablet, std::string_view key, GetDone done) override {
    UniqueFunction<void()> read = [this, tablet, key = std::string(key),
                                   done = std::move(done)]() mutable {
      kv::Engine::GetLater(tablet, key, std::move(done));
    };
    if (!readers_.TryPost(read)) read();
  }
  Status MultiGet(std::span<const kv::Point> points, kv::Tier tier,
                  std::vector<std::optional<std::string>>* values) override {
    TRY(Live());
    return inner_->MultiGet(points, tier, values);
  }
  Status Scan(const kv::Range& range, kv::Tier tier,
              FunctionRef<bool(std::string_view key, std::string_view value)> visit) override {
    TRY(Live());
    return inner_->Scan(range, tier, visit);
  }
  void Apply(kv::Batch batch, kv::ApplyDone done) override {
    if (Status alive = batch.empty() ? Live() : Change(); !alive.ok())
      return done(std::move(alive).error());
    inner_->Apply(std::move(batch), std::move(done));
  }
  Result<kv::Unit> UnitOf(kv::Tablet tablet, std::string_view key, kv::Tier tier) override {
    TRY(Live());
    return inner_->UnitOf(tablet, key, tier);
  }
  bool SpansUnits(const kv::Batch& batch) const override { return inner_->SpansUnits(batch); }
  Status RaiseFence(kv::Tablet tablet, uint64_t fence) override {
    TRY(Change());
    return inner_->RaiseFence(tablet, fence);
  }
  kv::Bulletin* bulletin() override { return this; }
  Status Announce(std::string_view message) override {
    TRY(Live());
    return inner_->bulletin()->Announce(message);
  }
  // Who stands still, or is dead, hears nothing.
  void Listen(Listener listener) override {
    if (!listener) return inner_->bulletin()->Listen(nullptr);
    inner_->bulletin()->Listen(
        [this, listener](std::string_view message, UniqueFunction<void()> acknowledge) {
          if (frozen_ || dead_) return acknowledge();
          in_listener_ = true;
          listener(message, std::move(acknowledge));
          in_listener_ = false;
        });
  }
  Status Health() const override { return inner_->Health(); }
  uint64_t ApproximateBytes(kv::Tablet tablet) const override {
    return inner_->ApproximateBytes(tablet);
  }
  std::map<std::string, double> Statistics() const override { return inner_->Statistics(); }
  Status Checkpoint(const std::string& directory) override { return inner_->Checkpoint(directory); }

 private:
  Status Live() {
    // A thread of another process calls its listener.
    if (!in_listener_) frozen_.wait(true);
    // Whatever else a dead process would try again for ever.
    return dead_ ? Status(Error(ErrorCode::kFenced, "This process is dead.")) : OkStatus();
  }
  void Happen(kv::Tablet tablet) {
    std::function<void()> happens;
    {
      MutexLock lock(mutex_);
      if (before_read_.first == tablet) happens = std::exchange(before_read_.second, nullptr);
    }
    if (happens) happens();
  }
  Status Change() {
    TRY(Live());
    if (until_frozen_.fetch_sub(1) == 0) frozen_ = true;
    if (left_.fetch_sub(1) <= 0) dead_ = true;
    return Live();
  }

  const std::unique_ptr<kv::Engine> inner_;
  static constexpr int kNever = std::numeric_limits<int>::max() / 2;
  static inline thread_local bool in_listener_ = false;
  std::atomic<int> left_ = kNever;
  std::atomic<int> until_frozen_ = kNever;
  std::atomic<bool> dead_ = false;
  std::atomic<bool> frozen_ = false;
  Mutex mutex_;
  std::pair<kv::Tablet, std::function<void()>> before_read_ GUARDED_BY(mutex_);
  WorkerPool readers_{2, 1000};
};

// One of the processes.
struct Process {
  Process(kv::SharedMemory& memory, const Clock& clock, uint64_t seed) : workers(6, 1000) {
    auto alive = std::make_unique<MortalEngine>(memory.Attach());
    mortal = alive.get();
    auto faulty = std::make_unique<kv::FaultEngine>(
        std::move(alive), kv::FaultOptions{.seed = seed, .delay_done = true});
    faults = faulty.get();
    // Nobody waits long for a dead one.
    engine = std::make_unique<kv_tx::TransactionEngine>(
        std::move(faulty), kv_tx::Options{.seed = seed, .threads = 4, .patience_micros = 20'000});
    store = Store::Open(*engine, clock, workers).value();
  }
  ~Process() {
    workers.Stop();
    store->Stop();
    engine.reset();
  }

  Status Write(const std::string& item, bool remove = false) {
    return Update(item, [item, remove](const model::ItemView&) -> Result<Change> {
      Change change;
      change.kind = remove ? Change::kDelete : Change::kPut;
      if (!remove) change.item = item;
      return change;
    });
  }
  // `key`: an item with the key.
  template <typename Decide>
  Status Update(const std::string& key, Decide decide) {
    const TablePtr table = store->Find("tab");
    if (table == nullptr) return Error(ErrorCode::kResourceNotFound, "no table");
    std::vector<WriteTarget> targets;
    targets.push_back({table, EncodeItemKey(table->key_schema(), model::ItemView(key))});
    return Await<Status>([&](auto done) {
      store->Write(
          std::move(targets),
          [decide](const std::vector<model::ItemView>& old_items) -> Result<std::vector<Change>> {
            ASSIGN_OR_RETURN(Change change, decide(old_items[0]));
            std::vector<Change> changes;
            changes.push_back(std::move(change));
            return changes;
          },
          std::move(done));
    });
  }
  // The item with the key of `key`; empty: none.
  Result<std::string> Read(const std::string& key) {
    const TablePtr table = store->Find("tab");
    if (table == nullptr) return Error(ErrorCode::kResourceNotFound, "no table");
    std::string item;
    ASSIGN_OR_RETURN(const bool found,
                     store->Get(*table, EncodeItemKey(table->key_schema(), model::ItemView(key)),
                                kv::Tier::kAny, &item));
    return found ? item : std::string();
  }
  Result<TablePtr> Create(TableDescriptor d) {
    return Await<Result<TablePtr>>(
        [&](auto done) { store->Create(std::move(d), std::move(done)); });
  }
  Result<TablePtr> Alter(Store::ChangeDescriptor change) {
    return Await<Result<TablePtr>>(
        [&](auto done) { store->Alter("tab", std::move(change), std::move(done)); });
  }
  Result<TablePtr> Drop() {
    return Await<Result<TablePtr>>([&](auto done) {
      store->Drop(
          "tab", [](const TableDescriptor&) { return OkStatus(); }, std::move(done));
    });
  }
  // Until nothing of it is under way any more.
  void WaitForDeath() {
    if (mortal->dead()) store->Stop();
  }
  void SettleTransactions() { test::SettleTransactions(*engine, *store); }
  void WaitForBuilds() {
    while (store->BuildsIndexes()) std::this_thread::yield();
  }

  WorkerPool workers;
  MortalEngine* mortal = nullptr;
  kv::FaultEngine* faults = nullptr;
  std::unique_ptr<kv_tx::TransactionEngine> engine;
  std::unique_ptr<Store> store;
};

struct Cluster {
  explicit Cluster(size_t count, uint64_t seed = 1) {
    for (size_t i = 0; i < count; ++i)
      processes.push_back(std::make_shared<Process>(memory, clock, seed + i));
  }
  Process& operator[](size_t i) { return *processes[i]; }
  // Runs `work` to its end while time passes, faster than it really does.
  template <typename Work>
  void Patiently(Work work) {
    std::atomic<bool> done = false;
    std::thread worker([&] {
      work();
      done = true;
    });
    while (!done) {
      clock.AdvanceMicros(20'000);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    worker.join();
  }

  kv::SharedMemory memory;
  ManualClock clock;
  std::vector<std::shared_ptr<Process>> processes;
};

}  // namespace stator::table::test
