#include "server/cert_command.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "http/tls.h"

namespace stator::server {
namespace {

class CertCommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/stator-cert-XXXXXX";
    directory_ = mkdtemp(name);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string PathOf(const std::string& name) const { return (directory_ / name).string(); }
  int Run(const CertCommand& command) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code = Execute(command);
    out_ = testing::internal::GetCapturedStdout();
    error_ = testing::internal::GetCapturedStderr();
    return code;
  }
  static mode_t ModeOf(const std::string& path) {
    struct stat file {};
    EXPECT_EQ(::stat(path.c_str(), &file), 0) << path;
    return file.st_mode & 0777;
  }
  std::string TextOf(const std::string& name) const {
    std::ifstream in(PathOf(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

  std::filesystem::path directory_;
  std::string out_, error_;
};

TEST_F(CertCommandTest, MakesWhatAServerAndItsClientsNeed) {
  const CertCommand command{.out_dir = PathOf("tls"), .hosts = {"db.example"}};
  ASSERT_EQ(Run(command), 0) << error_;
  EXPECT_EQ(ModeOf(PathOf("tls/server.key")), 0600u);
  EXPECT_EQ(ModeOf(PathOf("tls/ca.key")), 0600u);
  EXPECT_NE(out_.find("db.example, localhost, 127.0.0.1, ::1"), std::string::npos) << out_;
  EXPECT_NE(out_.find("AWS_CA_BUNDLE=" + PathOf("tls/ca.pem")), std::string::npos) << out_;
  EXPECT_NE(out_.find("NODE_EXTRA_CA_CERTS=" + PathOf("tls/ca.pem")), std::string::npos) << out_;
  const auto loaded =
      http::TlsContext::Load({PathOf("tls/server.pem"), PathOf("tls/server.key"), ""});
  EXPECT_TRUE(loaded.ok()) << loaded.error().message();
}

TEST_F(CertCommandTest, OverwritesNothing) {
  CertCommand command{.out_dir = PathOf("tls")};
  ASSERT_EQ(Run(command), 0) << error_;
  const std::string key = TextOf("tls/server.key");
  EXPECT_EQ(Run(command), 1);
  EXPECT_NE(error_.find("exists: choose another --out"), std::string::npos) << error_;
  EXPECT_EQ(TextOf("tls/server.key"), key);
  // One file in the way, and none of the others is made.
  std::filesystem::create_directory(PathOf("half"));
  std::ofstream(PathOf("half/server.pem")) << "mine";
  command.out_dir = PathOf("half");
  EXPECT_EQ(Run(command), 1);
  EXPECT_EQ(TextOf("half/server.pem"), "mine");
  EXPECT_FALSE(std::filesystem::exists(PathOf("half/ca.key")));
  EXPECT_FALSE(std::filesystem::exists(PathOf("half/server.key")));
}

TEST_F(CertCommandTest, SignsWithAnAuthorityOfBefore) {
  ASSERT_EQ(Run({.out_dir = PathOf("one")}), 0) << error_;
  ASSERT_EQ(Run({.out_dir = PathOf("two"), .authority_dir = PathOf("one")}), 0) << error_;
  EXPECT_FALSE(std::filesystem::exists(PathOf("two/ca.pem")));
  ASSERT_EQ(Run({.out_dir = PathOf("app"), .authority_dir = PathOf("one"), .client = "app"}), 0)
      << error_;
  EXPECT_EQ(ModeOf(PathOf("app/client.key")), 0600u);
  EXPECT_EQ(Run({.out_dir = PathOf("x"), .authority_dir = PathOf("none")}), 1);
  EXPECT_NE(error_.find("cannot read"), std::string::npos) << error_;
}

TEST_F(CertCommandTest, RefusesWhatIsNoHost) {
  EXPECT_EQ(Run({.out_dir = PathOf("tls"), .hosts = {"https://db.example"}}), 1);
  EXPECT_NE(error_.find("neither a host name nor an address"), std::string::npos) << error_;
  EXPECT_FALSE(std::filesystem::exists(PathOf("tls")));
}

}  // namespace
}  // namespace stator::server
