#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <fstream>
#include <vector>

#include "http/server.h"
#include "http/test_client.h"
#include "http/test_held.h"

namespace stator::http {
namespace {

class ServerConnectionsTest : public ::testing::Test {
 protected:
  SystemClock clock_;
};

TEST_F(ServerConnectionsTest, RefusesConnectionsAboveTheLimit) {
  ServerOptions options;
  options.max_connections = 2;
  auto server = ServeEcho(options, clock_);
  TestClient first(server->port()), second(server->port());
  EXPECT_EQ(first.Ask(Post("1")).status, 200);
  EXPECT_EQ(second.Ask(Post("2")).status, 200);
  TestClient third(server->port());
  EXPECT_EQ(third.Ask(Post("3")).status, 503);
  EXPECT_TRUE(third.ReadEnd());
  first.Close();
  ASSERT_TRUE(Eventually([&] { return server->connections() == 1; }));
  TestClient fourth(server->port());
  EXPECT_EQ(fourth.Ask(Post("4")).status, 200);
}

TEST_F(ServerConnectionsTest, UnusedConnectionsMakeRoomWhenThereIsNone) {
  ManualClock manual;
  ServerOptions options;
  options.max_connections = 2;
  options.threads = 1;
  auto server = ServeEcho(options, manual);
  TestClient first(server->port()), second(server->port());
  ASSERT_EQ(first.Ask(Post("1")).status, 200);
  manual.AdvanceMicros(6'000'000);
  ASSERT_EQ(second.Ask(Post("2")).status, 200);
  TestClient early(server->port());
  EXPECT_EQ(early.Ask(Post("3")).status, 503);
  manual.AdvanceMicros(6'000'000);
  TestClient third(server->port());
  EXPECT_EQ(third.Ask(Post("4")).status, 200);
  EXPECT_TRUE(first.ReadEnd());
  EXPECT_EQ(second.Ask(Post("5")).status, 200);
}

TEST_F(ServerConnectionsTest, HalfHeadersMakeRoomWhenThereIsNone) {
  ManualClock manual;
  ServerOptions options;
  options.max_connections = 3;
  options.threads = 1;
  auto server = ServeEcho(options, manual);
  const std::string half = "POST / HTTP/1.1\r\nHost: h\r\nContent-";
  TestClient busy(server->port()), first(server->port()), second(server->port());
  // The bytes of the others are read by then: a connection that the round of the first reply has
  // taken has its turn before the second request.
  const auto all_read = [&] {
    return busy.Ask(Post("1")).status == 200 && busy.Ask(Post("1")).status == 200;
  };
  ASSERT_TRUE(first.Send(half) && all_read());
  manual.AdvanceMicros(500'000);
  ASSERT_TRUE(second.Send(half) && all_read());
  EXPECT_EQ(TestClient(server->port()).Ask(Post("2")).status, 503);
  manual.AdvanceMicros(600'000);
  TestClient third(server->port());
  EXPECT_EQ(third.Ask(Post("3")).status, 200);
  EXPECT_TRUE(first.ReadEnd());
  EXPECT_EQ(second.Ask("Length: 1\r\n\r\n4").status, 200);
  EXPECT_TRUE(all_read());
}

TEST_F(ServerConnectionsTest, AFullServerStillAnswersTheTargetsThatAreAlwaysServed) {
  ServerOptions options;
  options.max_connections = 1;
  options.always_served_prefix = "/health/";
  auto server = ServeEcho(options, clock_);
  TestClient first(server->port());
  ASSERT_EQ(first.Ask(Post("1")).status, 200);
  TestClient probe(server->port());
  const ClientReply reply = probe.Ask("GET /health/live HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "GET /health/live|");
  EXPECT_NE(reply.head.find("Connection: close\r\n"), std::string::npos);
  EXPECT_TRUE(probe.ReadEnd());
  // One answer each: neither a second request nor a body is served.
  TestClient two(server->port());
  two.Send(
      "GET /health/live HTTP/1.1\r\nHost: h\r\n\r\nGET /health/live HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(two.Read().status, 200);
  EXPECT_EQ(two.Read().status, 0);
  TestClient body(server->port());
  EXPECT_EQ(
      body.Ask("POST /health/live HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc").status,
      503);
  EXPECT_EQ(server->state().refused_connections, 1);
  EXPECT_EQ(server->connections(), 1);
}

TEST_F(ServerConnectionsTest, ConnectionsBeyondTheLimitHoldFewDescriptorsAndNoProbeBack) {
  ManualClock manual;
  ServerOptions options;
  options.max_connections = 1;
  options.always_served_prefix = "/health/";
  auto server = ServeEcho(options, manual);
  TestClient first(server->port());
  ASSERT_EQ(first.Ask(Post("1")).status, 200);
  std::vector<TestClient> silent;
  silent.reserve(4 * kExtraConnections);
  for (int i = 0; i < 4 * kExtraConnections; ++i) silent.emplace_back(server->port());
  // Most of them have been refused at once, although they have sent nothing.
  ASSERT_TRUE(
      Eventually([&] { return server->state().refused_connections >= 3 * kExtraConnections; }));
  // The silent ones that wait for their answer make room for a probe a moment later.
  const std::string probe = "GET /health/live HTTP/1.1\r\nHost: h\r\n\r\n";
  EXPECT_EQ(TestClient(server->port()).Read().status, 503);
  manual.AdvanceMicros(200'000);
  // The loop may still be in the round in which it refused the one before.
  EXPECT_TRUE(Eventually([&] { return TestClient(server->port()).Ask(probe).status == 200; }));
  EXPECT_EQ(first.Ask(Post("2")).status, 200);
}

TEST_F(ServerConnectionsTest, SurvivesRunningOutOfFileDescriptors) {
  auto server = ServeEcho({}, clock_);
  TestClient before(server->port());
  ASSERT_EQ(before.Ask(Post("1")).status, 200);
  rlimit usual{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &usual), 0);
  const int lowest_free = ::dup(0);
  ::close(lowest_free);
  // One more, which the next client takes, so that the server has none to accept it with.
  rlimit tight = usual;
  tight.rlim_cur = lowest_free + 1;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
  TestClient refused(server->port());
  const ClientReply reply = refused.Read();
  const ClientReply served = before.Ask(Post("2"));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &usual), 0);
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(served.status, 200);
  TestClient after(server->port());
  EXPECT_EQ(after.Ask(Post("3")).status, 200);
}

TEST_F(ServerConnectionsTest, DrainWaitsForRequestsInHand) {
  Held held;
  ServerOptions options;
  options.threads = 2;
  auto server = Serve(options, clock_, [&](Executor&) { return held.MakeHandler(); });
  // Dealt out in turn: two to each loop.
  TestClient idle(server->port()), busy(server->port()), idle_too(server->port()),
      beside_busy(server->port());
  busy.Send(Post("b"));
  ASSERT_TRUE(Eventually([&] { return held.count == 1 && server->connections() == 4; }));
  std::thread drain([&] { server->Drain(60'000'000); });
  EXPECT_TRUE(idle.ReadEnd());
  EXPECT_TRUE(idle_too.ReadEnd());
  EXPECT_TRUE(beside_busy.ReadEnd());
  held.AnswerFirst("drained ");
  const ClientReply reply = busy.Read();
  EXPECT_EQ(reply.body, "drained b");
  EXPECT_NE(reply.head.find("Connection: close\r\n"), std::string::npos);
  EXPECT_TRUE(busy.ReadEnd());
  drain.join();
  EXPECT_FALSE(TestClient(server->port()).connected());
  EXPECT_EQ(server->connections(), 0);
}

TEST_F(ServerConnectionsTest, DrainEndsAtItsDeadline) {
  Held held;
  auto server = Serve({}, clock_, [&](Executor&) { return held.MakeHandler(); });
  TestClient busy(server->port());
  busy.Send(Post("b"));
  ASSERT_TRUE(Eventually([&] { return held.count == 1; }));
  server->Drain(1000);
  EXPECT_TRUE(busy.ReadEnd());
  std::unique_ptr<Exchange> late = held.Take();
  EXPECT_EQ(late->request().body, "b");
  late->Send(Reply());
}

TEST_F(ServerConnectionsTest, TrickledRequestsEndInTimeoutsAndOthersDoNotNotice) {
  ManualClock manual;
  auto server = ServeEcho({}, manual);
  TestClient head(server->port()), body(server->port()), idle(server->port()),
      other(server->port());
  head.Send("POST / HTTP/1.1\r\nHost");
  body.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n0123");
  // A reply behind them on the same loop shows that what was sent above has been read, or is read
  // before the clock moves on.
  ASSERT_EQ(idle.Ask(Post("i")).status, 200);
  ASSERT_EQ(other.Ask(Post("x")).status, 200);
  manual.AdvanceMicros(29'000'000);
  body.Send("4");
  ASSERT_EQ(other.Ask(Post("x")).status, 200);
  manual.AdvanceMicros(2'000'000);
  const ClientReply reply = head.Read();
  EXPECT_EQ(reply.status, 408);
  EXPECT_EQ(reply.body, Refusals().timeout);
  body.Send("5");  // a byte now and then does not move the deadline
  ASSERT_EQ(other.Ask(Post("x")).status, 200);
  manual.AdvanceMicros(40'000'000);
  EXPECT_EQ(body.Read().status, 408);
  EXPECT_EQ(idle.Ask(Post("still here")).body, "POST /|still here");
}

TEST_F(ServerConnectionsTest, EveryPipelinedRequestHasItsOwnDeadline) {
  ManualClock manual;
  auto server = ServeEcho({}, manual);
  TestClient heads(server->port()), bodies(server->port());
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n";
  heads.Send("POST / HT");
  bodies.Send(head + "a");
  // Each send ends one request and begins the next, so that the connection is never between
  // requests.
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(heads.Ask("TP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\nPOST / HT").status, 200);
    ASSERT_EQ(bodies.Ask("b" + head + "a").body, "POST /|ab");
    manual.AdvanceMicros(20'000'000);
  }
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(bodies.Ask("b" + head + "a").body, "POST /|ab");
    manual.AdvanceMicros(40'000'000);
  }
  EXPECT_EQ(heads.Read().status, 408);
}

TEST_F(ServerConnectionsTest, ClosesIdleConnectionsOnlyIfAskedTo) {
  ManualClock manual;
  ServerOptions options;
  options.idle_timeout_micros = 10'000'000;
  auto server = ServeEcho(options, manual);
  TestClient idle(server->port()), used(server->port());
  ASSERT_EQ(idle.Ask(Post("1")).status, 200);
  ASSERT_EQ(used.Ask(Post("1")).status, 200);
  manual.AdvanceMicros(9'000'000);
  ASSERT_EQ(used.Ask(Post("2")).status, 200);
  manual.AdvanceMicros(1'000'000);
  EXPECT_TRUE(idle.ReadEnd());
  EXPECT_EQ(used.Ask(Post("3")).status, 200);
}

size_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  size_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * 4096;
}

TEST_F(ServerConnectionsTest, IdleConnectionsAreCheap) {
  auto server = ServeEcho({}, clock_);
  constexpr int kIdle = 2000;
  std::vector<TestClient> clients;
  clients.reserve(kIdle);
  [[maybe_unused]] const size_t before = ResidentBytes();
  for (int i = 0; i < kIdle; ++i) {
    clients.emplace_back(server->port());
    ASSERT_TRUE(clients.back().connected()) << i;
    ASSERT_EQ(clients.back().Ask(Post("once")).status, 200) << i;
  }
  EXPECT_EQ(server->connections(), kIdle);
  // Client and server share this process; a read buffer of 16 KB for each would be 32 MB.
  // Sanitizers need memory of their own.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
  EXPECT_LT(ResidentBytes() - before, size_t{8} << 20);
#endif
  for (TestClient& client : clients) ASSERT_EQ(client.Ask(Post("again")).body, "POST /|again");
  clients.clear();
  EXPECT_TRUE(Eventually([&] { return server->connections() == 0; }));
}

}  // namespace
}  // namespace stator::http
