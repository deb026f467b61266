// What a process reads of the records that others have changed.
#include "identity/identity_store.h"

#include <gtest/gtest.h>

#include "kv/memory_engine.h"

namespace stator::identity {
namespace {

class IdentityStoreTest : public testing::Test {
 protected:
  Applied AddUser(const std::string& account, const std::string& name) {
    const auto add = [&](access::Records* records, kv::Batch*) -> Status {
      access::User user;
      user.account = account;
      user.name = name;
      records->users.push_back(user);
      return OkStatus();
    };
    return ChangeStored(engine_, account, "", add).value();
  }
  Applied PutPolicy(const std::string& id, const std::string& text) {
    const auto put = [&](std::optional<ResourcePolicyRecord>* record) -> Status {
      if (text.empty()) {
        record->reset();
      } else {
        *record = ResourcePolicyRecord{1, text, ""};
      }
      return OkStatus();
    };
    return ChangeStoredResource(engine_, "000000000000", id, "", put).value();
  }
  std::string Version() {
    std::string value;
    EXPECT_TRUE(engine_.Get(kIdentityTablet, "version", kv::Tier::kAny, &value).value());
    return value.substr(kv::kStampBytes);
  }
  Changes Since(uint64_t version) { return ReadChanges(engine_, version).value(); }

