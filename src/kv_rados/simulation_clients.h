// Clients of a simulated store, and their actions: batches of every kind, reads of every kind,
// splits and fences, each answer checked by the model. For simulation_test.cc.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kv_rados/fake_world.h"
#include "kv_rados/simulation_model.h"

namespace stator::kv_rados::simulation {

// Probabilities of actions.
struct Mix {
  double split = 0.02;
  double fence = 0;
  double drop = 0;
  double scan = 0.12;
  double again = 0;  // of scans: again and again, around a split
  double read = 0.2;
  double recent = 0.3;   // of reads: may be a little old
  double log = 0.15;     // of batches: on a queue
  double guarded = 0.7;  // of batches
  double chained = 0.2;  // of batches: computed from one that is not durable yet
  double range = 0.06;   // of batches: of range deletes alone
  double equal = 0.4;    // of seeds: values of one size
  double local = 0;      // of seeds: keys of several kinds that stay with their hash
  double wait = 0.1;     // of batches: may wait for others
  double pause = 0.02;
  int hashes = 8;
  size_t max_value = 200;
};

class Clients {
 public:
  Clients(World& world, Model& model, const Mix& mix);

  // A client that takes this number of actions.
  World::Client Make(int actions);
  // Returns a client that reads everything, again and again until the cluster is at rest, and
  // checks it.
  World::Client MakeCheck();

  static constexpr kv::Tablet kItems = {kv::Space::kItems, 1};
  static constexpr kv::Tablet kDropped = {kv::Space::kItems, 3};  // where `drop` is not 0
  static constexpr kv::Tablet kQueue = {kv::Space::kLog, 2};
  static constexpr kv::Tablet kCatalog = {kv::Space::kCatalog, 0};

  uint64_t answered = 0, refused = 0, guard_failures = 0, reads = 0, scans = 0, splits_asked = 0,
           recent_reads = 0;

 private:
  struct Client;  // one that runs
  void Run(Process& process, int actions);
  void Act(Client& client);
  void Write(Client& client);
  void WriteItems(Client& client);
  void WriteQueue(Client& client);
  void DeleteRanges(Client& client);
  // Adds a range that no other batch deletes, and that is empty.
  void AddMark(kv::Batch* batch);
  void Answered(Client& client, Model::Moment since, kv::Tablet tablet,
                const std::vector<std::string>& keys,
                const std::vector<std::optional<std::string>>& values);
  void ReadRecent(Client& client, kv::Tablet tablet, const std::string& key);
  void Apply(Client& client, kv::Batch batch, const std::vector<SentPtr>& after = {});
  void Read(Client& client);
  void Scan(Client& client);
  void ScanRange(Process& process, kv::Range range, size_t most, bool ahead);
  void Split(Client& client);
  void RaiseFence(Client& client);
  void Drop(Client& client);
  kv::Tablet ItemTablet();
  void CheckAll(Process& process);

  std::string Hash();
  std::string ItemKey(const std::string& hash);
  std::string Value();
  kv::Range RandomRange(std::string* begin, std::string* end);

  World& world_;
  Model& model_;
  const Mix mix_;
  const bool local_;
  const bool equal_;  // all values are of one size
  uint64_t last_value_ = 0;
  uint64_t fence_ = 0;
};

}  // namespace stator::kv_rados::simulation
