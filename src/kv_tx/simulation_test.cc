// Several processes, each with a transaction engine of its own, on one store that is divided into
// units (simulation_world.h). Clients move amounts among accounts in several units, append a record
// of each change to a queue, count their changes, chain batches that are not durable yet, and read
// snapshots and queues. Processes are killed, frozen and resumed, operations fail or get lost,
// fences rise, units are divided. The test checks, during the run and at the end:
//
// - a snapshot of all accounts has the sum that they began with, and each token is in one of its
//   two homes;
// - the queues have each account's changes once and in order, and every later reader sees what an
//   earlier reader saw;
// - each batch is in all places or in none: in all if it was acknowledged, in none if it was
//   refused;
// - counters agree with the number of changes;
// - snapshots have one order; each contains the changes acknowledged before it began, and the
//   predecessors of each change that it contains;
// - a read sees every change that was acknowledged before the read began;
// - a key that was only guarded did not change before the commit;
// - after a fence rose, no process that does not know it commits;
// - at the end nothing is left of any transaction.
//
// STATOR_SIM_SEED and STATOR_SIM_RUNS choose other runs.
#include <gtest/gtest.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <set>
#include <sstream>

#include "kv/conformance_model.h"
#include "kv_tx/simulation_world.h"

namespace stator::kv_tx::simulation {
namespace {

using kv::Batch;
using kv::Tablet;
using kv::Tier;
using kv::ValueOf;

constexpr Tablet kA{kv::Space::kItems, 1};
constexpr Tablet kB{kv::Space::kItems, 2};
constexpr Tablet kQueue{kv::Space::kLog, 3};
constexpr int64_t kBegin = 100;  // on each account
constexpr std::string_view kShared = "\x02n";

struct Account {
  Tablet tablet;
  std::string key;
  char shard;  // the shard of the queue
};

const std::vector<Account>& Accounts() {
  static const std::vector<Account> accounts = {{kA, "a0", 'A'}, {kA, "a1", 'A'}, {kA, "x0", 'X'},
                                                {kA, "x1", 'X'}, {kB, "b0", 'B'}, {kB, "b1", 'B'},
                                                {kB, "w0", 'B'}};
  return accounts;
}

struct State {
  int64_t balance = kBegin;
  int64_t version = 0;
  uint64_t transfer = 0;
  uint64_t fence = 0;

  std::string Text() const {
    std::ostringstream text;
    text << balance << ' ' << version << ' ' << transfer << ' ' << fence;
    return text.str();
  }
  static State From(std::string_view value) {
    std::istringstream text{std::string(value.substr(kv::kStampBytes))};
    State state;
    text >> state.balance >> state.version >> state.transfer >> state.fence;
    return state;
  }
};

enum class Outcome { kPending, kApplied, kRefused, kUnknown };

struct Transfer {
  Outcome outcome = Outcome::kPending;
  size_t accounts = 0;
  std::vector<int64_t> known;  // the versions of accounts acknowledged before it began
  const Process* process = nullptr;
};

class Simulation {
 public:
  Simulation(uint64_t seed, const Faults& faults) : seed_(seed), world_(seed, faults) {
    world_.Divide(kA, "m");
    world_.Divide(kQueue, "N");
  }

  void Run(uint64_t events) {
    Fill();
    for (int i = 0; i < 3; ++i) world_.Start();
    world_.on_kill = [this](Process&) { ++restarts_; };
    world_.act = [this] { return Act(); };
    while (world_.events < events && !failed()) {
      for (; restarts_ > 0; --restarts_) world_.Start();
      if (!world_.Step()) world_.Advance();
    }
    world_.act = nullptr;
    if (failed()) return;
    world_.Settle();
    for (auto& process : world_.processes) {
      Check(process->dead || busy_[process.get()] == 0, "every batch comes to an end");
      // The outcome of these is unknown.
      for (auto& [id, transfer] : transfers_) {
        if (process->dead && transfer.process == process.get() &&
            transfer.outcome == Outcome::kPending)
          transfer.outcome = Outcome::kUnknown;
      }
    }
    CheckEnd();
  }

