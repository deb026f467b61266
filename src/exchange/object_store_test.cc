#include "exchange/object_store.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "exchange/export_writer.h"
#include "kv_rocks/temporary_directory.h"

namespace stator::exchange {
namespace {

namespace fs = std::filesystem;

class ObjectStoreTest : public testing::Test {
 protected:
  ObjectStoreTest() { fs::create_directories(root_ + "/bucket"); }

  Result<std::string> Read(const std::string& bucket, const std::string& key) {
    ASSIGN_OR_RETURN(const std::unique_ptr<transfer::ObjectReader> object,
                     store_->Read(bucket, key));
    std::string bytes;
    TRY(object->Read(0, object->size(), &bytes));
    return bytes;
  }
  std::vector<std::string> Keys(std::string_view prefix) {
    std::vector<std::string> keys;
    const std::vector<ObjectInfo> list = store_->List("bucket", prefix, 100).value();
    for (const ObjectInfo& object : list) keys.push_back(object.key);
    return keys;
  }

  const kv_rocks::TemporaryDirectory directory_;
  const std::string root_ = directory_.path() + "/objects";
  const std::unique_ptr<ObjectStore> store_ = MakeDirectoryObjects(root_, 0);
};

TEST_F(ObjectStoreTest, ObjectsAreFilesUnderTheirBucket) {
  ASSERT_TRUE(WriteObject(*store_, "bucket", "a/b/c.json", "text").ok());
  ASSERT_TRUE(WriteObject(*store_, "bucket", "a/b/c.json", "later").ok());
  EXPECT_EQ(Read("bucket", "a/b/c.json").value(), "later");
  EXPECT_TRUE(fs::exists(root_ + "/bucket/a/b/c.json"));
  EXPECT_EQ(Read("bucket", "a/b/d.json").error().code(), ErrorCode::kResourceNotFound);
}

TEST_F(ObjectStoreTest, ABucketIsAFolderThatIsThere) {
  EXPECT_TRUE(store_->CheckBucket("bucket").ok());
  std::ofstream(root_ + "/file") << "text";
  fs::create_directory_symlink(directory_.path(), root_ + "/link");
  for (const char* name : {"none", "file", "link", "..", ".", "", "a/b", "/"}) {
    const Status found = store_->CheckBucket(name);
    ASSERT_FALSE(found.ok()) << name;
    EXPECT_EQ(found.error().code(), ErrorCode::kResourceNotFound) << name;
  }
}

TEST_F(ObjectStoreTest, AKeyNeverLeavesItsBucket) {
  fs::create_directories(directory_.path() + "/outside");
  std::ofstream(directory_.path() + "/outside/secret") << "text";
  fs::create_directory_symlink(directory_.path() + "/outside", root_ + "/bucket/link");
  fs::create_symlink(directory_.path() + "/outside/secret", root_ + "/bucket/secret");
  for (const char* key : {"../x", "a/../../x", "/x", "a//x", "a/./x", "", "a/", ".stator-x"}) {
    EXPECT_FALSE(WriteObject(*store_, "bucket", key, "text").ok()) << key;
    EXPECT_FALSE(Read("bucket", key).ok()) << key;
  }
  EXPECT_FALSE(WriteObject(*store_, "bucket", "link/x", "text").ok());
  EXPECT_FALSE(Read("bucket", "link/secret").ok());
  EXPECT_FALSE(Read("bucket", "secret").ok());
  EXPECT_EQ(Keys(""), std::vector<std::string>());
  // A link in the way of an object is replaced, and what it points to stays.
  ASSERT_TRUE(WriteObject(*store_, "bucket", "secret", "mine").ok());
  EXPECT_EQ(Read("bucket", "secret").value(), "mine");
  std::string outside;
  std::getline(std::ifstream(directory_.path() + "/outside/secret"), outside);
  EXPECT_EQ(outside, "text");
}

TEST_F(ObjectStoreTest, ListsByAPrefixOfText) {
  for (const char* key : {"data/b", "data/a", "data-2", "dat", "other/data/a"})
    ASSERT_TRUE(WriteObject(*store_, "bucket", key, "text").ok());
  EXPECT_EQ(Keys("data"), (std::vector<std::string>{"data-2", "data/a", "data/b"}));
  EXPECT_EQ(Keys("data/"), (std::vector<std::string>{"data/a", "data/b"}));
  EXPECT_EQ(Keys("data/a"), (std::vector<std::string>{"data/a"}));
  EXPECT_EQ(Keys("").size(), 5u);
  EXPECT_EQ(Keys("../"), std::vector<std::string>());
  EXPECT_EQ(store_->List("bucket", "", 4).error().code(), ErrorCode::kLimitExceeded);
  EXPECT_EQ(store_->List("none", "", 4).error().code(), ErrorCode::kResourceNotFound);
}

TEST_F(ObjectStoreTest, WhatIsNotFinishedLeavesNothing) {
  {
    const auto object = store_->Write("bucket", "a/x").value();
    ASSERT_TRUE(object->Append("text").ok());
    EXPECT_EQ(Keys(""), std::vector<std::string>());
  }
  EXPECT_TRUE(fs::is_empty(root_ + "/bucket/a"));
}

TEST_F(ObjectStoreTest, AFullDiskIsNamed) {
  const auto full = MakeDirectoryObjects(root_, uint64_t{1} << 62);
  const Status written = WriteObject(*full, "bucket", "x", "text");
  ASSERT_FALSE(written.ok());
  EXPECT_NE(written.error().message().find("--object-store"), std::string::npos);
  EXPECT_TRUE(fs::is_empty(root_ + "/bucket"));
}

TEST(MemoryObjects, HaveEveryBucketAndABound) {
  const auto store = MakeMemoryObjects(10);
  ASSERT_TRUE(WriteObject(*store, "any", "a/x", "12345678").ok());
  EXPECT_FALSE(WriteObject(*store, "any", "y", "123").ok());
  ASSERT_TRUE(WriteObject(*store, "any", "y", "12").ok());
  EXPECT_EQ(store->List("any", "a", 10).value(), (std::vector<ObjectInfo>{{"a/x", 8}}));
  EXPECT_EQ(store->List("other", "", 10).value(), std::vector<ObjectInfo>());
}

}  // namespace
}  // namespace stator::exchange
