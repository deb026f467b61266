// Several stores on one store, each of its own process: writes of one and of several items from all
// of them, while indexes, time to live, partitions and shards come and go, on engines that refuse
// and lose answers. Threads, so a seed repeats the load and the faults and not the order. Processes
// die, and others take their place; some stand still for a while.
//
// Every write leaves its number in the items, and a consumer follows the table's stream: each
// record's old image is what the record before left, what was acknowledged is there once, what was
// refused is not. Who reads finds at least what was acknowledged before. In the end items, indexes,
// entries of time to live and counters say the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "expr/test_notation.h"
#include "stream/reader.h"
#include "table/expiry.h"
#include "table/partition_split.h"
#include "table/test_cluster.h"
#include "table/test_indexes.h"

namespace stator::table {
namespace {

using model::ItemView;
using test::Cluster;
using test::Process;

constexpr size_t kProcesses = 3;
constexpr int kKeys = 8;  // per partition key value
constexpr int kValues = 4;

std::string KeyItem(int key) {
  return expr::notation::Item("{pk: 'p" + std::to_string(key / kKeys) +
                              "', sk: " + std::to_string(key % kKeys) + "}");
}

int64_t NumberOf(ItemView item, std::string_view name) {
  int64_t number = 0;
  if (item.exists() && !item.Find(name).empty()) item.Find(name).number().ToInt64(&number);
  return number;
}

// What became of the writes, by their numbers.
class Ledger {
 public:
  enum class Outcome { kApplied, kRefused, kUnknown };
  void Add(int64_t write, Outcome outcome) {
    std::lock_guard lock(mutex_);
    outcomes_[write] = outcome;
  }
  std::map<int64_t, Outcome> Take() {
    std::lock_guard lock(mutex_);
    return outcomes_;
  }

 private:
  std::mutex mutex_;
  std::map<int64_t, Outcome> outcomes_;
};

class SharedSimulation : public testing::TestWithParam<uint64_t> {
 protected:
  SharedSimulation() : seed_(GetParam()), cluster_(kProcesses, seed_ * 100) {
    TableDescriptor d = indexes::Describe();
    d.stream_view_type = stream::ViewType::kNewAndOldImages;
    EXPECT_TRUE(cluster_[0].Create(std::move(d)).ok());
    label_ = cluster_[0].store->Find("tab")->descriptor.stream_label;
    for (auto& version : acknowledged_) version = 0;
  }

  // The process that has the place now.
  std::shared_ptr<Process> At(size_t i) {
    std::lock_guard lock(processes_mutex_);
    return cluster_.processes[i];
  }

  // Lets a process die in the middle of something, and puts another in its place.
  void Kill(size_t i, SeededRandom& random) {
    const std::shared_ptr<Process> victim = At(i);
    victim->mortal->DieAfter(static_cast<int>(random.Below(40)));
    while (!victim->mortal->dead()) {
      const Result<TablePtr> ignored = victim->Alter([&](TableDescriptor* d) {
        d->tags["last"] = std::to_string(random.Next());
        return OkStatus();
      });
    }
    victim->WaitForDeath();
    auto next = std::make_shared<Process>(cluster_.memory, cluster_.clock, random.Next());
    next->faults->SetProbabilities(faults_.probability);
    std::lock_guard lock(processes_mutex_);
    cluster_.processes[i] = std::move(next);
    ++deaths_;
  }

  void SetFaults(bool on) {
    kv::FaultOptions faults;
    if (on) {
      faults[kv::Fault::kUnavailable] = 0.005;
      faults[kv::Fault::kUnknownNotApplied] = 0.005;
      faults[kv::Fault::kUnknownApplied] = 0.005;
      faults[kv::Fault::kWouldBlock] = 0.1;
    }
    faults_ = faults;
    for (auto& process : cluster_.processes) process->faults->SetProbabilities(faults.probability);
  }

  // Items of the last partition key value only grow in version, so that readers can tell how old an
  // image is.
  static bool Grows(int key) { return key / kKeys == kValues - 1; }

