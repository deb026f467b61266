#include "http/request_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/random.h"

namespace stator::http {
namespace {

struct Seen {
  std::string method, target, body;
  std::vector<std::pair<std::string, std::string>> headers;
  bool keep_alive = false;
  bool operator==(const Seen&) const = default;
};

Seen Copy(const RequestReader& reader) {
  Seen seen;
  const Request& request = reader.request();
  seen.method = request.method;
  seen.target = request.target;
  seen.body = request.body;
  for (const Header& header : request.headers) seen.headers.emplace_back(header.name, header.value);
  seen.keep_alive = reader.keep_alive();
  // The padding may be read.
  volatile char sum = 0;
  for (size_t i = 0; i < kBodyPadding; ++i)
    sum = sum + *(request.body.data() + request.body.size() + i);
  return seen;
}

// Feeds `bytes` in pieces as long as `next_piece` says. *bad tells whether the reader gave up.
template <typename F>
std::vector<Seen> Feed(RequestReader& reader, std::string_view bytes, F next_piece, bool* bad) {
  std::vector<Seen> seen;
  *bad = false;
  while (!bytes.empty()) {
    if (const size_t capacity = reader.MakeRoom(); capacity > 0) reader.Grow(capacity);
    const size_t piece =
        std::min({std::max<size_t>(next_piece(), 1), bytes.size(), reader.space_bytes()});
    std::memcpy(reader.space(), bytes.data(), piece);
    reader.Commit(piece);
    bytes.remove_prefix(piece);
    while (reader.has_unparsed()) {
      const RequestReader::Progress progress = reader.Parse();
      if (progress == RequestReader::Progress::kBad) {
        *bad = true;
        return seen;
      }
      if (progress == RequestReader::Progress::kMore) break;
      seen.push_back(Copy(reader));
      reader.Next();
    }
  }
  return seen;
}

std::vector<Seen> FeedWhole(std::string_view bytes, bool* bad) {
  RequestReader reader;
  return Feed(
      reader, bytes, [] { return size_t{1} << 30; }, bad);
}

bool IsBad(std::string_view bytes) {
  bool bad = false;
  const std::vector<Seen> seen = FeedWhole(bytes, &bad);
  return bad && seen.empty();
}

TEST(RequestReader, ReadsARequest) {
  bool bad = false;
  const std::vector<Seen> seen = FeedWhole(
      "POST /a?b=c HTTP/1.1\r\nHost: h\r\nEmpty:\r\nX-Y:  some value \t\r\nContent-Length: "
      "3\r\n\r\nabc",
      &bad);
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_FALSE(bad);
  EXPECT_EQ(seen[0].method, "POST");
  EXPECT_EQ(seen[0].target, "/a?b=c");
  EXPECT_EQ(seen[0].body, "abc");
  const std::vector<std::pair<std::string, std::string>> headers = {
      {"Host", "h"}, {"Empty", ""}, {"X-Y", "some value"}, {"Content-Length", "3"}};
  EXPECT_EQ(seen[0].headers, headers);
  EXPECT_TRUE(seen[0].keep_alive);
}

TEST(RequestReader, HeaderLookupIgnoresCase) {
  Request request;
  request.headers = {{"Content-Type", "a"}, {"content-type", "b"}};
  EXPECT_EQ(request.header("CONTENT-TYPE"), "a");
  EXPECT_EQ(request.header("Content-Typ"), "");
}

TEST(RequestReader, JoinsChunks) {
  bool bad = false;
  const std::vector<Seen> seen = FeedWhole(
      "PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: "
      "chunked\r\n\r\n3\r\nabc\r\n5;ext=1\r\ndefgh\r\n0\r\nTrailer: t\r\n\r\nGET /2 "
      "HTTP/1.0\r\n\r\n",
      &bad);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].body, "abcdefgh");
  EXPECT_EQ(seen[0].headers.size(), 2u);  // trailers are no headers
  EXPECT_EQ(seen[1].target, "/2");
  EXPECT_FALSE(seen[1].keep_alive);
}

