#include "server/presence.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/test_command_line.h"

namespace stator::server {
namespace {

TEST(PresenceSettingsTest, AreAskedFor) {
  std::string error;
  CommandLine line = ParseServe({}, &error);
  EXPECT_EQ(line.serve.presence.advertise, "");
  EXPECT_EQ(line.serve.presence.drain_micros, 0);
  line = ParseServe(
      {"--advertise=10.0.0.1:80", "--datacenter=dc-1", "--rack=r.2", "--drain-time=15s"}, &error);
  ASSERT_EQ(line.action, CommandLine::Action::kServe) << error;
  EXPECT_EQ(line.serve.presence.advertise, "10.0.0.1:80");
  EXPECT_EQ(line.serve.presence.datacenter, "dc-1");
  EXPECT_EQ(line.serve.presence.rack, "r.2");
  EXPECT_EQ(line.serve.presence.drain_micros, 15'000'000);
  for (const char* good : {"db.example", "::1", "[::1]:8000", "localhost:8000"}) {
    const std::string argument = std::string("--advertise=") + good;
    EXPECT_EQ(ParseServe({argument.c_str()}, &error).action, CommandLine::Action::kServe) << error;
  }
  for (const char* bad :
       {"--advertise=http://a", "--advertise=a b", "--advertise=a:99999", "--advertise=a:x",
        "--datacenter=a b", "--rack=a/b", "--drain-time=-1s", "--drain-time=2h"}) {
    EXPECT_EQ(ParseServe({bad}, &error).action, CommandLine::Action::kExit) << bad;
    EXPECT_NE(error, "") << bad;
  }
}

TEST(PresenceSettingsTest, EndpointsThatOthersReach) {
  EXPECT_EQ(AdvertisedEndpoint({}, "localhost", 8000), "localhost:8000");
  EXPECT_EQ(AdvertisedEndpoint({}, "::1", 8000), "[::1]:8000");
  const auto advertised = [](const char* text) {
    PresenceSettings settings;
    settings.advertise = text;
    return AdvertisedEndpoint(settings, "0.0.0.0", 8000);
  };
  EXPECT_EQ(advertised("10.0.0.7"), "10.0.0.7:8000");
  EXPECT_EQ(advertised("10.0.0.7:80"), "10.0.0.7:80");
  EXPECT_EQ(advertised("fd00::7"), "[fd00::7]:8000");
  EXPECT_EQ(advertised("[fd00::7]"), "[fd00::7]:8000");
  EXPECT_EQ(advertised("[fd00::7]:80"), "[fd00::7]:80");
  const std::string any = AdvertisedEndpoint({}, "0.0.0.0", 8000);
  EXPECT_TRUE(any.ends_with(":8000"));
  EXPECT_FALSE(any.starts_with("0.0.0.0")) << "others cannot connect to 0.0.0.0";
  EXPECT_EQ(AddressOf("localhost:8000"), "127.0.0.1");
  EXPECT_EQ(AddressOf("10.0.0.7:80"), "10.0.0.7");
  EXPECT_EQ(AddressOf("[fd00::7]:80"), "fd00::7");
  EXPECT_EQ(AddressOf("db.example:80"), "db.example");
}

fleet::Member MemberAt(const char* endpoint, const char* datacenter, const char* rack) {
  fleet::Member member;
  member.id = endpoint;
  member.beat.endpoint = endpoint;
  member.beat.datacenter = datacenter;
  member.beat.rack = rack;
  member.beat.draining = false;
  return member;
}

TEST(PresenceTest, ListsLivingServersThatDoNotDrain) {
  fleet::Membership membership;
  const auto add = [&membership](fleet::Member member) { membership.members[member.id] = member; };
  add(MemberAt("10.0.0.2:8000", "", ""));
  add(MemberAt("10.0.0.1:8000", "", "r1"));
  add(MemberAt("10.0.0.1:8001", "", "r1"));
  add(MemberAt("10.0.1.1:8000", "west", "r1"));
  fleet::Member dead = MemberAt("10.0.0.3:8000", "", "");
  dead.alive = false;
  add(dead);
  fleet::Member draining = MemberAt("10.0.0.4:8000", "", "");
  draining.beat.draining = true;
  add(draining);
  fleet::Member older = MemberAt("10.0.0.5:8000", "", "");
  older.beat.draining.reset();
  add(older);
  EXPECT_EQ(RenderLocalNodes(membership, "", std::nullopt),
            R"(["10.0.0.1","10.0.0.2","10.0.0.5"])");
  EXPECT_EQ(RenderLocalNodes(membership, "west", std::nullopt), R"(["10.0.1.1"])");
  EXPECT_EQ(RenderLocalNodes(membership, "", "r1"), R"(["10.0.0.1"])");
  EXPECT_EQ(RenderLocalNodes(membership, "west", "r2"), "[]");
  EXPECT_EQ(RenderLocalNodes(membership, "east", std::nullopt), "[]");
}

http::Reply Ask(const Presence& presence, std::string target, std::string method = "GET") {
  http::Request request;
  request.method = method;
  request.target = target;
  return presence.Answer(request);
}

TEST(PresenceTest, AServerOfItsOwnListsItself) {
  PresenceSettings settings;
  settings.rack = "r1";
  Presence presence(settings, "localhost:8000", nullptr);
  EXPECT_TRUE(presence.Ready().ok());
  EXPECT_EQ(Ask(presence, "/localnodes").body, R"(["127.0.0.1"])");
  EXPECT_EQ(Ask(presence, "/localnodes?rack=r1&dc=").body, R"(["127.0.0.1"])");
  EXPECT_EQ(Ask(presence, "/localnodes?rack=r2").body, "[]");
  EXPECT_EQ(Ask(presence, "/localnodes?dc=east").body, "[]");
  EXPECT_EQ(Ask(presence, "/localnodes", "POST").status, 405);
  EXPECT_EQ(Ask(presence, "/localnodesx").status, 404);
  presence.BeginStop();
  EXPECT_EQ(Ask(presence, "/localnodes").body, "[]");
  EXPECT_EQ(presence.Ready().error().code(), ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace stator::server