  bool failed() const { return !failure_.empty(); }
  std::string failure() const {
    return "seed " + std::to_string(seed_) + ", event " + std::to_string(world_.events) + ": " +
           failure_;
  }
  std::map<std::string, double> Totals() {
    std::map<std::string, double> totals;
    for (auto& process : world_.processes) {
      for (const auto& [name, value] : process->engine->Statistics()) {
        if (name.starts_with("kv_tx_") && name != "kv_tx_oldest_unfinished_seconds")
          totals[name] += value;
      }
    }
    totals["kills"] = static_cast<double>(world_.kills);
    totals["freezes"] = static_cast<double>(world_.freezes);
    totals["unknown"] = static_cast<double>(world_.unknowns);
    totals["late"] = static_cast<double>(world_.applied_late);
    totals["divisions"] = static_cast<double>(world_.divisions);
    for (const auto& [id, transfer] : transfers_) {
      totals["transfers"] += 1;
      totals["transfers applied"] += transfer.outcome == Outcome::kApplied;
      totals["transfers unknown"] += transfer.outcome == Outcome::kUnknown;
    }
    totals["snapshots"] = snapshots_;
    totals["queue reads"] = queue_reads_;
    totals["direct"] = direct_;
    totals["reads"] = reads_;
    totals["skews"] = skews_;
    totals["moves"] = moves_;
    totals["checks"] = checks_;
    totals["fences"] = fences_;
    return totals;
  }

 private:
  struct Image {
    State state;
    uint64_t stamp = 0;
    kv::FatePtr left_by;
  };

  void Check(bool holds, const std::string& what) {
    if (!holds && failure_.empty()) failure_ = what;
  }

  void Fill() {
    const auto put = [&](Tablet tablet, const std::string& key, const std::string& text) {
      Batch batch;
      batch.puts.push_back({tablet, key, ValueOf(text)});
      ASSERT_TRUE(ApplyAndWait(*world_.raw, std::move(batch)).ok());
    };
    for (const Account& account : Accounts()) put(account.tablet, account.key, State().Text());
    put(kA, "p0", State().Text());
    put(kA, "p1", State().Text());
    put(kA, "t0", "token");
    put(kB, "t1", "token");
    put(kB, "check", "200");
    put(kA, "s", "0");
    put(kB, "s", "0");
  }

  Process* SomeProcess() {
    std::vector<Process*> able;
    for (auto& process : world_.processes) {
      if (!process->dead && !process->frozen) able.push_back(process.get());
    }
    return able.empty() ? nullptr : able[world_.random.Below(able.size())];
  }

  bool Act() {
    if (failed()) return false;
    Process* process = SomeProcess();
    if (process == nullptr || busy_[process] >= 4) return false;
    switch (world_.random.Below(28)) {
      case 0:
      case 1: Snapshot(*process); break;
      case 2:
      case 3: ReadQueue(*process); break;
      case 4: Direct(*process); break;
      case 5: MoveToken(*process); break;
      case 6: CheckPair(*process); break;
      case 7: Chore(*process); break;
      case 8: ReadOne(*process); break;
      case 9: Skew(*process); break;
      default: StartTransfer(*process);
    }
    return true;
  }

  // Reads as the table layer does: from memory, else from the store.
  Result<bool> Read(Process& process, Tablet tablet, const std::string& key, bool again,
                    std::string* value) {
    if (!again) {
      Result<bool> quick = process.engine->Get(tablet, key, Tier::kGuarded, value);
      if (quick.ok() || quick.error().code() != ErrorCode::kWouldBlock) return quick;
    }
    return process.engine->Get(tablet, key, Tier::kAny, value);
  }

