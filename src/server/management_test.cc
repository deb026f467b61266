#include "server/management.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "base/compress.h"
#include "server/seed_data.h"
#include "server/test_management.h"
#include "simdjson.h"

namespace stator::server {
namespace {

TEST_F(ManagementTest, OwnsItsPathsOnly) {
  for (const char* ours : {"/metrics", "/metrics?x=1", "/health/live", "/health/ready",
                           "/_stator/reset", "/_stator/"}) {
    EXPECT_TRUE(Management::Owns(ours)) << ours;
  }
  for (const char* theirs : {"/", "/metricsx", "/health", "/_statorx", "/?/_stator/reset", ""}) {
    EXPECT_FALSE(Management::Owns(theirs)) << theirs;
  }
}

TEST_F(ManagementTest, WebPagesAndStrayClientsAreRefused) {
  WriteMusic();
  ASSERT_TRUE(LoadSeedData(environment_, directory_).ok());
  const std::unique_ptr<Management> management = Make();
  EXPECT_EQ(Send(*management, "POST", "/_stator/reset").status, 403);
  EXPECT_EQ(Send(*management, "POST", "/_stator/reset", {{"X-Stator-Management", "yes"}}).status,
            403);
  EXPECT_EQ(Send(*management, "POST", "/_stator/reset",
                 {{"X-Stator-Management", "true"}, {"Origin", "http://localhost:8001"}})
                .status,
            403);
  EXPECT_EQ(Send(*management, "POST", "/_stator/reset",
                 {{"x-stator-management", "true"}, {"ORIGIN", "null"}})
                .status,
            403);
  EXPECT_EQ(Send(*management, "GET", "/_stator/reset", kGood).status, 405);
  EXPECT_EQ(Send(*management, "POST", "/_stator/nothing", kGood).status, 404);
  EXPECT_EQ(Send(*management, "GET", "/_stator/status").status, 403);
  EXPECT_EQ(ItemsOf("Music"), 600) << "nothing of this reset anything";
  const http::Reply status = Send(*management, "GET", "/_stator/status?x", kGood);
  EXPECT_EQ(status.status, 200);
  EXPECT_NE(status.body.find(R"("name":"Music","items":600)"), std::string::npos) << status.body;
}

TEST_F(ManagementTest, HostAndOriginDecideWhichPagesMayCall) {
  Management::Options options;
  options.hosts = HostRules({"db.example.com"});
  options.metrics_hosts = HostRules({"db.example.com", "scraped.example.com"});
  const std::unique_ptr<Management> management = std::make_unique<Management>(
      environment_, metrics_, clock_control_, heat_, [] { return http::ServerState(); },
      std::move(options));
  const auto status = [&](std::string_view target, std::string_view host,
                          std::vector<http::Header> headers = {}) {
    headers.push_back({"X-Stator-Management", "true"});
    return Send(*management, "GET", target, std::move(headers), "", host).status;
  };
  for (std::string_view host : {"localhost:8000", "127.0.0.1:8000", "[::1]:8000", "dynamodb:8000",
                                "app.localhost", "db.example.com", "10.1.2.3"}) {
    EXPECT_EQ(status("/_stator/status", host), 200) << host;
    EXPECT_EQ(status("/metrics", host), 200) << host;
  }
  for (std::string_view host :
       {"evil.example:8000", "127.evil.example", "", "localhost.evil.example"}) {
    EXPECT_EQ(status("/_stator/status", host), 403) << host;
    EXPECT_EQ(status("/metrics", host), 403) << host;
    EXPECT_EQ(status("/health/ready", host), 200) << "a load balancer may have any name for it";
  }
  EXPECT_EQ(status("/_stator/status", "scraped.example.com"), 403);
  EXPECT_EQ(status("/metrics", "scraped.example.com"), 200);

  const std::string_view here = "localhost:8000";
  EXPECT_EQ(status("/_stator/status", here, {{"Origin", "http://localhost:8000"}}), 200);
  EXPECT_EQ(status("/_stator/status", here, {{"Origin", "http://localhost:3000"}}), 403);
  EXPECT_EQ(status("/_stator/status", here, {{"Origin", "null"}}), 403);
  EXPECT_EQ(status("/_stator/status", "evil.example", {{"Origin", "http://evil.example"}}), 403);
  EXPECT_EQ(status("/_stator/status", here, {{"Sec-Fetch-Site", "same-origin"}}), 200);
  EXPECT_EQ(status("/_stator/status", here, {{"Sec-Fetch-Site", "cross-site"}}), 403);
  EXPECT_EQ(status("/_stator/status", here, {{"Sec-Fetch-Site", "same-site"}}), 403);
  EXPECT_EQ(status("/metrics", here, {{"Sec-Fetch-Site", "none"}}), 200) << "typed by the user";
  EXPECT_EQ(status("/metrics", here, {{"Sec-Fetch-Site", "cross-site"}}), 403);
}

TEST_F(ManagementTest, CallsAreListedAndOtherMethodsAreRefused) {
  const std::unique_ptr<Management> management = Make();
  simdjson::dom::parser parser;
  const http::Reply index = Send(*management, "GET", "/_stator/", kGood);
  ASSERT_EQ(index.status, 200);
  simdjson::dom::element calls;
  ASSERT_EQ(parser.parse(index.body).at_key("calls").get(calls), simdjson::SUCCESS) << index.body;
  ASSERT_GT(calls.get_array().size(), 25u);
  // Each of them is there, and with another method it is not.
  for (const simdjson::dom::element call : calls.get_array()) {
    std::string path{std::string_view(call["path"])};
    if (const size_t name = path.find("NAME"); name != std::string::npos)
      path.replace(name, 4, "none");
    const http::Reply reply = Send(*management, "PATCH", path, kGood);
    EXPECT_EQ(reply.status, 405) << path;
    const auto allow = std::find_if(reply.headers.begin(), reply.headers.end(),
                                    [](const auto& header) { return header.first == "Allow"; });
    ASSERT_NE(allow, reply.headers.end());
    EXPECT_NE(allow->second.find(std::string_view(call["method"])), std::string::npos);
  }
}

TEST_F(ManagementTest, LongBodiesAreRefused) {
  const std::unique_ptr<Management> management = Make();
  const std::string body((1 << 20) + 1, ' ');
  EXPECT_EQ(Send(*management, "POST", "/_stator/faults", kGood, body).status, 413);
}

TEST_F(ManagementTest, TheConsoleCallsAnswer) {
  WriteMusic();
  ASSERT_TRUE(LoadSeedData(environment_, directory_).ok());
  environment_.admission.Start({});
  const std::unique_ptr<Management> management = Make();
  const auto has = [&](std::string_view method, std::string_view target, std::string_view body,
                       int status, std::string_view part) {
    const http::Reply reply = Send(*management, method, target, kGood, body);
    EXPECT_EQ(reply.status, status) << target << ": " << reply.body;
    EXPECT_NE(reply.body.find(part), std::string::npos) << target << ": " << reply.body;
  };
  has("GET", "/_stator/console/boot", "", 200, R"("engine":"memory","durability":null)");
  has("GET", "/_stator/pulse", "", 200, R"({"name":"Music","status":"ACTIVE")");
  has("GET", "/_stator/pulse?since=x", "", 400, "since must be a whole number");
  has("GET", "/_stator/events?limit=5", "", 200, R"("events":[])");
  has("GET", "/_stator/events?limit=-5", "", 400, "limit must be a whole number");
  has("POST", "/_stator/tables/Music/place", R"({"key":{"pk":{"S":"k1"}}})", 200,
      R"("index":null)");
  has("POST", "/_stator/tables/Music/place", "{}", 400, "The body must be");
  has("POST", "/_stator/tables/none/place", "{}", 404, "There is no table none");
  has("POST", "/_stator/simulate", R"({"scenario":""})", 400, "scenario.toml");
  has("GET", "/_stator/tables/Music/cost?last=1d", "", 200, R"("type":"table")");
  has("GET", "/_stator/tables/Music/cost?last=x", "", 400, "last must be a duration");
  has("GET", "/_stator/tables/none/cost", "", 404, "There is no table none");
  EXPECT_EQ(Send(*management, "PUT", "/_stator/faults/Music", kGood, R"({"faults":[]})").status,
            200);
  EXPECT_EQ(Send(*management, "POST", "/_stator/reset", kGood).status, 200);
  has("GET", "/_stator/events", "", 200, R"("kind":"faults")");
  has("GET", "/_stator/events", "", 200, R"("kind":"reset")");
  for (const char* call : {"/_stator/pulse", "/_stator/events", "/_stator/console/boot"})
    EXPECT_EQ(Send(*management, "GET", call).status, 403) << call;
}

// Each plays for two seconds, or until the server stops.
TEST_F(ManagementTest, FewSimulationsWaitAndReportsDoNotWaitForThem) {
  const std::unique_ptr<Management> management = Make();
  const std::string body =
      R"({"scenario":"duration = \"200h\"\n[[table]]\nname = \"a\"\nread = 5\nwrite = 5\n)"
      R"([[traffic]]\nname = \"w\"\ntable = \"a\"\noperation = \"write\"\nrate = 90000\n)"
      R"(item_bytes = \"1KB\"\nkeys = { type = \"uniform\", count = 1000000 }\n"})";
  constexpr int kCalls = 40;
  std::vector<std::optional<http::Reply>> replies(kCalls);
  for (std::optional<http::Reply>& reply : replies) {
    http::Request request;
    request.method = "POST";
    request.target = "/_stator/simulate";
    request.headers = kGood;
    request.headers.push_back({"Host", "localhost:8000"});
    request.body = body;
    management->Handle(std::make_unique<TestExchange>(loop_, std::move(request), &reply));
  }
  int refused = 0;
  for (const std::optional<http::Reply>& reply : replies) {
    if (!reply) continue;
    ++refused;
    EXPECT_EQ(reply->status, 503);
    EXPECT_NE(reply->body.find("Too many simulations wait"), std::string::npos) << reply->body;
  }
  EXPECT_GT(refused, 0);
  EXPECT_EQ(Send(*management, "GET", "/_stator/pulse", kGood).status, 200);
  management->Stop();
  const auto answered = [](const std::optional<http::Reply>& reply) { return reply.has_value(); };
  loop_.RunUntil([&] { return std::all_of(replies.begin(), replies.end(), answered); });
}

