#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "http/test_client.h"
#include "mcp/http_door.h"
#include "mcp/protocol.h"
#include "mcp/stdio.h"

namespace stator::mcp {
namespace {

constexpr std::string_view kPing = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";
constexpr std::string_view kPong = R"({"jsonrpc":"2.0","id":1,"result":{}})";

EndpointSettings Nowhere() {
  EndpointSettings settings;
  settings.api = settings.management = *egress::ParseUrl("http://127.0.0.1:1");
  settings.key = {"AKID", "secret", ""};
  return settings;
}

// Returns the answers to the lines of `text`.
std::string Lines(std::string_view text) {
  signal(SIGPIPE, SIG_IGN);
  int in[2], out[2];
  EXPECT_EQ(pipe(in), 0);
  EXPECT_EQ(pipe(out), 0);
  std::thread writer([&] {
    while (!text.empty()) {
      const ssize_t sent = ::write(in[1], text.data(), text.size());
      if (sent <= 0) break;
      text.remove_prefix(static_cast<size_t>(sent));
    }
    ::close(in[1]);
  });
  std::thread server([&] {
    const EndpointSettings settings = Nowhere();
    const SystemClock clock;
    ServeLines(in[0], out[1], Protocol(settings, clock, "1"));
    ::close(out[1]);
  });
  std::string answers;
  char bytes[4096];
  for (ssize_t got; (got = ::read(out[0], bytes, sizeof(bytes))) > 0;)
    answers.append(bytes, static_cast<size_t>(got));
  writer.join();
  server.join();
  ::close(in[0]);
  ::close(out[0]);
  return answers;
}

TEST(Stdio, AnswersALineWithALine) {
  const std::string twice = fmt::format("{}\n{}\n", kPing, kPing);
  EXPECT_EQ(Lines(twice), fmt::format("{}\n{}\n", kPong, kPong));
  EXPECT_EQ(Lines(fmt::format("\n\r\n{}\r\n", kPing)), fmt::format("{}\n", kPong));
  EXPECT_EQ(Lines(kPing), fmt::format("{}\n", kPong));  // without a line feed at the end
  EXPECT_EQ(Lines(""), "");
  EXPECT_EQ(Lines("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"), "");
}

TEST(Stdio, GoesOnBehindALineThatIsTooLong) {
  const std::string text = fmt::format("{}\n{}\n", std::string(2 * kMostMessageBytes, 'x'), kPing);
  const std::string answers = Lines(text);
  const size_t end = answers.find('\n');
  EXPECT_NE(answers.substr(0, end).find("-32600"), std::string::npos) << answers;
  EXPECT_EQ(answers.substr(end + 1), fmt::format("{}\n", kPong));
}

TEST(Stdio, NonsenseEndsNothing) {
  std::string text;
  for (int i = 0; i < 256; ++i) text += static_cast<char>(i);
  const std::string answers = Lines(fmt::format("{}\n{}\n", text, kPing));
  EXPECT_TRUE(answers.ends_with(fmt::format("{}\n", kPong))) << answers;
}

class HttpDoorTest : public testing::Test {
 protected:
  void Start(std::string token) {
    HttpDoor::Options options;
    options.token = std::move(token);
    Start(std::move(options));
  }
  void Start(HttpDoor::Options options) {
    Result<std::unique_ptr<HttpDoor>> door =
        HttpDoor::Listen(std::move(options), protocol_, clock_);
    ASSERT_TRUE(door.ok()) << door.error().message();
    door_ = *std::move(door);
    door_->Start();
  }
  http::ClientReply Send(std::string_view head, std::string_view body = kPing) {
    http::TestClient client(door_->port());
    EXPECT_TRUE(client.Send(fmt::format("{}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
                                        head, body.size(), body)));
    return client.Read();
  }

