#include "identity/declared.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "access/caller.h"
#include "access/directories.h"
#include "base/clock.h"
#include "base/log.h"
#include "identity/root_key.h"

namespace stator::identity {
namespace {

constexpr char kAccount[] = "111122223333";
constexpr char kPolicy[] =
    R"({"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"dynamodb:*","Resource":"*"}})";

class DeclaredTest : public testing::Test {
 protected:
  static DeclaredUser Alice() {
    DeclaredUser user;
    user.name = "alice";
    user.keys = {{"AKIAALICEALICEALICE1", "her secret"}};
    user.policies = {{"all", kPolicy}};
    user.tags = {{"team", "red"}};
    return user;
  }
  std::string Refusal(const DeclaredUser& user) { return Refusal({}, {user}); }
  std::string Refusal(const std::vector<DeclaredAccount>& accounts,
                      const std::vector<DeclaredUser>& users) {
    const auto records = RecordsOf(kAccount, {}, accounts, users, keyring_, &random_);
    return records.ok() ? "" : records.error().message();
  }

  access::SystemSecureRandom random_;
  access::Keyring keyring_ = access::Keyring::FromKeys({std::string(32, 'k')}).value();
  ManualClock clock_;
};

TEST_F(DeclaredTest, KeysFindTheirUsers) {
  auto all = RecordsOf(kAccount, KeyPair{"AKIAROOTROOTROOTROOT", "root's"}, {}, {Alice()}, keyring_,
                       &random_);
  ASSERT_TRUE(all.ok()) << all.error().message();
  access::PolicyCache policies;
  const auto directory = std::make_shared<access::Directory>(kAccount, std::move(all->at(kAccount)),
                                                             keyring_, policies);
  EXPECT_TRUE(directory->problems().empty());
  access::Directories live(std::make_shared<access::Keyring>(keyring_), clock_);
  live.Replace(kAccount, directory);
  const access::KeyLookup alice = live.Find("AKIAALICEALICEALICE1", "");
  ASSERT_NE(alice.credential, nullptr);
  EXPECT_EQ(alice.credential->secret, "her secret");
  EXPECT_EQ(alice.credential->caller->arn, "arn:aws:iam::111122223333:user/alice");
  EXPECT_EQ(alice.credential->caller->identity.size(), 1u);
  const access::KeyLookup root = live.Find("AKIAROOTROOTROOTROOT", "");
  ASSERT_NE(root.credential, nullptr);
  EXPECT_EQ(root.credential->caller->kind, access::Principal::Kind::kRoot);
  EXPECT_EQ(live.Find("AKIANOBODYNOBODYNOBO", "").credential, nullptr);
}

// Policies compare aws:userid: servers with the same file must agree on it.
TEST_F(DeclaredTest, IdsFollowFromNames) {
  const auto id = [&] {
    const auto all = RecordsOf(kAccount, {}, {}, {Alice()}, keyring_, &random_).value();
    return all.at(kAccount).users[0].id;
  };
  EXPECT_EQ(id(), id());
  EXPECT_EQ(id().size(), 21u);
  EXPECT_TRUE(id().starts_with("AIDA"));
}

TEST_F(DeclaredTest, RefusesWhatIamRefuses) {
  EXPECT_EQ(Refusal(Alice()), "");
  DeclaredUser user = Alice();
  user.name = "al ice";
  EXPECT_NE(Refusal(user).find("the name"), std::string::npos);
  user = Alice();
  user.keys[0].id = "short";
  EXPECT_NE(Refusal(user).find("16 to 128"), std::string::npos);
  user = Alice();
  user.keys[0].id = "ASIAALICEALICEALICE1";
  EXPECT_NE(Refusal(user).find("ASIA"), std::string::npos);
  user = Alice();
  user.keys[0].secret.clear();
  EXPECT_NE(Refusal(user).find("secret"), std::string::npos);
  user = Alice();
  user.policies[0].document = R"({"Version":"2012-10-17","Statement":{"Effect":"allow"}})";
  EXPECT_NE(Refusal(user).find("policy all"), std::string::npos);
  user = Alice();
  user.attached_policies = {"arn:aws:iam::aws:policy/NoSuchPolicy"};
  EXPECT_NE(Refusal(user).find("NoSuchPolicy"), std::string::npos);
  user = Alice();
  user.keys.push_back(user.keys[0]);
  EXPECT_NE(Refusal(user).find("twice"), std::string::npos);
  EXPECT_NE(Refusal({}, {Alice(), Alice()}).find("twice"), std::string::npos);
}

