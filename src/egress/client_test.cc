#include "egress/client.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "egress/test_listener.h"

namespace stator::egress {
namespace {

Client Make(const Url& url, Limits limits = {}) {
  static const SystemClock clock;
  return Client(url, limits, nullptr, clock);
}

TEST(Client, KeepsItsConnection) {
  std::atomic<int> connections{0};
  Listener listener([&](int fd, int) {
    ++connections;
    for (std::string request = ReadRequest(fd); !request.empty(); request = ReadRequest(fd)) {
      EXPECT_TRUE(request.starts_with("POST /x HTTP/1.1\r\nHost: 127.0.0.1:"));
      EXPECT_TRUE(request.ends_with("\r\n\r\nhello"));
      EXPECT_NE(request.find("\r\nX-Own: 1\r\n"), std::string::npos);
      Write(fd,
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nX-Their: a\r\n"
            "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
    }
  });
  {
    Client client = Make(listener.url());
    for (int i = 0; i < 3; ++i) {
      const Result<Reply> reply = client.Call("POST", "/x", {{"X-Own", "1"}}, "hello");
      ASSERT_TRUE(reply.ok()) << reply.error().message();
      EXPECT_EQ(reply->status, 201);
      EXPECT_EQ(reply->body, "abcde");
      EXPECT_EQ(reply->header("x-their"), "a");
    }
  }
  EXPECT_EQ(connections, 1);
}

TEST(Client, OpensAConnectionAgainThatTheServerClosed) {
  Listener listener([&](int fd, int) {
    ReadRequest(fd);
    Write(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  });
  Client client = Make(listener.url());
  for (int i = 0; i < 3; ++i) {
    const Result<Reply> reply = client.Call("GET", "/", {}, "");
    ASSERT_TRUE(reply.ok()) << reply.error().message();
    EXPECT_EQ(reply->body, "ok");
  }
}

TEST(Client, ARedirectIsAnAnswer) {
  Listener listener([&](int fd, int) {
    ReadRequest(fd);
    Write(fd, "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n");
  });
  Client client = Make(listener.url());
  const Result<Reply> reply = client.Call("GET", "/", {}, "");
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->status, 302);
}

TEST(Client, NamesEachFailure) {
  const auto failure_of = [](std::string answer, Limits limits) {
    Listener listener([&](int fd, int) {
      ReadRequest(fd);
      Write(fd, answer);
    });
    Client client = Make(listener.url(), limits);
    const Result<Reply> reply = client.Call("POST", "/", {}, "x");
    EXPECT_FALSE(reply.ok()) << answer;
    return reply.ok() ? Failure::kCancelled : FailureOf(reply.error());
  };
  EXPECT_EQ(failure_of("no HTTP at all\r\n\r\n", {}), Failure::kNonsense);
  EXPECT_EQ(failure_of("", {}), Failure::kBroken);
  EXPECT_EQ(failure_of("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", {}),
            Failure::kBroken);
  EXPECT_EQ(failure_of("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + std::string(100, 'x'),
                       {.body_bytes = 99}),
            Failure::kTooLong);
  EXPECT_EQ(failure_of("HTTP/1.1 200 OK\r\n" + std::string(200'000, 'x') + "\r\n\r\n", {}),
            Failure::kTooLong);
  const SystemClock clock;
  Client nobody(ParseUrl("http://127.0.0.1:1/").value(), {}, nullptr, clock);
  EXPECT_EQ(FailureOf(nobody.Call("GET", "/", {}, "").error()), Failure::kConnect);
}

// A body in two pieces, of which the second is long.
class TwoPieces final : public Body {
 public:
  size_t size() const override { return 5 + 100'000; }
  Status Visit(Take take) const override {
    ++visits;
    TRY(take("first"));
    return take(std::string(100'000, 'x'));
  }
  void OnSent() override { ++sent; }
  bool OnAgain() override { return again; }
  mutable int visits = 0;
  int sent = 0;
  bool again = true;
};

TEST(Client, SendsABodyInPieces) {
  std::atomic<int> requests{0};
  // Answers one request on each connection, and reads of every other one nothing more.
  Listener listener([&](int fd, int) {
    EXPECT_TRUE(ReadRequest(fd).ends_with("\r\n\r\nfirst" + std::string(100'000, 'x')));
    ++requests;
    Write(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  });
  Client client = Make(listener.url());
  for (int i = 0; i < 3; ++i) {
    TwoPieces body;
    const Result<Reply> reply = client.Call("POST", "/", {}, body, nullptr);
    ASSERT_TRUE(reply.ok()) << reply.error().message();
    EXPECT_EQ(body.sent, body.visits);
  }
  EXPECT_EQ(requests, 3);
}

class Keeping final : public Keeper {
 public:
  size_t most() const override { return most_kept; }
  bool MayKeep(size_t bytes) override {
    asked = std::max(asked, bytes);
    if (bytes > room && clock != nullptr) clock->AdvanceMicros(1'000'000);
    return bytes <= room || --refusals < 0;
  }
  size_t most_kept = SIZE_MAX;
  size_t room = SIZE_MAX;
  int refusals = 0;
  size_t asked = 0;
  ManualClock* clock = nullptr;
};

TEST(Client, KeepsOfAnAnswerWhatItsCallerMay) {
  const std::string answer =
      "HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n" + std::string(300'000, 'y');
  Listener listener([&](int fd, int) {
    while (!ReadRequest(fd).empty()) Write(fd, answer);
  });
  {
    ManualClock clock;
    Client client(listener.url(), {.total_micros = 60'000'000}, nullptr, clock);
    const auto call = [&](Keeping* keeper) {
      TwoPieces body;
      return client.Call("POST", "/", {}, body, keeper);
    };
    Keeping some;
    some.most_kept = 1000;
    Result<Reply> reply = call(&some);
    ASSERT_TRUE(reply.ok()) << reply.error().message();
    EXPECT_EQ(reply->body, std::string(1000, 'y'));
    Keeping slow;  // gets its room in the end
    slow.room = 100'000;
    slow.refusals = 5;
    reply = call(&slow);
    ASSERT_TRUE(reply.ok()) << reply.error().message();
    EXPECT_EQ(reply->body.size(), 300'000u);
    EXPECT_GE(slow.asked, 300'000u);
    Keeping none;
    none.room = 100'000;
    none.refusals = INT_MAX;
    none.clock = &clock;
    reply = call(&none);
    ASSERT_FALSE(reply.ok());
    EXPECT_EQ(FailureOf(reply.error()), Failure::kNoRoom);
  }
}

TEST(Client, AServerThatHangsIsLeft) {
  Listener listener([&](int fd, int) {
    ReadRequest(fd);
    Write(fd, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
    for (int i = 0; i < 4; ++i) {  // one byte now and then does not help
      std::this_thread::sleep_for(std::chrono::milliseconds(40));
      Write(fd, "x");
    }
    ReadRequest(fd);  // until the client goes
  });
  Client client = Make(listener.url(), {.total_micros = 100'000});
  const Result<Reply> reply = client.Call("POST", "/", {}, "x");
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(FailureOf(reply.error()), Failure::kTimeout);
}

TEST(Client, CancelEndsACall) {
  std::atomic<bool> asked{false};
  Listener listener([&](int fd, int) {
    ReadRequest(fd);
    asked = true;
    ReadRequest(fd);  // until the client goes
  });
  {
    Client client = Make(listener.url());
    std::thread canceller([&] {
      while (!asked) std::this_thread::yield();
      client.Cancel();
    });
    const Result<Reply> reply = client.Call("POST", "/", {}, "x");
    canceller.join();
    ASSERT_FALSE(reply.ok());
    EXPECT_EQ(FailureOf(reply.error()), Failure::kCancelled);
    EXPECT_EQ(FailureOf(client.Call("POST", "/", {}, "x").error()), Failure::kCancelled);
  }
}

}  // namespace
}  // namespace stator::egress
