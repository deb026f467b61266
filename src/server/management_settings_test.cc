#include "server/management_settings.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/test_command_line.h"

namespace stator::server {
namespace {

TEST(ManagementSettings, ShareThePortUnlessTheyHaveOne) {
  std::string error;
  CommandLine line = ParseServe({}, &error);
  EXPECT_TRUE(line.serve.management.on);
  EXPECT_FALSE(line.serve.management.port.has_value());
  line = ParseServe({"--management-port=9000", "--management-host=10.0.0.1,::1"}, &error);
  ASSERT_EQ(line.action, CommandLine::Action::kServe) << error;
  EXPECT_EQ(line.serve.management.port, 9000);
  EXPECT_EQ(line.serve.management.hosts, (std::vector<std::string>{"10.0.0.1", "::1"}));
  line = ParseServe({"--management=off"}, &error);
  ASSERT_EQ(line.action, CommandLine::Action::kServe) << error;
  EXPECT_FALSE(line.serve.management.on);
}

TEST(ManagementSettings, RefuseWhatDoesNotFitTogether) {
  const auto refused = [](std::vector<const char*> arguments) {
    std::string error;
    const CommandLine line = ParseServe(std::move(arguments), &error);
    EXPECT_EQ(line.action, CommandLine::Action::kExit);
    EXPECT_NE(line.exit_code, 0);
    return error;
  };
  EXPECT_EQ(refused({"--management-host=::1"}), "--management-host needs --management-port\n");
  EXPECT_EQ(refused({"--management=off", "--management-port=9000"}),
            "--management-port contradicts --management=off\n");
  EXPECT_NE(refused({"--port=8000", "--management-port=8000"}).find("is a port of the API"),
            std::string::npos);
  EXPECT_NE(refused({"--tls-cert=c", "--tls-key=k", "--tls-port=8443", "--management-port=8443"})
                .find("is a port of the API"),
            std::string::npos);
  refused({"--management=maybe"});
  refused({"--management-port=70000"});
}

}  // namespace
}  // namespace stator::server
