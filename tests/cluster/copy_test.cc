// Copies tables from memory or a directory to a pool and back, interrupted and killed on the way.
#include "copy/copy.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <thread>

#include "cluster_under_test.h"
#include "expr/test_notation.h"
#include "kv/memory_engine.h"
#include "kv_rocks/rocks_engine.h"
#include "kv_rocks/temporary_directory.h"
#include "kv_tx/transaction_engine.h"
#include "table/key_encoding.h"
#include "table/store.h"
#include "table/test_await.h"
#include "table/test_indexes.h"
#include "table/test_settle.h"

extern char** environ;

namespace stator {
namespace {

using expr::notation::Item;
using table::Await;
using table::TablePtr;
using testing::HasSubstr;
using testing::StartsWith;

struct Place {
  explicit Place(std::unique_ptr<kv::Engine> opened) : engine(std::move(opened)), workers(8, 4096) {
    store = table::Store::Open(*engine, clock, workers).value();
  }
  ~Place() {
    workers.Stop();
    store->Stop();
    engine.reset();
  }
  std::map<std::string, std::string> Items(const std::string& name) {
    std::map<std::string, std::string> items;
    const Status read =
        store->Scan(*store->Find(name), table::FirstKeyOfHash(0), table::EndOfItemKeys(), false,
                    kv::Tier::kAny, [&](std::string_view key, model::ItemView item) {
                      items.emplace(key, item.encoded());
                      return true;
                    });
    EXPECT_TRUE(read.ok());
    return items;
  }

