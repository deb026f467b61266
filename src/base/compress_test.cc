#include "base/compress.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "base/random.h"

namespace stator {
namespace {

std::string Sample(size_t bytes, uint64_t alphabet) {
  SeededRandom random(bytes + alphabet);
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(random.Below(alphabet));
  return text;
}

TEST(Compress, RoundTripsEverySize) {
  for (size_t bytes : {0, 1, 63, 64, 65, 4096, 100'000, 1'000'000}) {
    for (uint64_t alphabet : {1, 3, 256}) {
      const std::string text = Sample(bytes, alphabet);
      Result<std::string> gzip = Decompress(Encoding::kGzip, Gzip(text), bytes);
      ASSERT_TRUE(gzip.ok()) << bytes << " " << gzip.error().message();
      EXPECT_TRUE(*gzip == text) << bytes;
      Result<std::string> zlib = Decompress(Encoding::kDeflate, Deflate(text), bytes);
      ASSERT_TRUE(zlib.ok()) << bytes << " " << zlib.error().message();
      EXPECT_TRUE(*zlib == text) << bytes;
    }
  }
}

TEST(Compress, ReadsSeveralMembers) {
  const std::string first = Sample(5000, 7), second = Sample(100'000, 2);
  Result<std::string> both =
      Decompress(Encoding::kGzip, Gzip(first) + Gzip("") + Gzip(second), 1 << 20);
  ASSERT_TRUE(both.ok());
  EXPECT_TRUE(*both == first + second);
}

TEST(Compress, ReadsRawDeflate) {
  const std::string zlib = Deflate("hello hello hello hello");
  // A zlib stream is a raw one between a 2-byte header and a 4-byte checksum.
  Result<std::string> raw =
      Decompress(Encoding::kDeflate, std::string_view(zlib).substr(2, zlib.size() - 6), 100);
  ASSERT_TRUE(raw.ok());
  EXPECT_EQ(*raw, "hello hello hello hello");
}

TEST(Compress, RefusesMoreThanAllowed) {
  const std::string zeros(1'000'000, '\0');
  for (size_t max_out : {0, 1, 4096, 999'999}) {
    Result<std::string> gzip = Decompress(Encoding::kGzip, Gzip(zeros), max_out);
    ASSERT_FALSE(gzip.ok());
    EXPECT_EQ(gzip.error().code(), ErrorCode::kRequestTooLarge);
    EXPECT_FALSE(Decompress(Encoding::kDeflate, Deflate(zeros), max_out).ok());
  }
  EXPECT_FALSE(Decompress(Encoding::kGzip, Gzip(zeros) + Gzip("x"), 1'000'000).ok());
  EXPECT_TRUE(Decompress(Encoding::kGzip, Gzip(zeros) + Gzip("x"), 1'000'001).ok());
}

TEST(Compress, RefusesCorruptData) {
  const std::string good = Gzip(Sample(3000, 9));
  for (size_t cut = 0; cut < good.size(); cut += 7) {
    const Result<std::string> short_one = Decompress(Encoding::kGzip, good.substr(0, cut), 1 << 20);
    ASSERT_FALSE(short_one.ok()) << cut;
    EXPECT_EQ(short_one.error().code(), ErrorCode::kSerialization) << cut;
  }
  for (size_t at = 10; at < good.size(); at += 5) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x55);
    EXPECT_FALSE(Decompress(Encoding::kGzip, bad, 1 << 20).ok()) << at;
  }
  EXPECT_FALSE(Decompress(Encoding::kGzip, good + "tail", 1 << 20).ok());
  EXPECT_FALSE(Decompress(Encoding::kDeflate, Deflate("abc") + "tail", 1 << 20).ok());
  EXPECT_FALSE(Decompress(Encoding::kDeflate, "", 1 << 20).ok());
}

TEST(Compress, FalseLengthDoesNotAllocate) {
  std::string lying = Gzip("abc");
  lying.replace(lying.size() - 4, 4, "\xff\xff\xff\xff");
  EXPECT_FALSE(Decompress(Encoding::kGzip, lying, size_t{1} << 40).ok());
}

TEST(Compress, Crc32) {
  EXPECT_EQ(Crc32("123456789"), 0xcbf43926u);
  EXPECT_EQ(Crc32("6789", Crc32("12345")), 0xcbf43926u);
  EXPECT_EQ(Crc32(""), 0u);
}

// By definition, one bit at a time.
uint32_t SlowCrc32(std::string_view in) {
  uint32_t crc = ~0u;
  for (const char c : in) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (0xedb88320u & -(crc & 1));
  }
  return ~crc;
}

TEST(Compress, Crc32OfEveryLengthAndAlignment) {
  SeededRandom random(5);
  std::string bytes(30'000, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.Below(256));
  for (size_t length = 0; length < 1300; ++length) {
    const std::string_view part = std::string_view(bytes).substr(length % 67, length);
    ASSERT_EQ(Crc32(part), SlowCrc32(part)) << length;
  }
  const uint32_t whole = SlowCrc32(bytes);
  EXPECT_EQ(Crc32(bytes), whole);
  for (const size_t cut : {1, 511, 512, 513, 20'000, 29'999}) {
    EXPECT_EQ(
        Crc32(std::string_view(bytes).substr(cut), Crc32(std::string_view(bytes).substr(0, cut))),
        whole)
        << cut;
  }
}

TEST(Compress, EachThreadHasItsOwnCompressor) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([i] {
      const std::string text = Sample(20'000 + i, 5);
      for (int round = 0; round < 20; ++round) {
        Result<std::string> back = Decompress(Encoding::kGzip, Gzip(text), text.size());
        ASSERT_TRUE(back.ok());
        EXPECT_TRUE(*back == text);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace stator
