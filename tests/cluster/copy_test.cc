// Tables from memory to a pool and back, with ends on the way.
#include "copy/copy.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "cluster_under_test.h"
#include "expr/test_notation.h"
#include "kv/memory_engine.h"
#include "kv_tx/transaction_engine.h"
#include "table/key_encoding.h"
#include "table/store.h"
#include "table/test_await.h"
#include "table/test_indexes.h"

namespace stator {
namespace {

using expr::notation::Item;
using table::Await;
using table::TablePtr;

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
    const Status read = store->Scan(*store->Find(name), table::FirstKeyOfHash(0), table::EndOfItemKeys(), false,
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

TEST(CopyToACluster, ThereAndBackWithEndsOnTheWay) {
  Place from(std::make_unique<kv::MemoryEngine>());
  table::TableDescriptor d = table::indexes::Describe();
  d.stream_view_type = stream::ViewType::kNewImage;
  ASSERT_TRUE(Await<Result<TablePtr>>([&](auto done) { from.store->Create(std::move(d), std::move(done)); }).ok());
  SeededRandom random(SystemSeed());
  for (int i = 0; i < 1500; ++i) {
    const std::string item = table::indexes::RandomItem(random, "p" + std::to_string(random.Below(100)),
                                                        static_cast<int>(random.Below(100)));
    std::vector<table::WriteTarget> targets;
    const TablePtr tab = from.store->Find("tab");
    targets.push_back({tab, table::EncodeItemKey(tab->key_schema(), model::ItemView(item))});
    ASSERT_TRUE(Await<Status>([&](auto done) {
                  from.store->Write(
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
    const Status copied = copy::CopyTables(*from.store, *to.store, options, [&](const copy::Copied& each) {
      EXPECT_EQ(each.source.items, static_cast<int64_t>(items.size()));
      EXPECT_EQ(each.source, each.target);
    });
    if (copied.ok()) {
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

}  // namespace
}  // namespace stator