  // Applies a batch. Runs `again` if the caller should retry.
  void Apply(Process& process, Batch batch, std::function<void(Outcome)> then,
             std::function<void()> again) {
    ++busy_[&process];
    auto fate = batch.fate;
    const std::vector<kv::FatePtr> after = batch.after;
    process.engine->Apply(
        std::move(batch), [this, &process, fate, after, then, again](Result<uint64_t> applied) {
          --busy_[&process];
          if (fate != nullptr && !applied.ok()) fate->failed = true;
          if (process.dead) return then(Outcome::kUnknown);
          if (applied.ok()) {
            if (fate != nullptr)
              Check(fate->stamp == *applied, "a fate has the stamp of its batch");
            return then(Outcome::kApplied);
          }
          const ErrorCode code = applied.error().code();
          if (code == ErrorCode::kOutcomeUnknown) return then(Outcome::kUnknown);
          Check(code == ErrorCode::kGuardFailed || code == ErrorCode::kUnavailable ||
                    code == ErrorCode::kFenced,
                applied.error().message());
          if (code == ErrorCode::kUnavailable && world_.faults.none()) {
            Check(std::any_of(after.begin(), after.end(),
                              [](const kv::FatePtr& of) { return of->failed.load(); }),
                  "without faults a batch is refused only for others or with others: " +
                      applied.error().message());
          }
          then(Outcome::kRefused);
          if (code == ErrorCode::kFenced) process.fences = current_fences_;
          if (code == ErrorCode::kGuardFailed && again) again();
        });
  }

  void StartTransfer(Process& process) {
    std::vector<size_t> chosen;
    const size_t count = 1 + world_.random.Below(3);
    while (chosen.size() < count) {
      const size_t i = world_.random.Below(Accounts().size());
      if (std::find(chosen.begin(), chosen.end(), i) == chosen.end()) chosen.push_back(i);
    }
    TryTransfer(process, chosen, 0);
  }

  void TryTransfer(Process& process, std::vector<size_t> chosen, int attempt) {
    Check(attempt < 60, "whoever tries again and again gets through");
    if (process.dead || failed()) return;
    std::map<size_t, Image> images;
    for (const size_t i : chosen) {
      std::string value;
      const Account& account = Accounts()[i];
      const Result<bool> found = Read(process, account.tablet, account.key, attempt > 0, &value);
      if (!found.ok()) return;
      Check(*found, "an account is always there");
      if (!*found) return;
      images[i] = {State::From(value), kv::StampOf(value), nullptr};
    }
    // A chain of batches, each computed from the images that the previous one leaves.
    uint64_t chain = world_.random.Below(3) == 0 ? 1 + world_.random.Below(3) : 1;
    for (; chain > 0 && !process.dead; --chain) {
      std::vector<size_t> now = chosen;
      if (now.size() > 1 && world_.random.Below(3) == 0) now.pop_back();
      ApplyTransfer(process, now, &images, attempt);
    }
  }

  void ApplyTransfer(Process& process, const std::vector<size_t>& chosen,
                     std::map<size_t, Image>* images, int attempt) {
    const uint64_t id = ++last_transfer_;
    Transfer& transfer = transfers_[id];
    transfer.accounts = chosen.size();
    transfer.process = &process;
    for (const Account& account : Accounts()) transfer.known.push_back(acknowledged_[account.key]);
    Batch batch;
    batch.fate = std::make_shared<kv::BatchFate>();
    int64_t rest = 0;
    uint8_t index = 0;
    std::vector<Tablet> fenced;
    for (size_t k = 0; k < chosen.size(); ++k) {
      const Account& account = Accounts()[chosen[k]];
      Image& image = (*images)[chosen[k]];
      batch.guards.push_back({account.tablet, account.key, image.stamp, image.left_by});
      if (image.left_by != nullptr) batch.after.push_back(image.left_by);
      const int64_t moved =
          k + 1 == chosen.size() ? -rest : static_cast<int64_t>(world_.random.Below(21)) - 10;
      rest += moved;
      State& state = image.state;
      state.balance += moved;
      ++state.version;
      state.transfer = id;
      state.fence = process.fences[account.tablet];
      batch.puts.push_back({account.tablet, account.key, ValueOf(state.Text())});
      // The key of its record: shard, stamp, number in the batch.
      std::string key(1, account.shard);
      key.append(kv::kStampBytes, '\0');
      key.push_back(static_cast<char>(index++));
      batch.puts.push_back({kQueue, key, ValueOf(account.key + " " + state.Text()), 1});
      Count(&batch, account.tablet, std::string(kShared));
      Count(&batch, account.tablet, "c" + account.key);
      if (std::find(fenced.begin(), fenced.end(), account.tablet) == fenced.end())
        fenced.push_back(account.tablet);
      image.stamp = 0;
      image.left_by = batch.fate;
    }
    for (const Tablet tablet : fenced) batch.fences.push_back({tablet, process.fences[tablet]});
    std::map<std::string, int64_t> versions;
    for (const size_t i : chosen) versions[Accounts()[i].key] = (*images)[i].state.version;
    Apply(
        process, std::move(batch),
        [this, &transfer, versions](Outcome outcome) {
          transfer.outcome = outcome;
          if (outcome != Outcome::kApplied) return;
          for (const auto& [key, version] : versions)
            acknowledged_[key] = std::max(acknowledged_[key], version);
        },
        [this, &process, chosen, attempt] {
          // Not inside the `done`.
          process.scheduler.Post(
              [this, &process, chosen, attempt] { TryTransfer(process, chosen, attempt + 1); }, 0);
        });
  }