  void Write(Process& process, SeededRandom& random) {
    const TablePtr table = process.store->Find("tab");
    const int64_t number = ++writes_;
    std::vector<int> keys;
    for (uint64_t wanted = random.Below(4) == 0 ? 1 + random.Below(4) : 1; wanted > 0; --wanted) {
      const int key = static_cast<int>(random.Below(kKeys * kValues));
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    }
    std::vector<WriteTarget> targets;
    std::vector<std::string> texts;
    for (const int key : keys) {
      targets.push_back({table, EncodeItemKey(table->key_schema(), ItemView(KeyItem(key)))});
      const bool deletes = !Grows(key) && random.Below(4) == 0;
      texts.push_back(
          deletes ? ""
                  : indexes::RandomText(random, "p" + std::to_string(key / kKeys), key % kKeys));
    }
    auto versions = std::make_shared<std::vector<int64_t>>();
    auto changed = std::make_shared<bool>();
    const Status status = Await<Status>([&](auto done) {
      process.store->Write(
          std::move(targets),
          [=](const std::vector<ItemView>& old_items) -> Result<std::vector<Change>> {
            versions->clear();
            *changed = false;
            std::vector<Change> changes(old_items.size());
            for (size_t i = 0; i < old_items.size(); ++i) {
              versions->push_back(NumberOf(old_items[i], "version") + 1);
              *changed |= !texts[i].empty() || old_items[i].exists();
              if (texts[i].empty()) {
                changes[i].kind = Change::kDelete;
                continue;
              }
              changes[i].kind = Change::kPut;
              changes[i].item =
                  expr::notation::Item(texts[i] + ", version: " + std::to_string(versions->back()) +
                                       ", ttl: " + std::to_string(number % 7) +
                                       ", write: " + std::to_string(number) + "}");
            }
            return changes;
          },
          std::move(done));
    });
    if (status.ok()) {
      if (!*changed) return;
      ledger_.Add(number, Ledger::Outcome::kApplied);
      for (size_t i = 0; i < keys.size(); ++i) {
        std::atomic<int64_t>& known = acknowledged_[static_cast<size_t>(keys[i])];
        int64_t before = known;
        while (before < (*versions)[i] && !known.compare_exchange_weak(before, (*versions)[i])) {
        }
      }
      return;
    }
    if (process.mortal->dead()) return ledger_.Add(number, Ledger::Outcome::kUnknown);
    const ErrorCode code = status.error().code();
    EXPECT_TRUE(code == ErrorCode::kUnavailable || code == ErrorCode::kTransactionConflict ||
                code == ErrorCode::kOutcomeUnknown)
        << status.error().message();
    ledger_.Add(number, code == ErrorCode::kOutcomeUnknown ? Ledger::Outcome::kUnknown
                                                           : Ledger::Outcome::kRefused);
  }

  void Read(Process& process, SeededRandom& random) {
    const int key = (kValues - 1) * kKeys + static_cast<int>(random.Below(kKeys));
    const int64_t at_least = acknowledged_[static_cast<size_t>(key)];
    const Result<std::string> item = process.Read(KeyItem(key));
    if (!item.ok()) return;
    const int64_t version = item->empty() ? 0 : NumberOf(ItemView(*item), "version");
    EXPECT_GE(version, at_least) << "item " << key;
  }

