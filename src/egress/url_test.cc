#include "egress/url.h"

#include <gtest/gtest.h>

namespace stator::egress {
namespace {

TEST(Url, HasItsParts) {
  const Url plain = ParseUrl("http://host").value();
  EXPECT_FALSE(plain.tls);
  EXPECT_EQ(plain.host, "host");
  EXPECT_EQ(plain.port, 80);
  EXPECT_EQ(plain.target, "/");
  EXPECT_EQ(plain.authority(), "host");
  const Url full = ParseUrl("https://a.example:8443/x/y?q=1").value();
  EXPECT_TRUE(full.tls);
  EXPECT_EQ(full.port, 8443);
  EXPECT_EQ(full.target, "/x/y?q=1");
  EXPECT_EQ(full.origin(), "https://a.example:8443");
  const Url six = ParseUrl("http://[::1]:3001?x").value();
  EXPECT_EQ(six.host, "::1");
  EXPECT_EQ(six.target, "/?x");
  EXPECT_EQ(six.authority(), "[::1]:3001");
}

TEST(Url, RefusesWhatCannotBeCalled) {
  for (const char* text :
       {"", "host", "ftp://host", "http://", "http://:80", "http://host:", "http://host:0",
        "http://host:65536", "http://host:8x", "http://user@host", "http://a b", "http://host/\r\n",
        "http://host/#part", "http://[::1", "http://[host]", "http://ho;st", "file:///etc/passwd"})
    EXPECT_FALSE(ParseUrl(text).ok()) << text;
}

}  // namespace
}  // namespace stator::egress