  static void Count(Batch* batch, Tablet tablet, const std::string& key) {
    for (kv::Add& add : batch->adds) {
      if (add.tablet == tablet && add.key == key) {
        ++add.delta;
        return;
      }
    }
    batch->adds.push_back({tablet, key, 1});
  }

  // A read sees every change that was acknowledged before it began.
  void ReadOne(Process& process) {
    const Account& account = Accounts()[world_.random.Below(Accounts().size())];
    const int64_t acknowledged = acknowledged_[account.key];
    ++reads_;
    std::string value;
    const Result<bool> found = process.engine->Get(account.tablet, account.key, Tier::kAny, &value);
    if (!found.ok())
      return Check(found.error().code() == ErrorCode::kUnavailable, found.error().message());
    Check(*found, "an account is always there");
    if (*found)
      Check(State::From(value).version >= acknowledged,
            "a read sees what was acknowledged before it began");
  }

  // A batch within one unit.
  void Direct(Process& process) {
    Batch batch;
    State states[2];
    for (int i = 0; i < 2; ++i) {
      std::string value;
      const std::string key = "p" + std::to_string(i);
      const Result<bool> found = Read(process, kA, key, world_.random.Below(2) == 0, &value);
      if (!found.ok() || !*found) return Check(!found.ok(), "a pair is always there");
      states[i] = State::From(value);
      batch.guards.push_back({kA, key, kv::StampOf(value)});
    }
    ++direct_;
    states[0].balance += 7;
    states[1].balance -= 7;
    for (int i = 0; i < 2; ++i)
      batch.puts.push_back({kA, "p" + std::to_string(i), ValueOf(states[i].Text())});
    Apply(
        process, std::move(batch), [](Outcome) {}, nullptr);
  }

  // Writes into one unit two values read at different times, and guards the one in the other unit.
  void CheckPair(Process& process) {
    Batch batch;
    int64_t sum = 0;
    std::string value;
    for (const char* key : {"p0", "p1"}) {
      const Result<bool> found = Read(process, kA, key, world_.random.Below(2) == 0, &value);
      if (!found.ok() || !*found) return Check(!found.ok(), "a pair is always there");
      sum += State::From(value).balance;
      batch.guards.push_back({kA, key, kv::StampOf(value)});
    }
    if (world_.random.Below(2) == 0) {
      const Result<bool> found = Read(process, kB, "check", true, &value);
      if (!found.ok() || !*found) return;
      // The other unit is the primary one.
      batch.guards.insert(batch.guards.begin(), {kB, "check", kv::StampOf(value)});
    }
    batch.puts.push_back({kB, "check", ValueOf(std::to_string(sum))});
    ++checks_;
    Apply(
        process, std::move(batch),
        [this, sum](Outcome outcome) {
          if (outcome == Outcome::kApplied)
            Check(sum == 2 * kBegin,
                  "what a batch guards in other units was so when it was committed");
        },
        nullptr);
  }

