// Copies tables from RocksDB to memory and back, with every kind of interruption, kills included.
#include "copy/copy.h"

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <map>
#include <thread>
#include <utility>

#include "base/random.h"
#include "copy/marker.h"
#include "expr/test_notation.h"
#include "kv/fault_engine.h"
#include "kv/memory_engine.h"
#include "kv_rocks/rocks_engine.h"
#include "kv_rocks/temporary_directory.h"
#include "table/key_encoding.h"
#include "table/store.h"
#include "table/test_await.h"
#include "table/test_indexes.h"

extern char** environ;

namespace stator::copy {
namespace {

using expr::notation::Item;
using table::Await;
using table::TablePtr;

// A store on its own engine.
struct Place {
  // Without a path the store is in memory, with the given faults.
  explicit Place(std::string path = "", kv::FaultOptions faults = {}) : workers(2, 1000) {
    if (path.empty()) {
      engine = std::make_unique<kv::FaultEngine>(std::make_unique<kv::MemoryEngine>(), faults);
    } else {
      engine = kv_rocks::OpenRocks({.path = path, .memory_budget_bytes = 16 << 20}).value();
    }
    store = table::Store::Open(*engine, clock, workers).value();
  }
  ~Place() {
    store.reset();
    workers.Stop();
  }
  void Create(table::TableDescriptor d) {
    ASSERT_TRUE(Await<Result<TablePtr>>([&](auto done) {
                  store->Create(std::move(d), std::move(done));
                }).ok());
  }
  void Write(const std::string& name, const std::string& item, bool remove = false) {
    const TablePtr table = store->Find(name);
    std::vector<table::WriteTarget> targets;
    targets.push_back({table, table::EncodeItemKey(table->key_schema(), model::ItemView(item))});
    const Status written = Await<Status>([&](auto done) {
      store->Write(
          std::move(targets),
          [item,
           remove](const std::vector<model::ItemView>&) -> Result<std::vector<table::Change>> {
            std::vector<table::Change> changes(1);
            changes[0].kind = remove ? table::Change::kDelete : table::Change::kPut;
            if (!remove) changes[0].item = item;
            return changes;
          },
          std::move(done));
    });
    ASSERT_TRUE(written.ok()) << written.error().message();
  }
  std::map<std::string, std::string> Items(const std::string& name) {
    std::map<std::string, std::string> items;
    EXPECT_TRUE(store
                    ->Scan(*store->Find(name), table::FirstKeyOfHash(0), table::EndOfItemKeys(),
                           false, kv::Tier::kAny,
                           [&](std::string_view key, model::ItemView item) {
                             items.emplace(key, item.encoded());
                             return true;
                           })
                    .ok());
    return items;
  }

