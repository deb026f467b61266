#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "http/server.h"
#include "http/test_client.h"
#include "http/test_held.h"

namespace stator::http {
namespace {

constexpr size_t kMiB = 1 << 20;

class ServerMemoryTest : public ::testing::Test {
 protected:
  SystemClock clock_;
};

TEST_F(ServerMemoryTest, OutlivesClientsThatLeave) {
  Held held;
  ServerOptions options;
  options.max_inflight_bytes = 8 * kMiB;
  auto server = Serve(options, clock_, [&](Executor&) { return held.MakeHandler(); });
  TestClient mid_head(server->port()), mid_body(server->port()), waiting(server->port()),
      other(server->port());
  mid_head.Send("POST / HT");
  mid_body.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3000000\r\n\r\n" +
                std::string(kMiB, 'b'));
  waiting.Send(Post(std::string(2 * kMiB, 'w')));
  ASSERT_TRUE(Eventually([&] { return held.count == 1; }));
  mid_head.Reset();
  mid_body.Reset();
  waiting.Reset();
  ASSERT_TRUE(Eventually([&] { return server->connections() == 1; }));
  // The request of the client that left can still be read, and its bytes count until it is
  // answered.
  EXPECT_GT(server->state().inflight_bytes, static_cast<int64_t>(2 * kMiB));
  EXPECT_LT(server->state().inflight_bytes, static_cast<int64_t>(3 * kMiB));
  held.AnswerFirst("no client reads this");
  other.Send(Post(std::string(700, 'x')));
  ASSERT_TRUE(Eventually([&] { return held.count == 2; }));
  held.AnswerFirst("");
  EXPECT_EQ(other.Read().body.size(), 700u);
  EXPECT_TRUE(Eventually([&] { return server->state().inflight_bytes < int64_t{kMiB}; }));
}

TEST_F(ServerMemoryTest, LimitsBytesInFlightAndFinishesTheOldestBody) {
  Held held;
  ManualClock manual;  // stands still, so that no reader is found stuck
  ServerOptions options;
  options.max_inflight_bytes = 64 * kMiB;
  auto server = Serve(options, manual, [&](Executor&) { return held.MakeHandler(); });
  const std::string body(15 * kMiB, 'b');
  const std::string head =
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n";
  TestClient unread(server->port(), 4096), oldest(server->port()), younger(server->port()),
      small(server->port());
  unread.Send(Post(""));
  ASSERT_TRUE(Eventually([&] { return held.count == 1; }));
  held.AnswerFirst(std::string(50 * kMiB, 'r'));
  ASSERT_TRUE(Eventually([&] { return server->state().inflight_bytes > int64_t{49 * kMiB}; }));
  // Two bodies have begun; beside the reply that is not read they do not fit.
  oldest.Send(head + body.substr(0, 4 * kMiB));
  ASSERT_TRUE(Eventually([&] { return server->state().inflight_bytes > int64_t{57 * kMiB}; }));
  younger.Send(head + body);
  const ClientReply refused = younger.Read();
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.body, Refusals().out_of_memory);
  EXPECT_EQ(server->state().refused_requests, 1);
  oldest.Send(body.substr(4 * kMiB));
  ASSERT_TRUE(Eventually([&] { return held.count == 2; }));
  // The account holds more than its limit now. A small request has the lane.
  small.Send(Post("x"));
  ASSERT_TRUE(Eventually([&] { return held.count == 3; }));
  held.AnswerFirst("");
  EXPECT_EQ(oldest.Read().status, 200);
  held.AnswerFirst("");
  EXPECT_EQ(small.Read().body, "x");
  unread.Reset();
  EXPECT_TRUE(Eventually([&] { return server->state().inflight_bytes < int64_t{kMiB}; }));
}

TEST_F(ServerMemoryTest, AnnouncedBodiesHoldNothing) {
  ServerOptions options;
  options.max_inflight_bytes = 64 * kMiB;
  auto server = ServeEcho(options, clock_);
  std::vector<TestClient> announcers;
  announcers.reserve(64);
  for (int i = 0; i < 64; ++i) {
    announcers.emplace_back(server->port());
    announcers.back().Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 16000000\r\n\r\nx");
  }
  TestClient other(server->port());
  EXPECT_EQ(other.Ask(Post(std::string(10 * kMiB, 'y'))).body.size(), 10 * kMiB + 7);
  EXPECT_TRUE(Eventually([&] { return server->state().inflight_bytes < int64_t{2 * kMiB}; }));
}

