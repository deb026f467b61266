// The cases about single promises, and the list of all cases. The random cases are in
// conformance_random.cc.
#include "kv/conformance.h"

#include <algorithm>
#include <atomic>
#include <future>

#include "kv/conformance_model.h"
#include "kv/conformance_random.h"
#include "kv/fixed_bytes.h"

namespace stator::kv {
namespace {

constexpr Tablet kTablet{Space::kItems, 7};

Batch PutOne(std::string key, std::string_view text) {
  Batch batch;
  batch.puts.push_back({kTablet, std::move(key), ValueOf(text)});
  return batch;
}

std::string KeysOf(const Visited& visited) {
  std::string keys;
  for (const auto& [key, value] : visited) keys.append(key).append(" ");
  return keys;
}

Status ExpectKeys(Engine& engine, const Range& range, const std::string& expected,
                  size_t limit = SIZE_MAX) {
  ASSIGN_OR_RETURN(const Visited visited, ScanUpTo(engine, range, limit));
  CONFORMS(KeysOf(visited) == expected,
           "a scan gives \"" + KeysOf(visited) + "\" instead of \"" + expected + "\"");
  ASSIGN_OR_RETURN(const Visited ahead, ScanAhead(engine, range, limit));
  CONFORMS(KeysOf(ahead) == expected, "a scan that is read ahead gives \"" + KeysOf(ahead) +
                                          "\" instead of \"" + expected + "\"");
  return OkStatus();
}

ErrorCode CodeOf(const Result<uint64_t>& result) { return result.error().code(); }

Status Guards(const ConformanceOptions& options) {
  const auto store = options.make();
  ASSIGN_OR_RETURN(const auto engine, store->Open());
  ASSIGN_OR_RETURN(const uint64_t first, ApplyAndWait(*engine, PutOne("a", "1")));

  Batch absent = PutOne("b", "2");
  absent.guards = {{kTablet, "a", 0}};
  Result<uint64_t> outcome = ApplyAndWait(*engine, absent);
  CONFORMS(!outcome.ok() && CodeOf(outcome) == ErrorCode::kGuardFailed,
           "a guard for absence fails on a key that exists");
  Batch mixed = PutOne("b", "2");
  mixed.guards = {{kTablet, "a", first}, {kTablet, "b", first}};
  outcome = ApplyAndWait(*engine, mixed);
  CONFORMS(!outcome.ok() && CodeOf(outcome) == ErrorCode::kGuardFailed,
           "one failed guard among others fails the batch");
  TRY(ExpectKeys(*engine, {kTablet, {}, {}}, "a "));

  Batch right = PutOne("a", "3");
  right.guards = {{kTablet, "a", first}, {kTablet, "b", 0}};
  ASSIGN_OR_RETURN(const uint64_t second, ApplyAndWait(*engine, right));
  CONFORMS(second > first, "stamps rise");
  outcome = ApplyAndWait(*engine, right);
  CONFORMS(!outcome.ok() && CodeOf(outcome) == ErrorCode::kGuardFailed,
           "a guard fails when the key was written again");

  Batch only_guard;
  only_guard.guards = {{kTablet, "a", second}};
  TRY(ApplyAndWait(*engine, only_guard).ok() ? OkStatus()
                                             : InternalError("a batch of guards alone may hold"));
  return OkStatus();
}

Status Stamps(const ConformanceOptions& options) {
  const auto store = options.make();
  ASSIGN_OR_RETURN(auto engine, store->Open());
  uint64_t last = 0;
  for (int round = 0; round < 20; ++round) {
    ASSIGN_OR_RETURN(const uint64_t put, ApplyAndWait(*engine, PutOne("a", "same text")));
    CONFORMS(put > last, "a stamp is never reused");
    std::string value;
    ASSIGN_OR_RETURN(const bool exists, engine->Get(kTablet, "a", Tier::kAny, &value));
    CONFORMS(exists && StampOf(value) == put && value.substr(kStampBytes) == "same text",
             "a value begins with its stamp");
    Batch gone;
    gone.deletes = {{kTablet, "a"}};
    ASSIGN_OR_RETURN(last, ApplyAndWait(*engine, gone));
    CONFORMS(last > put, "a delete has a stamp of its own");
    if (engine->capabilities().durable && round % 5 == 4) {
      engine.reset();
      ASSIGN_OR_RETURN(engine, store->Open());
    }
  }
  return OkStatus();
}

Status KeyStamps(const ConformanceOptions& options) {
  const auto store = options.make();
  ASSIGN_OR_RETURN(const auto engine, store->Open());
  std::vector<uint64_t> stamps;
  for (int i = 0; i < 300; ++i) {
    Batch batch;
    batch.puts.push_back(
        {kTablet, "q" + std::string(kStampBytes, '\0') + "tail", ValueOf(std::to_string(i)), 1});
    ASSIGN_OR_RETURN(const uint64_t stamp, ApplyAndWait(*engine, std::move(batch)));
    stamps.push_back(stamp);
  }
  size_t i = 0;
  bool right = true;
  TRY(engine->Scan({kTablet, "q", "r"}, Tier::kAny,
                   [&](std::string_view key, std::string_view value) {
                     std::string expected = "q" + std::string(kStampBytes, '\0') + "tail";
                     SetKeyStamp(&expected, 1, i < stamps.size() ? stamps[i] : 0);
                     right = right && key == expected && StampOf(value) == stamps[i] &&
                             value.substr(kStampBytes) == std::to_string(i);
                     ++i;
                     return right;
                   }));
  CONFORMS(right && i == stamps.size(),
           "stamps in keys are big-endian: scans see them in the order of the writes");
  return OkStatus();
}

Status BatchOrder(const ConformanceOptions& options) {
  const auto store = options.make();
  ASSIGN_OR_RETURN(const auto engine, store->Open());
  const Tablet neighbour{kTablet.space, kTablet.id + 1};
  Batch first;
  for (const char* key : {"a", "b", "c", "d"}) first.puts.push_back({kTablet, key, ValueOf("old")});
  first.puts.push_back({neighbour, "a", ValueOf("neighbour")});
  if (!engine->capabilities().atomic_across_tablets) {
    Batch other;
    other.puts.push_back(std::move(first.puts.back()));
    first.puts.pop_back();
    TRY(ApplyAndWait(*engine, other).ok() ? OkStatus() : InternalError("a plain put"));
  }
  first.adds.push_back({kTablet, "n", 5});
  first.fate = std::make_shared<BatchFate>();
  TRY(ApplyAndWait(*engine, first).ok() ? OkStatus() : InternalError("puts and an add"));
  // A counter in another unit receives its add a little later.
  Batch counted;
  counted.guards = {{kTablet, "n", 0, first.fate}};
  counted.after = {first.fate};
  CONFORMS(ApplyAndWait(*engine, counted).ok(), "a guard on what a batch left in a counter");

  Batch second;
  second.range_deletes.push_back({kTablet, "b", ""});
  second.puts.push_back({kTablet, "c", ValueOf("new")});
  second.adds.push_back({kTablet, "n", 7});
  ASSIGN_OR_RETURN(const uint64_t stamp, ApplyAndWait(*engine, second));
  TRY(ExpectKeys(*engine, {kTablet, {}, {}}, "a c n "));
  std::string value;
  ASSIGN_OR_RETURN(const bool exists, engine->Get(kTablet, "n", Tier::kAny, &value));
  const bool in_order = engine->capabilities().in_order;
  CONFORMS(exists && value == EncodeCounter(in_order ? stamp : StampOf(value), 7),
           "an add after a range delete starts at 0 and has the batch's stamp");

  Batch add;
  add.adds.push_back({kTablet, "n", -10});
  Result<uint64_t> added = ApplyAndWait(*engine, add);
  if (!in_order && !added.ok() && CodeOf(added) == ErrorCode::kGuardFailed)
    added = ApplyAndWait(*engine, add);
  ASSIGN_OR_RETURN(const uint64_t later, std::move(added));
  ASSIGN_OR_RETURN(const bool still, engine->Get(kTablet, "n", Tier::kAny, &value));
  CONFORMS(still && value == EncodeCounter(later, -3), "counters go below 0");

  Batch wrong = PutOne("z", "z");
  wrong.adds.push_back({kTablet, "a", 1});
  CONFORMS(!ApplyAndWait(*engine, wrong).ok(), "an add to a value that is no counter is refused");
  Batch short_value;
  short_value.puts.push_back({kTablet, "z", "short"});
  CONFORMS(!ApplyAndWait(*engine, short_value).ok(), "a put without room for a stamp is refused");
  Batch nothing;
  nothing.range_deletes.push_back({kTablet, "c", "a"});
  nothing.range_deletes.push_back({kTablet, "c", "c"});
  CONFORMS(ApplyAndWait(*engine, nothing).ok(), "an empty range deletes nothing");
  TRY(ExpectKeys(*engine, {kTablet, {}, {}}, "a c n "));

  Batch all;
  all.range_deletes.push_back({kTablet, "", ""});
  TRY(ApplyAndWait(*engine, all).ok() ? OkStatus() : InternalError("a range delete of the tablet"));
  TRY(ExpectKeys(*engine, {kTablet, {}, {}}, ""));
  TRY(ExpectKeys(*engine, {neighbour, {}, {}}, "a "));
  return OkStatus();
}

Status Scans(const ConformanceOptions& options) {
  const auto store = options.make();
  ASSIGN_OR_RETURN(const auto engine, store->Open());
  TRY(ExpectKeys(*engine, {kTablet, {}, {}}, ""));
  TRY(ExpectKeys(*engine, {kTablet, {}, {}, true}, ""));
  Batch batch;
  for (const char* key : {"a", "aa", "b", "c\xff", "c\xff\xff", "d"})
    batch.puts.push_back({kTablet, key, ValueOf(key)});
  batch.puts.push_back({kTablet, std::string("b\0", 2), ValueOf("zero")});
  batch.puts.push_back({kTablet, "\xfe\xff\xff\xff\xff", ValueOf("last")});
  CONFORMS(ApplyAndWait(*engine, batch).ok(), "puts");
  const std::string zero("b\0 ", 3);
  TRY(ExpectKeys(*engine, {kTablet, {}, {}},
                 "a aa b " + zero + "c\xff c\xff\xff d \xfe\xff\xff\xff\xff "));
  TRY(ExpectKeys(*engine, {kTablet, {}, {}, true},
                 "\xfe\xff\xff\xff\xff d c\xff\xff c\xff " + zero + "b aa a "));
  TRY(ExpectKeys(*engine, {kTablet, "aa", "c\xff"}, "aa b " + zero));
  TRY(ExpectKeys(*engine, {kTablet, "aa", "c\xff", true}, zero + "b aa "));
  TRY(ExpectKeys(*engine, {kTablet, "aa", "c\xff", true}, zero + "b ", 2));
  TRY(ExpectKeys(*engine, {kTablet, "b", {}}, "b ", 1));
  TRY(ExpectKeys(*engine, {kTablet, "b", "b"}, ""));
  TRY(ExpectKeys(*engine, {kTablet, "c", "b"}, ""));
  TRY(ExpectKeys(*engine, {kTablet, "c", "b", true}, ""));
  TRY(ExpectKeys(*engine, {{kTablet.space, kTablet.id - 1}, {}, {}, true}, ""));
  TRY(ExpectKeys(*engine, {{kTablet.space, kTablet.id + 1}, {}, {}}, ""));
  TRY(ExpectKeys(*engine, {{Space::kLog, kTablet.id}, {}, {}}, ""));

  const std::string large(400'000, 'L');
  CONFORMS(ApplyAndWait(*engine, PutOne(std::string(3000, 'K'), large)).ok(),
           "a long key and a large value");
  std::string value;
  ASSIGN_OR_RETURN(const bool exists,
                   engine->Get(kTablet, std::string(3000, 'K'), Tier::kAny, &value));
  CONFORMS(exists && value.substr(kStampBytes) == large, "a large value is read back");
  return OkStatus();
}

Status Barrier(const ConformanceOptions& options) {
  const auto store = options.make();
  ASSIGN_OR_RETURN(const auto engine, store->Open());
  std::vector<int> order;  // the order in which the `done`s of accepted batches run
  uint64_t last = 0;
  bool visible = true;
  const auto look = [&](int i, const Result<uint64_t>& stamp) {
    std::string value;
    const Result<bool> exists = engine->Get(kTablet, "k" + std::to_string(i), Tier::kAny, &value);
    visible = visible && stamp.ok() && exists.ok() && *exists && StampOf(value) == *stamp;
  };
  const bool may_look = !engine->capabilities().blocking;
  for (int i = 0; i < 50; ++i) {
    engine->Apply(PutOne("k" + std::to_string(i), "v"), [&, i](Result<uint64_t> stamp) {
      order.push_back(i);
      if (stamp.ok()) last = *stamp;
      if (may_look) look(i, stamp);
    });
  }
  ASSIGN_OR_RETURN(const uint64_t barrier, ApplyAndWait(*engine, Batch()));
  for (int i = 100; !may_look && i < 110; ++i)
    look(i, ApplyAndWait(*engine, PutOne("k" + std::to_string(i), "v")));
  CONFORMS(order.size() == 50, "a barrier is done when everything before it is");
  CONFORMS(std::is_sorted(order.begin(), order.end()),
           "batches are done in the order of the calls");
  CONFORMS(visible, "a batch is visible when it is done");
  CONFORMS(barrier == last, "a barrier has the stamp of the batch before it");
  return OkStatus();
}

Status VoidBatches(const ConformanceOptions& options) {
  const auto store = options.make();
  ASSIGN_OR_RETURN(const auto engine, store->Open());
  for (int round = 0; round < 20; ++round) {
    const auto refused = std::make_shared<BatchFate>();
    const auto never = std::make_shared<BatchFate>();
    engine->Apply(PutOne("before", "x"), [](Result<uint64_t>) {});
    Batch fails = PutOne("a", "pending image");
    fails.guards = {{kTablet, "no such key", 1}};
    fails.fate = refused;
    engine->Apply(std::move(fails),
                  [refused](Result<uint64_t> outcome) { refused->failed = !outcome.ok(); });
    Batch computed = PutOne("a", "computed from it");
    computed.after = {never, refused};
    Result<uint64_t> outcome = uint64_t{0};
    engine->Apply(std::move(computed),
                  [&outcome](Result<uint64_t> result) { outcome = std::move(result); });
    Batch barrier;
    barrier.after = {refused};
    Result<uint64_t> waited = ApplyAndWait(*engine, std::move(barrier));
    CONFORMS(!outcome.ok() && CodeOf(outcome) == ErrorCode::kUnavailable,
             "a batch fails with what it was computed from");
    CONFORMS(!waited.ok() && CodeOf(waited) == ErrorCode::kUnavailable, "so does a barrier");
    Batch fine = PutOne("b", "computed from another");
    fine.after = {never};
    CONFORMS(ApplyAndWait(*engine, std::move(fine)).ok(),
             "a batch that has not failed does no harm");
    TRY(ExpectKeys(*engine, {kTablet, {}, {}}, "b before "));
  }
  return OkStatus();
}

Status GuardsOnPendingBatches(const ConformanceOptions& options) {
  const auto store = options.make();
  ASSIGN_OR_RETURN(const auto engine, store->Open());
  for (int round = 0; round < 20; ++round) {
    // A chain of batches, each computed from the one before it, without waiting for any of them.
    std::shared_ptr<BatchFate> before;
    std::string key = "k" + std::to_string(round);
    int refused = 0;
    for (int i = 0; i < 10; ++i) {
      Batch batch = PutOne(key, std::to_string(i));
      batch.guards = {{kTablet, key, 0, before}};
      if (before != nullptr) batch.after = {before};
      batch.fate = std::make_shared<BatchFate>();
      before = batch.fate;
      engine->Apply(std::move(batch), [&refused, fate = before](Result<uint64_t> outcome) {
        const bool kept = outcome.ok() && fate->stamp == *outcome;
        fate->failed = !kept;
        if (!kept) ++refused;
      });
    }
    TRY(ApplyAndWait(*engine, Batch()));
    CONFORMS(refused == 0, "a guard knows the stamp that the batch before it was going to get");
    Batch other = PutOne(key, "by somebody else");
    TRY(ApplyAndWait(*engine, std::move(other)));
    Batch late = PutOne(key, "computed before");
    late.guards = {{kTablet, key, 0, before}};
    const Result<uint64_t> outcome = ApplyAndWait(*engine, std::move(late));
    CONFORMS(!outcome.ok() && CodeOf(outcome) == ErrorCode::kGuardFailed,
             "and fails when that is no longer what stands there");
  }
  return OkStatus();
}

Status ApplyFromDone(const ConformanceOptions& options) {
  const auto store = options.make();
  ASSIGN_OR_RETURN(const auto engine, store->Open());
  std::promise<bool> finished;
  std::function<void(int)> next = [&](int left) {
    if (left == 0) return finished.set_value(true);
    engine->Apply(PutOne("chain", std::to_string(left)), [&, left](Result<uint64_t> stamp) {
      if (!stamp.ok()) return finished.set_value(false);
      next(left - 1);
    });
  };
  next(100);
  CONFORMS(finished.get_future().get(), "a done may apply the next batch");
  return OkStatus();
}

// Every `done` runs exactly once, even if the engine is destroyed while batches are queued.
Status CloseWithQueue(const ConformanceOptions& options) {
  const auto store = options.make();
  ASSIGN_OR_RETURN(auto engine, store->Open());
  std::vector<int> runs(200, 0);
  std::vector<bool> acknowledged(runs.size(), false);
  for (size_t i = 0; i < runs.size(); ++i) {
    engine->Apply(PutOne("k" + std::to_string(i), "v"), [&, i](Result<uint64_t> stamp) {
      ++runs[i];
      acknowledged[i] = stamp.ok();
    });
  }
  const bool durable = engine->capabilities().durable;
  engine.reset();
  for (int count : runs) CONFORMS(count == 1, "every done runs exactly once");
  if (!durable) return OkStatus();
  ASSIGN_OR_RETURN(engine, store->Open());
  for (size_t i = 0; i < runs.size(); ++i) {
    std::string value;
    ASSIGN_OR_RETURN(const bool exists,
                     engine->Get(kTablet, "k" + std::to_string(i), Tier::kAny, &value));
    CONFORMS(exists == acknowledged[i],
             "what was acknowledged is there after closing, and nothing else");
  }
  return OkStatus();
}

}  // namespace

std::vector<ConformanceCase> ConformanceCases() {
  return {
      {"Guards", Guards},
      {"Stamps", Stamps},
      {"KeyStamps", KeyStamps},
      {"BatchOrder", BatchOrder},
      {"Scans", Scans},
      {"Barrier", Barrier},
      {"VoidBatches", VoidBatches},
      {"GuardsOnPendingBatches", GuardsOnPendingBatches},
      {"ApplyFromDone", ApplyFromDone},
      {"CloseWithQueue", CloseWithQueue},
      {"RandomOneByOne", RandomOneByOne},
      {"RandomPipelined", RandomPipelined},
      {"RandomReopened", RandomReopened},
      {"RandomFaults", RandomFaults},
      {"ReadsOfOneState", ReadsOfOneState},
      {"ConcurrentWriters", ConcurrentWriters},
  };
}

Status RunConformance(const ConformanceOptions& options) {
  for (const ConformanceCase& each : ConformanceCases()) {
    if (Status status = each.run(options); !status.ok()) {
      return InternalError(each.name + ", seed " + std::to_string(options.seed) + ": " +
                           status.error().message());
    }
  }
  return OkStatus();
}

}  // namespace stator::kv