  // Sets one of two keys only while the other, which is guarded and not written, is not set.
  void Skew(Process& process) {
    const Tablet homes[2] = {kA, kB};
    const std::string keys[2] = {"s", "s"};
    const size_t mine = world_.random.Below(2);
    Batch batch;
    bool set[2];
    for (size_t i = 0; i < 2; ++i) {
      std::string value;
      const Result<bool> found =
          Read(process, homes[i], keys[i], world_.random.Below(2) == 0, &value);
      if (!found.ok() || !*found) return Check(!found.ok(), "the two are always there");
      set[i] = value.substr(kv::kStampBytes) == "1";
      batch.guards.push_back({homes[i], keys[i], kv::StampOf(value)});
    }
    if (!set[mine] && set[1 - mine]) return;
    if (world_.random.Below(2) == 0) std::swap(batch.guards[0], batch.guards[1]);
    batch.puts.push_back({homes[mine], keys[mine], ValueOf(set[mine] ? "0" : "1")});
    ++skews_;
    Apply(
        process, std::move(batch), [](Outcome) {}, nullptr);
  }

  void MoveToken(Process& process) {
    const std::string key = world_.random.Below(2) == 0 ? "t0" : "t1";
    Batch batch;
    std::string values[2];
    bool there[2];
    const Tablet homes[2] = {kA, kB};
    for (int i = 0; i < 2; ++i) {
      const Result<bool> found =
          Read(process, homes[i], key, world_.random.Below(2) == 0, &values[i]);
      if (!found.ok()) return;
      there[i] = *found;
      batch.guards.push_back({homes[i], key, *found ? kv::StampOf(values[i]) : 0});
    }
    if (there[0] == there[1]) return;  // the reads were not of one moment
    const int from = there[0] ? 0 : 1;
    batch.deletes.push_back({homes[from], key});
    batch.puts.push_back({homes[1 - from], key, ValueOf("token")});
    if (world_.random.Below(2) == 0) std::swap(batch.guards[0], batch.guards[1]);
    ++moves_;
    Apply(
        process, std::move(batch), [](Outcome) {}, nullptr);
  }

  void Snapshot(Process& process) {
    std::vector<kv::Point> points;
    for (const Account& account : Accounts()) points.push_back({account.tablet, account.key});
    const size_t accounts = points.size();
    for (const char* key : {"t0", "t1"}) {
      points.push_back({kA, key});
      points.push_back({kB, key});
    }
    points.push_back({kA, "p0"});
    points.push_back({kA, "p1"});
    points.push_back({kB, "check"});
    points.push_back({kA, "s"});
    points.push_back({kB, "s"});
    const std::map<std::string, int64_t> acknowledged = acknowledged_;
    std::vector<std::optional<std::string>> values;
    const Status read = process.engine->MultiGet(points, Tier::kAny, &values);
    if (!read.ok())
      return Check(read.error().code() == ErrorCode::kUnavailable, read.error().message());
    ++snapshots_;
    CheckSnapshot(accounts, values);
    if (failed()) return;
    std::vector<int64_t> versions;
    for (size_t i = 0; i < accounts; ++i) {
      const State state = State::From(*values[i]);
      versions.push_back(state.version);
      const auto before = acknowledged.find(Accounts()[i].key);
      Check(before == acknowledged.end() || state.version >= before->second,
            "a snapshot has what was acknowledged before it began");
    }
    for (size_t i = 0; i < accounts; ++i) {
      const auto transfer = transfers_.find(State::From(*values[i]).transfer);
      if (transfer == transfers_.end()) continue;  // no batch has changed it yet
      const std::vector<int64_t>& known = transfer->second.known;
      for (size_t k = 0; k < accounts; ++k) {
        Check(versions[k] >= known[k],
              "a snapshot that has a change has what was acknowledged before that began");
      }
    }
    if (!failed()) seen_versions_.insert(std::move(versions));
  }

  // Any two snapshots have an order.
  void CheckOrderOfSnapshots() {
    std::vector<std::vector<int64_t>> all(seen_versions_.begin(), seen_versions_.end());
    const auto sum = [](const std::vector<int64_t>& versions) {
      return std::accumulate(versions.begin(), versions.end(), int64_t{0});
    };
    std::sort(all.begin(), all.end(),
              [&](const auto& a, const auto& b) { return sum(a) < sum(b); });
    for (size_t i = 1; i < all.size(); ++i) {
      for (size_t k = 0; k < all[i].size(); ++k)
        Check(all[i][k] >= all[i - 1][k], "of two snapshots one is the later one");
    }
  }

