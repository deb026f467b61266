#include "access/sigv4.h"

#include <gtest/gtest.h>

namespace stator::access {
namespace {

// ---- the public vectors of AWS's "aws4_testsuite" ----

constexpr char kSecret[] = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
constexpr int64_t kTime = 1'440'938'160'000'000;  // 2015-08-30T12:36:00Z

struct Vector {
  const char* name;
  const char* method;
  const char* target;
  std::vector<HeaderLine> headers;  // besides host and x-amz-date
  const char* body;
  const char* signed_names;
  const char* signature;
};

const std::vector<Vector>& Vectors() {
  static const std::vector<Vector> vectors = {
      {"get-vanilla",
       "GET",
       "/",
       {},
       "",
       "host;x-amz-date",
       "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
      {"get-vanilla-query-order-key-case",
       "GET",
       "/?Param2=value2&Param1=value1",
       {},
       "",
       "host;x-amz-date",
       "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
      {"get-vanilla-empty-query-key",
       "GET",
       "/?Param1=value1",
       {},
       "",
       "host;x-amz-date",
       "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb"},
      {"get-vanilla-utf8-query",
       "GET",
       "/?\xe1\x88\xb4=bar",
       {},
       "",
       "host;x-amz-date",
       "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"},
      {"get-unreserved",
       "GET",
       "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
       {},
       "",
       "host;x-amz-date",
       "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"},
      {"get-utf8",
       "GET",
       "/\xe1\x88\xb4",
       {},
       "",
       "host;x-amz-date",
       "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"},
      {"get-space",
       "GET",
       "/example space/",
       {},
       "",
       "host;x-amz-date",
       "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"},
      {"get-slash-dot-slash",
       "GET",
       "/./",
       {},
       "",
       "host;x-amz-date",
       "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
      {"get-relative-relative",
       "GET",
       "/example1/example2/../..",
       {},
       "",
       "host;x-amz-date",
       "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
      {"get-header-value-trim",
       "GET",
       "/",
       {{"My-Header1", " value1"}, {"My-Header2", " \"a   b   c\""}},
       "",
       "host;my-header1;my-header2;x-amz-date",
       "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"},
      {"get-header-key-duplicate",
       "GET",
       "/",
       {{"My-Header1", "value2"}, {"My-Header1", "value2"}, {"My-Header1", "value1"}},
       "",
       "host;my-header1;x-amz-date",
       "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea"},
      {"get-header-value-order",
       "GET",
       "/",
       {{"My-Header1", "value4"},
        {"My-Header1", "value1"},
        {"My-Header1", "value3"},
        {"My-Header1", "value2"}},
       "",
       "host;my-header1;x-amz-date",
       "08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01"},
      {"post-vanilla",
       "POST",
       "/",
       {},
       "",
       "host;x-amz-date",
       "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
      {"post-x-www-form-urlencoded",
       "POST",
       "/",
       {{"Content-Type", "application/x-www-form-urlencoded"}},
       "Param1=value1",
       "content-type;host;x-amz-date",
       "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
      {"post-sts-header-before",
       "POST",
       "/",
       {{"X-Amz-Security-Token",
         "AQoDYXdzEPT//////////"
         "wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUu"
         "w"
         "thAx7mSEI/qkPpKPi/"
         "kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU"
         "9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+"
         "scqKmlzm8FDrypNC9Yjc8f"
         "POLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=="}},
       "",
       "host;x-amz-date;x-amz-security-token",
       "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"},
  };
  return vectors;
}

std::string SignatureOf(const std::vector<OwnedHeader>& headers) {
  const std::string& line = headers.back().value;
  return line.substr(line.find("Signature=") + 10);
}

TEST(SigV4, SignsThePublicVectors) {
  for (const Vector& vector : Vectors()) {
    std::vector<OwnedHeader> headers = {{"Host", "example.amazonaws.com"}};
    for (const HeaderLine& line : vector.headers)
      headers.push_back({std::string(line.name), std::string(line.value)});
    SigningOptions options;
    options.region = "us-east-1";
    options.service = "service";
    options.now_micros = kTime;
    SignRequest({"AKIDEXAMPLE", kSecret, ""}, options, vector.method, vector.target, vector.body,
                &headers);
    EXPECT_EQ(SignatureOf(headers), vector.signature) << vector.name;
    EXPECT_EQ(headers.back().value,
              std::string("AWS4-HMAC-SHA256 "
                          "Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
                          "SignedHeaders=") +
                  vector.signed_names + ", Signature=" + vector.signature)
        << vector.name;
  }
}

TEST(SigV4, DerivesTheDocumentedKey) {
  EXPECT_EQ(Hex(AsText(DeriveSigningKey(kSecret, "20150830", "us-east-1", "iam"))),
            "c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9");
}

TEST(SigV4, CanonicalPathFollowsTheRules) {
  const auto path = [](std::string_view raw) {
    std::string out;
    AppendCanonicalPath(raw, PathStyle::kNormalized, &out);
    return out;
  };
  EXPECT_EQ(path(""), "/");
  EXPECT_EQ(path("//example//"), "/example/");
  EXPECT_EQ(path("/./example"), "/example");
  EXPECT_EQ(path("/example/.."), "/");
  EXPECT_EQ(path("/../../a"), "/a");
  EXPECT_EQ(path("/a/b/.."), "/a/");
  EXPECT_EQ(path("/a%20b"), "/a%2520b");  // sent encoded, signed encoded twice
  std::string verbatim;
  AppendCanonicalPath("/a//b%20c/.", PathStyle::kVerbatim, &verbatim);
  EXPECT_EQ(verbatim, "/a//b%20c/.");
}

TEST(SigV4, CanonicalQuerySortsEncodedNamesThenValues) {
  const auto query = [](std::string_view raw) {
    std::string out;
    AppendCanonicalQuery(ParseQuery(raw), "X-Amz-Signature", &out);
    return out;
  };
  EXPECT_EQ(query("b=2&a=2&a=1&&A="), "A=&a=1&a=2&b=2");
  EXPECT_EQ(query("a"), "a=");
  EXPECT_EQ(query("a=%2f%zz&b=+"), "a=%2F%25zz&b=%2B");
  EXPECT_EQ(query("X-Amz-Signature=1&X-Amz-Date=2"), "X-Amz-Date=2");
  EXPECT_EQ(query("a%3Db=c%26d"), "a%3Db=c%26d");
}

TEST(SigV4, CanonicalHeadersWantEverySignedName) {
  const HeaderLine lines[] = {{"HOST", "h"}, {"X-B", "  two \t words "}, {"x-b", ""}};
  std::string out;
  const std::string_view names[] = {"host", "x-b"};
  EXPECT_TRUE(AppendCanonicalHeaders(names, lines, &out));
  EXPECT_EQ(out, "host:h\nx-b:two words,\n");
  const std::string_view missing[] = {"host", "x-c"};
  EXPECT_FALSE(AppendCanonicalHeaders(missing, lines, &out));
}

TEST(SigV4, ReadsAndWritesTimes) {
  EXPECT_EQ(FormatSigningTime(kTime), "20150830T123600Z");
  int64_t micros = 0;
  ASSERT_TRUE(ParseSigningTime("20150830T123600Z", &micros));
  EXPECT_EQ(micros, kTime);
  for (const char* bad :
       {"", "20150830T123600", "20150830t123600Z", "2015083XT123600Z", "20150230T123600Z",
        "20151330T123600Z", "20150830T243600Z", "20150830T126000Z", "20150830T123660Z",
        "Sun, 30 Aug 2015 12:36:00 GMT", "2015-08-30T12:36:00Z", "20150830T123600Z "}) {
    EXPECT_FALSE(ParseSigningTime(bad, &micros)) << bad;
  }
}

// ---- crypto.h ----

TEST(Crypto, HashesAndMacsFollowTheStandards) {
  EXPECT_EQ(Hex(AsText(Sha256(""))),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Hex(AsText(Sha256("abc"))),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  // RFC 4231, cases 2 and 6.
  EXPECT_EQ(Hex(AsText(HmacSha256("Jefe", "what do ya want for nothing?"))),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(Hex(AsText(HmacSha256(std::string(131, '\xaa'),
                                  "Test Using Larger Than Block-Size Key - Hash Key First"))),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Crypto, GcmFollowsTheStandardAndDetectsChanges) {
  // McGrew and Viega, test case 13 and 14: an all-zero key and nonce.
  const std::string key(32, '\0');
  const std::string nonce(12, '\0');
  std::string sealed;
  EncryptGcm(key, nonce, "", "", &sealed);
  EXPECT_EQ(Hex(sealed), "530f8afbc74536b9a963b4f1c4cb738b");
  sealed.clear();
  EncryptGcm(key, nonce, "", std::string(16, '\0'), &sealed);
  EXPECT_EQ(Hex(sealed), "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919");

  sealed.clear();
  EncryptGcm(key, nonce, "for", "text", &sealed);
  std::string plain = "kept ";
  EXPECT_TRUE(DecryptGcm(key, nonce, "for", sealed, &plain));
  EXPECT_EQ(plain, "kept text");
  EXPECT_FALSE(DecryptGcm(key, nonce, "four", sealed, &plain));
  EXPECT_FALSE(DecryptGcm(std::string(32, '\1'), nonce, "for", sealed, &plain));
  EXPECT_FALSE(DecryptGcm(key, std::string(12, '\1'), "for", sealed, &plain));
  EXPECT_FALSE(DecryptGcm(key, nonce, "for", sealed.substr(0, 15), &plain));
  for (size_t i = 0; i < sealed.size(); ++i) {
    std::string changed = sealed;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(DecryptGcm(key, nonce, "for", changed, &plain)) << i;
  }
  EXPECT_EQ(plain, "kept text");
}

TEST(Crypto, HexReadsItsOwnText) {
  std::string bytes;
  EXPECT_TRUE(ParseHex("00fFa5", &bytes));
  EXPECT_EQ(bytes, std::string("\0\xff\xa5", 3));
  EXPECT_EQ(Hex(bytes), "00ffa5");
  EXPECT_FALSE(ParseHex("0", &bytes));
  EXPECT_FALSE(ParseHex("0g", &bytes));
}

TEST(Crypto, RandomNumbersStayBelowTheBound) {
  SystemSecureRandom random;
  for (int i = 0; i < 1000; ++i) EXPECT_LT(random.Below(36), 36u);
  EXPECT_EQ(random.Below(1), 0u);
  EXPECT_NE(random.Bytes(32), random.Bytes(32));
}

}  // namespace
}  // namespace stator::access
