#include "base/seal.h"

#include <gtest/gtest.h>

namespace stator {
namespace {

std::string Hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    out.push_back(kDigits[static_cast<unsigned char>(c) >> 4]);
    out.push_back(kDigits[c & 15]);
  }
  return out;
}

TEST(Seal, IsHmacSha256) {
  // printf 'p\0text' | openssl dgst -sha256 -mac HMAC -macopt hexkey:6b...6b (32 bytes)
  const Seal seal(std::string(Seal::kSecretBytes, 'k'));
  EXPECT_EQ(Hex(seal.Of("p", "text")), "c755a17726b023cfaf245ba428270b8b");
}

TEST(Seal, HoldsForItsBytesPurposeAndSecretOnly) {
  const std::string secret = Seal::DrawSecret();
  const Seal seal(secret);
  const std::string made = seal.Of("token", "bytes");
  EXPECT_EQ(made.size(), Seal::kBytes);
  EXPECT_TRUE(seal.Holds("token", "bytes", made));
  EXPECT_TRUE(Seal(secret).Holds("token", "bytes", made)) << "another process of the store";
  EXPECT_TRUE(Seal(seal).Holds("token", "bytes", made));
  EXPECT_FALSE(seal.Holds("token", "byteS", made));
  EXPECT_FALSE(seal.Holds("iterator", "bytes", made));
  EXPECT_FALSE(seal.Holds("toke", "nbytes", made)) << "the purpose has an end";
  EXPECT_FALSE(seal.Holds("token", "bytes", made.substr(1)));
  EXPECT_FALSE(seal.Holds("token", "bytes", ""));
  for (size_t i = 0; i < made.size(); ++i) {
    std::string forged = made;
    forged[i] = static_cast<char>(forged[i] ^ 1);
    EXPECT_FALSE(seal.Holds("token", "bytes", forged)) << i;
  }
  EXPECT_FALSE(Seal().Holds("token", "bytes", made)) << "another secret";
  EXPECT_NE(Seal::DrawSecret(), secret);
}

}  // namespace
}  // namespace stator