  void CheckSnapshot(size_t accounts, const std::vector<std::optional<std::string>>& values) {
    int64_t sum = 0;
    for (size_t i = 0; i < accounts; ++i) {
      Check(values[i].has_value(), "an account is always there");
      if (values[i]) sum += State::From(*values[i]).balance;
    }
    Check(sum == static_cast<int64_t>(accounts) * kBegin,
          "a snapshot has the sum " + std::to_string(sum));
    Check(values[accounts].has_value() != values[accounts + 1].has_value(),
          "a token is in one of its homes");
    Check(values[accounts + 2].has_value() != values[accounts + 3].has_value(),
          "the other token is in one of its homes");
    if (!values[accounts + 4] || !values[accounts + 5] || !values[accounts + 6])
      return Check(false, "a pair is always there");
    Check(State::From(*values[accounts + 4]).balance + State::From(*values[accounts + 5]).balance ==
              2 * kBegin,
          "the two of a pair have their sum");
    Check(values[accounts + 6]->substr(kv::kStampBytes) == "200",
          "a check has found the sum of a pair");
    if (!values[accounts + 7] || !values[accounts + 8])
      return Check(false, "the two are always there");
    Check(values[accounts + 7]->substr(kv::kStampBytes) != "1" ||
              values[accounts + 8]->substr(kv::kStampBytes) != "1",
          "what a batch only guards holds when it is committed");
  }

  // Returns the keys of a shard, from one end.
  std::optional<std::vector<std::pair<std::string, std::string>>> ScanShard(kv::Engine& engine,
                                                                            char shard,
                                                                            bool reverse) {
    std::vector<std::pair<std::string, std::string>> records;
    const std::string begin(1, shard), end(1, static_cast<char>(shard + 1));
    const Status read = engine.Scan({kQueue, begin, end, reverse}, Tier::kAny,
                                    [&](std::string_view key, std::string_view value) {
                                      records.emplace_back(key, value.substr(kv::kStampBytes));
                                      return true;
                                    });
    if (!read.ok()) {
      Check(read.error().code() == ErrorCode::kUnavailable, read.error().message());
      return std::nullopt;
    }
    return records;
  }

  void ReadQueue(Process& process) {
    const char shard = "AXB"[world_.random.Below(3)];
    const size_t known = seen_[shard].size();
    std::string last;
    if (world_.random.Below(2) == 0) {
      auto back = ScanShard(*process.engine, shard, true);
      if (!back) return;
      std::reverse(back->begin(), back->end());
      CheckShard(shard, *back, known, "backward");
      if (!back->empty()) last = back->back().first;
    }
    const auto records = ScanShard(*process.engine, shard, false);
    if (!records) return;
    ++queue_reads_;
    CheckShard(shard, *records, known, "forward");
    if (!last.empty()) {
      const auto below = std::count_if(records->begin(), records->end(),
                                       [&](const auto& record) { return record.first <= last; });
      ends_.push_back({shard, last, static_cast<size_t>(below)});
    }
    if (records->size() > seen_[shard].size()) seen_[shard] = *records;
  }

  void CheckShard(char shard, const std::vector<std::pair<std::string, std::string>>& records,
                  size_t known, const std::string& how) {
    Check(records.size() >= known, "what a reader of a queue saw, later ones see, " + how);
    // All readers saw the same records.
    const auto& seen = seen_[shard];
    for (size_t i = 0; i < std::min(records.size(), seen.size()); ++i)
      Check(records[i] == seen[i], "a queue only grows at its end, " + how);
    std::map<std::string, int64_t> versions;
    for (const auto& [key, text] : records) {
      const size_t space = text.find(' ');
      const std::string account = text.substr(0, space);
      const State state = State::From(ValueOf(text.substr(space + 1)));
      Check(state.version == ++versions[account],
            "a queue has the changes of " + account + " in order, " + how);
    }
  }