  // Two items that one write has changed together are seen together.
  void ReadTogether(Process& process, SeededRandom& random) {
    const TablePtr table = process.store->Find("tab");
    std::vector<WriteTarget> items;
    std::vector<int> keys;
    for (int i = 0; i < 3; ++i) {
      const int key = (kValues - 1) * kKeys + (static_cast<int>(random.Below(3)) + 3 * i) % kKeys;
      if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
      keys.push_back(key);
      items.push_back({table, EncodeItemKey(table->key_schema(), ItemView(KeyItem(key)))});
    }
    std::vector<int64_t> at_least;
    for (const int key : keys) at_least.push_back(acknowledged_[static_cast<size_t>(key)]);
    std::vector<std::optional<std::string>> images;
    const auto keep = [](size_t) { return OkStatus(); };
    if (!process.store->GetTogether(items, kv::Tier::kAny, SIZE_MAX, keep, &images).ok()) return;
    std::lock_guard lock(together_mutex_);
    std::vector<std::pair<int, int64_t>> seen;
    for (size_t i = 0; i < keys.size(); ++i) {
      const int64_t version = images[i] ? NumberOf(ItemView(*images[i]), "version") : 0;
      EXPECT_GE(version, at_least[i]) << "item " << keys[i];
      seen.emplace_back(keys[i], version);
    }
    together_.push_back(std::move(seen));
  }

  void ChangeDefinition(Process& process, SeededRandom& random) {
    const auto alter = [&](Store::ChangeDescriptor change) {
      const Result<TablePtr> altered = process.Alter(std::move(change));
      if (altered.ok()) ++definitions_;
    };
    switch (random.Below(6)) {
      case 0:
        return alter([](TableDescriptor* d) -> Status {
          if (d->FindIndex("late") != nullptr) return ValidationError("it is there");
          IndexDescriptor index = indexes::Describe().indexes[2];
          index.name = "late";
          index.state = IndexDescriptor::State::kCreating;
          d->indexes.push_back(index);
          return OkStatus();
        });
      case 1:
        return alter([](TableDescriptor* d) -> Status {
          for (IndexDescriptor& index : d->indexes) {
            if (index.name == "late") index.state = IndexDescriptor::State::kDeleting;
          }
          return OkStatus();
        });
      case 2:
        return alter([](TableDescriptor* d) -> Status {
          if (!d->expiry) {
            d->expiry = ExpiryIndex{.attribute = "ttl"};
          } else {
            d->expiry->state = IndexDescriptor::State::kDeleting;
          }
          return OkStatus();
        });
      case 3: {
        if (process.store->Find("tab")->descriptor.partitions.size() > 6) return;
        const auto split = Await<Result<TablePtr>>([&](auto done) {
          SplitPartition(*process.store, "tab", random.Next(), std::move(done));
        });
        if (split.ok()) ++definitions_;
        return;
      }
      case 4: {
        const auto rotated = Await<Result<TablePtr>>([&](auto done) {
          process.store->RotateShards("tab", cluster_.clock.NowMicros(), std::move(done));
        });
        if (rotated.ok()) ++definitions_;
        return;
      }
      default:
        return alter([&](TableDescriptor* d) -> Status {
          d->tags["n"] = std::to_string(random.Next());
          return OkStatus();
        });
    }
  }

  // Reads what there is in the stream, shards behind their parents, and replays it.
  bool Follow(Store& store) {
    const stream::StreamPtr stream = store.FindStream("tab", label_);
    bool any = false;
    for (const stream::Shard& shard : stream->shards) {
      const std::string id = stream::ShardIdOf(shard);
      if (ended_.contains(id) || (!shard.parent_id.empty() && !ended_.contains(shard.parent_id)))
        continue;
      stream::Position& place =
          positions_.try_emplace(id, stream::TrimHorizon(shard)).first->second;
      const Result<stream::Page> page =
          stream::ReadShard(store.engine(), *stream, shard, place, {.records = 50}, kv::Tier::kAny);
      if (!page.ok()) continue;
      for (const stream::Record& record : page->records) {
        EXPECT_GE(record.position, shard.first());
        if (!shard.open()) {
          EXPECT_LT(record.position, shard.end());
        }
        std::string& item = replayed_[record.keys];
        EXPECT_EQ(record.old_image.value_or(""), item) << "a record lost, repeated or out of order";
        item = record.new_image.value_or("");
        const int64_t write = item.empty() ? 0 : NumberOf(ItemView(item), "write");
        if (write != 0) {
          EXPECT_TRUE(seen_[write].insert(record.keys).second)
              << "write " << write << " is there twice";
          history_[record.keys].push_back(write);
        }
      }
      place = page->next;
      if (page->ended) ended_.insert(id);
      any |= !page->records.empty() || page->ended;
    }
    return any;
  }