TEST_F(ManagementTest, ReadsOfClientsThatHaveLeftAreNotMade) {
  const std::unique_ptr<Management> management = Make();
  const auto send = [&](std::string_view method, std::string_view target, std::string_view body) {
    std::optional<http::Reply> reply;
    http::Request request;
    request.method = method;
    request.target = target;
    request.headers = kGood;
    request.headers.push_back({"Host", "localhost:8000"});
    request.body = body;
    auto exchange = std::make_unique<TestExchange>(loop_, std::move(request), &reply);
    exchange->has_left = true;
    management->Handle(std::move(exchange));
    loop_.RunUntil([&] { return reply.has_value(); });
    return std::move(*reply);
  };
  for (const std::string_view call : {"at", "difference", "history"}) {
    const http::Reply reply = send("POST", "/_stator/tables/none/past/" + std::string(call), "{}");
    EXPECT_EQ(reply.status, 503) << call;
    EXPECT_NE(reply.body.find("closed its side"), std::string::npos) << reply.body;
  }
  EXPECT_EQ(send("GET", "/_stator/status", "").status, 503);
  // Calls that change something are made.
  EXPECT_EQ(send("POST", "/_stator/tables/none/past/forget", "{}").status, 404);
  EXPECT_EQ(send("POST", "/_stator/reset", "").status, 200);
}

