#include "server/copy_command.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "expr/test_notation.h"
#include "kv_rocks/temporary_directory.h"
#include "server/open_engine.h"
#include "server/settings.h"
#include "table/key_encoding.h"
#include "table/store.h"
#include "table/test_await.h"

namespace stator::server {
namespace {

using table::Await;
using table::TablePtr;

TEST(CopyCommand, PlacesAreDirectoriesAndPools) {
  CopyCommand command;
  command.ceph_conf = "/etc/ceph/ceph.conf";
  command.ceph_user = "stator";
  EXPECT_EQ(EngineAt(command, "./there")->data_dir, "./there");
  EXPECT_EQ(EngineAt(command, "./there")->engine, EngineKind::kRocksDb);
  const Result<ServeSettings> pool = EngineAt(command, "rados:tables");
  ASSERT_TRUE(pool.ok());
  EXPECT_EQ(pool->engine, EngineKind::kRados);
  EXPECT_EQ(pool->pool, "tables");
  EXPECT_EQ(pool->ceph_namespace, "");
  EXPECT_EQ(pool->ceph_conf, "/etc/ceph/ceph.conf");
  EXPECT_EQ(pool->ceph_user, "stator");
  EXPECT_EQ(EngineAt(command, "rados:tables/test")->ceph_namespace, "test");
  for (const char* wrong : {"", "rados:", "rados:/x", "rados:tables/"})
    EXPECT_FALSE(EngineAt(command, wrong).ok()) << wrong;
  command.ceph_conf.clear();
  EXPECT_FALSE(EngineAt(command, "rados:tables").ok());
}

TEST(CopyCommand, CopiesADirectory) {
  kv_rocks::TemporaryDirectory there, here;
  CopyCommand command;
  command.from = there.store();
  command.to = here.store();
  EXPECT_EQ(Execute(command), 1);  // there is nothing
  const SystemClock clock;
  const auto items_in = [&clock](const std::string& place, bool fill) {
    ServeSettings settings;
    settings.data_dir = place;
    std::map<std::string, std::string> items;
    auto engine = OpenEngine(settings).value();
    WorkerPool workers(2, 100);
    auto store = table::Store::Open(*engine, clock, workers).value();
    if (fill) {
      table::TableDescriptor d;
      d.name = "t";
      d.table_id = "id";
      d.key_schema = {{"pk", model::Type::kS}};
      d.attribute_definitions = {{"pk", model::Type::kS}};
      EXPECT_TRUE(Await<Result<TablePtr>>([&](auto done) {
                    store->Create(std::move(d), std::move(done));
                  }).ok());
    }
    const TablePtr table = store->Find("t");
    for (int i = 0; fill && i < 100; ++i) {
      const std::string item = expr::notation::Item("{pk:'" + std::to_string(i) + "'}");
      std::vector<table::WriteTarget> targets;
      targets.push_back({table, table::EncodeItemKey(table->key_schema(), model::ItemView(item))});
      EXPECT_TRUE(
          Await<Status>([&](auto done) {
            store->Write(
                std::move(targets),
                [item](const std::vector<model::ItemView>&) -> Result<std::vector<table::Change>> {
                  std::vector<table::Change> changes(1);
                  changes[0].kind = table::Change::kPut;
                  changes[0].item = item;
                  return changes;
                },
                std::move(done));
          }).ok());
    }
    if (table != nullptr) {
      EXPECT_TRUE(store
                      ->Scan(*table, table::FirstKeyOfHash(0), table::EndOfItemKeys(), false,
                             kv::Tier::kAny,
                             [&items](std::string_view key, model::ItemView item) {
                               items.emplace(key, item.encoded());
                               return true;
                             })
                      .ok());
    }
    workers.Stop();
    store->Stop();
    engine.reset();
    return items;
  };
  const auto items = items_in(there.store(), true);
  EXPECT_EQ(items.size(), 100u);
  EXPECT_EQ(Execute(command), 0);
  EXPECT_EQ(items_in(here.store(), false), items);
  EXPECT_EQ(Execute(command), 0);  // it has been done
  command.tables = {"absent"};
  EXPECT_EQ(Execute(command), 1);
  command.tables.clear();
  command.to = there.path() + "/./store";
  EXPECT_EQ(Execute(command), 1);  // the same place
}

}  // namespace
}  // namespace stator::server
