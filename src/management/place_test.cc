#include "management/place.h"

#include <gtest/gtest.h>

#include "management/play.h"
#include "management/test_server.h"

namespace stator::management {
namespace {

TEST(Place, OfAKeyInTheTableAndItsIndex) {
  TestServer server;
  server.Create("music", 3000);  // several partitions
  const auto place = [&](const std::string& key) {
    return PlaceOf(server.environment(), "music", R"({"key":)" + key + "}");
  };
  const Parsed table(*place(R"({"pk":{"S":"nina"}})"));
  ASSERT_EQ(table.Size("/places"), 1u) << table.text();
  EXPECT_TRUE(table["/places/0/index"].is_null());
  const int64_t of = table.Whole("/places/0/of");
  EXPECT_GT(of, 1);
  const uint64_t hash = std::stoull(table.Text("/places/0/hash"), nullptr, 16);
  EXPECT_LE(std::stoull(table.Text("/places/0/from/hash"), nullptr, 16), hash);
  EXPECT_EQ(table.Whole("/places/0/number"),
            static_cast<int64_t>(static_cast<double>(hash) / 0x1p64 * static_cast<double>(of)));
  if (!table["/places/0/to"].is_null()) {
    EXPECT_GT(std::stoull(table.Text("/places/0/to/hash"), nullptr, 16), hash);
  }

  const Parsed both(*place(R"({"pk":{"S":"nina"},"g":{"N":"7"}})"));
  ASSERT_EQ(both.Size("/places"), 2u);
  EXPECT_EQ(both.Text("/places/1/index"), "by-g");
  EXPECT_NE(both.Text("/places/1/hash"), both.Text("/places/0/hash"));
  EXPECT_EQ(Parsed(*place(R"({"pk":{"S":"nina"},"g":{"S":"7"}})")).Size("/places"), 1u);
}

TEST(Place, SaysWhatIsWrong) {
  TestServer server;
  server.Create("music", 5);
  const auto error = [&](std::string_view table, const std::string& body) {
    const Result<std::string> place = PlaceOf(server.environment(), table, body);
    EXPECT_FALSE(place.ok()) << body;
    return place.ok() ? ErrorCode::kInternal : place.error().code();
  };
  EXPECT_EQ(error("none", "{}"), ErrorCode::kResourceNotFound);
  for (const char* body :
       {"", "{", "[]", "{}", R"({"key":3})", R"({"key":{}})", R"({"key":{"g":{"N":"1"}}})",
        R"({"key":{"pk":{"N":"1"}}})", R"({"key":{"pk":{"S":""}}})", R"({"key":{"pk":{"N":"x"}}})",
        R"({"key":{"pk":3}})"}) {
    EXPECT_EQ(error("music", body), ErrorCode::kValidation) << body;
  }
  EXPECT_EQ(error("music", R"({"key":{"pk":{"S":")" + std::string(70'000, 'x') + R"("}}})"),
            ErrorCode::kValidation);
}

constexpr const char* kScenario =
    R"({"scenario":"duration = \"10s\"\n[[table]]\nname = \"votes\"\nread = 5\nwrite = 5\n[[traffic]]\nname = \"w\"\ntable = \"votes\"\noperation = \"write\"\nrate = RATE\nitem_bytes = \"1KB\"\nkeys = { type = \"single\", key = \"alice\" }\n"})";

std::string Scenario(const std::string& rate) {
  std::string text = kScenario;
  return text.replace(text.find("RATE"), 4, rate);
}

const std::atomic<bool> kGoesOn = false;

TEST(Play, AnswersWhatTheProgramWrites) {
  const SystemClock clock;
  const Result<std::string> played = Play(Scenario("50"), clock, kGoesOn);
  ASSERT_TRUE(played.ok()) << played.error().message();
  const Parsed outcome(*played);
  EXPECT_EQ(outcome.Text("/resources/0/name"), "votes");
  EXPECT_EQ(outcome.Whole("/traffic/0/requests"), 500);
  EXPECT_NE(outcome.Text("/summary").find("votes"), std::string::npos);
}

// Ticks that pass by themselves.
class Rushing final : public Clock {
 public:
  int64_t NowMicros() const override { return 0; }
  int64_t TicksMicros() const override { return ticks_ += 1'000'000; }

 private:
  mutable int64_t ticks_ = 0;
};

TEST(Play, IsBounded) {
  const SystemClock clock;
  const auto refused = [](const Result<std::string>& played, std::string_view why) {
    ASSERT_FALSE(played.ok());
    EXPECT_EQ(played.error().code(), ErrorCode::kValidation);
    EXPECT_NE(played.error().message().find(why), std::string::npos) << played.error().message();
  };
  refused(Play("{}", clock, kGoesOn), "The body must be");
  refused(Play(R"({"scenario":"x = "})", clock, kGoesOn), "scenario.toml:1");
  refused(Play(std::string(300'000, 'x'), clock, kGoesOn), "256 KB");
  refused(Play(Scenario("200000000"), clock, kGoesOn), "requests in a step");
  refused(Play(Scenario("50"), Rushing(), kGoesOn), "more than two seconds");
  std::string tables = Scenario("50");
  for (int i = 0; i < 64; ++i)
    tables.insert(tables.find("[[traffic]]"),
                  R"([[table]]\nname=\"t)" + std::to_string(i) + R"(\"\n)");
  refused(Play(tables, clock, kGoesOn), "more than 64 tables and indexes");
  std::string upload = Scenario("100001");
  const std::string single = R"(type = \"single\", key = \"alice\")";
  upload.replace(upload.find(single), single.size(),
                 R"(type = \"upload\", users = 1000000, items_per_user = 1)");
  refused(Play(upload, clock, kGoesOn), "users in a step");
}

// A server that stops while the scenario is played.
class Stopping final : public Clock {
 public:
  int64_t NowMicros() const override { return 0; }
  int64_t TicksMicros() const override {
    stopping = ++looks > 5;
    return 0;
  }
  mutable int looks = 0;
  mutable std::atomic<bool> stopping = false;
};

TEST(Play, EndsWhenTheServerStops) {
  const Stopping clock;
  for (int i = 0; i < 2; ++i) {
    const Result<std::string> played = Play(Scenario("50"), clock, clock.stopping);
    ASSERT_FALSE(played.ok());
    EXPECT_EQ(played.error().code(), ErrorCode::kUnavailable);
  }
  EXPECT_EQ(clock.looks, 6) << "the second is not begun";
}

}  // namespace
}  // namespace stator::management