  // Runs a periodic job of the server.
  void Chore(Process& process) {
    if (chore_) return;
    chore_ = true;
    switch (world_.random.Below(4)) {
      case 0:
        (void)process.engine->Sweep(Some<Tablet>({kA, kB, kQueue}),
                                    static_cast<int64_t>(world_.random.Below(3)));
        break;
      case 1: RaiseFence(process); break;
      case 2:
        world_.Divide(Some<Tablet>({kA, kB}), Some<std::string>({"a1", "b1", "p1", "t", "x1"}));
        break;
      default: break;
    }
    chore_ = false;
  }

  template <typename T>
  T Some(std::vector<T> of) {
    return of[world_.random.Below(of.size())];
  }

  void RaiseFence(Process& process) {
    const Tablet tablet = Some<Tablet>({kA, kB});
    const uint64_t fence = ++last_fence_;
    current_fences_[tablet] = std::max(current_fences_[tablet], fence);
    const Status raised = process.engine->RaiseFence(tablet, fence);
    if (!raised.ok() || process.dead) return;
    process.fences[tablet] = std::max(process.fences[tablet], fence);
    ++fences_;
    // From now on no process can commit that does not know the fence.
    for (const Account& account : Accounts()) {
      if (account.tablet != tablet) continue;
      std::string value;
      const Result<bool> found = process.engine->Get(tablet, account.key, Tier::kAny, &value);
      if (found.ok() && *found)
        raised_.push_back({account.key, account.shard, State::From(value).version, fence});
    }
  }

  void CheckEnd() {
    world_.late.clear();
    Process& last = world_.Start();
    const int64_t day = int64_t{24} * 3600 * 1'000'000;
    for (int round = 0; round < 2; ++round) {
      // Intents first: an operation of a dead process may have been applied after all sweeps.
      for (const Tablet tablet : {kA, kB, kQueue})
        Check(last.engine->Sweep(tablet, 0), "everything can be settled");
      world_.Settle();
      world_.clock.AdvanceMicros(2 * day);
    }
    for (const Tablet tablet : {kA, kB, kQueue}) {
      const Status read = world_.raw->Scan(
          {tablet, {}, {}}, Tier::kAny, [&](std::string_view key, std::string_view value) {
            Check(!IsIntent(value), "no intent is left");
            Check(key[0] != kEngineKey, "no note and no record is left");
            return true;
          });
      Check(read.ok(), "the store can be read");
    }
    Snapshot(last);
    CheckOrderOfSnapshots();
    std::map<uint64_t, size_t> records;  // records of each transfer
    std::map<std::string, int64_t> versions;
    std::map<char, std::vector<std::pair<std::string, std::string>>> shards;
    for (const char shard : {'A', 'X', 'B'}) {
      const auto all = ScanShard(*last.engine, shard, false);
      Check(all.has_value(), "a queue can be read");
      if (!all) return;
      CheckShard(shard, *all, seen_[shard].size(), "in the end");
      for (const auto& [key, text] : *all) {
        const size_t space = text.find(' ');
        const State state = State::From(ValueOf(text.substr(space + 1)));
        const std::string account = text.substr(0, space);
        ++records[state.transfer];
        versions[account] = state.version;
        for (const Raised& raised : raised_) {
          Check(raised.account != account || state.version <= raised.version ||
                    state.fence >= raised.fence,
                "after a fence rose nobody commits who does not know it");
        }
      }
      shards[shard] = *all;
    }
    for (const End& end : ends_) {
      const auto& all = shards[end.shard];
      const auto below = std::count_if(all.begin(), all.end(),
                                       [&](const auto& record) { return record.first <= end.key; });
      Check(static_cast<size_t>(below) == end.records,
            "nothing comes into a queue before what was its last record");
    }
    for (const auto& [id, transfer] : transfers_) {
      const size_t there = records[id];
      const std::string name = "transfer " + std::to_string(id);
      Check(there == 0 || there == transfer.accounts, name + " is in all places or in none");
      Check(transfer.outcome != Outcome::kPending, name + " has come to an end");
      if (transfer.outcome == Outcome::kApplied)
        Check(there > 0, name + " was acknowledged and is lost");
      if (transfer.outcome == Outcome::kRefused)
        Check(there == 0, name + " was refused and is there");
    }
    std::map<Tablet, int64_t> counts;
    for (const Account& account : Accounts()) {
      std::string value;
      const Result<bool> found = last.engine->Get(account.tablet, account.key, Tier::kAny, &value);
      Check(found.ok() && *found && State::From(value).version == versions[account.key],
            "the queue has the changes of " + account.key + " up to the last");
      Check(CounterAt(last, account.tablet, "c" + account.key) == versions[account.key],
            "the counter of " + account.key + " is right");
      counts[account.tablet] += versions[account.key];
    }
    for (const auto& [tablet, count] : counts) {
      Check(CounterAt(last, tablet, std::string(kShared)) == count,
            "the counter of a tablet is right");
    }
  }