TEST_F(ServerMemoryTest, UnreadRepliesCountAndStuckReadersMakeRoom) {
  ManualClock manual;
  ServerOptions options;
  options.max_inflight_bytes = 64 * kMiB;
  std::atomic<int> served{0};
  auto server = Serve(options, manual, [&](Executor&) -> Handler {
    return [&](std::unique_ptr<Exchange> exchange) {
      Reply reply;
      reply.body.assign(exchange->request().target == "/big" ? 24 * kMiB : 5, 'z');
      exchange->Send(std::move(reply));
      ++served;
    };
  });
  const std::string big = "GET /big HTTP/1.1\r\nHost: h\r\n\r\n";
  std::vector<TestClient> stuck;
  for (int i = 0; i < 3; ++i) stuck.emplace_back(server->port(), 4096);
  TestClient other(server->port());
  for (TestClient& client : stuck) client.Send(big);
  ASSERT_TRUE(Eventually([&] { return served == 3; }));
  EXPECT_GT(server->state().inflight_bytes, static_cast<int64_t>(64 * kMiB));
  const std::string get = "GET /small HTTP/1.1\r\nHost: h\r\n\r\n";
  const std::string large = Post(std::string(100'000, 'l'));
  EXPECT_EQ(other.Ask(get).status, 200) << "the lane is free";
  EXPECT_EQ(TestClient(server->port()).Ask(large).status, 503);
  // A second later the readers that took nothing make room for others.
  EXPECT_TRUE(Eventually([&] {
    manual.AdvanceMicros(500'000);  // the second begins when the kernel takes no more
    return TestClient(server->port()).Ask(large).status == 200;
  }));
  EXPECT_GE(server->state().slow_clients, 1);
  EXPECT_LT(server->state().inflight_bytes, static_cast<int64_t>(64 * kMiB));
}

TEST_F(ServerMemoryTest, SlowReadersHaveLessTimeWhileMemoryIsShort) {
  for (const bool pressed : {false, true}) {
    ManualClock manual;
    ServerOptions options;
    options.max_inflight_bytes = (pressed ? 64 : 256) * kMiB;
    std::atomic<int> served{0};
    auto server = Serve(options, manual, [&](Executor&) -> Handler {
      return [&](std::unique_ptr<Exchange> exchange) {
        Reply reply;
        reply.body.assign(exchange->request().target == "/big" ? 48 * kMiB : 5, 'z');
        exchange->Send(std::move(reply));
        ++served;
      };
    });
    TestClient stuck(server->port(), 4096), other(server->port());
    stuck.Send("GET /big HTTP/1.1\r\nHost: h\r\n\r\n");
    ASSERT_TRUE(Eventually([&] { return server->state().inflight_bytes > int64_t{40 * kMiB}; }));
    int64_t seconds = 0;
    EXPECT_TRUE(Eventually([&] {
      manual.AdvanceMicros(1'000'000);
      ++seconds;
      // The answers say that the loop has seen the second.
      for (int i = 0; i < 2; ++i) other.Ask("GET /small HTTP/1.1\r\nHost: h\r\n\r\n");
      return server->connections() == 1;
    }));
    if (pressed) {
      EXPECT_LT(seconds, 20);
    } else {
      EXPECT_GE(seconds, 60);
    }
  }
}

TEST_F(ServerMemoryTest, ABodyThatKeepsTheRateMayTakeLongerThanTheTimeout) {
  ManualClock manual;
  ServerOptions options;
  options.min_client_bytes_per_second = 1000;
  auto server = ServeEcho(options, manual);
  TestClient steady(server->port()), slow(server->port()), other(server->port());
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n";
  steady.Send(head);
  slow.Send(head);
  for (int i = 0; i < 10; ++i) {
    steady.Send(std::string(100'000, 's'));
    slow.Send(std::string(i < 3 ? 1000 : 0, 's'));
    ASSERT_EQ(other.Ask(Post("x")).status, 200);
    manual.AdvanceMicros(20'000'000);
    ASSERT_EQ(other.Ask(Post("x")).status, 200);
  }
  EXPECT_EQ(steady.Read().body.size(), 1'000'007u);
  EXPECT_EQ(slow.Read().status, 408);
}

TEST_F(ServerMemoryTest, SlowBodiesGiveWayUnderPressure) {
  ManualClock manual;
  ServerOptions options;
  options.max_inflight_bytes = 16 * kMiB;
  auto server = ServeEcho(options, manual);
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n";
  std::vector<TestClient> slow;
  for (int i = 0; i < 40; ++i) {
    slow.emplace_back(server->port());
    // The first has nothing to send yet: a part of a body that is read late counts for its rate.
    slow.back().Send(head + std::string(i == 0 ? 0 : 200'000, 's'));
  }
  ASSERT_TRUE(Eventually([&] { return server->state().inflight_bytes > int64_t{9 * kMiB}; }));
  // They keep the least rate, and would take 40 s.
  TestClient other(server->port());
  for (int i = 0; i < 3; ++i) {
    manual.AdvanceMicros(1'000'000);
    // The first is the slowest.
    for (TestClient& client : slow)
      client.Send(std::string(&client == &slow.front() ? 1 : 20'000, 's'));
    ASSERT_EQ(other.Ask(Post("x")).status, 200);
  }
  EXPECT_TRUE(Eventually([&] { return server->state().inflight_bytes < int64_t{4 * kMiB}; }))
      << server->state().inflight_bytes;
  EXPECT_GE(server->state().slow_clients, 30);
  EXPECT_EQ(other.Ask(Post(std::string(800'000, 'y'))).status, 200);
  const ClientReply refused = slow.front().Read();
  EXPECT_EQ(refused.status, 408);
  EXPECT_NE(refused.body.find("--max-inflight-mb"), std::string::npos) << refused.body;
}

TEST_F(ServerMemoryTest, ASlowBodyKeepsMemoryThatNoOtherAsksFor) {
  ManualClock manual;
  ServerOptions options;
  options.max_inflight_bytes = 2 * kMiB;
  auto server = ServeEcho(options, manual);
  TestClient slow(server->port()), other(server->port());
  slow.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1600000\r\n\r\n");
  for (int i = 0; i < 16; ++i) {
    slow.Send(std::string(100'000, 's'));
    ASSERT_EQ(other.Ask(Post("x")).status, 200);
    manual.AdvanceMicros(1'000'000);
    ASSERT_EQ(other.Ask(Post("x")).status, 200);
  }
  EXPECT_EQ(slow.Read().status, 200);
}

TEST_F(ServerMemoryTest, ASlowReaderGetsAllOfABigReply) {
  const std::string big(30'000'000, 'z');
  auto server = Serve({}, clock_, [&](Executor&) -> Handler {
    return [&](std::unique_ptr<Exchange> exchange) {
      Reply reply;
      reply.body = exchange->request().target == "/big" ? big : "small";
      exchange->Send(std::move(reply));
    };
  });
  TestClient slow(server->port(), 4096), other(server->port());
  slow.Send(
      "GET /big HTTP/1.1\r\nHost: h\r\n\r\nGET /small HTTP/1.1\r\nHost: h\r\n\r\nGET /big "
      "HTTP/1.1\r\nHost: h\r\n\r\n");
  for (int i = 0; i < 50; ++i)
    ASSERT_EQ(other.Ask("GET /small HTTP/1.1\r\nHost: h\r\n\r\n").body, "small");
  EXPECT_TRUE(slow.Read().body == big);
  EXPECT_EQ(slow.Read().body, "small");
  EXPECT_TRUE(slow.Read().body == big);
  EXPECT_EQ(other.Ask("GET /small HTTP/1.1\r\nHost: h\r\n\r\n").body, "small");
}

TEST_F(ServerMemoryTest, AReaderThatTakesNothingIsGivenUp) {
  ManualClock manual;
  std::atomic<int> served{0};
  auto server = Serve({}, manual, [&](Executor&) -> Handler {
    return [&](std::unique_ptr<Exchange> exchange) {
      Reply reply;
      reply.body.assign(50'000'000, 'z');
      exchange->Send(std::move(reply));
      ++served;
    };
  });
  TestClient stuck(server->port(), 4096);
  stuck.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  ASSERT_TRUE(Eventually([&] { return served == 1; }));
  // What the sockets' buffers hold goes out first and moves the deadline; then nothing does.
  EXPECT_TRUE(Eventually([&] {
    manual.AdvanceMicros(1'000'000);
    std::this_thread::yield();
    return server->connections() == 0;
  }));
}

}  // namespace
}  // namespace stator::http
