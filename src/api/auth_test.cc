#include "api/auth.h"

#include <gtest/gtest.h>

namespace stator::api {
namespace {

constexpr std::string_view kGood =
    "AWS4-HMAC-SHA256 Credential=AKID/20261101/us-east-1/dynamodb/aws4_request, "
    "SignedHeaders=content-type;host;x-amz-date, Signature=abc";
constexpr std::string_view kDate = "20261101T000000Z";

Status Check(std::string_view authorization, std::string_view date = kDate,
             std::string_view query = "") {
  return ShapeAuthenticator().Authenticate({authorization, date, "", query});
}

TEST(Auth, AcceptsWellFormedSignatures) {
  EXPECT_TRUE(Check(kGood).ok());
  // Without spaces, as some clients send it; any key, region and service.
  EXPECT_TRUE(
      Check("AWS4-HMAC-SHA256 "
            "Credential=x/20261101/nowhere-1/s3/aws4_request,SignedHeaders=Host,Signature=0")
          .ok());
  EXPECT_TRUE(
      ShapeAuthenticator().Authenticate({kGood, "", kDate, ""}).ok());  // the Date header will do
  EXPECT_TRUE(
      Check("", "",
            "a=b&X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKID%2F20261101%2Fus-east-1%"
            "2Fdynamodb%2F"
            "aws4_request&X-Amz-Date=20261101T000000Z&X-Amz-SignedHeaders=host&X-Amz-Signature=ab")
          .ok());
}

struct Case {
  std::string_view authorization, date, query;
  ErrorCode code;
  std::string_view text;
};

TEST(Auth, RefusesInTheServicesOrderWithItsTexts) {
  const Case cases[] = {
      {kGood, kDate, "X-Amz-Algorithm=x", ErrorCode::kInvalidSignature,
       "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header."},
      {"", kDate, "", ErrorCode::kMissingAuthenticationToken,
       "Request is missing Authentication Token"},
      {"Basic abc", kDate, "", ErrorCode::kMissingAuthenticationToken,
       "Request is missing Authentication Token"},
      {"AWS4-", "", "", ErrorCode::kIncompleteSignature,
       "Authorization header requires 'Credential' parameter. Authorization header requires "
       "'Signature' parameter. "
       "Authorization header requires 'SignedHeaders' parameter. Authorization header requires "
       "existence of either a "
       "'X-Amz-Date' or a 'Date' header. Authorization=AWS4-"},
      {"AWS4-HMAC-SHA256 Credential=a, Signature=b", kDate, "", ErrorCode::kIncompleteSignature,
       "Authorization header requires 'SignedHeaders' parameter. Authorization=AWS4-HMAC-SHA256 "
       "Credential=a, Signature=b"},
      {kGood, "2026-11-01T00:00:00Z", "", ErrorCode::kIncompleteSignature,
       "Date must be in ISO-8601 'basic format'. Got '2026-11-01T00:00:00Z'. See "
       "http://en.wikipedia.org/wiki/ISO_8601"},
      {"AWS4-HMAC-SHA256 Credential=a/20261101/r/s/aws4_request, SignedHeaders=x-amz-date;hosts, "
       "Signature=b",
       kDate, "", ErrorCode::kInvalidSignature,
       "'Host' must be a 'SignedHeader' in the AWS Authorization."},
      {"AWS4-HMAC-MD5 Credential=a/20261101/r/s/aws4_request, SignedHeaders=host, Signature=b",
       kDate, "", ErrorCode::kIncompleteSignature,
       "Unsupported AWS 'algorithm': 'AWS4-HMAC-MD5' (only AWS4-HMAC-SHA256 for now). "},
      {"AWS4-HMAC-SHA256 Credential=a/20261101/r/aws4_request, SignedHeaders=host, Signature=b",
       kDate, "", ErrorCode::kIncompleteSignature,
       "Credential must have exactly 5 slash-delimited elements, e.g. "
       "keyid/date/region/service/term, got "
       "'a/20261101/r/aws4_request'"},
      {"AWS4-HMAC-SHA256 Credential=a/20261031/r/s/aws3, SignedHeaders=host, Signature=b", kDate,
       "", ErrorCode::kInvalidSignature,
       "Credential should be scoped with a valid terminator: 'aws4_request', not 'aws3'. Date in "
       "Credential scope does not "
       "match YYYYMMDD from ISO-8601 version of date from HTTP: '20261031' != '20261101', from "
       "'20261101T000000Z'. "},
      {"", "", "X-Amz-Algorithm&X-Amz-Date=1", ErrorCode::kIncompleteSignature,
       "AWS query-string parameters must include 'X-Amz-Algorithm'. AWS query-string parameters "
       "must include "
       "'X-Amz-Credential'. AWS query-string parameters must include 'X-Amz-Signature'. AWS "
       "query-string parameters must "
       "include 'X-Amz-SignedHeaders'. Re-examine the query-string parameters."},
  };
  for (const Case& c : cases) {
    const Status status = Check(c.authorization, c.date, c.query);
    ASSERT_FALSE(status.ok()) << c.text;
    EXPECT_EQ(status.error().code(), c.code) << c.text;
    EXPECT_EQ(status.error().message(), c.text);
  }
}

TEST(Auth, CanBeSwitchedOffForUnsignedRequestsOnly) {
  const ShapeAuthenticator open(false);
  EXPECT_TRUE(open.Authenticate({"", "", "", ""}).ok());
  EXPECT_TRUE(open.Authenticate({kGood, kDate, "", ""}).ok());
  EXPECT_FALSE(open.Authenticate({"AWS4-", "", "", ""}).ok());
}

TEST(Auth, AKeyIdIsFoundInTheHeaderAndInTheQuery) {
  EXPECT_EQ(ClaimedKeyId(AuthRequest{"AWS4-HMAC-SHA256 Credential=blue/20261101/r/s/aws4_request, "
                                     "SignedHeaders=host, Signature=0",
                                     "", "", ""}),
            "blue");
  EXPECT_EQ(ClaimedKeyId(AuthRequest{"", "", "", "X-Amz-Credential=re%2Dd%2F20261101&x=y"}),
            "re-d");
  for (const char* none : {"", "Bearer blue", "AWS4-HMAC-SHA256 SignedHeaders=host"})
    EXPECT_EQ(ClaimedKeyId(AuthRequest{none, "", "", ""}), "") << none;
}

TEST(Auth, HostileHeadersEnd) {
  for (std::string_view text : {"AWS4-HMAC-SHA256 =,=,=,", "AWS4-,,,,", "AWS4- Credential",
                                "AWS4-HMAC-SHA256 Credential=///////"}) {
    EXPECT_FALSE(Check(text).ok());
    EXPECT_FALSE(Check(text, "", "&&&==&X-Amz-Algorithm=%&%%%").ok());
  }
  EXPECT_FALSE(Check("", "",
                     "X-Amz-Algorithm=%&X-Amz-Credential=%4&X-Amz-Signature=%zz&X-Amz-"
                     "SignedHeaders=;;;&X-Amz-Date=%00")
                   .ok());
}

}  // namespace
}  // namespace stator::api
