#include "http/server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <vector>

#include "base/random.h"
#include "http/test_client.h"
#include "http/test_held.h"

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

TEST_F(ServerTest, AnExchangeTellsThatItsClientHasLeft) {
  for (const bool half : {false, true}) {
    Held held;
    auto server = Serve({}, clock_, [&](Executor&) { return held.MakeHandler(); });
    TestClient client(server->port());
    client.Send("GET /1 HTTP/1.1\r\nHost: h\r\n\r\n");
    ASSERT_TRUE(Eventually([&] { return held.count == 1; }));
    const auto has_left = [&held] {
      std::lock_guard lock(held.mutex);
      return held.exchanges.front()->HasLeft();
    };
    EXPECT_FALSE(has_left());
    half ? client.HalfClose() : client.Close();
    ASSERT_TRUE(Eventually(has_left));
    held.AnswerFirst("late ");
    if (half) {
      EXPECT_EQ(client.Read().body, "late ");
    }
  }
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

TEST_F(ServerTest, SecondServerOnThePortIsAnError) {
  auto server = ServeEcho({}, clock_);
  ServerOptions options;
  options.port = server->port();
  Result<std::unique_ptr<Server>> second = Server::Listen(options, Refusals(), clock_);
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message().find("in use"), std::string::npos) << second.error().message();
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