  ManualClock clock;
  WorkerPool workers;
  std::unique_ptr<kv::Engine> engine;
  std::unique_ptr<table::Store> store;
};

// Creates two tables: one with indexes of all kinds, time to live, a stream and every other
// setting; one plain and larger.
void Fill(Place* place, uint64_t seed, int items) {
  table::TableDescriptor rich = table::indexes::Describe();
  rich.table_id = "11111111-2222-3333-4444-555555555555";
  rich.tags = {{"team", "blue"}};
  rich.billing_mode = table::BillingMode::kProvisioned;
  rich.read_units = 70;
  rich.write_units = 30;
  rich.deletion_protection = true;
  rich.stream_view_type = stream::ViewType::kNewAndOldImages;
  rich.partitions = throughput::PartitionMap::Even(3);
  rich.created_micros = 1234;
  place->Create(rich);
  ASSERT_TRUE(Await<Result<TablePtr>>([&](auto done) {
                place->store->Alter(
                    "tab",
                    [](table::TableDescriptor* d) {
                      d->expiry.emplace().attribute = "b";
                      return OkStatus();
                    },
                    std::move(done));
              }).ok());
  table::TableDescriptor plain;
  plain.name = "plain";
  plain.table_id = "66666666-2222-3333-4444-555555555555";
  plain.key_schema = {table::indexes::kPk};
  plain.attribute_definitions = {table::indexes::kPk};
  plain.billing_mode = table::BillingMode::kPayPerRequest;
  place->Create(plain);
  SeededRandom random(seed);
  for (int i = 0; i < items; ++i) {
    place->Write("tab", table::indexes::RandomItem(random, "p" + std::to_string(random.Below(40)),
                                                   static_cast<int>(random.Below(50))));
    place->Write("plain", Item("{pk:'k" + std::to_string(i) + "', v:'" +
                               std::string(random.Below(300), 'v') + "'}"));
  }
  while (place->store->BuildsIndexes()) std::this_thread::yield();
}

// Compares all tables of the source, or one.
void ExpectSame(Place& from, Place& to, const std::string& only = "") {
  for (const TablePtr& table : from.store->List()) {
    const std::string& name = table->descriptor.name;
    if (!only.empty() && name != only) continue;
    SCOPED_TRACE(name);
    const TablePtr copy = to.store->Find(name);
    ASSERT_NE(copy, nullptr);
    EXPECT_EQ(from.Items(name), to.Items(name));
    const auto counts = to.store->Counts(*copy);
    const auto expected = from.store->Counts(*table);
    ASSERT_TRUE(counts.ok() && expected.ok());
    EXPECT_EQ(counts->items, expected->items);
    EXPECT_EQ(counts->bytes, expected->bytes);
    if (!table->descriptor.indexes.empty()) table::indexes::ExpectIndexesMatch(*to.store, name);
    // The definitions must be equal except for what belongs to the store.
    table::TableDescriptor a = table->descriptor, b = copy->descriptor;
    EXPECT_EQ(a.HasTimeToLive(), b.HasTimeToLive());
    if (a.expiry) {
      EXPECT_EQ(a.expiry->attribute, b.expiry->attribute);
      EXPECT_EQ(b.expiry->state, table::IndexDescriptor::State::kActive);
    }
    EXPECT_EQ(a.stream_view_type, b.stream_view_type);
    EXPECT_EQ(a.stream_view_type.has_value(), copy->stream != nullptr);
    for (table::TableDescriptor* d : {&a, &b}) {
      d->tablet_id = 0;
      d->fence = 0;
      d->stream_label.clear();
      d->expiry.reset();
      for (table::IndexDescriptor& index : d->indexes) index.tablet_id = 0;
    }
    EXPECT_EQ(a.Encode(), b.Encode());
  }
}

std::vector<Copied> CopyAll(Place& from, Place& to, Options options = {}) {
  std::vector<Copied> copied;
  const Status status = CopyTables(*from.store, *to.store, options,
                                   [&copied](const Copied& each) { copied.push_back(each); });
  EXPECT_TRUE(status.ok()) << status.error().message();
  return copied;
}

Status CopyStatus(Place& from, Place& to, Options options = {}) {
  return CopyTables(*from.store, *to.store, options, [](const Copied&) {});
}

TEST(Copy, FromRocksDbToMemoryAndBack) {
  kv_rocks::TemporaryDirectory there, back;
  Place rocks(there.store());
  Fill(&rocks, 1, 700);
  Place memory;
  const std::vector<Copied> copied = CopyAll(rocks, memory);
  ASSERT_EQ(copied.size(), 2u);
  EXPECT_EQ(copied[0].table, "plain");
  EXPECT_EQ(copied[0].how, Copied::How::kCopied);
  EXPECT_EQ(copied[0].source.items, 700);
  EXPECT_EQ(copied[0].source, copied[0].target);
  EXPECT_FALSE(copied[0].has_stream);
  EXPECT_TRUE(copied[1].has_stream);
  ExpectSame(rocks, memory);
  // The stream began after the last item: it has one empty shard for each partition.
  const TablePtr tab = memory.store->Find("tab");
  const auto stream = memory.store->FindStream("tab", tab->descriptor.stream_label);
  ASSERT_NE(stream, nullptr);
  size_t records = 0;
  ASSERT_TRUE(memory.engine
                  ->Scan({{kv::Space::kLog, stream->tablet_id}, {}, {}}, kv::Tier::kAny,
                         [&records](std::string_view, std::string_view) {
                           ++records;
                           return true;
                         })
                  .ok());
  EXPECT_EQ(records, 0u);

  Place again(back.store());
  Options small;
  small.batch_items = 3;
  small.in_flight = 2;
  EXPECT_EQ(CopyAll(memory, again, small)[1].target, copied[1].source);
  ExpectSame(rocks, again);
}

TEST(Copy, FinishedCopyIsNotRepeated) {
  Place from, to;
  Fill(&from, 2, 50);
  Options only;
  only.tables = {"tab"};
  const std::vector<Copied> first = CopyAll(from, to, only);
  EXPECT_EQ(to.store->Find("plain"), nullptr);
  // Later items belong to a table that is in use, so they stay.
  to.Write("tab", Item("{pk:'later', sk:1}"));
  const std::vector<Copied> again = CopyAll(from, to, only);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].how, Copied::How::kEarlier);
  EXPECT_EQ(again[0].source, first[0].source);
  EXPECT_EQ(to.Items("tab").size(), from.Items("tab").size() + 1);
  // A copy that was dropped is made again.
  ASSERT_TRUE(Await<Result<TablePtr>>([&](auto done) {
                to.store->Drop(
                    "tab", [](const table::TableDescriptor&) { return OkStatus(); },
                    std::move(done));
              }).ok());
  EXPECT_EQ(CopyAll(from, to, only)[0].how, Copied::How::kCopied);
  ExpectSame(from, to, "tab");
}

