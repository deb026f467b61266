// The implementation of simulation_clients.h; it has no tests of its own.
#include "kv_rados/simulation_clients.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kv_rados/routing.h"

namespace stator::kv_rados::simulation {
namespace {

constexpr uint64_t kValueRatio = 8;  // of what the cells of the largest and the smallest value take
constexpr int kSettledRounds = 10;   // of a second, in which nothing is left to be done
constexpr size_t kOutstanding = 4;   // batches of a client without an answer
constexpr char kItemKind = 1, kCounterKind = 2, kCollectionKind = 3, kLocalKind = 0x10;

}  // namespace

struct Clients::Client {
  Process& process;
  // Not answered yet; shared with the `done`s.
  std::shared_ptr<size_t> open = std::make_shared<size_t>(0);
  std::deque<SentPtr> recent = {};
  kv::Engine& engine() { return *process.engine; }
};

Clients::Clients(World& world, Model& model, const Mix& mix)
    : world_(world),
      model_(model),
      mix_(mix),
      local_(world.Chance(mix.local)),
      equal_(world.Chance(mix.equal)) {
  if (!equal_) model_.value_ratio = kValueRatio;
}

World::Client Clients::Make(int actions) {
  return [this, actions](Process& process) { Run(process, actions); };
}

void Clients::Run(Process& process, int actions) {
  Client client{process};
  for (int i = 0; i < actions && !process.dead && world_.verdict.ok(); ++i) {
    if (world_.Chance(mix_.pause))
      world_.Sleep(static_cast<int64_t>(world_.random.Below(5'000'000)));
    Act(client);
    const size_t may_stay = world_.random.Below(kOutstanding);
    world_.Await([&] { return *client.open <= may_stay; });
  }
  world_.Await([&] { return *client.open == 0; });
}

void Clients::Act(Client& client) {
  model_.Passed(world_.clock.TicksMicros());
  const double chance = world_.random.Unit();
  double below = mix_.split;
  if (chance < below) return Split(client);
  if (chance < (below += mix_.fence)) return RaiseFence(client);
  if (chance < (below += mix_.drop)) return Drop(client);
  if (chance < (below += mix_.scan)) return Scan(client);
  if (chance < below + mix_.read) return Read(client);
  Write(client);
}

kv::Tablet Clients::ItemTablet() {
  if (world_.Chance(0.03)) return kCatalog;
  return mix_.drop > 0 && world_.Chance(0.4) ? kDropped : kItems;
}

// ---- keys and values ----------------------------------------------------------------------------

std::string Clients::Hash() {
  return fmt::format("hash-{:011}", world_.random.Below(static_cast<uint64_t>(mix_.hashes)));
}

std::string Clients::ItemKey(const std::string& hash) {
  const uint64_t choice = world_.random.Below(local_ ? 5 : 3);
  if (choice == 3) return std::string(1, kCollectionKind) + hash;
  const char kind = choice == 4 ? kLocalKind : kItemKind;
  std::string key = std::string(1, kind) + hash;
  // Bytes that are escaped, too.
  key.push_back(static_cast<char>(world_.random.Below(4)));
  return key;
}

std::string Clients::Value() {
  std::string value(kv::kStampBytes, '\0');
  value += fmt::format("value {:6} ", ++last_value_);
  value.append(equal_ ? mix_.max_value / 2 : world_.random.Below(mix_.max_value), 'x');
  return value;
}

// ---- batches ------------------------------------------------------------------------------------

void Clients::Apply(Client& client, kv::Batch batch, const std::vector<SentPtr>& after) {
  for (const SentPtr& each : after) batch.after.push_back(each->fate);
  if (world_.Chance(mix_.wait))
    batch.may_wait_micros = static_cast<int64_t>(world_.random.Below(50'000));
  if (world_.Chance(0.5) && !batch.empty()) {
    // Some name a fence that has been passed: every part has to refuse them.
    const bool passed = mix_.fence > 0 && fence_ > 0 && world_.Chance(0.2);
    batch.fences.push_back(
        {batch.puts.empty() ? kItems : batch.puts[0].tablet, passed ? fence_ - 1 : fence_});
  }
  const SentPtr sent = model_.Send(client.process.number, batch);
  batch.fate = sent->fate;
  ++*client.open;
  client.recent.push_back(sent);
  if (client.recent.size() > kOutstanding) client.recent.pop_front();
  client.engine().Apply(std::move(batch),
                        [this, sent, open = client.open](const Result<uint64_t>& outcome) {
                          if (!outcome.ok()) sent->fate->failed.store(true);
                          model_.Finish(*sent, outcome);
                          --*open;
                          world_.Changed();
                          ++answered;
                          if (outcome.ok()) return;
                          ++refused;
                          if (outcome.error().code() == ErrorCode::kGuardFailed) ++guard_failures;
                        });
}

void Clients::Write(Client& client) {
  if (world_.Chance(mix_.range)) return DeleteRanges(client);
  if (world_.Chance(mix_.log)) return WriteQueue(client);
  if (world_.Chance(0.02)) return Apply(client, {});  // a barrier
  WriteItems(client);
}

void Clients::WriteItems(Client& client) {
  const kv::Tablet tablet = ItemTablet();
  std::string hash = Hash();
  std::vector<std::string> keys;
  std::map<std::string, kv::Guard> guards;
  std::vector<SentPtr> after;
  if (!client.recent.empty() && world_.Chance(mix_.chained)) {
    const SentPtr& before = client.recent[world_.random.Below(client.recent.size())];
    const kv::Batch& batch = before->batch;
    if (!batch.puts.empty() && batch.puts[0].tablet == tablet) {
      after.push_back(before);
      const std::string& key = batch.puts[world_.random.Below(batch.puts.size())].key;
      keys.push_back(key);
      guards[key] = {.tablet = tablet, .key = key, .left_by = before->fate};
      if (key.size() >= 17) hash = key.substr(key[0] == '\xff' ? 3 : 1, 16);
    }
  }
  const size_t count = 1 + world_.random.Below(4);
  while (keys.size() < count) {
    // Some beside the others, so that the batch may span parts.
    std::string key = ItemKey(world_.Chance(0.05) ? Hash() : hash);
    if (world_.Chance(0.1))
      key =
          "\xff"
          "I" +
          key + "0123456789abcdef";
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(std::move(key));
    if (world_.Chance(0.1)) break;
  }
  if (world_.Chance(mix_.guarded)) {
    std::vector<kv::Point> points;
    for (const std::string& key : keys) points.push_back({tablet, key});
    std::vector<std::optional<std::string>> values;
    const Model::Moment since = model_.now();
    Status read = client.engine().MultiGet(points, kv::Tier::kGuarded, &values);
    if (read.ok()) {
      for (size_t i = 0; i < keys.size(); ++i) model_.CheckStale(tablet, keys[i], values[i]);
    } else {
      read = client.engine().MultiGet(points, kv::Tier::kAny, &values);
      if (read.ok() && !model_.IsDropped(tablet)) {
        model_.CheckRead(since, tablet, keys, values);
        Answered(client, since, tablet, keys, values);
      }
    }
    if (!read.ok()) return;
    ++reads;
    for (size_t i = 0; i < keys.size(); ++i) {
      if (guards.contains(keys[i])) continue;
      guards[keys[i]] = {
          .tablet = tablet, .key = keys[i], .stamp = values[i] ? kv::StampOf(*values[i]) : 0};
    }
  }
  kv::Batch batch;
  for (auto& [key, guard] : guards) {
    if (guard.left_by != nullptr || world_.Chance(0.8)) batch.guards.push_back(guard);
  }
  for (const std::string& key : keys) {
    const uint64_t what = world_.random.Below(10);
    if (what < 7) {
      batch.puts.push_back({tablet, key, Value()});
    } else if (what < 9) {
      batch.deletes.push_back({tablet, key});
    }
  }
  if (tablet == kItems && world_.Chance(0.2))
    batch.adds.push_back({tablet, std::string(1, kCounterKind) + "count", 1});
  if (world_.Chance(0.05)) {
    // The range is deleted first.
    batch.range_deletes.push_back(
        {tablet, std::string(1, kItemKind) + hash, std::string(1, kItemKind) + hash + "\x02"});
  }
  if (batch.empty()) return;
  Apply(client, std::move(batch), after);
}

void Clients::WriteQueue(Client& client) {
  const std::string queue = fmt::format("queue-{}.", world_.random.Below(2));
  kv::Batch batch;
  if (world_.Chance(0.75)) {
    const size_t count = 1 + world_.random.Below(3);
    for (size_t i = 0; i < count; ++i) {
      std::string key = queue + std::string(8, '\0') + static_cast<char>('a' + i);
      batch.puts.push_back({kQueue, std::move(key), Value(), static_cast<int>(queue.size())});
    }
    return Apply(client, std::move(batch));
  }
  // Trims what is older.
  const auto& keys = model_.KeysOf(kQueue);
  const auto first = keys.lower_bound(queue);
  std::string until = queue + std::string(1, '\x7f');
  if (first != keys.end()) {
    auto at = first;
    for (uint64_t i = world_.random.Below(8); i > 0 && at != keys.end(); --i) ++at;
    if (at != keys.end() && at->first.starts_with(queue)) until = at->first;
  }
  batch.range_deletes.push_back({kQueue, queue, until});
  AddMark(&batch);
  Apply(client, std::move(batch));
}

void Clients::AddMark(kv::Batch* batch) {
  const std::string begin = fmt::format(
      "{}~{:08}", batch->range_deletes[0].tablet == kItems ? "\x01" : "", ++last_value_);
  batch->range_deletes.push_back({batch->range_deletes[0].tablet, begin, begin + "\x01"});
}

void Clients::DeleteRanges(Client& client) {
  kv::Batch batch;
  std::string begin, end;
  const kv::Range range = RandomRange(&begin, &end);
  if (range.begin.empty() && !world_.Chance(0.1)) return;
  batch.range_deletes.push_back({range.tablet, begin, end});
  if (world_.Chance(0.2))
    batch.range_deletes.push_back({range.tablet, begin + "\x01", end.empty() ? end : end + "\x01"});
  AddMark(&batch);
  Apply(client, std::move(batch));
}

// ---- reads --------------------------------------------------------------------------------------

void Clients::Read(Client& client) {
  ++reads;
  const kv::Tablet tablet = ItemTablet();
  const bool dropped = model_.IsDropped(tablet);
  const std::string hash = Hash();
  std::vector<std::string> keys;
  const size_t count = 1 + world_.random.Below(3);
  for (size_t i = 0; i < count; ++i) keys.push_back(ItemKey(hash));
  if (tablet == kItems && world_.Chance(0.1))
    keys.push_back(std::string(1, kCounterKind) + "count");
  const Model::Moment since = model_.now();
  if (world_.Chance(mix_.recent)) return ReadRecent(client, tablet, keys[0]);
  if (world_.Chance(0.4)) {
    const size_t open = *client.open;
    ++*client.open;
    client.engine().GetLater(tablet, keys[0],
                             [this, since, tablet, dropped, key = keys[0], opened = client.open,
                              number = client.process.number, dead = &client.process.dead](
                                 Result<std::optional<std::string>> value) {
                               --*opened;
                               world_.Changed();
                               if (!*dead && dropped && value.ok())
                                 model_.Fail("a dropped tablet was read");
                               if (*dead || !value.ok() || model_.IsDropped(tablet)) return;
                               model_.CheckRead(since, tablet, {key}, {*value});
                               if (RouteOf(tablet.space, key))
                                 model_.Answered(number, since, tablet, key, *value);
                             });
    world_.Await([&] { return *client.open <= open; });
    return;
  }
  std::vector<kv::Point> points;
  for (const std::string& key : keys) points.push_back({tablet, key});
  std::vector<std::optional<std::string>> values;
  const Status read = client.engine().MultiGet(points, kv::Tier::kAny, &values);
  if (client.process.dead) return;
  if (read.ok() && dropped) return model_.Fail("a dropped tablet was read");
  if (read.ok() && model_.IsDropped(tablet)) return;
  if (read.ok()) {
    model_.CheckRead(since, tablet, keys, values);
    return Answered(client, since, tablet, keys, values);
  }
  if (read.error().code() == ErrorCode::kCorruption || read.error().code() == ErrorCode::kInternal)
    model_.Fail("a read found " + read.error().message());
}

// Several keys of one tablet were read.
void Clients::Answered(Client& client, Model::Moment since, kv::Tablet tablet,
                       const std::vector<std::string>& keys,
                       const std::vector<std::optional<std::string>>& values) {
  for (size_t i = 0; i < keys.size(); ++i) {
    if (RouteOf(tablet.space, keys[i]))
      model_.Answered(client.process.number, since, tablet, keys[i], values[i]);
  }
}

void Clients::ReadRecent(Client& client, kv::Tablet tablet, const std::string& key) {
  const size_t open = *client.open;
  ++*client.open;
  const Model::Moment since = model_.RecentSince(client.process.number, world_.clock.TicksMicros(),
                                                 world_.options().recent_micros, tablet, key);
  client.engine().GetRecent(
      tablet, key,
      [this, since, tablet, key, opened = client.open, number = client.process.number,
       dead = &client.process.dead](Result<std::optional<std::string>> value) {
        --*opened;
        world_.Changed();
        if (*dead || !value.ok() || model_.IsDropped(tablet)) return;
        ++recent_reads;
        model_.CheckRecent(since, tablet, key, *value);
        if (RouteOf(tablet.space, key)) model_.Answered(number, since, tablet, key, *value);
      });
  world_.Await([&] { return *client.open <= open; });
}

kv::Range Clients::RandomRange(std::string* begin, std::string* end) {
  kv::Range range{.tablet = kItems};
  const uint64_t what = world_.random.Below(10);
  if (what < 5) {
    *begin = std::string(1, kItemKind);
    *end = std::string(1, kItemKind + 1);
    if (what < 3) {
      std::string a = Hash(), b = Hash();
      if (b < a) std::swap(a, b);
      *begin += a;
      *end = std::string(1, kItemKind) + b + std::string(1, '\x02');
    }
  } else if (what < 6) {
    *begin = std::string(1, kItemKind) + Hash();
    *end = *begin + "\x03";
  } else if (what < 8) {
    range.tablet = kQueue;
    *begin = fmt::format("queue-{}.", world_.random.Below(2));
    *end = *begin + "\xfe";
  } else if (what < 9) {
    range.tablet = kQueue;
    begin->clear();
    end->clear();
  } else {
    begin->clear();
    end->clear();
  }
  range.begin = *begin;
  range.end = *end;
  return range;
}

void Clients::Scan(Client& client) {
  std::string begin, end;
  kv::Range range = RandomRange(&begin, &end);
  range.reverse = world_.Chance(0.3);
  if (world_.Chance(0.3)) range.expected_keys = 1 + world_.random.Below(10);
  if (world_.Chance(0.3)) range.expected_bytes = 100 + world_.random.Below(2000);
  const size_t most = world_.Chance(0.3) ? 1 + world_.random.Below(6) : SIZE_MAX;
  ScanRange(client.process, range, most, world_.Chance(0.4));
  if (!world_.Chance(mix_.again)) return;
  // What is remembered of the range is of a part that may change without a write.
  ScanRange(client.process, range, most, true);
  ScanRange(client.process, range, most, true);
  if (world_.Chance(0.7)) Split(client);
  for (int i = 0; i < 3 && !client.process.dead; ++i) ScanRange(client.process, range, most, true);
}

void Clients::ScanRange(Process& process, kv::Range range, size_t most, bool ahead) {
  ++scans;
  kv::Engine& engine = *process.engine;
  const Model::Moment since = model_.now();
  std::unique_ptr<kv::Ahead> read;
  if (ahead) {
    bool came = false;
    engine.ReadAhead(range, [&](std::unique_ptr<kv::Ahead> result) {
      read = std::move(result);
      came = true;
      world_.Changed();
    });
    world_.Await([&] { return came; });
    range.ahead = read.get();
  }
  std::vector<Model::Visited> visited;
  bool stopped = false;
  const Status status =
      engine.Scan(range, kv::Tier::kAny, [&](std::string_view key, std::string_view value) {
        visited.push_back({std::string(key), std::string(value)});
        stopped = visited.size() >= most;
        return !stopped;
      });
  if (process.dead) return;
  const bool ordered = RoutesOfKeys(range.tablet.space, range.begin, range.end).has_value();
  if (status.ok()) return model_.CheckScan(since, range, visited, stopped, ordered);
  if (status.error().code() == ErrorCode::kCorruption ||
      status.error().code() == ErrorCode::kInternal)
    model_.Fail("a scan found " + status.error().message());
}

// ---- splits and fences --------------------------------------------------------------------------

void Clients::Split(Client& client) {
  ++splits_asked;
  const bool queue = world_.Chance(0.3);
  const std::string key = queue ? std::string("queue-") : ItemKey(Hash());
  const Status split = SplitPart(client.engine(), queue ? kQueue : kItems, key);
  if (!split.ok() && split.error().code() == ErrorCode::kCorruption && !client.process.dead)
    model_.Fail("a split found " + split.error().message());
}

void Clients::RaiseFence(Client& client) {
  const uint64_t fence = fence_ + 1;
  const Status raised = client.engine().RaiseFence(kItems, fence);
  if (client.process.dead) return;
  if (raised.ok()) {
    model_.RaisedFence(kItems, fence);
    fence_ = std::max(fence_, fence);
  } else if (raised.error().code() == ErrorCode::kCorruption) {
    model_.Fail("a fence found " + raised.error().message());
  }
}

void Clients::Drop(Client& client) {
  const Status dropped = client.engine().RaiseFence(kDropped, kv::kDroppedFence);
  if (client.process.dead) return;
  if (dropped.ok()) model_.RaisedFence(kDropped, kv::kDroppedFence);
}

// ---- the end ------------------------------------------------------------------------------------

World::Client Clients::MakeCheck() {
  return [this](Process& process) { CheckAll(process); };
}

void Clients::CheckAll(Process& process) {
  kv::Batch batch;
  batch.puts.push_back({kItems, std::string(1, kItemKind) + Hash(), Value()});
  const SentPtr sent = model_.Send(process.number, batch);
  batch.fate = sent->fate;
  bool came = false;
  process.engine->Apply(std::move(batch), [&](const Result<uint64_t>& outcome) {
    model_.Finish(*sent, outcome);
    if (!outcome.ok()) model_.Fail("without trouble a batch got " + outcome.error().message());
    came = true;
    world_.Changed();
  });
  world_.Await([&] { return came; });
  // Splits that dead processes have left are carried on once they have stood still. Others begin
  // soon after the last write.
  int settled = 0;
  for (int round = 0; round < 200 && settled < kSettledRounds; ++round) {
    for (const kv::Tablet tablet : {kItems, kQueue, kCatalog}) {
      kv::Range all{.tablet = tablet};
      ScanRange(process, all, SIZE_MAX, false);
      all.reverse = true;
      ScanRange(process, all, SIZE_MAX, false);
    }
    if (!world_.verdict.ok()) return;
    settled = model_.Unsettled().empty() ? settled + 1 : 0;
    world_.Sleep(1'000'000);
  }
  const std::string counter = std::string(1, kCounterKind) + "count";
  std::string count;
  const Result<bool> counted = process.engine->Get(kItems, counter, kv::Tier::kAny, &count);
  if (!counted.ok()) return model_.Fail("a counter cannot be read");
  model_.CheckCounter(kItems, counter, *counted ? *kv::CounterOf(count) : 0);
}

}  // namespace stator::kv_rados::simulation