  void CheckStream() {
    while (Follow(*cluster_[0].store)) {
    }
    std::map<std::string, std::string> items;
    for (auto& [keys, item] : replayed_) {
      if (!item.empty())
        items[EncodeItemKey(indexes::Describe().key_schema, ItemView(item))] = item;
    }
    const TablePtr table = cluster_[1].store->Find("tab");
    EXPECT_EQ(indexes::ScanAll(*cluster_[1].store, table->descriptor.tablet(), kItemKind), items);
    int applied = 0;
    for (const auto& [write, outcome] : ledger_.Take()) {
      if (outcome == Ledger::Outcome::kRefused) {
        EXPECT_FALSE(seen_.contains(write)) << "write " << write << " was refused";
      }
      if (outcome == Ledger::Outcome::kApplied) ++applied;
    }
    // How many depends on how often processes die meanwhile.
    EXPECT_GT(applied, 30);
  }

  // What was read together was there at one moment: of two items that a write has changed, both
  // were read before it or both behind.
  void CheckTogether() {
    std::map<std::string, int> number_of;
    for (int key = 0; key < kKeys * kValues; ++key) number_of[KeyItem(key)] = key;
    std::map<std::pair<int, int64_t>, int64_t> version_by;  // of a key and a write
    for (const auto& [keys, writes] : history_) {
      for (size_t i = 0; i < writes.size(); ++i)
        version_by[{number_of.at(keys), writes[i]}] = static_cast<int64_t>(i) + 1;
    }
    int pairs = 0;
    for (const auto& seen : together_) {
      for (const auto& [key, version] : seen) {
        const auto& writes = history_[KeyItem(key)];
        // The write that left what was seen, and the next one, must agree for the others.
        for (const int64_t at : {version, version + 1}) {
          if (at < 1 || at > static_cast<int64_t>(writes.size())) continue;
          const int64_t write = writes[static_cast<size_t>(at - 1)];
          for (const auto& [other, other_version] : seen) {
            const auto found = version_by.find({other, write});
            if (other == key || found == version_by.end()) continue;
            ++pairs;
            EXPECT_EQ(version >= at, other_version >= found->second)
                << "items " << key << " and " << other << " and write " << write;
          }
        }
      }
    }
    EXPECT_GT(pairs, 0);
  }

  void CheckExpiry() {
    Store& store = *cluster_[0].store;
    const TableDescriptor& d = store.Find("tab")->descriptor;
    if (!d.HasTimeToLive()) return;
    std::set<std::string> entries, expected;
    ASSERT_TRUE(store.engine()
                    .Scan({d.expiry->tablet(), "", "", false}, kv::Tier::kAny,
                          [&](std::string_view key, std::string_view) {
                            entries.emplace(key);
                            return true;
                          })
                    .ok());
    for (const auto& [key, item] : indexes::ScanAll(store, d.tablet(), kItemKind)) {
      if (const auto time = ExpiryOf(ItemView(item), "ttl"))
        expected.insert(EncodeExpiryKey(*time, key));
    }
    EXPECT_EQ(entries, expected);
  }

  void WaitForBuilds() {
    bool work = true;
    while (work) {
      for (auto& process : cluster_.processes) {
        EXPECT_TRUE(process->store->CatchUp().ok());
        process->WaitForBuilds();
      }
      work = cluster_[0].store->Find("tab")->descriptor.HasIndexWork();
    }
  }