  int64_t CounterAt(Process& process, Tablet tablet, const std::string& key) {
    std::string value;
    const Result<bool> found = process.engine->Get(tablet, key, Tier::kAny, &value);
    if (!found.ok()) return -1;
    return *found ? *kv::CounterOf(value) : 0;
  }

  struct Raised {
    std::string account;
    char shard;
    int64_t version;
    uint64_t fence;
  };
  struct End {
    char shard;
    std::string key;
    size_t records;
  };

  const uint64_t seed_;
  std::string failure_;
  std::map<const Process*, int> busy_;
  int restarts_ = 0;
  bool chore_ = false;
  std::map<uint64_t, Transfer> transfers_;
  uint64_t last_transfer_ = 0;
  std::map<char, std::vector<std::pair<std::string, std::string>>> seen_;
  std::vector<End> ends_;
  std::set<std::vector<int64_t>> seen_versions_;  // versions seen by snapshots
  std::map<std::string, int64_t> acknowledged_;   // the last acknowledged version of each account
  std::map<Tablet, uint64_t> current_fences_;
  uint64_t last_fence_ = 0;
  std::vector<Raised> raised_;
  int snapshots_ = 0, queue_reads_ = 0, direct_ = 0, moves_ = 0, checks_ = 0, fences_ = 0,
      reads_ = 0, skews_ = 0;
  World world_;  // destroyed first, because its operations call back
};

uint64_t Number(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

#ifdef __SANITIZE_THREAD__  // a single thread has no races, and TSan makes it as slow as many
constexpr uint64_t kRuns = 2;
#else
constexpr uint64_t kRuns = 12;
#endif

void RunMany(const Faults& faults, uint64_t first_seed) {
  const uint64_t first = Number("STATOR_SIM_SEED", first_seed);
  const uint64_t runs = Number("STATOR_SIM_RUNS", kRuns);
  std::map<std::string, double> totals;
  for (uint64_t seed = first; seed < first + runs; ++seed) {
    Simulation simulation(seed, faults);
    simulation.Run(Number("STATOR_SIM_EVENTS", 40'000));
    ASSERT_FALSE(simulation.failed()) << simulation.failure();
    for (const auto& [name, value] : simulation.Totals()) totals[name] += value;
  }
  std::ostringstream text;
  for (const auto& [name, value] : totals) text << name << " " << value << ", ";
  testing::Test::RecordProperty("totals", text.str());
  std::printf("TransactionSimulation: simulated seeds %" PRIu64 " to %" PRIu64 "\n", first,
              first + runs - 1);
  if (std::getenv("STATOR_SIM_TOTALS") != nullptr) std::printf("%s\n", text.str().c_str());
  for (const char* name : {"kv_tx_commits", "kv_tx_conflicts", "transfers applied", "snapshots",
                           "queue reads", "moves", "checks", "reads", "skews"}) {
    EXPECT_GT(totals[name], 10 * static_cast<double>(runs)) << name;
  }
}

TEST(TransactionSimulation, WithoutFaults) {
  RunMany({.unavailable = 0, .unknown = 0, .unreadable = 0, .kill = 0, .freeze = 0}, 1);
}
TEST(TransactionSimulation, WithFaults) { RunMany({}, 1000); }
TEST(TransactionSimulation, WithManyFaults) {
  RunMany({.unavailable = 0.03, .unknown = 0.08, .unreadable = 0.02, .kill = 0.004, .freeze = 0.01},
          2000);
}

}  // namespace
}  // namespace stator::kv_tx::simulation
