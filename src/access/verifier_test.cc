#include "access/verifier.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "access/json.h"
#include "base/ascii.h"
#include "base/base64.h"

namespace stator::access {
namespace {

// Keys of a test, by id.
class TestKeys final : public KeySource {
 public:
  struct Key {
    std::string secret;
    std::string token;
    KeyState state = KeyState::kActive;
    uint64_t generation = 1;
    bool expired = false;
  };
  std::map<std::string, Key, std::less<>> keys;

  KeyLookup Find(std::string_view key_id, std::string_view token) const override {
    KeyLookup lookup;
    const auto found = keys.find(key_id);
    if (found == keys.end()) return lookup;
    const Key& key = found->second;
    lookup.key = key.state;
    auto credential = std::make_shared<AccessCredential>();
    credential->secret = key.secret;
    credential->generation = key.generation;
    lookup.credential = credential;
    lookup.token = token != key.token ? TokenState::kInvalid
                   : key.expired      ? TokenState::kExpired
                                      : TokenState::kFits;
    return lookup;
  }
};

// A request that owns its bytes and can be changed.
struct Request {
  std::string method = "POST";
  std::string target = "/";
  std::vector<OwnedHeader> headers;
  std::string body;
};

Result<VerifiedRequest> Verify(Verifier& verifier, const Request& request,
                               std::string_view service = "dynamodb",
                               std::span<const std::string_view> regions = {}) {
  std::vector<HeaderLine> lines;
  for (const OwnedHeader& header : request.headers) lines.push_back({header.name, header.value});
  return verifier.Verify({request.method, request.target, lines, request.body}, {service, regions});
}

// ---- requests of real clients (tests/access/signatures/capture.mjs) ----

struct Capture {
  std::string client;
  std::string service;
  std::string key_id;
  TestKeys::Key key;
  int64_t time_micros = 0;
  Request request;
};

std::string PathOf(const std::string& relative) {
  for (std::filesystem::path at = std::filesystem::current_path();; at = at.parent_path()) {
    if (std::filesystem::exists(at / relative)) return (at / relative).string();
    if (at == at.parent_path())
      return (std::filesystem::path(__FILE__).parent_path() / "../.." / relative).string();
  }
}

std::vector<Capture> ReadCaptures() {
  std::ifstream file(PathOf("tests/access/signatures/captures.json"));
  std::stringstream text;
  text << file.rdbuf();
  const Result<JsonValue> json = ReadJson(text.str());
  if (!json.ok()) {
    ADD_FAILURE() << json.error().message();
    return {};
  }
  std::vector<Capture> captures;
  for (const JsonValue& entry : json->elements) {
    const auto member = [&](std::string_view name) { return entry.Find(name)->text; };
    Capture capture;
    capture.client = member("client") + " " + member("service");
    capture.service = member("service");
    capture.key_id = member("keyId");
    capture.key = {.secret = member("secret"), .token = member("token")};
    EXPECT_TRUE(ParseSigningTime(member("time"), &capture.time_micros)) << member("time");
    capture.request.method = member("method");
    capture.request.target = member("target");
    for (const JsonValue& header : entry.Find("headers")->elements)
      capture.request.headers.push_back({header.elements[0].text, header.elements[1].text});
    EXPECT_TRUE(DecodeBase64(member("body"), &capture.request.body).ok());
    captures.push_back(std::move(capture));
  }
  return captures;
}

// The lower-case names that a capture signs.
std::string SignedNames(const Request& request) {
  for (const OwnedHeader& header : request.headers) {
    if (!EqualsIgnoringCase(header.name, "authorization")) continue;
    const size_t start = header.value.find("SignedHeaders=") + 14;
    return ";" + header.value.substr(start, header.value.find(',', start) - start) + ";";
  }
  for (const QueryParameter& parameter : ParseQuery(request.target.substr(2))) {
    if (parameter.name == "X-Amz-SignedHeaders") return ";" + parameter.value + ";";
  }
  return "";
}

TEST(VerifierCaptures, RequestsOfRealClientsVerify) {
  const std::vector<Capture> captures = ReadCaptures();
  ASSERT_GE(captures.size(), 40u);
  for (const Capture& capture : captures) {
    SCOPED_TRACE(capture.client);
    const ManualClock clock(capture.time_micros + 1'000'000);
    TestKeys keys;
    keys.keys[capture.key_id] = capture.key;
    Verifier verifier(clock, keys, "dummy");
    const Result<VerifiedRequest> verified = Verify(verifier, capture.request, capture.service);
    EXPECT_TRUE(verified.ok()) << verified.error().message();
    if (!verified.ok()) continue;
    EXPECT_EQ(verified->key_id, capture.key_id);
    EXPECT_EQ(verifier.derived_keys().size(), 1u);
    EXPECT_TRUE(Verify(verifier, capture.request, capture.service).ok()) << "with the cached key";
  }
}

TEST(VerifierCaptures, AnyChangedByteOfASignedPartIsRefused) {
  size_t mutations = 0;
  for (const Capture& capture : ReadCaptures()) {
    SCOPED_TRACE(capture.client);
    const ManualClock clock(capture.time_micros);
    TestKeys keys;
    keys.keys[capture.key_id] = capture.key;
    Verifier verifier(clock, keys, "dummy");
    Request request = capture.request;
    const std::string signed_names = SignedNames(request);
    const auto expect_refused = [&](std::string* part, const std::string& name) {
      for (size_t i = 0; i < part->size(); ++i) {
        const char before = (*part)[i];
        for (const char mask : {'\x01', '\x10'}) {
          (*part)[i] = static_cast<char>(before ^ mask);
          ++mutations;
          EXPECT_FALSE(Verify(verifier, request, capture.service).ok())
              << name << " byte " << i << " of " << *part;
        }
        (*part)[i] = before;
      }
      part->push_back('x');
      EXPECT_FALSE(Verify(verifier, request, capture.service).ok()) << name << " longer";
      part->pop_back();
      if (part->empty()) return;
      const char last = part->back();
      part->pop_back();
      EXPECT_FALSE(Verify(verifier, request, capture.service).ok()) << name << " shorter";
      part->push_back(last);
    };
    expect_refused(&request.method, "method");
    expect_refused(&request.target, "target");
    expect_refused(&request.body, "body");
    for (OwnedHeader& header : request.headers) {
      const std::string lower = LowerAscii(header.name);
      if (lower == "authorization") expect_refused(&header.value, lower);
      if (signed_names.find(";" + lower + ";") == std::string::npos) continue;
      expect_refused(&header.name, "name of " + lower);
      expect_refused(&header.value, lower);
    }
    // Signed headers that are stripped, doubled or swapped with each other.
    for (size_t i = 0; i < request.headers.size(); ++i) {
      const std::string lower = LowerAscii(request.headers[i].name);
      const bool part_of_signature =
          signed_names.find(";" + lower + ";") != std::string::npos || lower == "authorization";
      if (!part_of_signature) continue;
      Request stripped = capture.request;
      stripped.headers.erase(stripped.headers.begin() + static_cast<ptrdiff_t>(i));
      EXPECT_FALSE(Verify(verifier, stripped, capture.service).ok()) << "without " << lower;
      Request doubled = capture.request;
      doubled.headers.push_back(doubled.headers[i]);
      EXPECT_FALSE(Verify(verifier, doubled, capture.service).ok()) << "two lines of " << lower;
    }
    EXPECT_TRUE(Verify(verifier, capture.request, capture.service).ok());
  }
  EXPECT_GT(mutations, 40'000u);
}

TEST(VerifierCaptures, HeadersThatAreNotSignedMayChange) {
  for (const Capture& capture : ReadCaptures()) {
    SCOPED_TRACE(capture.client);
    const ManualClock clock(capture.time_micros);
    TestKeys keys;
    keys.keys[capture.key_id] = capture.key;
    Verifier verifier(clock, keys, "dummy");
    Request request = capture.request;
    request.headers.push_back({"X-Forwarded-For", "10.0.0.1"});
    for (OwnedHeader& header : request.headers) {
      if (LowerAscii(header.name) == "user-agent" &&
          SignedNames(request).find(";user-agent;") == std::string::npos)
        header.value += " via proxy";
    }
    std::reverse(request.headers.begin(), request.headers.end());
    EXPECT_TRUE(Verify(verifier, request, capture.service).ok());
  }
}

// ---- the order of checks, and texts ----

constexpr int64_t kNow = 1'767'225'600'000'000;  // 2026-01-01T00:00:00Z

class VerifierTest : public testing::Test {
 protected:
  VerifierTest() { keys_.keys["AKIATEST"] = {.secret = "secret"}; }

  Request Signed(std::string_view key_id = "AKIATEST", std::string_view secret = "secret",
                 std::string_view token = "") {
    Request request;
    request.body = R"({"TableName":"Music"})";
    request.headers = {{"Host", "localhost:8000"},
                       {"X-Amz-Target", "DynamoDB_20120810.DescribeTable"}};
    SigningOptions options;
    options.region = "us-east-1";
    options.service = "dynamodb";
    options.now_micros = kNow;
    SignRequest({std::string(key_id), std::string(secret), std::string(token)}, options,
                request.method, request.target, request.body, &request.headers);
    return request;
  }
  Request Presigned(int64_t expires, std::string_view token = "") {
    Request request;
    request.method = "GET";
    request.headers = {{"Host", "localhost:8000"}};
    SigningOptions options;
    options.region = "us-east-1";
    options.service = "dynamodb";
    options.now_micros = kNow;
    request.target =
        PresignTarget({"AKIATEST", "secret", std::string(token)}, options, request.method,
                      "/?Action=x%20y", request.body, request.headers, expires);
    return request;
  }
  static std::string& Header(Request* request, std::string_view name) {
    for (OwnedHeader& header : request->headers) {
      if (EqualsIgnoringCase(header.name, name)) return header.value;
    }
    request->headers.push_back({std::string(name), ""});
    return request->headers.back().value;
  }
  static void Replace(std::string* text, std::string_view from, std::string_view to) {
    const size_t at = text->find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text->replace(at, from.size(), to);
  }
  // "ok" or "Code: message".
  std::string Outcome(const Request& request, std::span<const std::string_view> regions = {}) {
    const Result<VerifiedRequest> verified = Verify(verifier_, request, "dynamodb", regions);
    if (verified.ok()) return "ok";
    return std::string(ErrorCodeName(verified.error().code())) + ": " + verified.error().message();
  }

  static constexpr char kMismatch[] =
      "InvalidSignature: The request signature we calculated does not match the signature you "
      "provided. Check your AWS Secret Access Key and signing method. Consult the service "
      "documentation for details.";
  static constexpr char kUnknown[] =
      "UnrecognizedClient: The security token included in the request is invalid.";
  static constexpr char kBadToken[] =
      "UnrecognizedClient: The security token included in the request is invalid";

  ManualClock clock_{kNow};
  TestKeys keys_;
  Verifier verifier_{clock_, keys_, "dummy"};
};

TEST_F(VerifierTest, AcceptsItsOwnSigner) {
  EXPECT_EQ(Outcome(Signed()), "ok");
  EXPECT_EQ(Outcome(Presigned(60)), "ok");
}

TEST_F(VerifierTest, TwoFormsOrNone) {
  Request both = Signed();
  both.target = "/?X-Amz-Algorithm=AWS4-HMAC-SHA256";
  EXPECT_EQ(Outcome(both),
            "InvalidSignature: Found both 'X-Amz-Algorithm' as a query-string param and "
            "'Authorization' as HTTP header.");
  both.target = "/?X%2DAmz-Algorithm";  // an encoded name is the same parameter
  EXPECT_EQ(Outcome(both).substr(0, 28), "InvalidSignature: Found both");
  Request none = Signed();
  none.headers.clear();
  const std::string missing = "MissingAuthenticationToken: Request is missing Authentication Token";
  EXPECT_EQ(Outcome(none), missing);
  for (const char* other : {"", "Bearer x", "aws4-HMAC-SHA256 Credential=a", "AWS3 x"}) {
    none.headers = {{"Authorization", other}};
    EXPECT_EQ(Outcome(none), missing) << other;
  }
}

TEST_F(VerifierTest, NamesEveryMissingPart) {
  Request request;
  request.headers = {{"Authorization", "AWS4-HMAC-SHA256 x, y"}};
  EXPECT_EQ(Outcome(request),
            "IncompleteSignature: Authorization header requires 'Credential' parameter. "
            "Authorization header requires 'Signature' parameter. Authorization header requires "
            "'SignedHeaders' parameter. Authorization header requires existence of either a "
            "'X-Amz-Date' or a 'Date' header. Authorization=AWS4-HMAC-SHA256 x, y");
  request.headers.clear();
  request.target = "/?X-Amz-Algorithm=a";
  EXPECT_EQ(Outcome(request),
            "IncompleteSignature: AWS query-string parameters must include 'X-Amz-Credential'. AWS "
            "query-string parameters must include 'X-Amz-Signature'. AWS query-string parameters "
            "must include 'X-Amz-SignedHeaders'. AWS query-string parameters must include "
            "'X-Amz-Date'. Re-examine the query-string parameters.");
}

TEST_F(VerifierTest, RefusesPartsThatStandTwice) {
  Request request = Signed();
  Header(&request, "authorization") += ", Credential=other";
  EXPECT_EQ(Outcome(request).substr(0, 72),
            "IncompleteSignature: Authorization header has a parameter more than once");
  request = Signed();
  request.headers.push_back({"Authorization", Header(&request, "authorization")});
  EXPECT_EQ(Outcome(request).substr(0, 20), "IncompleteSignature:");
  request = Signed();
  request.headers.push_back({"X-Amz-Date", "20260101T000000Z"});
  EXPECT_EQ(Outcome(request),
            "IncompleteSignature: Date must be in ISO-8601 'basic format'. Got "
            "'20260101T000000Z,20260101T000000Z'. See http://en.wikipedia.org/wiki/ISO_8601");
  request = Presigned(60);
  request.target += "&X-Amz-Credential=b";
  EXPECT_EQ(Outcome(request).substr(0, 20), "IncompleteSignature:");
  request = Presigned(60);
  request.target += "&X-Amz-Signature=b";
  EXPECT_EQ(Outcome(request).substr(0, 20), "IncompleteSignature:");
}

TEST_F(VerifierTest, AcceptsBareCommasAndAnyOrder) {
  Request request = Signed();
  std::string& authorization = Header(&request, "authorization");
  std::string credential;
  std::string names;
  std::string signature;
  const auto part = [&](std::string_view name) {
    const size_t at = authorization.find(name);
    return authorization.substr(at, authorization.find(',', at) - at);
  };
  credential = part("Credential=");
  names = part("SignedHeaders=");
  signature = part("Signature=");
  authorization = "AWS4-HMAC-SHA256 " + signature + "," + names + "," + credential;
  EXPECT_EQ(Outcome(request), "ok");
}

TEST_F(VerifierTest, DateFormAndWindow) {
  Request request = Signed();
  Header(&request, "x-amz-date") = "2026-01-01T00:00:00Z";
  EXPECT_EQ(Outcome(request),
            "IncompleteSignature: Date must be in ISO-8601 'basic format'. Got "
            "'2026-01-01T00:00:00Z'. See http://en.wikipedia.org/wiki/ISO_8601");
  request = Signed();
  clock_.AdvanceMicros(15 * 60 * 1'000'000LL);
  EXPECT_EQ(Outcome(request), "ok");
  clock_.AdvanceMicros(1'000'000);
  EXPECT_EQ(Outcome(request),
            "InvalidSignature: Signature expired: 20260101T000000Z is now earlier than "
            "20260101T000001Z (20260101T001501Z - 15 min.)");
  // An old date is reported before a wrong scope, key and signature.
  Header(&request, "authorization") = "AWS4-HMAC-SHA256 Credential=x, SignedHeaders=y, Signature=z";
  EXPECT_EQ(Outcome(request).substr(0, 35), "InvalidSignature: Signature expired");
  clock_.AdvanceMicros(-30 * 60 * 1'000'000LL - 2'000'000);
  request = Signed();
  EXPECT_EQ(Outcome(request),
            "InvalidSignature: Signature not yet current: 20260101T000000Z is still later than "
            "20251231T235959Z (20251231T234459Z + 15 min.)");
  clock_.AdvanceMicros(1'000'000);
  EXPECT_EQ(Outcome(request), "ok");
}

TEST_F(VerifierTest, DateHeaderStandsInForXAmzDate) {
  Request request = Signed();
  // X-Amz-Date comes first; what a Date header says beside it does not matter.
  request.headers.push_back({"Date", "Thu, 01 Jan 2026 00:00:00 GMT"});
  EXPECT_EQ(Outcome(request), "ok");

  Request dated;
  dated.headers = {{"Host", "h"}, {"Date", "20260101T000000Z"}};
  std::string canonical =
      "POST\n/\n\ndate:20260101T000000Z\nhost:h\n\ndate;host\n" + Hex(AsText(Sha256("")));
  const Digest key = DeriveSigningKey("secret", "20260101", "us-east-1", "dynamodb");
  const std::string scope = "20260101/us-east-1/dynamodb/aws4_request";
  dated.headers.push_back(
      {"Authorization",
       "AWS4-HMAC-SHA256 Credential=AKIATEST/" + scope + ",SignedHeaders=date;host,Signature=" +
           Hex(AsText(
               HmacSha256(AsText(key), StringToSign("20260101T000000Z", scope, canonical))))});
  EXPECT_EQ(Outcome(dated), "ok");
}

TEST_F(VerifierTest, PresignedRequestsExpireEarlyButNeverLate) {
  Request request = Presigned(60);
  clock_.AdvanceMicros(60'000'000);
  EXPECT_EQ(Outcome(request), "ok");
  clock_.AdvanceMicros(1'000'000);
  EXPECT_EQ(Outcome(request),
            "InvalidSignature: Signature expired: 20260101T000000Z is now earlier than "
            "20260101T000001Z (20260101T000101Z - 60 sec.)");
  request = Presigned(604'800);
  clock_.AdvanceMicros(15 * 60 * 1'000'000LL);
  EXPECT_EQ(Outcome(request),
            "InvalidSignature: Signature expired: 20260101T000000Z is now earlier than "
            "20260101T000101Z (20260101T001601Z - 15 min.)");
  for (const int64_t seconds : {int64_t{0}, int64_t{-1}, int64_t{604'801}}) {
    clock_.AdvanceMicros(kNow - clock_.NowMicros());
    EXPECT_EQ(Outcome(Presigned(seconds)).substr(0, 38), "IncompleteSignature: X-Amz-Expires mus");
  }
}

TEST_F(VerifierTest, HostThenAlgorithmThenCredential) {
  Request request = Signed();
  std::string& authorization = Header(&request, "authorization");
  Replace(&authorization, "host;", "");
  Replace(&authorization, "AWS4-HMAC-SHA256", "AWS4-ECDSA-P256-SHA256");
  EXPECT_EQ(Outcome(request),
            "InvalidSignature: 'Host' must be a 'SignedHeader' in the AWS Authorization.");
  Replace(&authorization, "SignedHeaders=", "SignedHeaders=host;");
  Replace(&authorization, "Credential=AKIATEST", "Credential=AKIATEST/more");
  EXPECT_EQ(Outcome(request),
            "IncompleteSignature: Unsupported AWS 'algorithm': 'AWS4-ECDSA-P256-SHA256' (only "
            "AWS4-HMAC-SHA256 for now). ");
  Replace(&authorization, "AWS4-ECDSA-P256-SHA256", "AWS4-HMAC-SHA256");
  EXPECT_EQ(Outcome(request),
            "IncompleteSignature: Credential must have exactly 5 slash-delimited elements, e.g. "
            "keyid/date/region/service/term, got "
            "'AKIATEST/more/20260101/us-east-1/dynamodb/aws4_request'");
}

// A request whose operation is not signed would serve for every operation that takes its body.
TEST_F(VerifierTest, TheHeaderOfTheOperationIsSigned) {
  constexpr char kUnsigned[] =
      "InvalidSignature: 'X-Amz-Target' must be a 'SignedHeader' in the AWS Authorization.";
  Request presigned = Presigned(60);
  presigned.headers.push_back({"x-amz-Target", "DynamoDB_20120810.DeleteTable"});
  EXPECT_EQ(Outcome(presigned), kUnsigned);
  Request request;
  request.headers = {{"Host", "localhost:8000"}};
  SigningOptions options;
  options.region = "us-east-1";
  options.service = "dynamodb";
  options.now_micros = kNow;
  SignRequest({"AKIATEST", "secret", ""}, options, request.method, request.target, request.body,
              &request.headers);
  EXPECT_EQ(Outcome(request), "ok");
  request.headers.push_back({"X-Amz-Target", "DynamoDB_20120810.DeleteTable"});
  EXPECT_EQ(Outcome(request), kUnsigned);
  // A wrong signature is not told what else is missing.
  Header(&request, "authorization").back() ^= 1;
  EXPECT_EQ(Outcome(request), kMismatch);
}

TEST_F(VerifierTest, WrongScopeIsNamedInOneMessage) {
  Request request = Signed();
  std::string& authorization = Header(&request, "authorization");
  Replace(&authorization, "20260101/us-east-1/dynamodb/aws4_request", "20260102/x/s3/aws3_request");
  const std::string_view regions[] = {"us-east-1", "eu-west-1"};
  EXPECT_EQ(Outcome(request, regions),
            "InvalidSignature: Credential should be scoped to a valid region. Credential should be "
            "scoped to correct service: 'dynamodb'. Credential should be scoped with a valid "
            "terminator: 'aws4_request', not 'aws3_request'. Date in Credential scope does not "
            "match YYYYMMDD from ISO-8601 version of date from HTTP: '20260102' != '20260101', "
            "from '20260101T000000Z'. ");
  request = Signed();
  EXPECT_EQ(Outcome(request, regions), "ok");
  Replace(&Header(&request, "authorization"), "us-east-1", "no_region");
  EXPECT_EQ(Outcome(request), "InvalidSignature: Credential should be scoped to a valid region. ");
}

TEST_F(VerifierTest, UnknownAndInactiveKeysLookAlike) {
  EXPECT_EQ(Outcome(Signed("AKIAOTHER")), kUnknown);
  keys_.keys["AKIATEST"].state = KeyState::kInactive;
  EXPECT_EQ(Outcome(Signed()), kUnknown);
  EXPECT_EQ(Outcome(Signed("AKIATEST", "wrong")), kUnknown);
  // Both use the dummy's key of the scope, which is cached once.
  EXPECT_EQ(verifier_.dummy_keys().size(), 1u);
  EXPECT_EQ(verifier_.derived_keys().size(), 0u);
}

TEST_F(VerifierTest, DummySecretOpensNothing) {
  EXPECT_EQ(Outcome(Signed("AKIAOTHER", "dummy")), kUnknown);
  EXPECT_EQ(Outcome(Signed("AKIATEST", "dummy")), kMismatch);
}

TEST_F(VerifierTest, KeysAreCachedOnlyAfterASignatureVerified) {
  EXPECT_EQ(Outcome(Signed("AKIATEST", "wrong")), kMismatch);
  EXPECT_EQ(verifier_.derived_keys().size(), 0u);
  EXPECT_EQ(Outcome(Signed()), "ok");
  EXPECT_EQ(verifier_.derived_keys().size(), 1u);
  EXPECT_EQ(Outcome(Signed("AKIATEST", "wrong")), kMismatch);
  // Another secret under the same id: the cached key is of the past.
  keys_.keys["AKIATEST"].secret = "rotated";
  keys_.keys["AKIATEST"].generation = 2;
  EXPECT_EQ(Outcome(Signed()), kMismatch);
  EXPECT_EQ(Outcome(Signed("AKIATEST", "rotated")), "ok");
}

TEST_F(VerifierTest, TokensAreJudgedAfterTheSignature) {
  keys_.keys["ASIATEST"] = {.secret = "secret", .token = "token"};
  EXPECT_EQ(Outcome(Signed("ASIATEST", "secret", "token")), "ok");
  EXPECT_EQ(Outcome(Signed("ASIATEST", "secret")), kBadToken);
  EXPECT_EQ(Outcome(Signed("ASIATEST", "secret", "other")), kBadToken);
  EXPECT_EQ(Outcome(Signed("AKIATEST", "secret", "token")), kBadToken);
  EXPECT_EQ(Outcome(Signed("ASIATEST", "wrong", "other")), kMismatch);
  keys_.keys["ASIATEST"].expired = true;
  EXPECT_EQ(Outcome(Signed("ASIATEST", "secret", "token")),
            "ExpiredToken: The security token included in the request is expired");
  EXPECT_EQ(Outcome(Signed("ASIATEST", "wrong", "token")), kMismatch);
  keys_.keys["AKIATEST"].token = "token";
  EXPECT_EQ(Outcome(Presigned(60, "token")), "ok");
  EXPECT_EQ(Outcome(Presigned(60)), kBadToken);
}

TEST_F(VerifierTest, PayloadHashMustBeThatOfTheBody) {
  // Signed with a hash that the sender claims, in a header that is signed or not.
  for (const bool sign_it : {true, false}) {
    for (const char* claim : {"UNSIGNED-PAYLOAD", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
                              "STREAMING-UNSIGNED-PAYLOAD-TRAILER", "", "0",
                              "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}) {
      const std::string scope = "20260101/us-east-1/dynamodb/aws4_request";
      const std::string names = sign_it ? "host;x-amz-content-sha256" : "host";
      std::string canonical = "POST\n/\n\nhost:h\n";
      if (sign_it) canonical += std::string("x-amz-content-sha256:") + claim + "\n";
      canonical += "\n" + names + "\n" + claim;
      const Digest key = DeriveSigningKey("secret", "20260101", "us-east-1", "dynamodb");
      const std::string signature =
          Hex(AsText(HmacSha256(AsText(key), StringToSign("20260101T000000Z", scope, canonical))));
      Request request;
      request.body = "{}";
      request.headers = {
          {"Host", "h"},
          {"X-Amz-Date", "20260101T000000Z"},
          {"X-Amz-Content-Sha256", claim},
          {"Authorization", "AWS4-HMAC-SHA256 Credential=AKIATEST/" + scope +
                                ", SignedHeaders=" + names + ", Signature=" + signature}};
      EXPECT_EQ(Outcome(request), kMismatch) << claim << sign_it;
      if (std::string_view(claim).size() == 64) {
        request.body.clear();
        EXPECT_EQ(Outcome(request), "ok") << sign_it;
      }
    }
  }
}

TEST_F(VerifierTest, HostMayBeSignedInLowerCase) {
  Request request = Signed();
  Header(&request, "host") = "LocalHost:8000";
  EXPECT_EQ(Outcome(request), "ok");
  request.headers.push_back({"Host", "localhost:8000"});
  EXPECT_EQ(Outcome(request), kMismatch);
}

TEST_F(VerifierTest, SignedHeaderListIsBounded) {
  Request request = Signed();
  std::string names = "host";
  for (int i = 0; i < 4000; ++i) names += ";x";
  Replace(&Header(&request, "authorization"), "host;", names + ";");
  EXPECT_EQ(Outcome(request),
            "InvalidSignature: 'Host' must be a 'SignedHeader' in the AWS Authorization.");
}

TEST(DerivedKeysTest, HoldsABoundedNumberAndKeepsThoseInUse) {
  DerivedKeys cache(1024);
  Digest key{};
  key[0] = 7;
  cache.Insert("hot", 1, key);
  for (int i = 0; i < 100'000; ++i) {
    cache.Insert("cold" + std::to_string(i), 1, Digest{});
    if (i % 8 == 0) {
      Digest found{};
      ASSERT_TRUE(cache.Find("hot", 1, &found)) << i;
      ASSERT_EQ(found[0], 7);
    }
  }
  EXPECT_LE(cache.size(), 1024u);
  EXPECT_FALSE(cache.Find("hot", 2, &key));
  EXPECT_FALSE(cache.Find("cold0", 1, &key));
}

TEST(FindSignatureTest, TellsTheForm) {
  const HeaderLine header[] = {{"AUTHORIZATION", ""}};
  EXPECT_EQ(FindSignature({"GET", "/", header, ""}), SignatureForm::kHeader);
  EXPECT_EQ(FindSignature({"GET", "/?a&X-Amz-Algorithm=x", {}, ""}), SignatureForm::kQuery);
  EXPECT_EQ(FindSignature({"GET", "/?x=X-Amz-Algorithm", {}, ""}), SignatureForm::kNone);
}

}  // namespace
}  // namespace stator::access