TEST(RequestReader, KeepAliveFollowsTheClient) {
  bool bad = false;
  EXPECT_FALSE(
      FeedWhole("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", &bad).at(0).keep_alive);
  EXPECT_TRUE(FeedWhole("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", &bad).at(0).keep_alive);
  EXPECT_TRUE(
      FeedWhole("GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n", &bad)
          .at(0)
          .keep_alive);
}

TEST(RequestReader, RefusesWhatCouldBeSmuggled) {
  EXPECT_TRUE(
      IsBad("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: "
            "chunked\r\n\r\n0\r\n\r\n"));
  EXPECT_TRUE(
      IsBad("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: "
            "3\r\n\r\n0\r\n\r\n"));
  EXPECT_TRUE(
      IsBad("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"));
  EXPECT_TRUE(
      IsBad("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc"));
  EXPECT_TRUE(IsBad("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3, 4\r\n\r\nabcd"));
  EXPECT_TRUE(IsBad("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n"));
  EXPECT_TRUE(IsBad("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: +3\r\n\r\nabc"));
  EXPECT_TRUE(
      IsBad("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999999\r\n\r\n"));
  EXPECT_TRUE(IsBad("POST / HTTP/1.1\r\nHost: h\r\nContent-Length : 3\r\n\r\nabc"));
  EXPECT_TRUE(IsBad("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n"));
  EXPECT_TRUE(
      IsBad("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"));
  EXPECT_TRUE(IsBad("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"));
  EXPECT_TRUE(
      IsBad("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: "
            "chunked\r\n\r\n0\r\n\r\n"));
  EXPECT_TRUE(IsBad("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"));
  EXPECT_TRUE(
      IsBad("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\nabc\r\n"));
  EXPECT_TRUE(IsBad("POST / HTTP/1.1\r\nHost: h\r\nA: b\r\n folded\r\n\r\n"));
  EXPECT_TRUE(IsBad("POST / HTTP/1.1\r\nHost: h\r\nA:\r\n folded\r\n\r\n"));
}

TEST(RequestReader, RefusesLinesThatEndWithABareLf) {
  EXPECT_TRUE(IsBad("GET / HTTP/1.1\nHost: h\r\n\r\n"));
  EXPECT_TRUE(IsBad("GET / HTTP/1.1\r\nHost: h\n\r\n"));
  EXPECT_TRUE(IsBad("GET / HTTP/1.1\r\nHost: h\r\n\n"));
  EXPECT_TRUE(IsBad("GET / HTTP/1.1\r\nHost: h\nA: b\r\n\r\n"));
  EXPECT_TRUE(IsBad("GET / HTTP/1.1\r\nHost: h\r\nA: b\n\r\n"));
  EXPECT_TRUE(IsBad("GET / HTTP/1.1\r\nHost: h\r\nA:\n\r\n"));
  EXPECT_TRUE(IsBad("GET / HTTP/1.1\r\nHost: h\r\nA:\r\n\n"));
  EXPECT_TRUE(IsBad("GET / HTTP/1.1\r\nHost: h\r\nA:\nB: c\r\n\r\n"));
  EXPECT_TRUE(IsBad("GET / HTTP/1.1\nHost: h\n\n"));
  EXPECT_TRUE(IsBad("GET / HTTP/1.0\n\r\n"));
  EXPECT_TRUE(IsBad("GET / HTTP/1.0\r\n\n"));
  EXPECT_TRUE(IsBad("GET / HTTP/1.0\n\n"));
  EXPECT_TRUE(IsBad("\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"));
  EXPECT_TRUE(IsBad("\rGET / HTTP/1.1\r\nHost: h\r\n\r\n"));
  bool bad = false;
  EXPECT_EQ(FeedWhole("\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\nA: b \t\r\n\r\n", &bad).size(), 1u);
  EXPECT_EQ(FeedWhole("GET / HTTP/1.1\r\nHost: h\r\nA:\r\n\r\n", &bad).size(), 1u);
  EXPECT_EQ(FeedWhole("GET / HTTP/1.1\r\nHost: h\r\nA: \t \r\n\r\n", &bad).size(), 1u);
}