// The engine's checksums hold: a program wrote these bytes.
TEST(Copy, DamagedItemIsRefusedByName) {
  for (const std::string& bytes :
       {std::string("\x05junk"), Item("{other:'k'}"), Item("{pk:'another'}")}) {
    Place from, to;
    Fill(&from, 2, 20);
    Options only;
    only.tables = {"plain"};
    const TablePtr plain = from.store->Find("plain");
    const std::string key =
        table::EncodeItemKey(plain->key_schema(), model::ItemView(Item("{pk:'k7'}")));
    kv::Batch batch;
    batch.puts.push_back(
        {plain->descriptor.tablet(), key, std::string(kv::kStampBytes, '\0') + "\x01" + bytes});
    ASSERT_TRUE(kv::ApplyAndWait(*from.engine, std::move(batch)).ok());
    const Status copied = CopyStatus(from, to, only);
    ASSERT_FALSE(copied.ok());
    EXPECT_EQ(copied.error().code(), ErrorCode::kCorruption);
    EXPECT_TRUE(copied.error().message().starts_with(
        "An item of the table plain in the source is damaged and was not copied; its stored key "
        "begins with 01"))
        << copied.error().message();
  }
}

TEST(Copy, TargetTableThatIsNotACopyIsRefused) {
  Place from, to;
  Fill(&from, 3, 20);
  table::TableDescriptor other;
  other.name = "plain";
  other.table_id = "another";
  other.key_schema = {table::indexes::kPk};
  other.attribute_definitions = {table::indexes::kPk};
  to.Create(other);
  to.Write("plain", Item("{pk:'mine'}"));
  EXPECT_EQ(CopyStatus(from, to).error().code(), ErrorCode::kResourceInUse);
  EXPECT_EQ(to.Items("plain").size(), 1u);
  // A table with the same id that was not begun by a copy is refused too.
  Place third;
  other.table_id = from.store->Find("plain")->descriptor.table_id;
  third.Create(other);
  EXPECT_EQ(CopyStatus(from, third).error().code(), ErrorCode::kResourceInUse);
  Options options;
  options.tables = {"absent"};
  EXPECT_EQ(CopyStatus(from, to, options).error().code(), ErrorCode::kResourceNotFound);
}

