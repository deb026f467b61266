#include "server/health_check.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>

namespace stator::server {
namespace {

// A server on loopback that answers one request with a text, or leaves it without an answer.
class OneReply {
 public:
  explicit OneReply(std::string reply) : reply_(std::move(reply)) {
    listener_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(listener_, 1), 0);
    socklen_t size = sizeof(address);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Serve(); });
  }
  ~OneReply() {
    thread_.join();
    close(listener_);
  }

  uint16_t port() const { return port_; }
  const std::string& request() const { return request_; }

 private:
  void Serve() {
    const int fd = accept(listener_, nullptr, nullptr);
    char bytes[1024];
    while (request_.find("\r\n\r\n") == std::string::npos) {
      const ssize_t got = recv(fd, bytes, sizeof(bytes), 0);
      if (got <= 0) break;
      request_.append(bytes, static_cast<size_t>(got));
    }
    if (!reply_.empty()) {
      EXPECT_EQ(send(fd, reply_.data(), reply_.size(), 0), static_cast<ssize_t>(reply_.size()));
    } else {
      (void)recv(fd, bytes, sizeof(bytes), 0);  // until the client goes
    }
    close(fd);
  }

  const std::string reply_;
  std::string request_;
  int listener_ = -1;
  uint16_t port_ = 0;
  std::thread thread_;
};

int Check(uint16_t port, int timeout_seconds = 60) {
  return Execute({.port = port, .timeout_seconds = timeout_seconds});
}

TEST(HealthCheckTest, AReadyServer) {
  testing::internal::CaptureStdout();
  std::string request;
  {
    const OneReply server("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nready\n");
    EXPECT_EQ(Check(server.port()), 0);
    request = server.request();
    EXPECT_TRUE(request.starts_with("GET /health/ready HTTP/1.1\r\nHost: 127.0.0.1:"));
  }
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "ready\n");
}

TEST(HealthCheckTest, AServerThatIsNotReady) {
  testing::internal::CaptureStderr();
  const OneReply server("HTTP/1.1 503 Service Unavailable\r\n\r\nthe disk is full\n");
  EXPECT_EQ(Check(server.port()), 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "the disk is full\n");
}

TEST(HealthCheckTest, ASilentServer) {
  testing::internal::CaptureStderr();
  const OneReply server("");
  EXPECT_EQ(Check(server.port(), 1), 1);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("no answer in time"), std::string::npos);
}

TEST(HealthCheckTest, NoServer) {
  testing::internal::CaptureStderr();
  uint16_t port = 0;
  {
    const OneReply server("HTTP/1.1 200 OK\r\n\r\n");
    port = server.port();
    EXPECT_EQ(Check(port), 0);
  }
  EXPECT_EQ(Check(port), 1);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("refused"), std::string::npos);
}

}  // namespace
}  // namespace stator::server