  std::unique_ptr<kv::Engine> engine;
  SystemClock clock;
  WorkerPool workers;
  std::unique_ptr<table::Store> store;
};

std::unique_ptr<kv::Engine> OpenPool(const kv_rados::RadosOptions& options) {
  auto engine = kv_rados::OpenRados(options);
  EXPECT_TRUE(engine.ok()) << engine.error().message();
  return std::make_unique<kv_tx::TransactionEngine>(std::move(*engine));
}

void Create(Place& place, table::TableDescriptor d) {
  ASSERT_TRUE(Await<Result<TablePtr>>([&](auto done) {
                place.store->Create(std::move(d), std::move(done));
              }).ok());
}

// Puts all items; no call has a key twice.
void Write(Place& place, const std::string& name, const std::vector<std::string>& items) {
  const TablePtr table = place.store->Find(name);
  std::vector<table::WriteTarget> targets;
  for (const std::string& item : items)
    targets.push_back({table, table::EncodeItemKey(table->key_schema(), model::ItemView(item))});
  const Status written = Await<Status>([&](auto done) {
    place.store->Write(
        std::move(targets),
        [&items](const std::vector<model::ItemView>&) -> Result<std::vector<table::Change>> {
          std::vector<table::Change> changes(items.size());
          for (size_t i = 0; i < items.size(); ++i) {
            changes[i].kind = table::Change::kPut;
            changes[i].item = items[i];
          }
          return changes;
        },
        std::move(done));
  });
  ASSERT_TRUE(written.ok()) << written.error().message();
}

// Creates a table with indexes of all kinds and a stream.
void FillIndexed(Place& place, int items) {
  table::TableDescriptor d = table::indexes::Describe();
  d.stream_view_type = stream::ViewType::kNewImage;
  Create(place, std::move(d));
  SeededRandom random(SystemSeed());
  for (int i = 0; i < items; ++i) {
    Write(place, "tab",
          {table::indexes::RandomItem(random, "p" + std::to_string(random.Below(100)),
                                      static_cast<int>(random.Below(100)))});
  }
}

TEST(CopyToACluster, ThereAndBackWithInterruptions) {
  Place from(std::make_unique<kv::MemoryEngine>());
  FillIndexed(from, 1500);
  const auto items = from.Items("tab");
  const kv_rados::RadosOptions pool = ClusterUnderTest::NewStore();
  int ends = 0;
  for (int run = 0;; ++run) {
    ASSERT_LT(run, 100);
    Place to(OpenPool(pool));
    copy::Options options;
    options.batch_items = 16;
    options.mark_items = 200;
    int steps = 0;
    // Each run ends at its third step.
    options.progress = [&steps](const std::string&, int64_t) -> Status {
      return ++steps < 3 ? OkStatus() : Status(Error(ErrorCode::kUnavailable, "ended"));
    };
    const Status copied =
        copy::CopyTables(*from.store, *to.store, options, [&](const copy::Copied& each) {
          EXPECT_EQ(each.source.items, static_cast<int64_t>(items.size()));
          EXPECT_EQ(each.source, each.target);
        });
    if (copied.ok()) {
      table::test::SettleTransactions(dynamic_cast<kv_tx::TransactionEngine&>(*to.engine),
                                      *to.store);
      EXPECT_EQ(to.Items("tab"), items);
      table::indexes::ExpectIndexesMatch(*to.store, "in the pool");
      break;
    }
    ASSERT_EQ(copied.error().message(), "ended");
    ++ends;
  }
  EXPECT_GT(ends, 1);
  Place again(OpenPool(pool)), back(std::make_unique<kv::MemoryEngine>());
  const Status copied = copy::CopyTables(*again.store, *back.store, {}, [](const copy::Copied&) {});
  ASSERT_TRUE(copied.ok()) << copied.error().message();
  EXPECT_EQ(back.Items("tab"), items);
  table::indexes::ExpectIndexesMatch(*back.store, "and back");
}

// --- The command

struct Outcome {
  int code = -1;     // -1: it was killed
  std::string said;  // on both outputs
};

// Runs the command, and kills it with -9 after `kill_after` milliseconds unless that is 0.
Outcome StatorCopy(const std::string& from, const std::string& to, const std::string& conf,
                   int kill_after = 0) {
  const kv_rocks::TemporaryDirectory directory;
  const std::string output = directory.path() + "/output";
  const char* named = std::getenv("STATOR_BIN");
  if (named == nullptr) {
    ADD_FAILURE() << "STATOR_BIN is not set: run ./dev cluster-test";
    return {};
  }
  const std::string conf_option = "--ceph-conf=" + conf;
  const char* arguments[] = {"stator",
                             "copy",
                             "--from",
                             from.c_str(),
                             "--to",
                             to.c_str(),
                             conf_option.c_str(),
                             "--ceph-user=stator",
                             nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_APPEND,
                                   0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  const int spawned =
      ::posix_spawn(&child, named, &actions, nullptr, const_cast<char**>(arguments), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (spawned != 0) {
    ADD_FAILURE() << named << " cannot be run";
    return {};
  }
  Outcome outcome;
  int status = 0;
  if (kill_after > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(kill_after));
    ::kill(child, SIGKILL);
  }
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  if (WIFEXITED(status)) {
    outcome.code = WEXITSTATUS(status);
  } else {
    EXPECT_EQ(WTERMSIG(status), SIGKILL);
  }
  std::ifstream said(output);
  outcome.said.assign(std::istreambuf_iterator<char>(said), {});
  return outcome;
}

// Repeats the command until it succeeds. Returns how often it was killed; *last is its final
// output.
int CopyWithKills(const std::string& from, const std::string& to, std::string* last) {
  for (int kills = 0, after = 30; kills < 60;
       ++kills, after += after / 8) {  // milliseconds: less than a process takes to start
    const Outcome outcome = StatorCopy(from, to, ClusterUnderTest::Conf(), after);
    if (outcome.code == 0) {
      *last = outcome.said;
      return kills;
    }
    EXPECT_EQ(outcome.code, -1) << outcome.said;
    if (outcome.code != -1) break;
  }
  ADD_FAILURE() << "it does not come to an end";
  return 0;
}

std::unique_ptr<kv::Engine> OpenDirectory(const std::string& path) {
  return kv_rocks::OpenRocks({.path = path,
                              .memory_budget_bytes = 64 << 20,
                              .items_prefix_bytes = table::kPartitionPrefixBytes})
      .value();
}

std::string PlaceOf(const kv_rados::RadosOptions& pool) {
  return "rados:" + pool.pool + "/" + pool.name_space;
}

TEST(CopyCommandOnACluster, ThereAndBackWithKills) {
  const kv_rocks::TemporaryDirectory there, back;
  const kv_rados::RadosOptions pool = ClusterUnderTest::NewStore();
  std::map<std::string, std::string> plain, tab;
  {
    Place from(OpenDirectory(there.store()));
    FillIndexed(from, 400);
    table::TableDescriptor d;
    d.name = "plain";
    d.table_id = "66666666-2222-3333-4444-555555555555";
    d.key_schema = {table::indexes::kPk};
    d.attribute_definitions = {table::indexes::kPk};
    Create(from, d);
    std::vector<std::string> items;
    for (int i = 0; i < 15'000; ++i) {
      items.push_back(Item("{pk:'k" + std::to_string(i) + "', v:'" +
                           std::string(static_cast<size_t>(i % 200), 'v') + "'}"));
      if (items.size() < 100) continue;
      Write(from, "plain", items);
      items.clear();
    }
    plain = from.Items("plain");
    tab = from.Items("tab");
    ASSERT_EQ(plain.size(), 15'000u);
  }
  std::string said;
  EXPECT_GT(CopyWithKills(there.store(), PlaceOf(pool), &said), 2);
  // Both sides were counted in the same way.
  EXPECT_THAT(said, HasSubstr("  source: 15000 items, "));
  EXPECT_THAT(said, HasSubstr("  target: 15000 items, "));
  {
    Place to(OpenPool(pool));
    // A killed process has left counters that only the sweep of a server would complete.
    table::test::SettleTransactions(dynamic_cast<kv_tx::TransactionEngine&>(*to.engine), *to.store);
    EXPECT_EQ(to.Items("plain"), plain);
    EXPECT_EQ(to.Items("tab"), tab);
    table::indexes::ExpectIndexesMatch(*to.store, "in the pool");
  }
  EXPECT_GT(CopyWithKills(PlaceOf(pool), back.store(), &said), 1);
  Place to(OpenDirectory(back.store()));
  EXPECT_EQ(to.Items("plain"), plain);
  EXPECT_EQ(to.Items("tab"), tab);
  table::indexes::ExpectIndexesMatch(*to.store, "and back");
}

TEST(CopyCommandOnACluster, ErrorsAreSentences) {
  const kv_rocks::TemporaryDirectory there, empty;
  const kv_rados::RadosOptions pool = ClusterUnderTest::NewStore();
  const std::string conf = ClusterUnderTest::Conf();
  auto from = std::make_unique<Place>(OpenDirectory(there.store()));
  FillIndexed(*from, 10);
  // The source is in use by this process.
  Outcome outcome = StatorCopy(there.store(), PlaceOf(pool), conf);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.said, "Another process has the store in " + there.store() +
                              " open. Stop it, or name another directory.\n");
  from.reset();
  // The target has a table of that name that is not a copy.
  {
    Place to(OpenPool(pool));
    FillIndexed(to, 1);
  }
  outcome = StatorCopy(there.store(), PlaceOf(pool), conf);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(
      outcome.said,
      "The target has a table tab already, which was not begun by a copy of this table. Drop it or "
      "copy to another target.\n");
  EXPECT_EQ(Place(OpenPool(pool)).Items("tab").size(), 1u);
  // There is no cluster.
  const std::string nobody = there.path() + "/nobody.conf";
  std::ofstream(nobody) << "[global]\nmon_host = [v2:127.0.0.1:1/0]\nauth_client_required = none\n";
  outcome = StatorCopy(there.store(), PlaceOf(pool), nobody);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.said,
              StartsWith("No monitor of the Ceph cluster of " + nobody + " answered within "));
  // Nothing is at the given places.
  outcome = StatorCopy(empty.store(), PlaceOf(pool), conf);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.said, "There is no store in " + empty.store() + ".\n");
  const kv_rados::RadosOptions nothing = ClusterUnderTest::NewStore();
  outcome = StatorCopy(PlaceOf(nothing), empty.store(), conf);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.said, "There are no tables in " + PlaceOf(nothing) + ".\n");
}

}  // namespace
}  // namespace stator
