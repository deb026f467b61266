#include "server/split_control.h"

#include <gtest/gtest.h>

namespace stator::server {
namespace {

TEST(SplitRequest, ReadsIdsAndHashesAsThePartitionsCallShowsThem) {
  const Result<SplitRequest> widest = ParseSplitRequest("");
  ASSERT_TRUE(widest.ok());
  EXPECT_FALSE(widest->partition || widest->hash);
  const Result<SplitRequest> both =
      ParseSplitRequest(R"({"partition": 12, "hash": "4000000000000000"})");
  ASSERT_TRUE(both.ok());
  EXPECT_EQ(both->partition, 12u);
  EXPECT_EQ(both->hash, uint64_t{1} << 62);
  EXPECT_EQ(ParseSplitRequest(R"({"hash": "0xFFFFFFFFFFFFFFFF"})")->hash, UINT64_MAX);
  EXPECT_EQ(ParseSplitRequest(R"({"partition": "12"})")->partition, 12u);
  EXPECT_TRUE(ParseSplitRequest("{}").ok());
}

TEST(SplitRequest, RefusesOtherBodiesWithASentence) {
  const auto message = [](std::string_view body) {
    const Result<SplitRequest> request = ParseSplitRequest(body);
    return request.ok() ? std::string() : request.error().message();
  };
  // A decimal hash, which would be another place of the hash space.
  for (const char* hash : {R"("4611686018427387904")", "4611686018427387904", R"("16")", R"("")",
                           R"("0x10")", R"("400000000000000g")", R"("-400000000000000")", "null"}) {
    EXPECT_NE(message(std::string(R"({"hash": )") + hash + "}").find("16 hexadecimal digits"),
              std::string::npos)
        << hash;
  }
  for (const char* id : {R"("first")", "-1", "1.5", "null", "[1]"}) {
    EXPECT_NE(message(std::string(R"({"partition": )") + id + "}").find("the id of a partition"),
              std::string::npos)
        << id;
  }
  EXPECT_NE(message(R"({"wrong": 1})").find("\"wrong\""), std::string::npos);
  EXPECT_NE(message("[]").find("must be a JSON object"), std::string::npos);
  EXPECT_NE(message("{").find("must be a JSON object"), std::string::npos);
}

}  // namespace
}  // namespace stator::server
