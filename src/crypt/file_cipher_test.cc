#include "crypt/file_cipher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/random.h"

namespace stator::crypt {
namespace {

std::string RandomText(Random& random, size_t bytes) {
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(random.Next());
  return text;
}

// NIST SP 800-38A, F.5.5: CTR-AES256.
TEST(FileCipher, AgreesWithThePublishedVector) {
  DataKey key;
  std::string bytes, counter, plain, expected;
  ASSERT_TRUE(
      access::ParseHex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4", &bytes));
  ASSERT_TRUE(access::ParseHex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff", &counter));
  ASSERT_TRUE(
      access::ParseHex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51", &plain));
  ASSERT_TRUE(access::ParseHex("601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5",
                               &expected));
  std::copy(bytes.begin(), bytes.end(), key.key.begin());
  std::copy(counter.begin(), counter.end(), key.counter.begin());
  FileCipher(key).Apply(0, plain.data(), plain.size(), plain.data());
  EXPECT_EQ(plain, expected);
}

TEST(FileCipher, EveryPlaceIsThatOfTheWhole) {
  const uint64_t seed = SystemSeed();
  SCOPED_TRACE(seed);
  SeededRandom random(seed);
  for (const bool carries : {false, true}) {
    DataKey key;
    for (char& c : key.key) c = static_cast<char>(random.Next());
    // The counter overflows 32, 64 and 128 bits within the text.
    for (char& c : key.counter) c = static_cast<char>(carries ? 0xff : random.Next());
    const std::string text = RandomText(random, 100'000);
    std::string whole(text.size(), '\0');
    FileCipher(key).Apply(0, text.data(), text.size(), whole.data());
    EXPECT_NE(whole, text);
    const FileCipher cipher(key);
    for (int i = 0; i < 2000; ++i) {
      const size_t at = random.Below(text.size());
      const size_t size = random.Below(std::min<size_t>(text.size() - at, 5000) + 1);
      std::string part = whole.substr(at, size);
      cipher.Apply(at, part.data(), part.size(), part.data());
      ASSERT_EQ(part, text.substr(at, size)) << at << " " << size;
    }
    for (size_t at = 0; at < text.size();) {
      const size_t size = std::min<size_t>(text.size() - at, random.Below(700));
      std::string part = text.substr(at, size);
      cipher.Apply(at, part.data(), part.size(), part.data());
      ASSERT_EQ(part, whole.substr(at, size));
      at += size;
    }
  }
}

TEST(FileCipher, ThreadsReadAtOnce) {
  DataKey key;
  SeededRandom random(1);
  const std::string text = RandomText(random, 1 << 20);
  const FileCipher cipher(key);
  std::string whole(text.size(), '\0');
  cipher.Apply(0, text.data(), text.size(), whole.data());
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      SeededRandom mine(t);
      for (int i = 0; i < 500; ++i) {
        const size_t at = mine.Below(text.size() - 8192);
        std::string part = whole.substr(at, 8192);
        cipher.Apply(at, part.data(), part.size(), part.data());
        if (part != text.substr(at, 8192)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace stator::crypt