TEST_F(ManagementTest, CallsThatLookBackAnswerWhereTheProcessHasThem) {
  WriteMusic();
  ASSERT_TRUE(LoadSeedData(environment_, directory_).ok());
  environment_.admission.Start({});
  const SystemClock machine;
  management::Recording recording(clock_, machine, nullptr);
  management::Series series(machine);
  management::HotKeys hot_keys(environment_);
  Management::Options options;
  options.recording = &recording;
  options.series = &series;
  options.hot_keys = &hot_keys;
  Management with(
      environment_, metrics_, clock_control_, heat_, [] { return http::ServerState(); },
      std::move(options));
  const auto has = [&](std::string_view method, std::string_view target, std::string_view body,
                       int status, std::string_view part) {
    const http::Reply reply = Send(with, method, target, kGood, body);
    EXPECT_EQ(reply.status, status) << target << ": " << reply.body;
    EXPECT_NE(reply.body.find(part), std::string::npos) << target << ": " << reply.body;
  };
  has("GET", "/_stator/recording", "", 200, R"("on":false,"since":null)");
  has("PUT", "/_stator/recording", R"({"minutes":0})", 400, "minutes must be");
  has("PUT", "/_stator/recording", R"({"minutes":5})", 200, R"("on":true)");
  has("GET", "/_stator/advice", "", 200, R"("report":{"recording":)");
  has("GET", "/_stator/advice?last=x", "", 400, "last must be a duration");
  has("GET", "/_stator/advice?readUnit=x", "", 400, "readUnit must be a price");
  has("DELETE", "/_stator/recording", "", 200, R"("on":false)");
  has("GET", "/_stator/series?by=table", "", 200, R"("series":[])");
  has("GET", "/_stator/series?by=x", "", 400, "by must be operation or table");
  has("GET", "/_stator/tables/Music/heat/keys", "", 200, R"("keys":[])");
  has("GET", "/_stator/tables/none/heat/keys", "", 404, "There is no table none");
  has("GET", "/_stator/console/boot", "", 200, R"("advice","series","heat-keys")");
  const std::unique_ptr<Management> without = Make();
  for (const char* call : {"/_stator/advice", "/_stator/series", "/_stator/recording"})
    EXPECT_EQ(Send(*without, "GET", call, kGood).status, 404) << call;
}

