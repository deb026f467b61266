#include "exchange/gzip_stream.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/compress.h"
#include "base/random.h"

namespace stator::exchange {
namespace {

std::string SomeText(size_t bytes) {
  SeededRandom random(7);
  std::string text;
  while (text.size() < bytes) text += "attribute " + std::to_string(random.Next() % 1000) + "\n";
  return text;
}

Result<std::string> Read(std::string_view packed, size_t piece) {
  GzipReader reader;
  std::string out;
  for (size_t at = 0; at < packed.size(); at += piece) {
    std::string_view left = packed.substr(at, piece);
    while (!left.empty()) TRY(reader.Take(&left, 1000, &out));
  }
  std::string_view none;
  for (size_t before = out.size() + 1; out.size() != before;) {
    before = out.size();
    TRY(reader.Take(&none, 1000, &out));
  }
  TRY(reader.Finish());
  return out;
}

std::string Packed(std::string_view text, size_t piece) {
  GzipWriter writer;
  std::string out;
  for (size_t at = 0; at < text.size(); at += piece) writer.Add(text.substr(at, piece), &out);
  writer.Finish(&out);
  return out;
}

TEST(GzipStream, WritesOneMemberThatOthersRead) {
  for (const size_t bytes : {0, 1, 1000, 3'000'000}) {
    const std::string text = SomeText(bytes).substr(0, bytes);
    const std::string packed = Packed(text, 70'000);
    EXPECT_EQ(Decompress(Encoding::kGzip, packed, 10 << 20).value(), text);
    EXPECT_LT(packed.size(), text.size() / 2 + 100);
  }
}

TEST(GzipStream, ReadsMembersInPiecesOfAnySize) {
  const std::string text = SomeText(300'000);
  const std::string packed = Gzip(text) + Gzip("") + Packed(text, 1000);
  for (const size_t piece : {size_t{1}, size_t{17}, size_t{65'536}, packed.size()})
    EXPECT_EQ(Read(packed, piece).value(), text + text) << piece;
}

TEST(GzipStream, RefusesWhatIsDamagedOrCutOff) {
  const std::string packed = Gzip(SomeText(10'000));
  EXPECT_FALSE(Read(R"({"Item":{}})", 100).ok());
  for (size_t at = 0; at < packed.size(); at += 97)
    EXPECT_FALSE(Read(packed.substr(0, std::max<size_t>(at, 1)), 100).ok()) << at;
  std::string wrong = packed;
  wrong[wrong.size() - 6] ^= 1;  // of the checksum
  EXPECT_FALSE(Read(wrong, 100).ok());
  EXPECT_FALSE(Read(packed + "x", 100).ok());
}

}  // namespace
}  // namespace stator::exchange