  const EndpointSettings settings_ = Nowhere();
  const SystemClock clock_;
  const Protocol protocol_{settings_, clock_, "1"};
  std::unique_ptr<HttpDoor> door_;
};

constexpr std::string_view kPost =
    "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json";

TEST_F(HttpDoorTest, AnswersMessages) {
  Start("");
  const http::ClientReply reply = Send(kPost);
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, kPong);
  EXPECT_EQ(Send(kPost, R"({"jsonrpc":"2.0","method":"notifications/initialized"})").status, 202);
  EXPECT_EQ(Send(kPost, "{").status, 400);
  EXPECT_EQ(Send("GET /mcp HTTP/1.1\r\nHost: localhost", "").status, 405);
  EXPECT_EQ(Send("DELETE /mcp HTTP/1.1\r\nHost: localhost", "").status, 405);
  EXPECT_EQ(Send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json").status,
            404);
  EXPECT_EQ(Send("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain").status, 415);
}

TEST_F(HttpDoorTest, PagesOfOtherSitesGetNothing) {
  Start("");
  EXPECT_EQ(Send(fmt::format("{}\r\nOrigin: https://evil.example", kPost)).status, 403);
  EXPECT_EQ(Send(fmt::format("{}\r\nOrigin: null", kPost)).status, 403);
  EXPECT_EQ(Send(fmt::format("{}\r\nSec-Fetch-Site: cross-site", kPost)).status, 403);
  EXPECT_EQ(Send("POST /mcp HTTP/1.1\r\nHost: evil.example\r\nOrigin: http://evil.example\r\n"
                 "Content-Type: application/json")
                .status,
            403);
  EXPECT_EQ(
      Send("POST /mcp HTTP/1.1\r\nHost: evil.example\r\nContent-Type: application/json").status,
      403);
}

TEST_F(HttpDoorTest, ATokenMustBeShown) {
  Start("secret-token");
  EXPECT_EQ(Send(kPost).status, 401);
  EXPECT_EQ(Send(fmt::format("{}\r\nAuthorization: Bearer secret-tokem", kPost)).status, 401);
  EXPECT_EQ(Send(fmt::format("{}\r\nAuthorization: secret-token", kPost)).status, 401);
  EXPECT_EQ(Send(fmt::format("{}\r\nAuthorization: Bearer secret-token", kPost)).status, 200);
}

TEST_F(HttpDoorTest, ALongMessageIsRefusedBeforeItIsRead) {
  Start("");
  http::TestClient client(door_->port());
  EXPECT_TRUE(
      client.Send(fmt::format("{}\r\nContent-Length: {}\r\n\r\n", kPost, kMostMessageBytes + 1)));
  EXPECT_EQ(client.Read().status, 413);
}

// A simulation that lasts until Release.
class HeldPlay {
 public:
  std::function<void()> Hook() {
    return [this] {
      if (++begun_ == 1) has_begun_.set_value();
      released_.wait();
    };
  }
  void AwaitBegun() { has_begun_.get_future().wait(); }
  int begun() const { return begun_; }
  void Release() { release_.set_value(); }

 private:
  std::atomic<int> begun_{0};
  std::promise<void> has_begun_, release_;
  std::shared_future<void> released_ = release_.get_future().share();
};

std::string SimulateWith(size_t padding) {
  return fmt::format(
      R"({{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"simulate",)"
      R"("arguments":{{"scenario":"nonsense = ["}},"padding":"{}"}}}})",
      std::string(padding, 'x'));
}

// Statuses of messages that are sent at once, as they come.
class Senders {
 public:
  explicit Senders(std::function<int()> send) : send_(std::move(send)) {}
  ~Senders() {
    for (std::thread& thread : threads_) thread.join();
  }
  void Send(int count) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this] {
        const int status = send_();
        const std::lock_guard lock(mutex_);
        ++statuses_[status];
        changed_.notify_all();
      });
    }
  }
  // Waits until `count` messages have been answered with `status`.
  void Await(int status, int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return statuses_[status] >= count; });
  }
  int Count(int status) {
    const std::lock_guard lock(mutex_);
    return statuses_[status];
  }

 private:
  const std::function<int()> send_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int, int> statuses_;
  std::vector<std::thread> threads_;
};

TEST_F(HttpDoorTest, SimulationsHoldNoOtherMessage) {
  HeldPlay play;
  HttpDoor::Options options;
  options.before_play = play.Hook();
  Start(std::move(options));
  Senders senders([this] { return Send(kPost, SimulateWith(0)).status; });
  senders.Send(1);
  play.AwaitBegun();
  // Four wait, and two are refused.
  senders.Send(6);
  senders.Await(503, 2);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Send(kPost).body, kPong);
  EXPECT_EQ(play.begun(), 1);
  play.Release();
  senders.Await(200, 5);
  EXPECT_EQ(senders.Count(503), 2);
  EXPECT_EQ(play.begun(), 5);
}

TEST_F(HttpDoorTest, ParsedMessagesAreInTheAccountOfMemory) {
  HeldPlay play;
  HttpDoor::Options options;
  options.before_play = play.Hook();
  options.most_inflight_bytes = 80 << 20;  // one of the longest, parsed
  Start(std::move(options));
  constexpr size_t kLong = kMostMessageBytes - 1000;
  Senders senders([this] { return Send(kPost, SimulateWith(kLong)).status; });
  senders.Send(1);
  play.AwaitBegun();
  const std::string long_ping =
      fmt::format(R"({{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"a":"{}"}}}})",
                  std::string(kLong, 'x'));
  const http::ClientReply refused = Send(kPost, long_ping);
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.body.find("memory"), std::string::npos) << refused.body;
  EXPECT_EQ(Send(kPost).body, kPong);
  play.Release();
  senders.Await(200, 1);
  EXPECT_EQ(Send(kPost, long_ping).body, kPong);
}

}  // namespace
}  // namespace stator::mcp