TEST_F(ManagementTest, ResetDropsAllAndLoadsAgain) {
  WriteMusic();
  const std::unique_ptr<Management> plain = Make();
  const std::unique_ptr<Management> seeded = Make(directory_);
  EXPECT_EQ(Send(*seeded, "POST", "/_stator/reset", kGood).status, 200);
  EXPECT_EQ(ItemsOf("Music"), 600);
  EXPECT_EQ(Send(*plain, "POST", "/_stator/reset", kGood).status, 200);
  EXPECT_TRUE(store_->List().empty());
  WriteFile("Music.items.jsonl", "{}\n");
  const http::Reply failed = Send(*seeded, "POST", "/_stator/reset", kGood);
  EXPECT_EQ(failed.status, 500);
  EXPECT_NE(failed.body.find("Music.items.jsonl:1"), std::string::npos) << failed.body;
}

TEST_F(ManagementTest, ResetOfAStoreThatLastsWantsItsName) {
  WriteMusic();
  ASSERT_TRUE(LoadSeedData(environment_, directory_).ok());
  const std::unique_ptr<Management> management = Make("", "music-data");
  for (const char* body : {"", "{}", "{", "[]", R"({"store":"other"})", R"({"store":7})",
                           R"({"store":""})", R"("music-data")"}) {
    const http::Reply refused = Send(*management, "POST", "/_stator/reset", kGood, body);
    EXPECT_EQ(refused.status, 400) << body;
    EXPECT_NE(refused.body.find(R"({\"store\":\"music-data\"})"), std::string::npos)
        << refused.body;
  }
  EXPECT_EQ(ItemsOf("Music"), 600);
  EXPECT_NE(Send(*management, "GET", "/_stator/status", kGood).body.find(R"("store":"music-data")"),
            std::string::npos);
  EXPECT_EQ(Send(*management, "POST", "/_stator/reset", kGood, R"({"store":"music-data"})").status,
            200);
  EXPECT_TRUE(store_->List().empty());
  // In memory there is nothing to lose.
  EXPECT_EQ(Send(*Make(), "POST", "/_stator/reset", kGood).status, 200);
}