TEST(RequestReader, RefusesChunksThatEndOtherwise) {
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (std::string_view bad_body :
       {"3\r\nabcXX0\r\n\r\n", "3\nabc\r\n0\r\n\r\n", "3\r\nabc\n0\r\n\r\n", "0\r\n\n",
        "3\r\nabc\r\n0\r\nTrailer: t\n\r\n", "3 \r\nabc\r\n0\r\n\r\n"}) {
    for (size_t piece : {1, 2, 3, 70, 1000}) {
      RequestReader reader;
      bool bad = false;
      EXPECT_EQ(Feed(
                    reader, head + std::string(bad_body), [piece] { return piece; }, &bad)
                    .size(),
                0u)
          << bad_body << " " << piece;
      EXPECT_TRUE(bad) << bad_body << " " << piece;
    }
  }
}

TEST(RequestReader, WantsOneHost) {
  EXPECT_TRUE(IsBad("GET / HTTP/1.1\r\nA: b\r\n\r\n"));
  EXPECT_TRUE(IsBad("GET / HTTP/1.1\r\n\r\n"));
  EXPECT_TRUE(IsBad("GET / HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n"));
  EXPECT_TRUE(IsBad("GET / HTTP/1.1\r\nHost: h\r\nA: b\r\nhost: other\r\n\r\n"));
  EXPECT_TRUE(IsBad("GET / HTTP/1.0\r\nHost: h\r\nHOST: h\r\n\r\n"));
  bool bad = false;
  EXPECT_EQ(FeedWhole("GET / HTTP/1.1\r\nHost:\r\n\r\n", &bad).size(), 1u);
  EXPECT_EQ(FeedWhole("GET / HTTP/1.0\r\n\r\n", &bad).size(), 1u) << "older than the header";
}

TEST(RequestReader, AnEmptyLineMayArriveInTwoPieces) {
  RequestReader reader;
  bool bad = false;
  EXPECT_TRUE(Feed(
                  reader, "\r", [] { return size_t{1}; }, &bad)
                  .empty());
  EXPECT_FALSE(reader.empty()) << "a pool must not take it back now";
  EXPECT_EQ(Feed(
                reader, "\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", [] { return size_t{1}; }, &bad)
                .size(),
            1u);
  EXPECT_FALSE(bad);
}

