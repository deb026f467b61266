#include "api_client/credentials.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

namespace stator::api_client {
namespace {

class CredentialsTest : public testing::Test {
 protected:
  CredentialsTest() {
    char name[] = "/tmp/stator-mcp-XXXXXX";
    home_ = mkdtemp(name);
    std::filesystem::create_directory(home_ / ".aws");
    variables_["HOME"] = home_.string();
  }
  ~CredentialsTest() override { std::filesystem::remove_all(home_); }

  void Write(const char* name, const char* text) { std::ofstream(home_ / ".aws" / name) << text; }
  Result<Credentials> Find() {
    return FindCredentials([this](const std::string& name) -> std::optional<std::string> {
      const auto found = variables_.find(name);
      return found == variables_.end() ? std::nullopt : std::optional(found->second);
    });
  }

  std::filesystem::path home_;
  std::map<std::string, std::string> variables_;
};

TEST_F(CredentialsTest, EnvironmentComesFirst) {
  Write("credentials", "[default]\naws_access_key_id = FILE\naws_secret_access_key = x\n");
  variables_["AWS_ACCESS_KEY_ID"] = "ENV";
  variables_["AWS_SECRET_ACCESS_KEY"] = "secret";
  variables_["AWS_SESSION_TOKEN"] = "token";
  variables_["AWS_DEFAULT_REGION"] = "eu-west-1";
  const Result<Credentials> found = Find();
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->key.key_id, "ENV");
  EXPECT_EQ(found->key.secret, "secret");
  EXPECT_EQ(found->key.session_token, "token");
  EXPECT_EQ(found->region, "eu-west-1");
  variables_["AWS_REGION"] = "eu-west-2";
  EXPECT_EQ(Find()->region, "eu-west-2");
}

TEST_F(CredentialsTest, AnOptionForTheProfileComesBeforeAKeyOfTheEnvironment) {
  Write("credentials", "[work]\naws_access_key_id = W\naws_secret_access_key = w\n");
  const Variables variables = [this](const std::string& name) -> std::optional<std::string> {
    if (name == "HOME") return home_.string();
    if (name == "AWS_ACCESS_KEY_ID" || name == "AWS_SECRET_ACCESS_KEY") return "ENV";
    return std::nullopt;
  };
  EXPECT_EQ(FindCredentials(WithProfile(variables, "work"))->key.key_id, "W");
  EXPECT_EQ(FindCredentials(WithProfile(variables, ""))->key.key_id, "ENV");
  EXPECT_FALSE(FindCredentials(WithProfile(variables, "other")).ok());
}

TEST_F(CredentialsTest, ProfileOfTheFiles) {
  Write("credentials",
        "# keys\n[default]\naws_access_key_id=D\naws_secret_access_key=d=d/+\n"
        "[ work ]\r\naws_access_key_id = W\r\naws_secret_access_key = w\r\n");
  Write("config", "[profile work]\nregion = ap-south-1\n[default]\nregion=eu-north-1\n");
  EXPECT_EQ(Find()->key.key_id, "D");
  EXPECT_EQ(Find()->key.secret, "d=d/+");
  EXPECT_EQ(Find()->region, "eu-north-1");
  variables_["AWS_PROFILE"] = "work";
  EXPECT_EQ(Find()->key.key_id, "W");
  EXPECT_EQ(Find()->key.secret, "w");
  EXPECT_EQ(Find()->region, "ap-south-1");
}

TEST_F(CredentialsTest, WithoutAnyAKeyIsMadeUp) {
  const Result<Credentials> found = Find();
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found->is_made_up);
  EXPECT_FALSE(found->key.secret.empty());
  EXPECT_EQ(found->region, "us-east-1");
}

TEST_F(CredentialsTest, HalfAKeyAndAProfileWithoutOneAreErrors) {
  variables_["AWS_ACCESS_KEY_ID"] = "ENV";
  EXPECT_FALSE(Find().ok());
  variables_.erase("AWS_ACCESS_KEY_ID");
  variables_["AWS_PROFILE"] = "none";
  const Result<Credentials> found = Find();
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.error().message().find("The profile none"), std::string::npos);
  Write("credentials", "[none]\naws_access_key_id=D\n");
  EXPECT_FALSE(Find().ok());
}

}  // namespace
}  // namespace stator::api_client