// The writes of a reset read the disk on the workers, of which there is one: a reset that sat on it
// would wait for ever.
TEST_F(ManagementTest, AResetNeedsNoWorkerOfTheStore) {
  WriteMusic();
  std::array<double, kv::kFaults> cold = {};
  cold[static_cast<size_t>(kv::Fault::kWouldBlock)] = 1;
  engine_->SetProbabilities(cold);
  const std::unique_ptr<Management> management = Make(directory_);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Send(*management, "POST", "/_stator/reset", kGood).status, 200);
    EXPECT_EQ(ItemsOf("Music"), 600);
  }
  management->Stop();
  EXPECT_EQ(Send(*management, "POST", "/_stator/reset", kGood).status, 503);
}

TEST_F(ManagementTest, FaultsAreSetShownAndTakenAway) {
  const std::unique_ptr<Management> management = Make();
  const auto send = [&](std::string_view method, std::string_view target,
                        std::string_view body = "") {
    return Send(*management, method, target, kGood, body);
  };
  EXPECT_EQ(send("GET", "/_stator/faults").body, "{}");
  const std::string rule =
      R"({"fault":"throttle","probability":0.5,"operations":["PutItem"],"count":3,"seed":7,"asked":0,"struck":0})";
  const std::string music = R"({"faults":[)" + rule + "]}";
  EXPECT_EQ(
      send(
          "PUT", "/_stator/faults/Music",
          R"({"seed":7,"faults":[{"fault":"throttle","probability":0.5,"operations":"PutItem","count":3}]})")
          .body,
      music);
  EXPECT_EQ(send("PUT", "/_stator/faults/*",
                 R"({"faults":[{"fault":"slow","delay":"1m","random":true}]})")
                .status,
            200);
  const std::string all =
      R"({"*":{"faults":[{"fault":"slow","seed":1,"delay":"1m","random":true,"asked":0,"struck":0}]},"Music":)" +
      music + "}";
  EXPECT_EQ(send("GET", "/_stator/faults?x=1").body, all);
  EXPECT_EQ(send("PUT", "/_stator/faults", all).body, all) << "what is shown can be set";
  const http::Reply refused =
      send("PUT", "/_stator/faults/Music", R"({"faults":[{"fault":"throttle","probability":7}]})");
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(
      refused.body,
      R"({"message":"fault throttle: probability must be above 0 and at most 1, not \"7\""})");
  for (const char* body :
       {"", "{", "[]", "{}", R"({"faults":{}})", R"({"faults":[7]})", R"({"faults":[],"sead":1})",
        R"({"faults":[],"seed":-1})", R"({"faults":[{"fault":{}}]})"}) {
    EXPECT_EQ(send("PUT", "/_stator/faults/Music", body).status, 400) << body;
  }
  EXPECT_EQ(send("PUT", "/_stator/faults", R"({"a/b":{"faults":[]}})").status, 400);
  EXPECT_EQ(send("GET", "/_stator/faults/").body, all) << "nothing of this changed anything";
  EXPECT_EQ(send("DELETE", "/_stator/faults/%2A").body, R"({"faults":[]})");
  EXPECT_TRUE(environment_.faults.active());
  EXPECT_EQ(send("DELETE", "/_stator/faults").body, "{}");
  EXPECT_FALSE(environment_.faults.active());
  EXPECT_EQ(send("POST", "/_stator/faults", "{}").status, 405);
  EXPECT_EQ(send("GET", "/_stator/faultsx").status, 404);
}

TEST_F(ManagementTest, HealthFollowsTheEngine) {
  const std::unique_ptr<Management> management = Make();
  EXPECT_EQ(Send(*management, "GET", "/health/live").status, 200);
  EXPECT_EQ(Send(*management, "HEAD", "/health/ready").status, 200);
  EXPECT_EQ(Send(*management, "POST", "/health/live").status, 404);
  EXPECT_EQ(Send(*management, "GET", "/health/other").status, 404);
}

