#include "server/tls_settings.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "server/command_line.h"

namespace stator::server {
namespace {

CommandLine Parse(std::vector<const char*> arguments, std::string* error) {
  arguments.insert(arguments.begin(), "stator");
  testing::internal::CaptureStderr();
  CommandLine line = ParseCommandLine(static_cast<int>(arguments.size()), arguments.data());
  *error = testing::internal::GetCapturedStderr();
  return line;
}

TEST(TlsSettings, AreOffWithoutACertificate) {
  std::string error;
  const CommandLine line = Parse({"serve"}, &error);
  EXPECT_FALSE(line.serve.tls.on());
  EXPECT_EQ(error, "");
}

TEST(TlsSettings, TakeAPortOfTheirOwnOrTheMainOne) {
  std::string error;
  CommandLine line = Parse({"serve", "--tls-cert=c.pem", "--tls-key=k.pem"}, &error);
  ASSERT_EQ(line.action, CommandLine::Action::kServe) << error;
  EXPECT_TRUE(line.serve.tls.on());
  EXPECT_FALSE(line.serve.tls.port.has_value());
  line =
      Parse({"serve", "--tls-cert=c.pem", "--tls-key=k.pem", "--tls-port=8443",
             "--tls-client-ca=ca.pem", "--tls-max-handshakes=7", "--tls-handshake-timeout=500ms"},
            &error);
  ASSERT_EQ(line.action, CommandLine::Action::kServe) << error;
  EXPECT_EQ(line.serve.tls.port, 8443);
  EXPECT_EQ(line.serve.tls.paths.client_ca, "ca.pem");
  EXPECT_EQ(line.serve.tls.max_handshakes, 7);
  EXPECT_EQ(line.serve.tls.handshake_timeout_micros, 500'000);
}

TEST(TlsSettings, RefuseWhatDoesNotFitTogether) {
  const auto refused = [](std::vector<const char*> arguments) {
    std::string error;
    const CommandLine line = Parse(std::move(arguments), &error);
    EXPECT_EQ(line.action, CommandLine::Action::kExit);
    EXPECT_NE(line.exit_code, 0);
    return error;
  };
  EXPECT_EQ(refused({"serve", "--tls-cert=c.pem"}), "--tls-cert and --tls-key belong together\n");
  EXPECT_EQ(refused({"serve", "--tls-key=k.pem"}), "--tls-cert and --tls-key belong together\n");
  for (const char* alone : {"--tls-port=1", "--tls-client-ca=x", "--tls-max-handshakes=3",
                            "--tls-handshake-timeout=3s"}) {
    EXPECT_NE(refused({"serve", alone}).find("needs --tls-cert and --tls-key"), std::string::npos);
  }
  EXPECT_NE(refused({"serve", "--port=8000", "--tls-port=8000", "--tls-cert=c", "--tls-key=k"})
                .find("--tls-port is the same as --port"),
            std::string::npos);
  for (const char* wrong : {"--tls-port=65536", "--tls-port=x", "--tls-max-handshakes=0",
                            "--tls-handshake-timeout=10ms"}) {
    refused({"serve", "--tls-cert=c", "--tls-key=k", wrong});
  }
}

}  // namespace
}  // namespace stator::server
