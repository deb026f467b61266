#include "table/stream_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "table/table_index.h"

namespace stator::table {
namespace {

constexpr size_t kAll = 1'000'000;

stream::StreamPtr StreamOf(const std::string& table, const std::string& label, bool enabled) {
  auto stream = std::make_shared<stream::StreamDescriptor>();
  stream->table_name = table;
  stream->label = label;
  stream->Open({0}, 1000);
  if (!enabled) stream->Close(2000);
  return stream;
}

std::vector<StreamPlace> PlacesOf(const std::vector<stream::StreamPtr>& streams) {
  std::vector<StreamPlace> places;
  for (const stream::StreamPtr& stream : streams)
    places.emplace_back(stream->table_name, stream->label);
  return places;
}

TEST(StreamIndexTest, PagesAreWhatAWalkThroughAllStreamsFinds) {
  const std::vector<std::string> names = {"aaa", "bbb", "123456789012/aaa", "123456789012/ccc",
                                          "210987654321/aaa"};
  const std::vector<std::string> labels = {"1", "1+kinesis", "2", "2+kinesis", "3"};
  SeededRandom random(7);
  StreamIndex index;
  const auto any = [&](const std::vector<std::string>& of) { return of[random.Below(of.size())]; };
  for (int round = 0; round < 2000; ++round) {
    const stream::StreamPtr stream = StreamOf(any(names), any(labels), random.Below(2) == 0);
    if (random.Below(3) == 0)
      index.Erase(*stream);
    else
      index.Put(stream);

    const std::string name = any(names);
    const std::string account(AccountIn(name));
    const std::optional<std::string> table =
        random.Below(2) == 0 ? std::optional(name) : std::nullopt;
    std::optional<StreamPlace> after;
    if (random.Below(2) == 0)
      after.emplace(StoreName(account, random.Below(2) == 0 ? "aaa" : "bb"), any(labels));
    const size_t most = 1 + random.Below(4);
    std::vector<StreamPlace> expected;
    uint64_t disabled = 0;
    for (const stream::StreamPtr& each : index.All()) {
      if (!each->enabled()) disabled += DisabledStreams::BytesOf(*each);
      const StreamPlace place(each->table_name, each->label);
      if (each->hidden() || AccountIn(place.first) != account) continue;
      if ((table && place.first != *table) || (after && place <= *after)) continue;
      if (expected.size() < most) expected.push_back(place);
    }
    EXPECT_EQ(PlacesOf(index.Page(account, table, after, most)), expected) << round;
    uint64_t of_accounts = 0;
    for (const auto& [of, bytes] : index.disabled().of_accounts) {
      EXPECT_GT(bytes, 0u);
      of_accounts += bytes;
    }
    EXPECT_EQ(index.disabled().bytes, disabled);
    EXPECT_EQ(of_accounts, disabled);
    const stream::StreamPtr found = index.Find(stream->table_name, stream->label);
    EXPECT_TRUE(found == nullptr || found->label == stream->label);
  }
}

TEST(StreamIndexTest, StreamsOfAnAccountAreItsOwn) {
  StreamIndex index;
  for (const char* table : {"aaa", "123456789012/aaa", "210987654321/aaa"}) {
    index.Put(StreamOf(table, "1", true));
    index.Put(StreamOf(table, "1+kinesis", true));
  }
  EXPECT_EQ(index.All().size(), 6u);
  EXPECT_EQ(
      PlacesOf(index.Of("123456789012")),
      (std::vector<StreamPlace>{{"123456789012/aaa", "1"}, {"123456789012/aaa", "1+kinesis"}}));
  EXPECT_EQ(index.Of("").size(), 2u);
  EXPECT_EQ(index.Page("", {}, {}, kAll).size(), 1u) << "the hidden one is on no page";
  EXPECT_TRUE(index.Of("999999999999").empty());
}

TEST(TableIndexTest, PagesWithInsightsFollowTheVersions) {
  TableIndex index;
  const auto put = [&](const std::string& name, bool enabled, bool of_index = false) {
    TableDescriptor d;
    d.name = name;
    if (of_index) {
      d.indexes.emplace_back().state = IndexDescriptor::State::kActive;
      d.indexes.back().insights.emplace();
    } else if (enabled) {
      d.insights.emplace();
    }
    index.Put(std::make_shared<Table>(std::move(d), std::make_shared<Gate>()));
  };
  const auto page = [&](std::string_view account, std::string_view from, size_t most) {
    std::vector<std::string> names;
    for (const TablePtr& table : index.PageWithInsights(account, from, most))
      names.push_back(table->descriptor.name);
    return names;
  };
  using Names = std::vector<std::string>;
  for (const char* name : {"aaa", "ccc", "123456789012/bbb"}) put(name, true);
  put("bbb", false);
  put("ddd", false, true);
  EXPECT_EQ(page("", "", kAll), (Names{"aaa", "ccc", "ddd"}));
  EXPECT_EQ(page("", "b", 1), (Names{"ccc"}));
  EXPECT_EQ(page("", "ccc", kAll), (Names{"ccc", "ddd"})) << "the name itself is on the page";
  EXPECT_EQ(page("123456789012", "", kAll), (Names{"123456789012/bbb"}));
  put("bbb", true);
  put("aaa", false);
  index.Erase("ccc");
  EXPECT_EQ(page("", "", kAll), (Names{"bbb", "ddd"}));
  TableDescriptor deleting;
  deleting.name = "ddd";
  deleting.indexes.emplace_back().state = IndexDescriptor::State::kDeleting;
  deleting.indexes.back().insights.emplace();
  index.Put(std::make_shared<Table>(std::move(deleting), std::make_shared<Gate>()));
  EXPECT_EQ(page("", "", kAll), (Names{"bbb"})) << "an index that is being deleted is not listed";
}

}  // namespace
}  // namespace stator::table