TEST_F(ManagementTest, TheClockMovesForwardAndChoresFollow) {
  int runs = 0;
  int left = 0;
  chores_.Add("three pieces", 1, [&](Chores::Pace pace) {
    if (pace == Chores::Pace::kAtOnce) ++runs;
    return --left > 0;
  });
  chores_.Start();
  const std::unique_ptr<Management> management = Make();
  const auto post = [&](std::string_view body) {
    return Send(*management, "POST", "/_stator/clock", kGood, body);
  };
  const http::Reply before = Send(*management, "GET", "/_stator/clock", kGood);
  EXPECT_EQ(before.status, 200);
  EXPECT_EQ(
      before.body,
      R"({"clock":"manual","now":"2023-11-14T22:13:20.000Z","epochSeconds":1700000000.000000})");
  left = 3;
  const http::Reply after = post(R"({"advance": "1h30m"})");
  EXPECT_EQ(after.status, 200);
  EXPECT_EQ(
      after.body,
      R"({"clock":"manual","now":"2023-11-14T23:43:20.000Z","epochSeconds":1700005400.000000})");
  EXPECT_EQ(runs, 3) << "until nothing is left, before the answer";
  post(R"({"advance": 0.25})");
  EXPECT_EQ(clock_.NowMicros(), 1'700'005'400'250'000);
  post(R"({"set": "2023-11-15T00:00:00Z"})");
  EXPECT_EQ(clock_.NowMicros(), 1'700'006'400'000'000);
  post(R"({"set": 1700006401})");
  EXPECT_EQ(clock_.NowMicros(), 1'700'006'401'000'000);
  EXPECT_EQ(post(R"({"advance": 0})").status, 200);
  for (const char* bad :
       {"", "[]", "{}", R"({"advance": -1})", R"({"advance": "soon"})", R"({"advance": null})",
        R"({"put": 1})", R"({"set": "2023-11-14T00:00:00Z"})", R"({"set": 1700006400})",
        R"({"set": "yesterday"})", R"({"set": 1e30})", R"({"advance": 1, "set": 1900000000})",
        R"({"advance": 253402300799})", R"({"advance": 1)"}) {
    const http::Reply reply = post(bad);
    EXPECT_EQ(reply.status, 400) << bad;
    EXPECT_NE(reply.body.find("\"message\":\""), std::string::npos) << reply.body;
  }
  EXPECT_EQ(clock_.NowMicros(), 1'700'006'401'000'000);
  EXPECT_EQ(Send(*management, "DELETE", "/_stator/clock", kGood).status, 405);
  EXPECT_EQ(Send(*management, "POST", "/_stator/clock", {}, R"({"advance": 1})").status, 403);
  chores_.Stop();
  EXPECT_EQ(post(R"({"advance": 1})").status, 503);
}

TEST_F(ManagementTest, ThrottlingIsSetAndShown) {
  environment_.admission.Start({});
  WriteMusic();
  ASSERT_TRUE(LoadSeedData(environment_, directory_).ok());
  const std::unique_ptr<Management> management = Make();
  const auto send = [&](const char* method, const char* path, std::string_view body = "") {
    return Send(*management, method, path, kGood, body);
  };
  const char* of_music = "/_stator/tables/Music/throttling";
  EXPECT_EQ(send("GET", "/_stator/throttling").body, R"({"mode":"observe","tables":{}})");
  EXPECT_EQ(send("PUT", of_music, R"({"mode":"enforce"})").body, R"({"mode":"enforce"})");
  EXPECT_EQ(store_->Find("Music")->meters.table->mode(), throughput::Throttling::kEnforce);
  EXPECT_EQ(send("PUT", "/_stator/throttling", R"({"mode":"off"})").body,
            R"({"mode":"off","tables":{"Music":"enforce"}})");
  EXPECT_EQ(send("DELETE", of_music).body, R"({"mode":"off"})");
  EXPECT_EQ(store_->Find("Music")->meters.table->mode(), throughput::Throttling::kOff);
  for (const char* bad : {"", "{}", "[]", R"({"mode":"on"})", R"({"mode":true})",
                          R"({"mode":"off","table":"x"})", R"({"mode":"off")"}) {
    const http::Reply reply = send("PUT", of_music, bad);
    EXPECT_EQ(reply.status, 400) << bad;
    EXPECT_NE(reply.body.find("observe"), std::string::npos) << reply.body;
  }
  EXPECT_EQ(send("PUT", "/_stator/tables/a/throttling", R"({"mode":"off"})").status, 400);
  EXPECT_EQ(send("DELETE", "/_stator/throttling").status, 405);
  EXPECT_EQ(send("POST", of_music, R"({"mode":"off"})").status, 405);
}

TEST_F(ManagementTest, PartitionsTellWhatTheModelKnows) {
  environment_.admission.Start({});
  WriteMusic();
  ASSERT_TRUE(LoadSeedData(environment_, directory_).ok());
  const std::unique_ptr<Management> management = Make();
  throughput::Meter& meter = *store_->Find("Music")->meters.table;
  const throughput::Draw draw{.access = throughput::Access::kWrite,
                              .halves = 20'000,
                              .point = {uint64_t{1} << 63, "", std::string_view("hot\0\x01", 5)}};
  EXPECT_TRUE(meter.resource().Admit(clock_.NowMicros(), draw).admitted);
  const throughput::Verdict refused = meter.resource().Admit(clock_.NowMicros(), draw);
  ASSERT_FALSE(refused.admitted);
  meter.CountRefusal(refused.access, refused.limit);
  ASSERT_EQ(Send(*management, "POST", "/_stator/tables/Music/split", kGood,
                 R"({"hash": "0000000000000010"})")
                .status,
            200);
  const http::Reply reply = Send(*management, "GET", "/_stator/tables/Music/partitions", kGood);
  ASSERT_EQ(reply.status, 200);
  simdjson::dom::parser parser;
  simdjson::dom::element json;
  ASSERT_EQ(parser.parse(simdjson::padded_string(reply.body)).get(json), simdjson::SUCCESS)
      << reply.body;
  EXPECT_EQ(std::string_view(json["table"]), "Music");
  EXPECT_EQ(std::string_view(json["throttling"]), "observe");
  EXPECT_EQ(int64_t(json["items"]), 600);
  const simdjson::dom::element table = json["resources"].at(0);
  EXPECT_EQ(double(table["consumed"]["write"]), 10'000);
  const simdjson::dom::element why = table["refused"].at(0);
  EXPECT_EQ(int64_t(why["requests"]), 1);
  EXPECT_EQ(double(why["units"]), 10'000);
  EXPECT_NE(std::string_view(why["why"]).find("/s, on 1 of "), std::string_view::npos);
  EXPECT_GT(simdjson::dom::array(why["advice"]).size(), 0u);
  EXPECT_EQ(std::string_view(table["hottest"].at(0)["partitionKey"]), "hot");
  const simdjson::dom::array splits = table["splits"];
  ASSERT_EQ(splits.size(), 1u);
  EXPECT_EQ(std::string_view(splits.at(0)["reason"]), "asked for");
  EXPECT_EQ(std::string_view(splits.at(0)["bound"]["hash"]), "0000000000000010");
  const simdjson::dom::array partitions = table["partitions"];
  EXPECT_EQ(std::string_view(partitions.at(0)["to"]["hash"]), "0000000000000010");
  EXPECT_TRUE(partitions.at(partitions.size() - 1)["to"].is_null());
  int64_t items = 0;
  for (const simdjson::dom::element partition : partitions) items += int64_t(partition["items"]);
  EXPECT_EQ(items, 600);

  // The worst second is told for a day.
  clock_.AdvanceMicros(int64_t{600} * 1'000'000);
  const http::Reply soon = Send(*management, "GET", "/_stator/tables/Music/partitions", kGood);
  EXPECT_NE(
      soon.body.find(R"("limit":1000,"demand":20000,"asked":0,"at":"2023-11-14T22:13:20.000Z")"),
      std::string::npos)
      << soon.body;
  clock_.AdvanceMicros(int64_t{25} * 3600 * 1'000'000);
  (void)meter.resource().Admit(
      clock_.NowMicros(), {.access = throughput::Access::kWrite, .halves = 2, .point = draw.point});
  const http::Reply later = Send(*management, "GET", "/_stator/tables/Music/partitions", kGood);
  EXPECT_NE(later.body.find(R"("why":null,"advice":[],"notes":[],"lesson":null})"),
            std::string::npos)
      << later.body;
  EXPECT_NE(later.body.find(R"("requests":1,"units":10000)"), std::string::npos) << later.body;

  EXPECT_EQ(Send(*management, "GET", "/_stator/tables/absent/partitions", kGood).status, 404);
  EXPECT_EQ(Send(*management, "POST", "/_stator/tables/Music/partitions", kGood).status, 405);
  EXPECT_EQ(Send(*management, "GET", "/_stator/tables/partitions", kGood).status, 404);
}

TEST_F(ManagementTest, IsNotReadyWhileRequestsHoldAllTheMemoryTheyMay) {
  const auto management = Make();
  inflight_bytes_ = (1 << 20) - 1;
  EXPECT_EQ(Send(*management, "GET", "/health/ready").status, 200);
  inflight_bytes_ = 1 << 20;
  const http::Reply full = Send(*management, "GET", "/health/ready");
  EXPECT_EQ(full.status, 503);
  EXPECT_NE(full.body.find("--max-inflight-mb"), std::string::npos) << full.body;
  EXPECT_EQ(Send(*management, "GET", "/health/live").status, 200);
}

TEST_F(ManagementTest, TheSystemsClockIsNotMoved) {
  ClockControl control(clock_, nullptr, chores_);
  Management management(environment_, metrics_, control, heat_, [] { return http::ServerState(); },
                        {"memory", "", 0});
  EXPECT_EQ(Send(management, "POST", "/_stator/clock", kGood, R"({"advance": 1})").status, 409);
  EXPECT_NE(Send(management, "GET", "/_stator/clock", kGood).body.find(R"("clock":"system")"),
            std::string::npos);
}

TEST_F(ManagementTest, SplitTakesIdsAndHashesOfThePartitionsCall) {
  environment_.admission.Start({});
  WriteMusic();
  ASSERT_TRUE(LoadSeedData(environment_, directory_).ok());
  const std::unique_ptr<Management> management = Make();
  const auto split = [&](std::string_view body) {
    return Send(*management, "POST", "/_stator/tables/Music/split", kGood, body);
  };
  const std::vector<throughput::PartitionView> before =
      store_->Find("Music")->meters.table->resource().Partitions();
  ASSERT_EQ(before.size(), 4u);
  const std::string second = std::to_string(before[1].id);
  // The second quarter of the hash space is divided in its middle.
  const http::Reply middle = split(R"({"partition":)" + second + "}");
  EXPECT_EQ(
      middle.body,
      R"({"name":"Music","partitions":["0000000000000000","4000000000000000","6000000000000000","8000000000000000","c000000000000000"]})");
  EXPECT_EQ(split(R"({"hash":"1000000000000000"})").status, 200);
  EXPECT_EQ(store_->Find("Music")->descriptor.partitions.size(), 6u);

  const auto refusal = [&](std::string_view body) {
    const http::Reply reply = split(body);
    EXPECT_EQ(reply.status, 400) << body;
    return reply.body;
  };
  EXPECT_NE(refusal(R"({"hash":"4000000000000000"})").find("already begins at hash 4000"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"partition":)" + second + "}").find("no partition with id " + second),
            std::string::npos);
  const std::string third = std::to_string(before[2].id);
  EXPECT_NE(refusal(R"({"partition":)" + third + R"(,"hash":"c000000000000000"})")
                .find("choose one from 8000000000000001 to bfffffffffffffff"),
            std::string::npos);
  EXPECT_EQ(store_->Find("Music")->descriptor.partitions.size(), 6u);
  for (const char* body : {"", R"({"partition":1})"}) {
    const http::Reply absent =
        Send(*management, "POST", "/_stator/tables/absent/split", kGood, body);
    EXPECT_EQ(absent.status, 404);
    EXPECT_EQ(absent.body, R"({"message":"There is no table absent"})");
  }
}

}  // namespace
}  // namespace stator::server
