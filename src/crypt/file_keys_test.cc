#include "crypt/file_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stator::crypt {
namespace {

using testing::HasSubstr;

std::shared_ptr<const FileKeys> Keys(const std::string& letters) {
  std::vector<std::string> masters;
  for (const char letter : letters) masters.emplace_back(kMasterKeyBytes, letter);
  return FileKeys::Make(masters).value();
}

bool Same(const DataKey& a, const DataKey& b) { return a.key == b.key && a.counter == b.counter; }

TEST(FileKeys, HeaderOpensToItsDataKey) {
  const auto keys = Keys("a");
  std::string header;
  const DataKey key = keys->NewFile(&header);
  ASSERT_EQ(header.size(), kHeaderBytes);
  EXPECT_EQ(FormOf(header), Form::kEncrypted);
  const Result<DataKey> opened = keys->Open(header, "f");
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  EXPECT_TRUE(Same(*opened, key));
  std::string other;
  EXPECT_FALSE(Same(keys->NewFile(&other), key));
  EXPECT_NE(header, other);
  EXPECT_EQ(header.find(std::string(key.key.data(), key.key.size())), std::string::npos);
}

TEST(FileKeys, EveryFlippedByteOfTheHeaderIsRefused) {
  const auto keys = Keys("a");
  std::string header;
  keys->NewFile(&header);
  for (size_t i = 0; i < header.size(); ++i) {
    for (const int bit : {0x01, 0x80}) {
      std::string flipped = header;
      flipped[i] = static_cast<char>(flipped[i] ^ bit);
      EXPECT_FALSE(keys->Open(flipped, "f").ok()) << "byte " << i;
    }
  }
}

TEST(FileKeys, AnotherKeyIsNamed) {
  const auto keys = Keys("a");
  std::string header;
  keys->NewFile(&header);
  const Result<DataKey> opened = Keys("b")->Open(header, "the file f");
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code(), ErrorCode::kValidation);
  EXPECT_THAT(opened.error().message(), HasSubstr("the file f"));
  EXPECT_THAT(opened.error().message(), HasSubstr(keys->key_id()));
}

TEST(FileKeys, HeaderIsRenewedUnderTheFirstKeyAndKeepsItsDataKey) {
  const auto old_keys = Keys("a");
  std::string header;
  const DataKey key = old_keys->NewFile(&header);
  EXPECT_FALSE(old_keys->Renew(header, "f").value().has_value());
  EXPECT_FALSE(Keys("b")->Renew(header, "f").ok());
  const std::optional<std::string> renewed = Keys("ba")->Renew(header, "f").value();
  ASSERT_TRUE(renewed.has_value());
  EXPECT_EQ(renewed->size(), header.size());
  EXPECT_TRUE(Same(Keys("b")->Open(*renewed, "f").value(), key));
  EXPECT_FALSE(old_keys->Open(*renewed, "f").ok());
  // A disk writes a sector whole or not at all.
  EXPECT_EQ(renewed->substr(512), header.substr(512));
}

TEST(FileKeys, FormIsThatOfTheBeginning) {
  const auto keys = Keys("a");
  std::string header;
  keys->NewFile(&header);
  EXPECT_EQ(FormOf(""), Form::kEmpty);
  EXPECT_EQ(FormOf(std::string(kHeaderBytes, '\0')), Form::kEmpty);
  for (const size_t cut : {1, 8, 100, 4095}) EXPECT_EQ(FormOf(header.substr(0, cut)), Form::kEmpty);
  EXPECT_EQ(FormOf("MANIFEST-000001\n"), Form::kPlain);
}

TEST(FileKeys, KeysOfAnotherLengthAndNoneAreRefused) {
  EXPECT_FALSE(FileKeys::Make({}).ok());
  EXPECT_FALSE(FileKeys::Make({std::string(31, 'a')}).ok());
  EXPECT_FALSE(FileKeys::Make({std::string(32, 'a'), ""}).ok());
}

// The derivations are part of the format.
TEST(FileKeys, IdentityOfAKeyStaysTheSame) {
  EXPECT_EQ(Keys("a")->key_id(), "98e6acadf18d0116ec10c2680f65cf8d");
}

}  // namespace
}  // namespace stator::crypt