TEST(Copy, TableThatIsBeingRestoredIsRefused) {
  Place from, to;
  table::TableDescriptor d;
  d.name = "half";
  d.table_id = "66666666-2222-3333-4444-555555555555";
  d.key_schema = {table::indexes::kPk};
  d.attribute_definitions = {table::indexes::kPk};
  d.restore = table::RestoreSource{"01795613126583-0a1b2c3d", "whole"};
  from.Create(d);
  const Status copied = CopyStatus(from, to);
  EXPECT_EQ(copied.error().code(), ErrorCode::kResourceInUse);
  EXPECT_EQ(to.store->Find("half"), nullptr);
}

TEST(Copy, DifferenceIsReportedAndRepairedByNextRun) {
  Place from, to;
  Fill(&from, 4, 300);
  Options options;
  options.tables = {"tab"};
  options.batch_items = 8;
  options.in_flight = 4;
  options.mark_items = 100;
  bool disturbed = false;
  options.progress = [&](const std::string&, int64_t items) -> Status {
    // Writes an item between the copying and the comparison.
    if (items >= 250 && !std::exchange(disturbed, true))
      to.Write("tab", Item("{pk:'foreign', sk:1}"));
    return OkStatus();
  };
  const Status differs = CopyStatus(from, to, options);
  ASSERT_FALSE(differs.ok());
  EXPECT_EQ(differs.error().code(), ErrorCode::kInternal);
  EXPECT_NE(differs.error().message().find("differs"), std::string::npos);
  const std::vector<Copied> again = CopyAll(from, to, options);
  EXPECT_EQ(again[0].how, Copied::How::kCopied);
  EXPECT_EQ(again[0].source.items, static_cast<int64_t>(from.Items("tab").size()));
  EXPECT_EQ(from.Items("tab"), to.Items("tab"));
}

TEST(Copy, InterruptedCopyContinues) {
  // Stops after every step, one run after the other.
  Place from, to;
  Fill(&from, 5, 400);
  int steps = 0;
  int64_t read = 0;
  for (int run = 0;; ++run) {
    ASSERT_LT(run, 200);
    Options options;
    options.batch_items = 8;
    options.in_flight = 4;
    options.mark_items = 50;
    int step = 0;
    int64_t items = 0;
    options.progress = [&](const std::string&, int64_t so_far) -> Status {
      items = so_far;
      if (++step == 1) return OkStatus();
      return Error(ErrorCode::kUnavailable, "stopped");
    };
    const Status status = CopyStatus(from, to, options);
    if (status.ok()) break;
    ASSERT_EQ(status.error().message(), "stopped");
    ++steps;
    read += items;
  }
  EXPECT_GT(steps, 5);
  ExpectSame(from, to);
  // A run does not begin at the beginning each time.
  EXPECT_LT(read, 4 * 800);
}

TEST(Copy, TemporaryFaultsOfTargetAreRetried) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    kv::FaultOptions faults;
    faults.seed = seed;
    faults.delay_done = true;
    Place from, to("", faults);
    Fill(&from, seed, 200);
    std::array<double, kv::kFaults> probability{};
    probability[static_cast<size_t>(kv::Fault::kUnavailable)] = 0.1;
    probability[static_cast<size_t>(kv::Fault::kUnknownApplied)] = 0.05;
    probability[static_cast<size_t>(kv::Fault::kUnknownNotApplied)] = 0.05;
    static_cast<kv::FaultEngine&>(*to.engine).SetProbabilities(probability);
    Options options;
    options.batch_items = 8;
    options.mark_items = 100;
    int runs = 0;
    while (!CopyStatus(from, to, options).ok()) ASSERT_LT(++runs, 200);
    static_cast<kv::FaultEngine&>(*to.engine).SetProbabilities({});
    while (to.store->BuildsIndexes()) std::this_thread::yield();
    ExpectSame(from, to);
  }
}