TEST(RequestReader, RefusesInvalidBytes) {
  using std::string_literals::operator""s;
  EXPECT_TRUE(
      IsBad("GET / HTTP/1.1\r\nHost: h\r\nA: b\x01"
            "c\r\n\r\n"));
  EXPECT_TRUE(IsBad("GET / HTTP/1.1\r\nHost: h\r\nA: b\0c\r\n\r\n"s));
  EXPECT_TRUE(IsBad("GET / HTTP/1.1\r\nHost: h\r\nA: b\rc\r\n\r\n"));
  EXPECT_TRUE(IsBad("GET / HTTP/1.1\r\nHost: h\r\nA(): b\r\n\r\n"));
  EXPECT_TRUE(IsBad("GET / HTTP/1.1\r\nHost: h\r\nno colon\r\n\r\n"));
  EXPECT_TRUE(IsBad("GET / HTTP/1.1\r\nHost: h\r\n: no name\r\n\r\n"));
  EXPECT_TRUE(IsBad("GET / HTTP/2.0\r\n\r\n"));
  EXPECT_TRUE(IsBad("GET /\r\n\r\n"));
  EXPECT_TRUE(IsBad("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
  EXPECT_TRUE(IsBad("\x16\x03\x01\x02\x00\x01"));
}

TEST(RequestReader, GrowsForALongBody) {
  const std::string body(3'000'000, 'b');
  bool bad = false;
  const std::vector<Seen> seen =
      FeedWhole("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3000000\r\n\r\n" + body +
                    "GET /next HTTP/1.1\r\nHost: h\r\n\r\n",
                &bad);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_TRUE(seen[0].body == body);
  EXPECT_EQ(seen[1].target, "/next");
}

std::string RandomRequest(SeededRandom& random) {
  static constexpr const char* kMethods[] = {"GET", "POST",   "HEAD", "OPTIONS",
                                             "PUT", "DELETE", "PATCH"};
  std::string text = kMethods[random.Below(7)];
  text += " /" + std::string(random.Below(40), 't') + " HTTP/1.1\r\nHost: h\r\n";
  for (uint64_t i = random.Below(12); i > 0; --i) {
    text += "X-Name-" + std::to_string(random.Below(1000)) + ": " +
            std::string(random.Below(300), 'v') + "\r\n";
  }
  std::string body(random.Below(4) == 0 ? random.Below(60'000) : random.Below(100), '\0');
  for (char& c : body) c = static_cast<char>(random.Next());
  switch (random.Below(3)) {
    case 0: return text + "\r\n";
    case 1: return text + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    default: break;
  }
  text += "Transfer-Encoding: chunked\r\n\r\n";
  for (size_t at = 0; at < body.size();) {
    const size_t length = std::min<size_t>(1 + random.Below(5000), body.size() - at);
    char size[32];
    std::snprintf(size, sizeof(size), "%zx\r\n", length);
    text += size + body.substr(at, length) + "\r\n";
    at += length;
  }
  return text + "0\r\n\r\n";
}

TEST(RequestReader, WhereReadsEndMakesNoDifference) {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(seed);
    SeededRandom random(seed);
    std::string bytes;
    const size_t requests = 1 + random.Below(6);
    for (size_t i = 0; i < requests; ++i) bytes += RandomRequest(random);
    bool bad = false;
    const std::vector<Seen> whole = FeedWhole(bytes, &bad);
    ASSERT_FALSE(bad);
    ASSERT_EQ(whole.size(), requests);
    RequestReader reader;
    for (uint64_t longest : {1, 2, 17, 900, 20'000}) {
      const std::vector<Seen> split = Feed(
          reader, bytes, [&] { return 1 + random.Below(longest); }, &bad);
      ASSERT_FALSE(bad);
      ASSERT_TRUE(split == whole) << longest;
      ASSERT_TRUE(reader.empty());
      reader.Clear();
    }
  }
}

TEST(RequestReader, SurvivesGarbage) {
  int refused = 0;
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE(seed);
    SeededRandom random(seed);
    std::string bytes = RandomRequest(random) + RandomRequest(random);
    if (bytes.size() > 5000) bytes.resize(5000);
    for (uint64_t i = 1 + random.Below(6); i > 0; --i) {
      const size_t at = random.Below(bytes.size());
      switch (random.Below(4)) {
        case 0: bytes[at] = static_cast<char>(random.Next()); break;
        case 1: bytes.insert(at, bytes.substr(random.Below(bytes.size()), random.Below(50))); break;
        case 2: bytes.erase(at, random.Below(20)); break;
        default: bytes.insert(at, "\r\n"); break;
      }
      if (bytes.empty()) bytes = "x";
    }
    RequestReader reader;
    bool bad = false;
    Feed(
        reader, bytes, [&] { return 1 + random.Below(700); }, &bad);
    refused += bad ? 1 : 0;
    // Used again after a refusal, it is as new.
    reader.Clear();
    ASSERT_EQ(Feed(
                  reader, "GET /fresh HTTP/1.1\r\nHost: h\r\n\r\n", [] { return size_t{5}; }, &bad)
                  .size(),
              1u);
    ASSERT_FALSE(bad);
  }
  EXPECT_GT(refused, 300);
}

}  // namespace
}  // namespace stator::http