TEST_F(DeclaredTest, AccountsHaveUsersOfTheirOwn) {
  const DeclaredAccount blue{"222222222222", "blue", KeyPair{"AKIABLUEBLUEBLUEBLUE", "its root's"}};
  DeclaredUser other = Alice();
  other.account = "222222222222";
  other.keys[0].id = "AKIAALICEALICEALICE2";
  const auto all = RecordsOf(kAccount, {}, {blue}, {Alice(), other}, keyring_, &random_).value();
  ASSERT_EQ(all.size(), 2u);
  const access::Records& records = all.at("222222222222");
  EXPECT_EQ(records.accounts[0].alias, "blue");
  EXPECT_EQ(records.keys.size(), 2u);
  EXPECT_EQ(access::ArnOf(records.users.at(0)), "arn:aws:iam::222222222222:user/alice");
  EXPECT_NE(records.users[0].id, all.at(kAccount).users[0].id);

  EXPECT_NE(Refusal({}, {other}).find("there is no [[accounts]]"), std::string::npos);
  EXPECT_NE(Refusal({blue}, {other, other}).find("twice"), std::string::npos);
  EXPECT_NE(Refusal({blue, {"222222222222", "", {}}}, {}).find("twice"), std::string::npos);
  EXPECT_NE(Refusal({blue, {"333333333333", "", blue.root}}, {}).find("twice"), std::string::npos);
  EXPECT_NE(Refusal({{kAccount, "", {}}}, {}).find("the default one"), std::string::npos);
  EXPECT_NE(Refusal({{"22222222222", "", {}}}, {}).find("twelve digits"), std::string::npos);
  EXPECT_NE(Refusal({{"222222222222", "(deleted)", {}}}, {}).find("the name"), std::string::npos);
  other.keys[0].id = Alice().keys[0].id;
  EXPECT_NE(Refusal({blue}, {Alice(), other}).find("twice"), std::string::npos);
}

TEST_F(DeclaredTest, RootKeyIsMadeOnceForItsOwnerOnly) {
  SetLogLevel(LogLevel::kOff);
  const std::filesystem::path directory =
      std::filesystem::temp_directory_path() / ("stator-root-key-" + std::to_string(::getpid()));
  std::filesystem::create_directory(directory);
  const std::string path = (directory / "key").string();
  const Result<RootKey> made = ReadOrMakeRootKey(path, &random_);
  ASSERT_TRUE(made.ok()) << made.error().message();
  EXPECT_TRUE(made->made);
  struct stat status;
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  const Result<RootKey> read = ReadOrMakeRootKey(path, &random_);
  ASSERT_TRUE(read.ok());
  EXPECT_FALSE(read->made);
  EXPECT_EQ(read->pair.id, made->pair.id);
  EXPECT_EQ(read->pair.secret, made->pair.secret);
  ::chmod(path.c_str(), 0644);
  EXPECT_NE(ReadOrMakeRootKey(path, &random_).error().message().find("chmod 600"),
            std::string::npos);
  std::ofstream(path) << "nothing";
  ::chmod(path.c_str(), 0600);
  EXPECT_FALSE(ReadOrMakeRootKey(path, &random_).ok());
  EXPECT_FALSE(ReadSecretFile((directory / "missing").string()).ok());
  std::ofstream(directory / "secret") << "  s3cret\n";
  EXPECT_EQ(ReadSecretFile((directory / "secret").string()).value(), "s3cret");
  std::filesystem::remove_all(directory);
  SetLogLevel(LogLevel::kInfo);
}

}  // namespace
}  // namespace stator::identity
