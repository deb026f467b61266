#include "http/chunk_framing.h"

#include <gtest/gtest.h>

#include <string>

#include "base/random.h"

namespace stator::http {
namespace {

// Whether the bytes are a whole body, fed in pieces of `piece` bytes.
bool Accepts(std::string_view bytes, size_t piece) {
  ChunkFraming framing;
  for (size_t from = 0; from < bytes.size(); from += piece)
    if (!framing.Take(bytes.substr(from, piece))) return false;
  return framing.complete();
}

bool Accepts(std::string_view bytes) {
  const bool whole = Accepts(bytes, bytes.size() + 1);
  for (size_t piece = 1; piece < 6; ++piece) EXPECT_EQ(Accepts(bytes, piece), whole) << bytes;
  return whole;
}

TEST(ChunkFraming, TakesWhatTheGrammarAllows) {
  for (std::string_view good :
       {"0\r\n\r\n", "3\r\nabc\r\n0\r\n\r\n", "A;x=y\r\n0123456789\r\n0;z\r\n\r\n",
        "0000000000000001\r\n\n\r\n0\r\n\r\n", "1\r\na\r\n0\r\nTrailer: t\r\nOther:\t\r\n\r\n",
        "2\r\n\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n"}) {
    EXPECT_TRUE(Accepts(good)) << good;
  }
}

TEST(ChunkFraming, RefusesEveryOtherLineEnd) {
  for (std::string_view bad :
       {"3\nabc\r\n0\r\n\r\n", "3\r\nabc\n0\r\n\r\n", "3\r\nabcXX0\r\n\r\n", "3\r\nabc0\r\n\r\n",
        "3\r\nabcd\r\n0\r\n\r\n", "3\rabc\r\n0\r\n\r\n", "3\r\rabc\r\n0\r\n\r\n", "0\n\r\n",
        "0\r\n\n", "0\r\nTrailer: t\n\r\n", "0\r\nTrailer: t\r\n\n", "0\r\nTrailer\rX\r\n\r\n",
        "3\r\nabc\r0\r\n\r\n", "1;a\nb\r\nx\r\n0\r\n\r\n"}) {
    EXPECT_FALSE(Accepts(bad)) << bad;
  }
}

TEST(ChunkFraming, RefusesSizesThatOthersReadOtherwise) {
  for (std::string_view bad :
       {"\r\n\r\n", ";x\r\n\r\n", "+3\r\nabc\r\n0\r\n\r\n", "-1\r\n\r\n", "0x3\r\nabc\r\n0\r\n\r\n",
        "3 \r\nabc\r\n0\r\n\r\n", " 3\r\nabc\r\n0\r\n\r\n", "g\r\n\r\n",
        "00000000000000003\r\nabc\r\n0\r\n\r\n", "3_0\r\nabc\r\n0\r\n\r\n"}) {
    EXPECT_FALSE(Accepts(bad)) << bad;
  }
}

TEST(ChunkFraming, BoundsWhatIsNoBody) {
  EXPECT_TRUE(Accepts("0;" + std::string(ChunkFraming::kMaxSizeLine - 3, 'x') + "\r\n\r\n", 1000));
  EXPECT_FALSE(Accepts("0;" + std::string(ChunkFraming::kMaxSizeLine - 2, 'x') + "\r\n\r\n", 1000));
  const auto trailers = [](size_t bytes) { return "0\r\n" + std::string(bytes, 't') + "\r\n\r\n"; };
  EXPECT_TRUE(Accepts(trailers(ChunkFraming::kMaxTrailers), 1000));
  EXPECT_FALSE(Accepts(trailers(ChunkFraming::kMaxTrailers + 1), 1000));
}

TEST(ChunkFraming, TakesRandomBodiesInRandomPieces) {
  SeededRandom random(7);
  for (int round = 0; round < 300; ++round) {
    std::string body;
    for (uint64_t chunks = random.Next() % 5; chunks > 0; --chunks) {
      std::string data(1 + random.Next() % 40, '\0');
      for (char& c : data) c = static_cast<char>(random.Next());
      char size[20];
      std::snprintf(size, sizeof(size), "%zx\r\n", data.size());
      body += size + data + "\r\n";
    }
    body += "0\r\n\r\n";
    EXPECT_TRUE(Accepts(body, 1 + random.Next() % 30));
    EXPECT_FALSE(Accepts(body.substr(0, body.size() - 1), 7)) << "not complete yet";
  }
}

}  // namespace
}  // namespace stator::http
