#include "bulk/live_state.h"

#include <gtest/gtest.h>

namespace stator::bulk {
namespace {

LiveState Full() {
  LiveState state;
  state.table = "T";
  state.source = "https://source";
  state.source_id = "s";
  state.target = "http://target";
  state.target_id = "t";
  state.mask = "m";
  state.made = true;
  state.segments = {{R"({"pk":{"S":"person"}})", false}, {"", true}};
  state.items = 5;
  state.error_bytes = 9;
  state.stream = "arn:\"x\"";
  state.safe_micros = 77;
  state.shards = {{"a", "", "12", true}, {"b", "a", "", false}};
  return state;
}

TEST(LiveState, ComesBack) {
  const std::string text = EncodeLive(Full(), "");
  const Result<LiveState> read = DecodeLive(text, "");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(EncodeLive(*read, ""), text);
  EXPECT_EQ(read->shards[0].position, "12");
  EXPECT_EQ(read->segments[0].start, R"({"pk":{"S":"person"}})");
}

TEST(LiveState, KeysAreSealedUnderAMask) {
  const std::string key(32, 'k');
  const std::string text = EncodeLive(Full(), key);
  EXPECT_EQ(text.find("person"), std::string::npos);
  const Result<LiveState> read = DecodeLive(text, key);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->segments[0].start, R"({"pk":{"S":"person"}})");
  EXPECT_FALSE(DecodeLive(text, std::string(32, 'x')).ok());
}

TEST(LiveState, TextThatIsCutAtAnyByteIsRefused) {
  const std::string text = EncodeLive(Full(), "");
  for (size_t bytes = 0; bytes + 2 < text.size(); ++bytes)
    EXPECT_FALSE(DecodeLive(text.substr(0, bytes), "").ok()) << bytes;
}

}  // namespace
}  // namespace stator::bulk
