// For tests: a server of the loopback that answers as a test says, byte by byte.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "egress/url.h"

namespace stator::egress {

// Accepts connections on a free port of the loopback, one after the other, and hands each to
// `serve`.
class Listener {
 public:
  explicit Listener(std::function<void(int fd, int number)> serve) {
    fd_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(fd_, 8), 0);
    socklen_t size = sizeof(address);
    getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, serve = std::move(serve)] {
      for (int number = 0;; ++number) {
        const int fd = accept(fd_, nullptr, nullptr);
        if (fd < 0) return;
        serve(fd, number);
        close(fd);
      }
    });
  }
  ~Listener() {
    shutdown(fd_, SHUT_RDWR);
    thread_.join();
    close(fd_);
  }
  Url url() const { return ParseUrl("http://127.0.0.1:" + std::to_string(port_) + "/").value(); }

 private:
  int fd_ = -1;
  int port_ = 0;
  std::thread thread_;
};

inline void Write(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    text.remove_prefix(static_cast<size_t>(sent));
  }
}

// Reads a request with its body; empty at the end.
inline std::string ReadRequest(int fd) {
  std::string text;
  char bytes[4096];
  while (true) {
    const size_t end = text.find("\r\n\r\n");
    if (end != std::string::npos) {
      const size_t length = text.find("Content-Length: ");
      const size_t body = length == std::string::npos ? 0 : std::stoul(text.substr(length + 16));
      if (text.size() >= end + 4 + body) return text;
    }
    const ssize_t got = recv(fd, bytes, sizeof(bytes), 0);
    if (got <= 0) return "";
    text.append(bytes, static_cast<size_t>(got));
  }
}

}  // namespace stator::egress
