#include "http/reply_head.h"

#include <gtest/gtest.h>

namespace stator::http {
namespace {

TEST(ReplyHead, HasAllItsLines) {
  CommonHeaders common;
  Reply reply;
  reply.headers = {{"X-A", "1"}};
  std::string out;
  AppendReplyHead(reply, 12, common.At(1'700'000'000'999'999), false, &out);
  EXPECT_EQ(out,
            "HTTP/1.1 200 OK\r\nServer: Server\r\nX-Content-Type-Options: nosniff\r\nDate: Tue, 14 "
            "Nov 2023 22:13:20 "
            "GMT\r\nConnection: keep-alive\r\n"
            "X-A: 1\r\nContent-Length: 12\r\n\r\n");
}

TEST(ReplyHead, DateFollowsTheClock) {
  CommonHeaders common;
  EXPECT_EQ(common.At(0),
            "Server: Server\r\nX-Content-Type-Options: nosniff\r\nDate: Thu, 01 Jan 1970 00:00:00 "
            "GMT\r\n");
  EXPECT_EQ(common.At(951'782'400'000'000),
            "Server: Server\r\nX-Content-Type-Options: nosniff\r\nDate: Tue, 29 Feb 2000 00:00:00 "
            "GMT\r\n");
}

TEST(ReplyHead, ANoContentReplyHasNoLength) {
  Reply reply;
  reply.status = 204;
  std::string out;
  AppendReplyHead(reply, 0, "", true, &out);
  EXPECT_EQ(out, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
}

TEST(ReplyHead, ALineBreakInAValueMakesNoHeader) {
  Reply reply;
  reply.status = 299;
  reply.headers = {{"X-Bad", "a\r\nSet-Cookie: b"}, {"X-Good", "c"}};
  std::string out;
  AppendReplyHead(reply, 0, "", false, &out);
  EXPECT_EQ(
      out,
      "HTTP/1.1 299 Unknown\r\nConnection: keep-alive\r\nX-Good: c\r\nContent-Length: 0\r\n\r\n");
}

}  // namespace
}  // namespace stator::http
