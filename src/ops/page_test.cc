// Paging: however a Query or Scan is cut (by Limit, 1 MB, the inline budget, data missing from
// memory), the pages put together are the items in order, each once.
#include "ops/page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <thread>

#include "ops/test_world.h"
#include "table/history_upkeep.h"
#include "table/key_encoding.h"
#include "table/test_await.h"

namespace stator::ops {
namespace {

using expr::notation::Item;

constexpr uint64_t kSeed = 99;

std::string BigItem(const std::string& pk, int64_t sk, size_t padding) {
  return Item("{pk: '" + pk + "', sk: " + std::to_string(sk) + ", even: " +
              (sk % 2 == 0 ? "true" : "false") + ", padding: '" + std::string(padding, 'x') + "'}");
}

// Sort key -> item of partition "p", with neighbours before and behind it in other partitions.
std::map<int64_t, std::string> Fill(TestWorld& world, uint64_t max_padding, int count) {
  world.Create("t", ScalarAttributeType::kN, 3);
  std::map<int64_t, std::string> items;
  for (int i = 0; i < count; ++i) {
    const int64_t sk = static_cast<int64_t>(world.random.Below(100000)) - 50000;
    items[sk] = BigItem("p", sk, world.random.Below(max_padding));
    EXPECT_TRUE(world.Put("t", items[sk]).ok());
  }
  for (int i = 0; i < 30; ++i)
    EXPECT_TRUE(world.Put("t", BigItem("other" + std::to_string(i), i, 10)).ok());
  return items;
}

struct Pages {
  std::vector<std::string> items;
  int64_t count = 0, scanned = 0, pages = 0;
  std::vector<int64_t> page_bytes;
};

template <typename Request, typename Response>
Pages ReadAll(TestWorld& world, Request request,
              void (*operation)(Context&, Request, Callback<Response>)) {
  Pages all;
  while (true) {
    const Result<Response> page = world.Call(operation, Request(request));
    EXPECT_TRUE(page.ok()) << (page.ok() ? "" : page.error().message());
    if (!page.ok() || all.pages > 100000) return all;
    ++all.pages;
    all.count += page->count;
    all.scanned += page->scanned_count;
    EXPECT_LE(page->scanned_count, request.limit.value_or(INT64_MAX));
    int64_t bytes = 0;
    for (const model::ItemView item : *page->items) {
      bytes += static_cast<int64_t>(item.size_bytes());
      all.items.emplace_back(item.encoded());
    }
    all.page_bytes.push_back(bytes);
    if (!page->last_evaluated_key) return all;
    request.exclusive_start_key = EncodedItem{*page->last_evaluated_key};
  }
}

// Writes to the store while a page is being filtered, as clients do. For the next test only.
struct WriteMeanwhile {
  TestWorld* world = nullptr;
  int written = 0, held = 0;
};
WriteMeanwhile* write_meanwhile = nullptr;
void WriteItemMeanwhile(model::ItemView item, bool, ByteBuffer* out) {
  out->Append(item.encoded());
  const auto done = std::make_shared<std::promise<void>>();
  std::future<void> future = done->get_future();
  std::thread([done, world = write_meanwhile->world] {
    kv::Batch batch;
    batch.puts.push_back({{kv::Space::kItems, 99}, "key", std::string(kv::kStampBytes, '\0')});
    world->engine.Apply(std::move(batch), [done](Result<uint64_t>) { done->set_value(); });
  }).detach();
  const bool passed = future.wait_for(std::chrono::seconds(10)) == std::future_status::ready;
  ++(passed ? write_meanwhile->written : write_meanwhile->held);
}

QueryRequest QueryOf(const std::string& condition,
                     std::vector<std::pair<std::string, std::string>> values) {
  QueryRequest request;
  request.table_name = "t";
  request.key_condition_expression = condition;
  request.expression_attribute_values.emplace();
  for (auto& [name, value] : values)
    request.expression_attribute_values->emplace_back(name, expr::notation::Value(value));
  return request;
}

TEST(Page, AnySplittingGivesTheSameItemsForwardAndReverse) {
  TestWorld world(kSeed);
  const std::map<int64_t, std::string> model = Fill(world, 9000, 500);
  std::vector<std::string> ascending;
  for (const auto& [sk, item] : model) ascending.push_back(item);
  constexpr double kNetwork = 1;
  for (const double stutter : {0.0, 0.7, kNetwork}) {
    world.engine.set_stutter(stutter);
    world.engine.set_network(stutter == kNetwork);
    for (const bool forward : {true, false}) {
      for (const std::optional<int64_t> limit :
           {std::optional<int64_t>(), std::optional<int64_t>(1), std::optional<int64_t>(7),
            std::optional<int64_t>(499), std::optional<int64_t>(100000)}) {
        QueryRequest request = QueryOf("pk = :p", {{":p", "'p'"}});
        request.scan_index_forward = forward;
        request.limit = limit;
        const Pages pages = ReadAll(world, request, Query);
        std::vector<std::string> expected = ascending;
        if (!forward) std::reverse(expected.begin(), expected.end());
        ASSERT_EQ(pages.items, expected)
            << "seed " << kSeed << ", stutter " << stutter << ", forward " << forward;
        EXPECT_EQ(pages.count, static_cast<int64_t>(expected.size()));
        EXPECT_EQ(pages.scanned, pages.count);
        if (!limit) {
          EXPECT_GT(pages.pages, 1) << "more than 1 MB is more than one page";
        }
        for (size_t i = 0; !limit && i + 1 < pages.page_bytes.size(); ++i) {
          EXPECT_GE(pages.page_bytes[i], kMaxPageBytes);
          EXPECT_LT(pages.page_bytes[i], kMaxPageBytes + 10000)
              << "one item beyond 1 MB at the most";
        }
      }
    }
  }
}

TEST(Page, WhatTheNetworkBringsIsReadWhereverItIsBest) {
  TestWorld world(kSeed + 3);
  const size_t items = Fill(world, 300, 300).size();
  world.engine.set_network(true);
  QueryRequest request = QueryOf("pk = :p", {{":p", "'p'"}});
  request.limit = 10;
  EXPECT_EQ(ReadAll(world, request, Query).items.size(), items);
  EXPECT_GE(world.engine.reads_ahead, static_cast<int>(items / 10))
      << "each page begins with what is read ahead";
}

// The engine in memory has one lock for all tables: a filter that held it would hold all writes.
TEST(Page, WritesPassWhileAWorkerFilters) {
  TestWorld world(kSeed + 7);
  world.Create("t", ScalarAttributeType::kN);
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(world.Put("t", BigItem("p", i, 3000)).ok());
  WriteMeanwhile meanwhile{&world};
  write_meanwhile = &meanwhile;
  QueryRequest request = QueryOf("pk = :p", {{":p", "'p'"}, {":v", "true"}, {":n", "'y'"}});
  // The filter takes many steps, so a worker filters all items, not the thread of the loop.
  request.filter_expression = "even = :v";
  for (int i = 0; i < 90; ++i) *request.filter_expression += " AND NOT contains(padding, :n)";
  Context context{world.env, world.loop};
  context.item_writer = WriteItemMeanwhile;
  std::optional<Result<QueryResponse>> answer;
  Query(context, std::move(request), [&](Result<QueryResponse> got) { answer = std::move(got); });
  while (!answer) world.loop.RunOne();
  ASSERT_TRUE(answer->ok());
  EXPECT_EQ((*answer)->count, 4);
  EXPECT_EQ(meanwhile.written, 4);
  EXPECT_EQ(meanwhile.held, 0);
}

TEST(Page, RandomRangesAndFilters) {
  TestWorld world(kSeed + 1);
  const std::map<int64_t, std::string> model = Fill(world, 300, 300);
  world.engine.set_stutter(0.3);
  std::vector<int64_t> keys;
  for (const auto& [sk, item] : model) keys.push_back(sk);
  for (int i = 0; i < 150; ++i) {
    int64_t low =
        keys[world.random.Below(keys.size())] + static_cast<int64_t>(world.random.Below(3)) - 1;
    int64_t high = keys[world.random.Below(keys.size())];
    if (low > high) std::swap(low, high);
    static constexpr const char* kConditions[] = {"pk = :p AND sk < :h",
                                                  "pk = :p AND sk <= :h",
                                                  "pk = :p AND sk > :l",
                                                  "pk = :p AND sk >= :l",
                                                  "pk = :p AND sk BETWEEN :l AND :h",
                                                  "pk = :p AND sk = :h"};
    const size_t kind = world.random.Below(6);
    std::vector<std::pair<std::string, std::string>> values = {{":p", "'p'"}};
    if (kind <= 1 || kind >= 4) values.emplace_back(":h", std::to_string(high));
    if (kind >= 2 && kind <= 4) values.emplace_back(":l", std::to_string(low));
    QueryRequest request = QueryOf(kConditions[kind], values);
    const bool filtered = world.random.Below(2) == 0;
    if (filtered) {
      request.filter_expression = "even = :t";
      request.expression_attribute_values->emplace_back(":t", expr::notation::Value("true"));
    }
    request.scan_index_forward = world.random.Below(2) == 0;
    world.engine.set_network(world.random.Below(2) == 0);
    // An equality on the whole key cannot be restarted, and need not be.
    if (kind != 5) request.limit = 1 + static_cast<int64_t>(world.random.Below(20));
    std::vector<std::string> expected;
    int64_t scanned = 0;
    for (const auto& [sk, item] : model) {
      const bool inside = kind == 0   ? sk < high
                          : kind == 1 ? sk <= high
                          : kind == 2 ? sk > low
                          : kind == 3 ? sk >= low
                          : kind == 4 ? sk >= low && sk <= high
                                      : sk == high;
      if (!inside) continue;
      ++scanned;
      if (!filtered || sk % 2 == 0) expected.push_back(item);
    }
    if (!*request.scan_index_forward) std::reverse(expected.begin(), expected.end());
    const Pages pages = ReadAll(world, request, Query);
    ASSERT_EQ(pages.items, expected)
        << "seed " << kSeed + 1 << ", " << i << ": " << kConditions[kind];
    EXPECT_EQ(pages.scanned, scanned);
  }
}

// 60 searches in items of up to 300 KB: the first takes more steps than a loop does, so a worker
// evaluates all of them.
TEST(Page, LongFiltersGiveTheSameItems) {
  for (const double stutter : {0.0, 0.3}) {
    TestWorld world(kSeed + 2);
    const std::map<int64_t, std::string> items = Fill(world, 300'000, 12);
    world.engine.set_stutter(stutter);
    std::string filter = "contains(padding, :never)";
    for (int i = 0; i < 60; ++i) filter += " OR contains(padding, :never)";
    QueryRequest request = QueryOf("pk = :p", {{":p", "'p'"}, {":t", "true"}});
    request.filter_expression = "even = :t OR " + filter;
    std::string never;
    model::AppendString(&never, std::string(1000, 'x') + "y");
    request.expression_attribute_values->emplace_back(":never", never);
    std::vector<std::string> expected;
    for (const auto& [sk, item] : items) {
      if (sk % 2 == 0) expected.push_back(item);
    }
    const Pages pages = ReadAll(world, request, Query);
    EXPECT_EQ(pages.items, expected);
    EXPECT_EQ(pages.scanned, static_cast<int64_t>(items.size()));
  }
}

// Sort keys with zeros and 0xff: a prefix of 0xff bytes has no successor.
TEST(Page, BeginsWithOnAwkwardBytes) {
  TestWorld world(kSeed + 2);
  world.Create("t", ScalarAttributeType::kB);
  std::set<std::string> keys;
  const auto random_key = [&](size_t least) {
    static constexpr char kBytes[] = {'\x00', '\x01', '\xff'};
    std::string key;
    for (uint64_t left = least + world.random.Below(4); left > 0; --left)
      key.push_back(kBytes[world.random.Below(3)]);
    return key;
  };
  const auto put = [&](const std::string& pk, const std::string& sk) {
    std::string entries, item;
    model::AppendName(&entries, "pk");
    model::AppendString(&entries, pk);
    model::AppendName(&entries, "sk");
    model::AppendBinary(&entries, sk);
    model::AppendItem(&item, 2, entries);
    EXPECT_TRUE(world.Put("t", item).ok());
  };
  for (int i = 0; i < 100; ++i) {
    const std::string key = random_key(1);
    keys.insert(key);
    put("p", key);
    put(std::string("p\0", 2), key);
    put("q", key);
  }
  for (int i = 0; i < 100; ++i) {
    const std::string prefix = random_key(1);  // an empty one is refused
    QueryRequest request = QueryOf("pk = :p AND begins_with(sk, :s)", {{":p", "'p'"}});
    std::string value;
    model::AppendBinary(&value, prefix);
    request.expression_attribute_values->emplace_back(":s", value);
    request.scan_index_forward = i % 2 == 0;
    request.limit = 1 + static_cast<int64_t>(world.random.Below(5));
    std::vector<std::string> expected, got;
    for (const std::string& key : keys) {
      if (key.starts_with(prefix)) expected.push_back(key);
    }
    if (i % 2 != 0) std::reverse(expected.begin(), expected.end());
    for (const std::string& item : ReadAll(world, request, Query).items) {
      EXPECT_EQ(model::ItemView(item).Find("pk").text(), "p");
      got.emplace_back(model::ItemView(item).Find("sk").text());
    }
    ASSERT_EQ(got, expected) << "seed " << kSeed + 2 << ", " << i;
  }
}

TEST(Scan, SegmentsPartitionTheTable) {
  TestWorld world(kSeed + 3);
  world.Create("t", std::nullopt, 4);
  std::set<std::string> all;
  for (int i = 0; i < 700; ++i) {
    const std::string item =
        Item("{pk: 'user" + std::to_string(i) + "', n: " + std::to_string(i) + "}");
    ASSERT_TRUE(world.Put("t", item).ok());
    all.insert(item);
  }
  world.engine.set_stutter(0.3);
  for (const int64_t total : {1, 2, 3, 7, 100, 1000}) {
    std::set<std::string> seen;
    for (int64_t segment = 0; segment < total; ++segment) {
      ScanRequest request;
      request.table_name = "t";
      request.segment = segment;
      request.total_segments = total;
      request.limit = 1 + static_cast<int64_t>(world.random.Below(60));
      for (const std::string& item : ReadAll(world, request, Scan).items) {
        ASSERT_TRUE(seen.insert(item).second) << "in two segments of " << total;
      }
    }
    ASSERT_EQ(seen, all) << total << " segments, seed " << kSeed + 3;
  }
  ScanRequest last;
  last.table_name = "t";
  last.segment = 999'999;
  last.total_segments = 1'000'000;
  EXPECT_TRUE(world.Call(Scan, last).ok());
}

TEST(Scan, AStartKeyOfAnotherSegmentIsRefused) {
  TestWorld world;
  world.Create("t");
  const std::string key = Item("{pk: 'a'}");
  int accepted = 0;
  for (int64_t segment = 0; segment < 5; ++segment) {
    ScanRequest request;
    request.table_name = "t";
    request.segment = segment;
    request.total_segments = 5;
    request.exclusive_start_key = EncodedItem{key};
    const Result<ScanResponse> answer = world.Call(Scan, request);
    accepted += answer.ok();
    if (!answer.ok()) {
      EXPECT_EQ(answer.error().code(), ErrorCode::kValidation);
    }
  }
  EXPECT_EQ(accepted, 1);
}

TEST(Page, AFullPoolIsARefusalNotAWrongPage) {
  TestWorld world(kSeed, 0, 0);
  world.Create("t", ScalarAttributeType::kN);
  ASSERT_TRUE(world.Put("t", BigItem("p", 1, 10)).ok());
  world.engine.set_stutter(1);
  const Result<QueryResponse> answer = world.Call(Query, QueryOf("pk = :p", {{":p", "'p'"}}));
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code(), ErrorCode::kUnavailable);
}

TEST(Page, EndsEarlyWhileMemoryIsShortAndStillShowsEveryItemOnce) {
  TestWorld world(kSeed + 6);
  world.Create("t", ScalarAttributeType::kN);
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(world.Put("t", BigItem("p", i, 30'000)).ok());
  MemoryAccount account(2 << 20);
  MemoryHolder holder(account, {});
  MemoryLease lease(holder);
  world.memory = &lease;
  MemoryHolder others(account, {});
  others.Add(1'790'000);
  QueryRequest request = QueryOf("pk = :p", {{":p", "'p'"}});
  Pages all;
  while (true) {
    const Result<QueryResponse> page = world.Call(Query, QueryRequest(request));
    ASSERT_TRUE(page.ok()) << page.error().message();
    // The page after the last item may be empty.
    ASSERT_TRUE(page->scanned_count >= 1 || !page->last_evaluated_key);
    EXPECT_LE(page->scanned_count, 8);
    all.count += page->count;
    ++all.pages;
    lease.Release();
    if (!page->last_evaluated_key) break;
    request.exclusive_start_key = EncodedItem{*page->last_evaluated_key};
  }
  EXPECT_EQ(all.count, 30);
  EXPECT_GE(all.pages, 4);
  others.Sub(1'790'000);
  EXPECT_EQ(world.Call(Query, QueryOf("pk = :p", {{":p", "'p'"}}))->count, 30);
}

// A worker writes them, and counts each before it does.
TEST(Page, LargeItemsAreCountedBeforeTheyAreTaken) {
  TestWorld world(kSeed + 8);
  world.Create("t", ScalarAttributeType::kN);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(world.Put("t", BigItem("p", i, 100'000)).ok());
  MemoryAccount account(4 << 20);
  MemoryHolder holder(account, {});
  MemoryLease lease(holder);
  world.memory = &lease;
  MemoryHolder others(account, {});
  others.Add(3'200'000);
  for (const bool forward : {true, false}) {
    QueryRequest request = QueryOf("pk = :p", {{":p", "'p'"}});
    request.scan_index_forward = forward;
    int64_t count = 0;
    int pages = 0;
    while (true) {
      const Result<QueryResponse> page = world.Call(Query, QueryRequest(request));
      ASSERT_TRUE(page.ok()) << page.error().message();
      ASSERT_LE(lease.bytes(), 500'000);
      ASSERT_LE(account.held(), 3'700'000);
      EXPECT_LE(page->scanned_count, 3);
      count += page->count;
      ++pages;
      lease.Release();
      if (!page->last_evaluated_key) break;
      request.exclusive_start_key = EncodedItem{*page->last_evaluated_key};
    }
    EXPECT_EQ(count, 10);
    EXPECT_GE(pages, 4);
  }
  // No item fits: the client tries again.
  others.Add(500'000);
  const Result<QueryResponse> none = world.Call(Query, QueryOf("pk = :p", {{":p", "'p'"}}));
  ASSERT_FALSE(none.ok());
  EXPECT_TRUE(IsOverload(none.error()));
  EXPECT_EQ(lease.bytes(), 0);
  // A page that only counts takes no memory.
  QueryRequest counted = QueryOf("pk = :p", {{":p", "'p'"}});
  counted.select = Select::kCount;
  EXPECT_EQ(world.Call(Query, std::move(counted))->count, 10);
}

TEST(BatchGetItem, LeavesKeysUnprocessedWhileMemoryIsShort) {
  TestWorld world(kSeed + 7);
  world.Create("t", ScalarAttributeType::kN);
  BatchGetItemRequest request;
  request.request_items.resize(1);
  request.request_items[0].table_name = "t";
  for (int i = 0; i < 30; ++i) {
    ASSERT_TRUE(world.Put("t", BigItem("p", i, 30'000)).ok());
    request.request_items[0].keys.push_back(
        EncodedItem{Item("{pk: 'p', sk: " + std::to_string(i) + "}")});
  }
  MemoryAccount account(1 << 20);
  MemoryHolder holder(account, {});
  MemoryLease lease(holder);
  world.memory = &lease;
  size_t found = 0;
  int rounds = 0;
  while (true) {
    const Result<BatchGetItemResponse> part =
        world.Call(BatchGetItem, BatchGetItemRequest(request));
    ASSERT_TRUE(part.ok()) << part.error().message();
    ASSERT_FALSE(part->responses[0].items.empty());
    found += part->responses[0].items.size();
    ++rounds;
    lease.Release();
    if (part->unprocessed_keys.empty()) break;
    request.request_items = part->unprocessed_keys;
  }
  EXPECT_EQ(found, 30u);
  EXPECT_GT(rounds, 1);
}

// Each key of the past is a seek in every day of the log.
// Makes a table with a change log.
void CreateWithPast(TestWorld& world) {
  world.Create("t", ScalarAttributeType::kN);
  ASSERT_TRUE(table::RequireChangeLogs(*world.store).ok());
  ASSERT_TRUE(table::Await<Result<table::TablePtr>>([&world](auto done) {
                world.store->Alter(
                    "t",
                    [](table::TableDescriptor* descriptor) {
                      descriptor->change_log.emplace();
                      return OkStatus();
                    },
                    std::move(done));
              }).ok());
}

// A page that has to read 10 MB to tell what 100 small items were lets others have the worker.
TEST(Page, ThePastIsReadInTurns) {
  TestWorld world(kSeed + 9);
  CreateWithPast(world);
  constexpr int64_t kItems = 100;
  const auto put_all = [&world](size_t padding) {
    for (int64_t i = 0; i < kItems; ++i) ASSERT_TRUE(world.Put("t", BigItem("p", i, padding)).ok());
  };
  put_all(10);
  world.clock.AdvanceMicros(10'000'000);
  const int64_t moment = world.clock.NowMicros() / 1000 - 5000;
  put_all(100'000);
  for (const bool reverse : {false, true}) {
    QueryRequest request = QueryOf("pk = :p", {{":p", "'p'"}});
    request.scan_index_forward = !reverse;
    std::optional<Result<QueryResponse>> answer;
    Context context{world.env, world.loop, ""};
    context.as_of_millis = moment;
    Query(context, std::move(request),
          [&answer](Result<QueryResponse> response) { answer.emplace(std::move(response)); });
    // Each turn on the worker comes back to the loop.
    int turns = 0;
    for (; !answer; ++turns) world.loop.RunOne();
    ASSERT_TRUE(answer->ok()) << answer->error().message();
    EXPECT_GE(turns, 3);
    EXPECT_LE(turns, 8);
    EXPECT_FALSE((*answer)->last_evaluated_key.has_value());
    int64_t next = reverse ? kItems : -1;
    for (const model::ItemView item : *(*answer)->items) {
      next += reverse ? -1 : 1;
      EXPECT_EQ(item.encoded(), BigItem("p", next, 10));
    }
    EXPECT_EQ(next, reverse ? 0 : kItems - 1);
  }
}

TEST(BatchGetItem, NoKeyOfThePastIsReadOnTheLoop) {
  TestWorld world(kSeed + 8);
  CreateWithPast(world);
  constexpr size_t kItems = 60;
  BatchGetItemRequest request;
  request.request_items.resize(1);
  request.request_items[0].table_name = "t";
  for (size_t i = 0; i < kItems; ++i) {
    ASSERT_TRUE(world.Put("t", BigItem("p", static_cast<int64_t>(i), 10)).ok());
    request.request_items[0].keys.push_back(
        EncodedItem{Item("{pk: 'p', sk: " + std::to_string(i) + "}")});
  }
  world.clock.AdvanceMicros(10'000'000);
  const int64_t moment = world.clock.NowMicros() / 1000 - 5000;
  for (size_t i = 0; i < kItems; ++i)
    ASSERT_TRUE(world.Put("t", BigItem("p", static_cast<int64_t>(i), 500)).ok());
  const auto read = [&](size_t keys) {
    BatchGetItemRequest some(request);
    some.request_items[0].keys.resize(keys);
    std::optional<Result<BatchGetItemResponse>> answer;
    Context context{world.env, world.loop, ""};
    context.as_of_millis = moment;
    BatchGetItem(context, std::move(some), [&answer](Result<BatchGetItemResponse> response) {
      answer.emplace(std::move(response));
    });
    while (!answer) world.loop.RunOne();
    return std::move(*answer);
  };
  for (const size_t keys : {size_t{1}, size_t{25}, size_t{26}, kItems}) {
    const Result<BatchGetItemResponse> past = read(keys);
    ASSERT_TRUE(past.ok()) << past.error().message();
    EXPECT_TRUE(past->unprocessed_keys.empty());
    ASSERT_EQ(past->responses[0].items.size(), keys);
    for (const std::string& item : past->responses[0].items)
      EXPECT_EQ(model::ItemView(item).Find("padding").text().size(), 10u);
  }
  world.workers.Stop();
  for (const size_t keys : {size_t{1}, kItems}) {
    const Result<BatchGetItemResponse> past = read(keys);
    ASSERT_FALSE(past.ok()) << "the loop's thread read " << keys << " keys";
    EXPECT_TRUE(IsOverload(past.error())) << past.error().message();
  }
}

TEST(Scan, CapacityOfPartitionsAddsUp) {
  TestWorld world(kSeed + 4);
  const table::TablePtr table = world.Create("t", std::nullopt, 4);
  ASSERT_EQ(table->descriptor.partitions.size(), 5u) << "ceil(12000/3000 + 1/1000)";
  ScanRequest request;
  request.table_name = "t";
  request.return_consumed_capacity = ReturnConsumedCapacity::kTotal;
  request.consistent_read = true;
  const Result<ScanResponse> empty = world.Call(Scan, request);
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ(empty->consumed_capacity->capacity_units, 5.0) << "each partition is touched";
  for (int i = 0; i < 200; ++i)
    ASSERT_TRUE(world.Put("t", Item("{pk: 'u" + std::to_string(i) + "'}")).ok());
  EXPECT_EQ(world.Call(Scan, request)->consumed_capacity->capacity_units, 5.0)
      << "200 small items fit in 4 KB each";
}

}  // namespace
}  // namespace stator::ops
