#include "api_client/client.h"

#include <gtest/gtest.h>

#include <vector>

namespace stator::api_client {
namespace {

constexpr int64_t kPatience = 120'000'000;

TEST(Backoff, WaitsBelowABoundThatDoubles) {
  ManualClock clock;
  SeededRandom random(7);
  Backoff backoff(clock, random, kPatience);
  int64_t bound = Backoff::kFirstMicros;
  for (int i = 0; i < 20; ++i) {
    const std::optional<int64_t> wait = backoff.Next();
    ASSERT_TRUE(wait);
    EXPECT_LE(*wait, bound);
    bound = std::min(bound * 2, Backoff::kMostMicros);
  }
}

TEST(Backoff, GivesUpWhenItsPatienceIsOver) {
  ManualClock clock;
  SeededRandom random(7);
  Backoff backoff(clock, random, kPatience);
  clock.AdvanceMicros(kPatience - 1);
  EXPECT_TRUE(backoff.Next());
  clock.AdvanceMicros(1);
  EXPECT_FALSE(backoff.Next());
  backoff.Succeeded();
  EXPECT_TRUE(backoff.Next());
}

TEST(Client, GivesUpWhenThePauseIsEnded) {
  ManualClock clock;
  SeededRandom random(7);
  int pauses = 0;
  Retries retries;
  retries.clock = &clock;
  retries.random = &random;
  retries.pause = [&](int64_t) { return ++pauses < 3; };
  Endpoint endpoint;
  endpoint.url = egress::ParseUrl("http://127.0.0.1:1").value();
  endpoint.key = {"AKIDEXAMPLE", "secret", ""};
  Client client(endpoint, retries);
  const Result<std::string> answer = client.Call("DynamoDB_20120810.ListTables", "{}");
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(pauses, 3);
  EXPECT_EQ(client.retries(), 3);
}

TEST(Endpoint, ServiceHasAnotherHostForStreams) {
  Endpoint endpoint;
  endpoint.url = egress::ParseUrl("https://dynamodb.eu-west-1.amazonaws.com").value();
  EXPECT_EQ(StreamsOf(endpoint).url.host, "streams.dynamodb.eu-west-1.amazonaws.com");
  endpoint.url = egress::ParseUrl("http://localhost:8000").value();
  EXPECT_EQ(StreamsOf(endpoint).url.host, "localhost");
}

TEST(Endpoint, ServiceNeedsAKey) {
  const Variables none = [](const std::string&) { return std::optional<std::string>(); };
  const Result<Endpoint> found = FindEndpoint({"aws", "eu-west-1", ""}, none);
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code(), ErrorCode::kValidation);
}

}  // namespace
}  // namespace stator::api_client