  const uint64_t seed_;
  Cluster cluster_;
  std::mutex processes_mutex_;
  kv::FaultOptions faults_;
  std::atomic<int> deaths_ = 0;
  std::string label_;
  std::atomic<int64_t> writes_ = 0;
  std::atomic<int> definitions_ = 0;
  std::array<std::atomic<int64_t>, kKeys * kValues> acknowledged_;
  Ledger ledger_;
  std::mutex together_mutex_;
  std::vector<std::vector<std::pair<int, int64_t>>> together_;
  // The consumer's:
  std::map<std::string, stream::Position> positions_;
  std::set<std::string> ended_;
  std::map<std::string, std::string> replayed_;
  std::map<int64_t, std::set<std::string>> seen_;        // keys by write
  std::map<std::string, std::vector<int64_t>> history_;  // writes by key, in order
};

TEST_P(SharedSimulation, WhatAllProcessesDoIsOneHistory) {
  SetFaults(true);
  std::atomic<bool> stop = false;
  std::vector<std::thread> writers, others;
  for (size_t i = 0; i < kProcesses; ++i) {
    for (uint64_t writer = 0; writer < 2; ++writer) {
      writers.emplace_back([&, i, writer] {
        SeededRandom random(seed_ * 1000 + i * 10 + writer);
        for (int n = 0; n < 200; ++n) Write(*At(i), random);
      });
    }
    others.emplace_back([&, i] {
      SeededRandom random(seed_ * 1000 + i * 10 + 8);
      while (!stop) {
        Read(*At(i), random);
        ReadTogether(*At(i), random);
      }
    });
  }
  others.emplace_back([&] {
    SeededRandom random(seed_ * 1000 + 99);
    while (!stop) ChangeDefinition(*At(random.Below(kProcesses)), random);
  });
  others.emplace_back([&] {
    while (!stop) {
      const std::shared_ptr<Process> process = At(2);
      if (process->store->Refresh().ok()) Follow(*process->store);
    }
  });
  // Time is what somebody waits for who waits for the dead.
  others.emplace_back([&] {
    while (!stop) {
      cluster_.clock.AdvanceMicros(5000);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  others.emplace_back([&] {
    SeededRandom random(seed_ * 1000 + 100);
    while (!stop) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20 + random.Below(60)));
      const size_t i = random.Below(kProcesses);
      if (random.Below(2) == 0) {
        Kill(i, random);
        continue;
      }
      const std::shared_ptr<Process> process = At(i);
      process->mortal->Freeze();
      std::this_thread::sleep_for(std::chrono::milliseconds(random.Below(60)));
      process->mortal->Thaw();
    }
  });
  for (std::thread& thread : writers) thread.join();
  const auto reads_together = [this] {
    std::lock_guard lock(together_mutex_);
    return together_.size();
  };
  const size_t enough = reads_together() + 50;
  // On a machine that is busy with others all writes may come before the first death, or before the
  // reads that see two items of one write.
  for (int i = 0; i < 60'000 && (definitions_ <= 5 || deaths_ == 0 || reads_together() < enough);
       ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  stop = true;
  for (std::thread& thread : others) thread.join();
  SetFaults(false);
  cluster_.Patiently([&] {
    WaitForBuilds();
    cluster_[0].SettleTransactions();
  });
  EXPECT_GT(definitions_, 5);
  EXPECT_GT(deaths_, 0);
  for (auto& process : cluster_.processes) {
    indexes::ExpectIndexesMatch(*process->store, "seed " + std::to_string(seed_));
    EXPECT_EQ(process->store->latches().size(), 0u);
  }
  CheckStream();
  CheckTogether();
  CheckExpiry();
}

std::vector<uint64_t> Seeds() {
  const char* from = std::getenv("STATOR_SIM_SEED");
  const char* count = std::getenv("STATOR_SIM_RUNS");
  const uint64_t first = from == nullptr ? 1 : std::strtoull(from, nullptr, 10);
  const uint64_t runs = count == nullptr ? 5 : std::strtoull(count, nullptr, 10);
  std::vector<uint64_t> seeds;
  for (uint64_t seed = first; seed < first + runs; ++seed) seeds.push_back(seed);
  return seeds;
}
INSTANTIATE_TEST_SUITE_P(Seeds, SharedSimulation, testing::ValuesIn(Seeds()));

}  // namespace
}  // namespace stator::table
