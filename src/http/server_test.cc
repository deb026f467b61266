#include "http/server.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <fstream>
#include <future>
#include <mutex>
#include <vector>

#include "base/random.h"
#include "http/test_client.h"

namespace stator::http {
namespace {

class ServerTest : public ::testing::Test {
 protected:
  SystemClock clock_;
};

TEST_F(ServerTest, KeepsAConnectionForManyRequests) {
  auto server = ServeEcho({}, clock_);
  TestClient client(server->port());
  for (int i = 0; i < 100; ++i) {
    const std::string body = "body " + std::to_string(i);
    const ClientReply reply = client.Ask(Post(body));
    ASSERT_EQ(reply.status, 200);
    ASSERT_EQ(reply.body, "POST /|" + body);
    ASSERT_NE(reply.head.find("Connection: keep-alive\r\n"), std::string::npos);
    ASSERT_NE(reply.head.find("Server: Server\r\nX-Content-Type-Options: nosniff\r\nDate: "),
              std::string::npos);
  }
  EXPECT_EQ(server->connections(), 1);
  client.Close();
  EXPECT_TRUE(Eventually([&] { return server->connections() == 0; }));
}

TEST_F(ServerTest, PassesEveryMethodThrough) {
  auto server = ServeEcho({}, clock_);
  TestClient client(server->port());
  for (const char* method : {"GET", "OPTIONS", "DELETE", "PUT", "PATCH"}) {
    EXPECT_EQ(client.Ask(std::string(method) + " /x HTTP/1.1\r\nHost: h\r\n\r\n").body,
              std::string(method) + " /x|");
  }
  client.Send("HEAD /x HTTP/1.1\r\nHost: h\r\n\r\nGET /y HTTP/1.1\r\nHost: h\r\n\r\n");
  const ClientReply head = client.Read(/*head_only=*/true);
  EXPECT_NE(head.head.find("Content-Length: 8\r\n"), std::string::npos);
  EXPECT_EQ(client.Read().body, "GET /y|");
}

TEST_F(ServerTest, AnswersPipelinedRequestsInOrder) {
  auto server = ServeEcho({}, clock_);
  TestClient client(server->port());
  std::string all;
  for (int i = 0; i < 1000; ++i) all += Post(std::to_string(i) + std::string(i % 97, '.'));
  std::thread sender([&] { client.Send(all); });
  for (int i = 0; i < 1000; ++i)
    ASSERT_EQ(client.Read().body, "POST /|" + std::to_string(i) + std::string(i % 97, '.'));
  sender.join();
}

// A connection with a hundred requests of a millisecond each does not hold another one up: it gets
// its share of a round by time, and then one request in each round.
TEST_F(ServerTest, PipelinedRequestsShareTheLoopByTime) {
  ManualClock clock;
  ServerOptions options;
  options.threads = 1;
  std::promise<void> first, both_sent;
  std::atomic<int> served = 0, served_before_other = -1;
  auto server = Serve(options, clock, [&](Executor&) -> Handler {
    return [&](std::unique_ptr<Exchange> exchange) {
      const int number = served++;
      if (exchange->request().target == "/other") served_before_other = number;
      if (number == 0) {
        first.set_value();
        both_sent.get_future().wait();
      }
      clock.AdvanceMicros(1000);
      exchange->Send(Reply{});
    };
  });
  TestClient busy(server->port()), other(server->port());
  constexpr int kRequests = 100;
  std::string all;
  for (int i = 0; i < kRequests; ++i) all += "GET /busy HTTP/1.1\r\nHost: h\r\n\r\n";
  ASSERT_TRUE(busy.Send(all));
  first.get_future().wait();
  ASSERT_TRUE(other.Send("GET /other HTTP/1.1\r\nHost: h\r\n\r\n"));
  both_sent.set_value();
  EXPECT_EQ(other.Read().status, 200);
  for (int i = 0; i < kRequests; ++i) ASSERT_EQ(busy.Read().status, 200);
  EXPECT_GE(served_before_other, 1);
  EXPECT_LE(served_before_other, 8) << "rounds of one request, and the first of two";
}

// Many connections send long bodies that cost ten milliseconds each. Each round runs one of them,
// so that a short request waits for one and not for all.
TEST_F(ServerTest, LongBodiesTakeTurns) {
  constexpr int kConnections = 40;
  ManualClock clock;
  ServerOptions options;
  options.threads = 1;
  std::promise<void> first, all_sent;
  std::atomic<int> served = 0, served_before_other = -1;
  auto server = Serve(options, clock, [&](Executor&) -> Handler {
    return [&](std::unique_ptr<Exchange> exchange) {
      if (exchange->request().target == "/warm") return exchange->Send(Reply());
      const int number = served++;
      if (exchange->request().target == "/other") served_before_other = number;
      if (number == 0) {
        first.set_value();
        all_sent.get_future().wait();
      }
      clock.AdvanceMicros(10'000);
      Reply reply;
      reply.body = std::to_string(exchange->request().body.size());
      exchange->Send(std::move(reply));
    };
  });
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < kConnections; ++i)
    clients.push_back(std::make_unique<TestClient>(server->port()));
  TestClient other(server->port());
  // All connections are the loop's before anything is sent.
  const std::string warm = "GET /warm HTTP/1.1\r\nHost: h\r\n\r\n";
  for (const auto& client : clients) ASSERT_EQ(client->Ask(warm).status, 200);
  ASSERT_EQ(other.Ask(warm).status, 200);
  const auto send = [&](int i) { clients[i]->Send(Post(std::string(3000 << (2 * (i % 3)), 'x'))); };
  send(0);
  first.get_future().wait();
  for (int i = 1; i < kConnections; ++i) send(i);
  other.Send("GET /other HTTP/1.1\r\nHost: h\r\n\r\n");
  all_sent.set_value();
  EXPECT_EQ(other.Read().body, "0");
  for (int i = 0; i < kConnections; ++i)
    EXPECT_EQ(clients[i]->Read().body, std::to_string(3000 << (2 * (i % 3))));
  // The first, and what was among the events of the next rounds before it.
  EXPECT_LE(served_before_other, 4);
  // Turns go on after all of them have had one.
  for (int i = 0; i < kConnections; ++i) send(i);
  for (int i = 0; i < kConnections; ++i) EXPECT_EQ(clients[i]->Read().status, 200);
}

// A connection that goes while its request waits for a turn takes the request with it.
TEST_F(ServerTest, AClosedConnectionHasNoTurn) {
  ManualClock clock;
  ServerOptions options;
  options.threads = 1;
  std::promise<void> first, all_gone;
  std::atomic<int> served = 0;
  auto server = Serve(options, clock, [&](Executor&) -> Handler {
    return [&](std::unique_ptr<Exchange> exchange) {
      if (served++ == 0) {
        first.set_value();
        all_gone.get_future().wait();
      }
      clock.AdvanceMicros(10'000);
      exchange->Send(Reply());
    };
  });
  TestClient stays(server->port());
  stays.Send(Post(std::string(3000, 'x')));
  first.get_future().wait();
  {
    std::vector<std::unique_ptr<TestClient>> gone;
    for (int i = 0; i < 10; ++i) {
      gone.push_back(std::make_unique<TestClient>(server->port()));
      gone.back()->Send(Post(std::string(3000, 'x')));
    }
  }
  all_gone.set_value();
  EXPECT_EQ(stays.Read().status, 200);
  EXPECT_TRUE(Eventually([&] { return server->connections() == 1; }));
  EXPECT_EQ(stays.Ask(Post(std::string(3000, 'x'))).status, 200);
}

TEST_F(ServerTest, ReadsByteByByte) {
  auto server = ServeEcho({}, clock_);
  TestClient client(server->port());
  const std::string bytes = Post("hello") +
                            "PUT /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: "
                            "chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n";
  for (char c : bytes) ASSERT_TRUE(client.Send(std::string_view(&c, 1)));
  EXPECT_EQ(client.Read().body, "POST /|hello");
  EXPECT_EQ(client.Read().body, "PUT /c|abc");
}

TEST_F(ServerTest, ClosesWhenTheClientAsksForIt) {
  auto server = ServeEcho({}, clock_);
  for (const char* text :
       {"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "GET / HTTP/1.0\r\n\r\n"}) {
    TestClient client(server->port());
    const ClientReply reply = client.Ask(text);
    EXPECT_EQ(reply.status, 200);
    EXPECT_NE(reply.head.find("Connection: close\r\n"), std::string::npos);
    EXPECT_TRUE(client.ReadEnd());
  }
  TestClient half(server->port());
  half.Send("GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\n");
  half.HalfClose();
  EXPECT_EQ(half.Read().body, "GET /1|");
  EXPECT_EQ(half.Read().body, "GET /2|");
  EXPECT_TRUE(half.ReadEnd());
}

TEST_F(ServerTest, SaysContinueOnlyToABodyItWillRead) {
  ServerOptions options;
  options.max_body_bytes = 1000;
  auto server = ServeEcho(options, clock_);
  TestClient client(server->port());
  EXPECT_EQ(
      client.Ask("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
          .status,
      100);
  EXPECT_EQ(client.Ask("abc").body, "POST /|abc");
  EXPECT_EQ(
      client
          .Ask("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 1001\r\n\r\n")
          .status,
      413);
}

TEST_F(ServerTest, RefusesLargeBodiesBeforeReadingThem) {
  ServerOptions options;
  options.max_body_bytes = 100'000;
  auto server = ServeEcho(options, clock_);
  {
    TestClient client(server->port());
    client.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100001\r\n\r\n");
    const ClientReply reply = client.Read();
    EXPECT_EQ(reply.status, 413);
    EXPECT_EQ(reply.body, Refusals().too_large);
    EXPECT_TRUE(client.ReadEnd());
  }
  {
    // A client that sends everything before it reads still finds the reply.
    TestClient client(server->port());
    client.Send(Post(std::string(2'000'000, 'x')));
    EXPECT_EQ(client.Read().status, 413);
  }
  {
    TestClient client(server->port());
    client.Send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1d4c0\r\n" +
                std::string(120'000, 'x'));
    EXPECT_EQ(client.Read().status, 413);
  }
  TestClient client(server->port());
  EXPECT_EQ(client.Ask(Post(std::string(100'000, 'x'))).body.size(), 100'007u);
}

TEST_F(ServerTest, RefusesLongHeaders) {
  auto server = ServeEcho({}, clock_);
  for (size_t bytes : {17'000u, 1'000'000u}) {
    TestClient client(server->port());
    client.Send("GET / HTTP/1.1\r\nHost: h\r\nA: " + std::string(bytes, 'a') + "\r\n\r\n");
    EXPECT_EQ(client.Read().status, 400);
    EXPECT_TRUE(client.ReadEnd());
  }
  TestClient target(server->port());
  EXPECT_EQ(target.Ask("GET /" + std::string(17'000, 'a') + " HTTP/1.1\r\nHost: h\r\n\r\n").status,
            400);
  TestClient endless(server->port());
  std::string many = "GET / HTTP/1.1\r\nHost: h\r\n";
  for (int i = 0; i < 100'000; ++i) many += "a:b\r\n";
  EXPECT_EQ(endless.Ask(many).status, 400);
}

TEST_F(ServerTest, AHigherHeaderLimitHolds) {
  ServerOptions options;
  options.max_header_bytes = 2'000'000;
  auto server = ServeEcho(options, clock_);
  TestClient client(server->port());
  EXPECT_EQ(
      client.Ask("GET / HTTP/1.1\r\nHost: h\r\nA: " + std::string(1'000'000, 'a') + "\r\n\r\n")
          .status,
      200);
  EXPECT_EQ(
      client.Ask("GET / HTTP/1.1\r\nHost: h\r\nA: " + std::string(2'000'000, 'a') + "\r\n\r\n")
          .status,
      400);
}

TEST_F(ServerTest, RefusesBadRequestsBehindGoodOnes) {
  auto server = ServeEcho({}, clock_);
  TestClient client(server->port());
  client.Send(Post("ok") +
              "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: "
              "chunked\r\n\r\n0\r\n\r\n" +
              Post("never"));
  EXPECT_EQ(client.Read().body, "POST /|ok");
  const ClientReply refused = client.Read();
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.body, Refusals().bad_request);
  EXPECT_TRUE(client.ReadEnd());
}

// Keeps exchanges until the test takes them, on the loop.
struct Held {
  std::mutex mutex;
  std::vector<std::unique_ptr<Exchange>> exchanges;
  std::atomic<int> count{0};

  Handler MakeHandler() {
    return [this](std::unique_ptr<Exchange> exchange) {
      std::lock_guard lock(mutex);
      exchanges.push_back(std::move(exchange));
      ++count;
    };
  }
  std::unique_ptr<Exchange> Take() {
    std::lock_guard lock(mutex);
    std::unique_ptr<Exchange> first = std::move(exchanges.front());
    exchanges.erase(exchanges.begin());
    return first;
  }
  // Returns when the loop has taken the reply.
  void AnswerFirst(std::string body) {
    std::unique_ptr<Exchange> exchange = Take();
    Executor& loop = exchange->loop();
    std::promise<void> sent;
    loop.Post([exchange = std::move(exchange), body = std::move(body), &sent]() mutable {
      Reply reply;
      reply.body = body + std::string(exchange->request().body);
      exchange->Send(std::move(reply));
      exchange.reset();
      sent.set_value();
    });
    sent.get_future().wait();
  }
  void DropFirst() {
    std::unique_ptr<Exchange> exchange = Take();
    Executor& loop = exchange->loop();
    loop.Post([exchange = std::move(exchange)]() mutable { exchange.reset(); });
  }
};

TEST_F(ServerTest, AnswersLaterFromAnotherThread) {
  Held held;
  auto server = Serve({}, clock_, [&](Executor&) { return held.MakeHandler(); });
  TestClient client(server->port());
  client.Send(Post("a") + Post("b") + Post("c"));
  ASSERT_TRUE(Eventually([&] { return held.count == 1; }));
  held.AnswerFirst("1");
  EXPECT_EQ(client.Read().body, "1a");
  ASSERT_TRUE(Eventually([&] { return held.count == 2; }));
  held.DropFirst();
  const ClientReply dropped = client.Read();
  EXPECT_EQ(dropped.status, 500);
  EXPECT_EQ(dropped.body, Refusals().internal);
  ASSERT_TRUE(Eventually([&] { return held.count == 3; }));
  held.AnswerFirst("3");
  EXPECT_EQ(client.Read().body, "3c");
}

TEST_F(ServerTest, ALateBigReplyKeepsItsBodyAheadOfThePipelinedReply) {
  Held held;
  std::atomic<int> asked{0};
  auto server = Serve({}, clock_, [&](Executor&) -> Handler {
    return [&, hold = held.MakeHandler()](std::unique_ptr<Exchange> exchange) mutable {
      if (++asked == 1) {
        hold(std::move(exchange));
      } else {
        Echo(std::move(exchange));
      }
    };
  });
  const std::string big(100'000, 'b');
  TestClient client(server->port());
  client.Send(Post("a") + Post("b") + Post("c"));
  ASSERT_TRUE(Eventually([&] { return held.count == 1; }));
  held.AnswerFirst(big);
  EXPECT_EQ(client.Read().body, big + "a");
  EXPECT_EQ(client.Read().body, "POST /|b");
  EXPECT_EQ(client.Read().body, "POST /|c");
}

TEST_F(ServerTest, BigRepliesOfManyConnectionsWaitForEachOtherAndArriveWhole) {
  auto server = Serve({}, clock_, [](Executor&) -> Handler {
    return [](std::unique_ptr<Exchange> exchange) {
      Reply reply;
      // Sizes on both sides of what is copied behind the head.
      const int seed = std::atoi(std::string(exchange->request().body).c_str());
      reply.body = std::string(static_cast<size_t>(seed % 4) * 15'000 + 10,
                               static_cast<char>('a' + seed % 26));
      exchange->Send(std::move(reply));
    };
  });
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < 60; ++i) clients.push_back(std::make_unique<TestClient>(server->port()));
  for (int round = 0; round < 5; ++round) {
    // Some send one request, some several behind each other, and all before anybody reads.
    for (int i = 0; i < 60; ++i) {
      std::string requests;
      for (int k = 0; k <= i % 3; ++k) requests += Post(std::to_string(round + i + k));
      clients[i]->Send(requests);
    }
    for (int i = 0; i < 60; ++i) {
      for (int k = 0; k <= i % 3; ++k) {
        const int seed = round + i + k;
        ASSERT_EQ(clients[i]->Read().body, std::string(static_cast<size_t>(seed % 4) * 15'000 + 10,
                                                       static_cast<char>('a' + seed % 26)));
      }
    }
  }
}

TEST_F(ServerTest, ManyThreadsPostAndEachReplyArrives) {
  WorkerPool pool(4, 100'000);
  ServerOptions options;
  options.threads = 2;
  auto server = Serve(options, clock_, [&](Executor&) -> Handler {
    return [&pool](std::unique_ptr<Exchange> exchange) {
      UniqueFunction<void()> work = [exchange = std::move(exchange)]() mutable {
        Executor& loop = exchange->loop();
        loop.Post([exchange = std::move(exchange)]() mutable { Echo(std::move(exchange)); });
      };
      pool.TryPost(work);
    };
  });
  std::vector<std::thread> clients;
  for (int c = 0; c < 8; ++c) {
    clients.emplace_back([&, c] {
      TestClient client(server->port());
      for (int i = 0; i < 300; ++i) {
        const std::string body = std::to_string(c) + "/" + std::to_string(i);
        ASSERT_EQ(client.Ask(Post(body)).body, "POST /|" + body);
      }
    });
  }
  for (std::thread& thread : clients) thread.join();
  pool.Stop();
}

constexpr size_t kMiB = 1 << 20;

TEST_F(ServerTest, OutlivesClientsThatLeave) {
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

TEST_F(ServerTest, LimitsBytesInFlightAndFinishesTheOldestBody) {
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

TEST_F(ServerTest, AnnouncedBodiesHoldNothing) {
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

TEST_F(ServerTest, UnreadRepliesCountAndStuckReadersMakeRoom) {
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

TEST_F(ServerTest, SlowReadersHaveLessTimeWhileMemoryIsShort) {
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

TEST_F(ServerTest, ABodyThatKeepsTheRateMayTakeLongerThanTheTimeout) {
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

TEST_F(ServerTest, SlowBodiesGiveWayUnderPressure) {
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

TEST_F(ServerTest, ASlowBodyKeepsMemoryThatNoOtherAsksFor) {
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

TEST_F(ServerTest, ASlowReaderGetsAllOfABigReply) {
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

TEST_F(ServerTest, SecondServerOnThePortIsAnError) {
  auto server = ServeEcho({}, clock_);
  ServerOptions options;
  options.port = server->port();
  Result<std::unique_ptr<Server>> second = Server::Listen(options, Refusals(), clock_);
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message().find("in use"), std::string::npos) << second.error().message();
}

TEST_F(ServerTest, RefusesConnectionsAboveTheLimit) {
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

TEST_F(ServerTest, ConnectionsThatNobodyUsesMakeRoomWhenThereIsNone) {
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

TEST_F(ServerTest, AFullServerStillAnswersTheTargetsThatAreAlwaysServed) {
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

TEST_F(ServerTest, ConnectionsBeyondTheLimitHoldFewDescriptorsAndNoProbeBack) {
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

TEST_F(ServerTest, SurvivesRunningOutOfFileDescriptors) {
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

TEST_F(ServerTest, DrainWaitsForRequestsInHand) {
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

TEST_F(ServerTest, DrainEndsAtItsDeadline) {
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

TEST_F(ServerTest, TrickledRequestsEndInTimeoutsAndOthersDoNotNotice) {
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

TEST_F(ServerTest, EveryPipelinedRequestHasItsOwnDeadline) {
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

TEST_F(ServerTest, ClosesIdleConnectionsOnlyIfAskedTo) {
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

TEST_F(ServerTest, AReaderThatTakesNothingIsGivenUp) {
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

size_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  size_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * 4096;
}

TEST_F(ServerTest, IdleConnectionsAreCheap) {
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
#ifndef __SANITIZE_THREAD__  // its history of accesses grows meanwhile
  EXPECT_LT(ResidentBytes() - before, size_t{8} << 20);
#endif
  for (TestClient& client : clients) ASSERT_EQ(client.Ask(Post("again")).body, "POST /|again");
  clients.clear();
  EXPECT_TRUE(Eventually([&] { return server->connections() == 0; }));
}

TEST_F(ServerTest, GarbageOnSomeConnectionsDoesNotHarmOthers) {
  auto server = ServeEcho({}, clock_);
  TestClient good(server->port());
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    SeededRandom random(seed);
    TestClient client(server->port());
    std::string bytes =
        Post(std::string(random.Below(300), 'b')) + Post("x", "Expect: 100-continue\r\n");
    for (uint64_t i = random.Below(10); i > 0; --i)
      bytes[random.Below(bytes.size())] = static_cast<char>(random.Next());
    size_t at = 0;
    while (at < bytes.size()) {
      const size_t piece = std::min<size_t>(1 + random.Below(80), bytes.size() - at);
      if (!client.Send(std::string_view(bytes).substr(at, piece))) break;
      at += piece;
    }
    switch (random.Below(3)) {
      case 0: client.Reset(); break;
      case 1: client.Close(); break;
      default: client.HalfClose(); break;
    }
    ASSERT_EQ(good.Ask(Post("good")).body, "POST /|good");
  }
  EXPECT_TRUE(Eventually([&] { return server->connections() == 1; }));
}

TEST_F(ServerTest, ListensOnSeveralHosts) {
  ServerOptions options;
  options.hosts = {"127.0.0.1", "127.0.0.2", "::1"};
  auto server = ServeEcho(options, clock_);
  EXPECT_NE(server->port(), 0);
  TestClient client(server->port());
  EXPECT_EQ(client.Ask(Post("v4")).status, 200);
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(server->port());
  address.sin_addr.s_addr = htonl(0x7f000002);
  EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ::close(fd);
}

}  // namespace
}  // namespace stator::http
