#include "bulk/live_items.h"

#include <gtest/gtest.h>

#include "bulk/test_items.h"

namespace stator::bulk {
namespace {

const model::KeySchema kKey{{"pk", model::Type::kS}, std::nullopt};

Result<RecordPage> Page(std::string_view json) {
  simdjson::dom::parser parser;
  const simdjson::padded_string padded(json);
  return ChangesOf(parser.parse(padded).value().get_array().value(), kKey, std::nullopt);
}

TEST(LiveItems, OfSeveralRecordsOfAKeyTheLastOneStays) {
  const Result<RecordPage> page =
      Page(R"([{"eventName":"INSERT","dynamodb":{"SequenceNumber":"1","Keys":{"pk":{"S":"a"}},)"
           R"("NewImage":{"pk":{"S":"a"},"n":{"N":"1"}}}},)"
           R"({"eventName":"INSERT","dynamodb":{"SequenceNumber":"2","Keys":{"pk":{"S":"b"}},)"
           R"("NewImage":{"pk":{"S":"b"}}}},)"
           R"({"eventName":"REMOVE","dynamodb":{"SequenceNumber":"3","Keys":{"pk":{"S":"b"}}}},)"
           R"({"eventName":"MODIFY","dynamodb":{"SequenceNumber":"4","Keys":{"pk":{"S":"a"}},)"
           R"("ApproximateCreationDateTime":1.5E9,"NewImage":{"pk":{"S":"a"},"n":{"N":"2"}}}}])");
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(page->records, 4);
  EXPECT_EQ(page->last, "4");
  EXPECT_EQ(page->created_micros, 1'500'000'000'000'000);
  ASSERT_EQ(page->changes.size(), 2);
  EXPECT_TRUE(page->changes[0].put);
  EXPECT_EQ(page->changes[0].json, R"({"n":{"N":"2"},"pk":{"S":"a"}})");
  EXPECT_FALSE(page->changes[1].put);
  EXPECT_EQ(page->changes[1].json, R"({"pk":{"S":"b"}})");
}

TEST(LiveItems, ARecordWithoutItsImageIsRefused) {
  EXPECT_FALSE(
      Page(R"([{"eventName":"MODIFY","dynamodb":{"SequenceNumber":"1","Keys":{"pk":{"S":"a"}}}}])")
          .ok());
  EXPECT_FALSE(Page(R"([{"eventName":"MODIFY"}])").ok());
}

TEST(LiveItems, AnItemWithoutItsKeyIsRefused) {
  simdjson::dom::parser parser;
  const simdjson::padded_string padded(std::string_view(R"([{"x":{"S":"a"}}])"));
  EXPECT_FALSE(PutsOf(parser.parse(padded).value().get_array().value(), kKey, std::nullopt).ok());
}

}  // namespace
}  // namespace stator::bulk