// --- Kills: a child process copies from one directory to another and kills itself at a step.

constexpr const char* kFromVariable = "STATOR_COPY_TEST_FROM";

TEST(CopyChild, Run) {
  const char* from_path = std::getenv(kFromVariable);
  if (from_path == nullptr) GTEST_SKIP() << "for Copy.KilledAtEveryStep only";
  int left = std::atoi(std::getenv("STATOR_COPY_TEST_STEPS"));
  Place from(from_path), to(std::getenv("STATOR_COPY_TEST_TO"));
  Options options;
  options.batch_items = 8;
  options.in_flight = 8;
  options.mark_items = 60;
  options.progress = [&left](const std::string&, int64_t) {
    if (left-- == 0) ::kill(::getpid(), SIGKILL);
    return OkStatus();
  };
  ASSERT_TRUE(CopyStatus(from, to, options).ok());
}

TEST(Copy, KilledAtEveryStep) {
  kv_rocks::TemporaryDirectory there, here;
  {
    Place from(there.store());
    Fill(&from, 7, 150);
  }
  int kills = 0;
  for (int run = 0;; ++run) {
    ASSERT_LT(run, 100);
    const std::string from = std::string(kFromVariable) + "=" + there.store();
    const std::string to = "STATOR_COPY_TEST_TO=" + here.store();
    // Kills at the first step of a run, the second, the third; then again.
    const std::string steps = "STATOR_COPY_TEST_STEPS=" + std::to_string(run % 3);
    std::vector<char*> environment;
    for (const std::string* variable : {&from, &to, &steps})
      environment.push_back(const_cast<char*>(variable->c_str()));
    for (char** variable = environ; *variable != nullptr; ++variable)
      environment.push_back(*variable);
    environment.push_back(nullptr);
    const char* arguments[] = {"copy_test", "--gtest_filter=CopyChild.Run", "--gtest_brief=1",
                               nullptr};
    pid_t child = 0;
    ASSERT_EQ(::posix_spawn(&child, "/proc/self/exe", nullptr, nullptr,
                            const_cast<char**>(arguments), environment.data()),
              0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    if (WIFEXITED(status)) {
      ASSERT_EQ(WEXITSTATUS(status), 0);
      break;
    }
    ASSERT_EQ(WTERMSIG(status), SIGKILL);
    ++kills;
  }
  EXPECT_GT(kills, 5);
  Place from(there.store()), to(here.store());
  ExpectSame(from, to);
}

TEST(CopyMarker, RoundTrip) {
  Marker marker{
      "id", Marker::Phase::kFinishing, std::string("\x01\0\xff k", 5), {12, 345, 0xdeadbeef, 1}};
  const auto read = Marker::Decode(marker.Encode() + "future thing\n");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, marker);
  for (const char* damaged :
       {"", "source", "source id\nphase maybe\n", "source id\nnext 123\n", "source id\nitems x\n"})
    EXPECT_EQ(Marker::Decode(damaged).error().code(), ErrorCode::kCorruption) << damaged;
}

TEST(CopyDigest, DigestIsIndependentOfOrder) {
  Digest one, two, other;
  one.Add("a", "1");
  one.Add("b", "2");
  two.Add("b", "2");
  two.Add("a", "1");
  EXPECT_EQ(one, two);
  EXPECT_EQ(one.Checksum().size(), 32u);
  other.Add("a", "2");
  other.Add("b", "1");
  EXPECT_NE(one.Checksum(), other.Checksum());
  Digest moved;
  moved.Add("a1", "");
  moved.Add("b", "2");
  EXPECT_NE(one.Checksum(), moved.Checksum());
}

}  // namespace
}  // namespace stator::copy
