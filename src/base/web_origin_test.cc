#include "base/web_origin.h"

#include <gtest/gtest.h>

namespace stator {
namespace {

TEST(Authority, IsParsedAndNotGuessed) {
  const auto port = [](std::string_view text) {
    const std::optional<Authority> authority = ParseAuthority(text);
    return authority ? std::string(authority->host) + " " + std::string(authority->port) : "-";
  };
  EXPECT_EQ(port("localhost"), "localhost ");
  EXPECT_EQ(port("localhost:8000"), "localhost 8000");
  EXPECT_EQ(port("[::1]:8000"), "::1 8000");
  EXPECT_EQ(port("[fe80::1]"), "fe80::1 ");
  EXPECT_EQ(port("1.2.3.4:80"), "1.2.3.4 80");
  EXPECT_EQ(port("my_service-1"), "my_service-1 ");
  for (std::string_view bad :
       {"", ":80", "a b", "user@localhost", "localhost:", "localhost:80x", "localhost:123456",
        "[::1", "[::1]x", "[localhost]", "::1", "a/b", "a,b", ".a", "a..b", "localhost\t",
        "loc\xc3\xa4l", "localhost:80:90"}) {
    EXPECT_EQ(port(bad), "-") << bad;
  }
}

TEST(Authority, LoopbackIsDecidedOnTheWholeName) {
  for (std::string_view local : {"localhost", "LocalHost:3000", "app.localhost:1", "127.0.0.1:8000",
                                 "127.9.9.9", "[::1]:8000", "[0:0:0:0:0:0:0:1]"}) {
    EXPECT_TRUE(IsLoopback(*ParseAuthority(local))) << local;
  }
  for (std::string_view other :
       {"localhost.evil.example", "127.evil.example", "127.0.0.1.evil.example", "evillocalhost",
        "10.0.0.1", "0127.0.0.1", "[::2]", "[::ffff:127.0.0.1]", "128.0.0.1", "0.0.0.0"}) {
    EXPECT_FALSE(IsLoopback(*ParseAuthority(other))) << other;
  }
}

TEST(HostRules, AllowNamesThatNoStrangerCanHave) {
  const HostRules rules;
  for (std::string_view host : {"localhost:8000", "x.localhost", "dynamodb:8000", "DynamoDB",
                                "10.1.2.3:8000", "[fe80::1]:1"})
    EXPECT_TRUE(rules.Allows(host)) << host;
  for (std::string_view host :
       {"evil.example", "evil.example:8000", "127.0.0.1.evil.example:8000", "127.evil.example",
        "localhost.evil.example", "", "dynamodb.", "localhost:8000@evil.example", "1.2.3",
        "1.2.3.4.5", "256.1.1.1", "01.2.3.4"}) {
    EXPECT_FALSE(rules.Allows(host)) << host;
  }
}

TEST(HostRules, TakeMoreNames) {
  const HostRules rules({"db.Example.com", ".corp.example"});
  EXPECT_TRUE(rules.Allows("DB.example.com:8000"));
  EXPECT_TRUE(rules.Allows("corp.example"));
  EXPECT_TRUE(rules.Allows("a.b.corp.example:80"));
  EXPECT_TRUE(rules.Allows("localhost"));
  EXPECT_FALSE(rules.Allows("x.db.example.com"));
  EXPECT_FALSE(rules.Allows("evilcorp.example"));
  EXPECT_TRUE(HostRules({"*"}).Allows("evil.example"));
  EXPECT_EQ(HostRules::WhyNot("db.example.com"), "");
  EXPECT_EQ(HostRules::WhyNot(".example.com"), "");
  EXPECT_EQ(HostRules::WhyNot("*"), "");
  EXPECT_EQ(HostRules::WhyNot("a.b:80"), "\"a.b:80\" has a port; a host name is enough");
  EXPECT_EQ(HostRules::WhyNot("http://a"), "\"http://a\" is not a host name, .domain or *");
}

TEST(OriginRules, LocalIsLoopbackOverHttpOnly) {
  const OriginRules rules({"local"});
  for (std::string_view origin : {"http://localhost:3000", "https://localhost", "http://[::1]:1",
                                  "http://127.0.0.1:5173", "http://app.localhost:1234"})
    EXPECT_TRUE(rules.Allows(origin)) << origin;
  for (std::string_view origin :
       {"", "null", "http://evil.example", "http://localhost.evil.example",
        "http://127.evil.example", "file://", "ftp://localhost", "http://localhost@evil.example",
        "http://", "localhost", "http://localhost/", "chrome-extension://localhost",
        "http://10.0.0.1"}) {
    EXPECT_FALSE(rules.Allows(origin)) << origin;
  }
  EXPECT_FALSE(rules.any());
}

TEST(OriginRules, NamedOriginsAreComparedWhole) {
  const OriginRules rules({"https://a.example", "null"});
  EXPECT_TRUE(rules.Allows("https://a.example"));
  EXPECT_TRUE(rules.Allows("null"));
  EXPECT_FALSE(rules.Allows("https://a.example:1"));
  EXPECT_FALSE(rules.Allows("http://a.example"));
  EXPECT_FALSE(rules.Allows("http://localhost"));
  EXPECT_TRUE(OriginRules({"*"}).Allows("http://evil.example"));
  EXPECT_TRUE(OriginRules({"*"}).any());
  EXPECT_FALSE(OriginRules({}).Allows("http://localhost"));
}

TEST(SameOrigin, WantsNameAndPort) {
  EXPECT_TRUE(IsSameOrigin("http://localhost:8000", "localhost:8000"));
  EXPECT_TRUE(IsSameOrigin("https://db.example.com", "DB.example.com"));
  EXPECT_FALSE(IsSameOrigin("http://localhost:8001", "localhost:8000"));
  EXPECT_FALSE(IsSameOrigin("http://localhost", "localhost:8000"));
  EXPECT_FALSE(IsSameOrigin("null", "null"));
  EXPECT_FALSE(IsSameOrigin("ftp://localhost", "localhost"));
  EXPECT_FALSE(IsSameOrigin("http://", ""));
}

TEST(ForeignPage, IsToldByHostOriginOrSite) {
  const HostRules hosts;
  EXPECT_EQ(WhyForeignPage(hosts, {"localhost:8000", "", ""}), "");
  EXPECT_EQ(WhyForeignPage(hosts, {"localhost:8000", "http://localhost:8000", "same-origin"}), "");
  EXPECT_EQ(WhyForeignPage(hosts, {"localhost:8000", "", "none"}), "");
  EXPECT_NE(WhyForeignPage(hosts, {"", "", ""}), "");
  EXPECT_NE(WhyForeignPage(hosts, {"evil.example", "http://evil.example", "same-origin"}), "");
  EXPECT_NE(WhyForeignPage(hosts, {"localhost:8000", "http://localhost:8001", ""}), "");
  EXPECT_NE(WhyForeignPage(hosts, {"localhost:8000", "null", ""}), "");
  EXPECT_NE(WhyForeignPage(hosts, {"localhost:8000", "", "same-site"}), "");
  EXPECT_NE(WhyForeignPage(hosts, {"localhost:8000", "", "cross-site"}), "");
}

}  // namespace
}  // namespace stator
