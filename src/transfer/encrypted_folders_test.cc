#include "transfer/encrypted_folders.h"

#include "base/mutex.h"  // before absl, whose macros have the same names

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "transfer/test_place.h"

namespace stator::transfer {
namespace {

namespace fs = std::filesystem;

std::shared_ptr<const crypt::FileKeys> Keys(const std::string& letters) {
  std::vector<std::string> masters;
  for (const char letter : letters) masters.emplace_back(crypt::kMasterKeyBytes, letter);
  return crypt::FileKeys::Make(masters).value();
}

class EncryptedFoldersTest : public testing::Test {
 protected:
  std::unique_ptr<Folders> Open(const std::string& letters) const {
    return MakeEncryptedFolders(place_.InDirectory(), letters.empty() ? nullptr : Keys(letters));
  }
  void Write(Folders& folders, const std::string& folder, const std::string& text) {
    auto object = folders.Write(folder, "data").value();
    ASSERT_TRUE(object->Append(text.substr(0, 7)).ok());
    ASSERT_TRUE(object->Append(text.substr(7)).ok());
    ASSERT_TRUE(object->Finish().ok());
    ASSERT_TRUE(folders.Publish(folder).ok());
  }
  static std::string Read(Folders& folders, const std::string& folder) {
    auto object = folders.Read(folder, "data");
    if (!object.ok()) return object.error().message();
    std::string text, rest;
    EXPECT_TRUE((*object)->Read(0, 5, &text).ok());
    EXPECT_TRUE((*object)->Read(5, (*object)->size(), &rest).ok());
    EXPECT_EQ((*object)->size(), text.size() + rest.size());
    return text + rest;
  }
  std::string Raw(const std::string& folder) const {
    std::ifstream in(place_.backup_dir() + "/" + folder + "/data", std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  }

  Place place_{false};
  const std::string text_ = "a text that nobody else reads";
};

TEST_F(EncryptedFoldersTest, ObjectsAreEncryptedAndPlainOnesAreRead) {
  Write(*Open(""), "old", text_);
  EXPECT_EQ(Raw("old"), text_);
  const auto folders = Open("a");
  Write(*folders, "new", text_);
  EXPECT_EQ(Raw("new").size(), text_.size() + crypt::kHeaderBytes);
  EXPECT_EQ(Raw("new").find("nobody"), std::string::npos);
  EXPECT_EQ(Read(*folders, "new"), text_);
  EXPECT_EQ(Read(*folders, "old"), text_);
}

TEST_F(EncryptedFoldersTest, WrongAndMissingKeysAreRefusedByName) {
  Write(*Open("a"), "f", text_);
  EXPECT_EQ(Read(*Open(""), "f"),
            "The file " + place_.backup_dir() +
                "/f/data is encrypted. Give its key with --encryption-key-file.");
  EXPECT_THAT(Read(*Open("b"), "f"), testing::HasSubstr(Keys("a")->key_id()));
}

TEST_F(EncryptedFoldersTest, KeysAreRenewed) {
  Write(*Open("a"), "f", text_);
  Write(*Open(""), "plain", text_);
  RenewBackupKeys(place_.backup_dir(), *Keys("c"));
  EXPECT_EQ(Read(*Open("a"), "f"), text_);
  RenewBackupKeys(place_.backup_dir(), *Keys("ba"));
  EXPECT_EQ(Read(*Open("b"), "f"), text_);
  EXPECT_EQ(Read(*Open("b"), "plain"), text_);
  EXPECT_NE(Read(*Open("a"), "f"), text_);
}

TEST_F(EncryptedFoldersTest, BackupIsRestoredFromEncryptedFilesOnly) {
  for (int i = 0; i < 60; ++i) place_.Put(i, "nobody else reads");
  std::string id;
  {
    const auto backups = place_.Open(Open("a"));
    id = backups->Create(place_.table(), "b").value()->manifest.id;
    ASSERT_NE(Settled(*backups, id), nullptr);
  }
  size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(place_.backup_dir())) {
    if (!entry.is_regular_file() || entry.path().filename() == "LOCK") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    EXPECT_EQ(bytes.find("nobody"), std::string::npos) << entry.path();
    EXPECT_EQ(bytes.find("manifest"), std::string::npos) << entry.path();
    ++files;
  }
  EXPECT_GE(files, 2u);
  EXPECT_EQ(place_.Open(Open(""))->Find(id), nullptr);
  EXPECT_EQ(place_.Open(Open("b"))->Find(id), nullptr);
  const auto backups = place_.Open(Open("a"));
  const BackupPtr found = backups->Find(id);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(ItemsOf(backups->folders(), found->manifest).value().size(), 60u);
}

}  // namespace
}  // namespace stator::transfer