  kv::MemoryEngine engine_;
};

TEST_F(IdentityStoreTest, NamesWhatChanged) {
  EXPECT_EQ(Since(0).version, 0u);
  const Applied first = AddUser("111111111111", "a");
  EXPECT_EQ(first.before, 0u);
  EXPECT_EQ(Since(0).version, first.after);
  EXPECT_FALSE(Since(0).all);
  EXPECT_EQ(Since(0).parts, (Parts{"111111111111"}));
  EXPECT_TRUE(Since(first.after).parts.empty());
  const Applied second = AddUser("222222222222", "a");
  EXPECT_EQ(second.before, first.after);
  EXPECT_EQ(Since(0).parts, (Parts{"111111111111", "222222222222"}));
  EXPECT_EQ(Since(first.after).parts, (Parts{"222222222222"}));
  const Applied third = PutPolicy("table", "text");
  EXPECT_EQ(third.before, second.after);
  EXPECT_EQ(Since(second.after).parts, (Parts{"@000000000000/table"}));
  EXPECT_EQ(Since(first.after).parts, (Parts{"222222222222", "@000000000000/table"}));
  EXPECT_TRUE(Since(third.after).parts.empty());
  EXPECT_TRUE(Since(12345).all) << "a version that is not named";
}

TEST_F(IdentityStoreTest, ReadsAndChangesOnlyAPart) {
  AddUser("111111111111", "a");
  AddUser("222222222222", "b");
  AddUser("222222222222", "c");
  const Parts one{"222222222222"};
  const StoredContents part = ReadContents(engine_, &one).value();
  ASSERT_EQ(part.accounts.size(), 1u);
  EXPECT_EQ(part.accounts.begin()->second.users.size(), 2u);
  EXPECT_EQ(ReadContents(engine_).value().accounts.size(), 2u);
  // Neither a longer number nor a shorter one is the same account.
  for (const char* other : {"22222222222", "2222222222222"}) {
    const Parts near{other};
    EXPECT_TRUE(ReadContents(engine_, &near).value().accounts.empty());
  }
  const auto erase = [](access::Records* records, kv::Batch*) -> Status {
    *records = {};
    return OkStatus();
  };
  ASSERT_TRUE(ChangeStored(engine_, "222222222222", "", erase).ok());
  const StoredContents left = ReadContents(engine_).value();
  ASSERT_EQ(left.accounts.size(), 1u);
  EXPECT_EQ(left.accounts.begin()->first, "111111111111");
  const Applied nothing = ChangeStored(engine_, "222222222222", "", erase).value();
  EXPECT_EQ(nothing.before, nothing.after);
}

TEST_F(IdentityStoreTest, OldChangesAreNotNamed) {
  const Applied first = AddUser("111111111111", "a");
  uint64_t last = first.after;
  for (int i = 0; i < 64; ++i) {
    last = i % 2 == 0 ? AddUser("222222222222", "u" + std::to_string(i)).after
                      : PutPolicy("t" + std::to_string(i), "text").after;
  }
  EXPECT_FALSE(Since(first.after).all);
  last = AddUser("222222222222", "one-more").after;
  EXPECT_TRUE(Since(first.after).all);
  EXPECT_TRUE(Since(last).parts.empty());
}

TEST_F(IdentityStoreTest, OnePolicyOfATableIsReadAndChangedByItself) {
  PutPolicy("one", "first");
  PutPolicy("one/2026-11-27T00:00:00.000", "stream");
  const Applied change = PutPolicy("two", "second");
  const Parts parts = Since(change.before).parts;
  ASSERT_EQ(parts, Parts{ResourcePart("000000000000", "two")});
  EXPECT_EQ(ResourceIn(*parts.begin()), "two");
  const StoredContents part = ReadContents(engine_, &parts).value();
  ASSERT_EQ(part.resources.size(), 1u);
  EXPECT_EQ(part.resources.at("two").text, "second");
  EXPECT_EQ(part.resources.at("two").account, "000000000000");
  EXPECT_TRUE(part.accounts.empty());
  EXPECT_EQ(ReadContents(engine_).value().resources.size(), 3u);
  const Applied same = PutPolicy("two", "second");
  EXPECT_EQ(same.before, same.after);
  PutPolicy("one", "");
  const StoredContents left = ReadContents(engine_).value();
  EXPECT_EQ(left.resources.size(), 2u);
  EXPECT_EQ(left.resources.count("one"), 0u);
}

// An older version takes each line for a part, and "@..." for an account without records.
TEST_F(IdentityStoreTest, OlderVersionsReadAllPoliciesAfterAChangeOfOne) {
  const Applied first = AddUser("111111111111", "a");
  const Applied second = PutPolicy("table", "text");
  EXPECT_EQ(Version(), std::to_string(first.before) + " 111111111111\n" +
                           std::to_string(second.before) + " @000000000000/table\n" +
                           std::to_string(second.before) + " resources\n");
  // It leaves out the oldest lines, and writes changes of its own.
  const std::string before = std::to_string(second.before);
  const auto parts = [&](const std::string& text) {
    kv::Batch batch;
    batch.puts.push_back({kIdentityTablet, "version", std::string(kv::kStampBytes, '\0') + text});
    EXPECT_TRUE(kv::ApplyAndWait(engine_, std::move(batch)).ok());
    const Changes changes = Since(second.before);
    EXPECT_FALSE(changes.all);
    return changes.parts;
  };
  EXPECT_EQ(parts(before + " resources\n"), (Parts{std::string(kResources)}));
  EXPECT_EQ(parts("77 @000000000000/table\n" + before + " resources\n"),
            (Parts{std::string(kResources)}));
  EXPECT_EQ(parts(before + " @0/table\n" + before + " resources\n9 resources\n"),
            (Parts{"@0/table", std::string(kResources)}));
}

// A version before this one writes "version" without names, and reads it whatever stands there.
TEST_F(IdentityStoreTest, ChangesOfOlderVersionsAreReadAsAll) {
  const Applied first = AddUser("111111111111", "a");
  const auto write = [&](const std::string& text) {
    kv::Batch batch;
    batch.puts.push_back({kIdentityTablet, "version", std::string(kv::kStampBytes, '\0') + text});
    return kv::ApplyAndWait(engine_, std::move(batch)).value();
  };
  const uint64_t old = write("");
  EXPECT_EQ(Since(first.after).version, old);
  EXPECT_TRUE(Since(first.after).all);
  AddUser("222222222222", "b");
  EXPECT_TRUE(Since(first.after).all);
  EXPECT_EQ(Since(old).parts, (Parts{"222222222222"}));
  // Nor is damage taken for a name.
  for (const char* text : {"x", "1", "1 ", "1 222222222222", "x 222222222222\n"}) {
    write(text);
    EXPECT_TRUE(Since(1).all) << text;
  }
}

}  // namespace
}  // namespace stator::identity
