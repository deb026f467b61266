#include "access/web_token.h"

#include <gtest/gtest.h>

#include "access/session.h"
#include "access/test_provider.h"
#include "access/web_claims.h"

namespace stator::access {
namespace {

constexpr char kClaims[] =
    R"({"iss":"https://idp.example/a","sub":"alice","aud":"app","exp":2000,"iat":1000,"amr":["pwd"]})";
constexpr int64_t kNow = 1'500'000'000;

const TestKey& RsaKey() {
  static const TestKey key = TestKey::Rsa();
  return key;
}
const TestKey& EcKey() {
  static const TestKey key = TestKey::Ec();
  return key;
}
std::shared_ptr<const WebKeys> Keys() {
  return WebKeys::Parse(R"({"keys":[)" + RsaKey().Jwk("r") + "," + EcKey().Jwk("e") + "]}").value();
}
std::string Refusal(const std::string& text) {
  const Result<WebToken> token = WebToken::Parse(text);
  if (token.ok()) return "";
  EXPECT_EQ(token.error().code(), ErrorCode::kValidation);
  return token.error().message();
}
std::string RefusalOf(const std::string& claims) { return Refusal(RsaKey().TokenOf("r", claims)); }
// Whether a token, as it stands, is one of the keys'.
bool IsGood(const std::string& text) {
  const Result<WebToken> token = WebToken::Parse(text);
  return token.ok() && Keys()->Verify(*token);
}

TEST(WebToken, BothAlgorithmsVerify) {
  for (const auto& [key, id] : {std::pair(&RsaKey(), "r"), std::pair(&EcKey(), "e")}) {
    const Result<WebToken> token = WebToken::Parse(key->TokenOf(id, kClaims));
    ASSERT_TRUE(token.ok()) << token.error().message();
    EXPECT_EQ(token->issuer, "https://idp.example/a");
    EXPECT_EQ(token->subject, "alice");
    EXPECT_EQ(token->audience, "app");
    EXPECT_EQ(token->methods, std::vector<std::string>{"pwd"});
    EXPECT_TRUE(Keys()->Verify(*token));
    EXPECT_TRUE(token->CheckTimes(kNow).ok());
  }
}

TEST(WebToken, AnyChangedByteIsRefused) {
  for (const std::string& good : {RsaKey().TokenOf("r", kClaims), EcKey().TokenOf("e", kClaims)}) {
    ASSERT_TRUE(IsGood(good));
    for (size_t i = 0; i < good.size(); ++i) {
      std::string changed = good;
      changed[i] = changed[i] == 'A' ? 'B' : 'A';
      EXPECT_FALSE(IsGood(changed)) << i;
      changed = good;
      changed.erase(i, 1);
      EXPECT_FALSE(IsGood(changed)) << i;
    }
    EXPECT_FALSE(IsGood(good + "="));
    EXPECT_FALSE(IsGood(good + "A"));
    EXPECT_FALSE(IsGood(good + "."));
    EXPECT_FALSE(IsGood(" " + good));
  }
}

TEST(WebToken, AlgorithmsAreNotConfused) {
  const std::string claims = UrlSafe(kClaims);
  for (const std::string_view name : {"none", "None", "NONE", "HS256", "HS512", "RS512", "PS256",
                                      "ES384", "rs256", "RS256 ", "EdDSA", ""}) {
    const std::string head = UrlSafe(R"({"alg":")" + std::string(name) + R"(","kid":"r"})");
    EXPECT_NE(Refusal(head + "." + claims + "."), "") << name;
    // The public key as a shared secret: no secret at all.
    const std::string mac(AsText(HmacSha256(RsaKey().Jwk("r"), head + "." + claims)));
    EXPECT_NE(Refusal(head + "." + claims + "." + UrlSafe(mac)), "") << name;
  }
  EXPECT_NE(Refusal(UrlSafe(R"({"kid":"r"})") + "." + claims + ".AAAA"), "");
  EXPECT_NE(Refusal(UrlSafe(R"({"alg":["RS256"],"kid":"r"})") + "." + claims + ".AAAA"), "");
  // A key of the other kind, under its own name and under both names.
  EXPECT_FALSE(IsGood(RsaKey().Token(R"({"alg":"ES256","kid":"r"})", kClaims)));
  EXPECT_FALSE(IsGood(RsaKey().Token(R"({"alg":"ES256","kid":"e"})", kClaims)));
  EXPECT_FALSE(IsGood(EcKey().Token(R"({"alg":"RS256","kid":"e"})", kClaims)));
  EXPECT_FALSE(IsGood(EcKey().Token(R"({"alg":"RS256","kid":"r"})", kClaims)));
  EXPECT_FALSE(IsGood(EcKey().Token(R"({"alg":"ES256","alg":"ES256","kid":"e"})", kClaims)));
}

TEST(WebToken, OnlyTheProvidersKeysCount) {
  const TestKey stranger = TestKey::Rsa();
  EXPECT_FALSE(IsGood(stranger.TokenOf("r", kClaims)));
  // Keys in the header, and places that it names, are not looked at.
  EXPECT_FALSE(IsGood(stranger.Token(
      R"({"alg":"RS256","kid":"r","jku":"https://evil.example/","jwk":)" + stranger.Jwk("r") + "}",
      kClaims)));
  for (const std::string_view id : {"", "R", "../r", "r\\u0000", "x", "e"}) {
    EXPECT_FALSE(
        IsGood(RsaKey().Token(R"({"alg":"RS256","kid":")" + std::string(id) + "\"}", kClaims)))
        << id;
  }
  EXPECT_FALSE(IsGood(RsaKey().Token(R"({"alg":"RS256"})", kClaims)));
  EXPECT_FALSE(IsGood(RsaKey().Token(R"({"alg":"RS256","kid":7})", kClaims)));
  EXPECT_FALSE(
      IsGood(RsaKey().Token(R"({"alg":"RS256","kid":")" + std::string(256, 'r') + "\"}", kClaims)));
  EXPECT_NE(
      Refusal(RsaKey().Token(R"({"alg":"RS256","kid":"r","crit":["b64"],"b64":false})", kClaims))
          .find("critical"),
      std::string::npos);
  // r and s of other lengths, and zeros.
  const std::string text = EcKey().TokenOf("e", kClaims);
  const std::string head = text.substr(0, text.rfind('.') + 1);
  for (const size_t size : {1, 63, 65, 72, 128})
    EXPECT_FALSE(IsGood(head + UrlSafe(std::string(size, '\x01'))));
  EXPECT_FALSE(IsGood(head + UrlSafe(std::string(64, '\0'))));
  EXPECT_FALSE(IsGood(head + UrlSafe(std::string(64, '\xff'))));
}

TEST(WebToken, ClaimsAreChecked) {
  EXPECT_EQ(RefusalOf(kClaims), "");
  const auto with = [](const std::string& rest) {
    return R"({"iss":"https://i","sub":"s","aud":"a","exp":2000,"iat":1000)" + rest + "}";
  };
  EXPECT_EQ(RefusalOf(with("")), "");
  EXPECT_EQ(RefusalOf(R"({"sub":"s","aud":"a","exp":2,"iat":1})"), "Missing a required claim: iss");
  EXPECT_EQ(RefusalOf(R"({"iss":"i","aud":"a","exp":2,"iat":1})"), "Missing a required claim: sub");
  EXPECT_EQ(RefusalOf(R"({"iss":"i","sub":"s","exp":2,"iat":1})"), "Missing a required claim: aud");
  EXPECT_EQ(RefusalOf(R"({"iss":"i","sub":"s","aud":[],"exp":2,"iat":1})"),
            "Missing a required claim: aud");
  EXPECT_EQ(RefusalOf(R"({"iss":"i","sub":"s","aud":"a","iat":1})"),
            "Missing a required claim: exp");
  EXPECT_EQ(RefusalOf(R"({"iss":"i","sub":"s","aud":"a","exp":2})"),
            "Missing a required claim: iat");
  EXPECT_NE(RefusalOf(with(R"(,"sub":"t")")), "") << "a claim that occurs twice";
  EXPECT_NE(RefusalOf(with(R"(,"https://aws.amazon.com/tags":{})")), "");
  EXPECT_NE(RefusalOf(with(R"(,"https://aws.amazon.com/source_identity":"x")")), "");
  for (const std::string_view exp : {"\"2000\"", "-1", "1e300", "null", "true", "[1]", "9e18"}) {
    EXPECT_NE(
        RefusalOf(R"({"iss":"i","sub":"s","aud":"a","iat":1,"exp":)" + std::string(exp) + "}"), "")
        << exp;
  }
  EXPECT_EQ(RefusalOf(R"({"iss":"i","sub":"s","aud":"a","iat":1.5,"exp":2.5e3})"), "");
  for (const std::string_view sub :
       {"\"\"", "7", "null", "\"a\\u0000b\"", "\"a\\nb\"", "[\"s\"]"}) {
    EXPECT_NE(RefusalOf(R"({"iss":"i","aud":"a","exp":2,"iat":1,"sub":)" + std::string(sub) + "}"),
              "")
        << sub;
  }
  EXPECT_NE(
      RefusalOf(R"({"iss":"i","aud":"a","exp":2,"iat":1,"sub":")" + std::string(256, 's') + "\"}"),
      "");
  for (const std::string_view text :
       {"", ".", "..", "a.b.c", "e30.e30.", "e30.e30.AA", "a.b", "...."})
    EXPECT_NE(Refusal(std::string(text)), "") << text;
  EXPECT_NE(RefusalOf("[]"), "");
  EXPECT_NE(RefusalOf(std::string(9, '[') + std::string(9, ']')), "");
  EXPECT_NE(RefusalOf(with(R"(,"x":")" + std::string(kMaxWebTokenBytes, 'x') + "\"")), "");
}

TEST(WebToken, TheAudienceIsOne) {
  const auto audience = [](const std::string& claims) {
    const Result<WebToken> token = WebToken::Parse(
        RsaKey().TokenOf("r", R"({"iss":"i","sub":"s","exp":2,"iat":1,)" + claims + "}"));
    return token.ok() ? token->audience : "";
  };
  EXPECT_EQ(audience(R"("aud":"a")"), "a");
  EXPECT_EQ(audience(R"("aud":["a"])"), "a");
  EXPECT_EQ(audience(R"("aud":["a","b"])"), "");
  EXPECT_EQ(audience(R"("aud":["a","b"],"azp":"b")"), "b");
  EXPECT_EQ(audience(R"("aud":"a","azp":"b")"), "b");
  EXPECT_EQ(audience(R"("aud":"a","azp":7)"), "");
  EXPECT_EQ(audience(R"("aud":["a",7],"azp":"b")"), "");
  EXPECT_EQ(audience(R"("azp":"b")"), "");
}

TEST(WebToken, TimesHaveALeewayBeforeAndNoneBehind) {
  WebToken token;
  token.issued_micros = 1'000'000'000;
  token.expires_micros = 2'000'000'000;
  EXPECT_TRUE(token.CheckTimes(token.issued_micros - kWebTokenLeewayMicros).ok());
  EXPECT_FALSE(token.CheckTimes(token.issued_micros - kWebTokenLeewayMicros - 1).ok());
  EXPECT_TRUE(token.CheckTimes(token.expires_micros - 1).ok());
  EXPECT_EQ(token.CheckTimes(token.expires_micros).error().code(), ErrorCode::kExpiredToken);
  token.not_before_micros = 1'600'000'000;
  EXPECT_FALSE(token.CheckTimes(1'500'000'000).ok());
  EXPECT_TRUE(token.CheckTimes(1'540'000'000).ok());
}

TEST(WebKeys, KeysThatMayNotSignArePassedOver) {
  const auto has = [](const std::string& keys, TokenAlgorithm algorithm, std::string_view id) {
    const auto parsed = WebKeys::Parse(R"({"keys":[)" + keys + "]}");
    return parsed.ok() && (*parsed)->Has(algorithm, id);
  };
  constexpr auto kRsa = TokenAlgorithm::kRs256, kEc = TokenAlgorithm::kEs256;
  EXPECT_TRUE(
      has(RsaKey().Jwk("r", R"(,"use":"sig","alg":"RS256","key_ops":["verify"])"), kRsa, "r"));
  EXPECT_FALSE(has(RsaKey().Jwk("r"), kEc, "r"));
  EXPECT_FALSE(has(RsaKey().Jwk("r", R"(,"use":"enc")"), kRsa, "r"));
  EXPECT_FALSE(has(RsaKey().Jwk("r", R"(,"alg":"RS512")"), kRsa, "r"));
  EXPECT_FALSE(has(RsaKey().Jwk("r", R"(,"key_ops":["encrypt"])"), kRsa, "r"));
  EXPECT_FALSE(has(TestKey::Rsa(1024).Jwk("r"), kRsa, "r"));
  EXPECT_FALSE(has(R"({"kid":"o","kty":"oct","k":"c2VjcmV0"})", kRsa, "o"));
  EXPECT_FALSE(has(R"({"kid":"r","kty":"RSA","n":"AQAB","e":"AQAB"})", kRsa, "r"));
  EXPECT_FALSE(has(R"({"kid":"e","kty":"EC","crv":"P-256","x":")" + UrlSafe(std::string(32, 1)) +
                       R"(","y":")" + UrlSafe(std::string(32, 1)) + "\"}",
                   kEc, "e"))
      << "a point that is not on the curve";
  EXPECT_FALSE(has(R"({"kid":"e","kty":"EC","crv":"P-384","x":"","y":""})", kEc, "e"));
  // One bad key does not hide a good one, and the first of a name stands.
  EXPECT_TRUE(has("7," + RsaKey().Jwk("r"), kRsa, "r"));
  const auto keys =
      WebKeys::Parse(R"({"keys":[)" + RsaKey().Jwk("r") + "," + TestKey::Rsa().Jwk("r") + "]}");
  ASSERT_TRUE(keys.ok());
  EXPECT_TRUE((*keys)->Verify(*WebToken::Parse(RsaKey().TokenOf("r", kClaims))));
  for (const std::string_view text : {"", "{}", "[]", R"({"keys":[]})", R"({"keys":{}})", "7"})
    EXPECT_FALSE(WebKeys::Parse(text).ok()) << text;
  EXPECT_FALSE(WebKeys::Parse(std::string(WebKeys::kMaxDocumentBytes + 1, ' ')).ok());
  std::string many;
  for (size_t i = 0; i < WebKeys::kMaxKeys; ++i) many += R"({"kty":"oct"},)";
  EXPECT_FALSE(has(many + RsaKey().Jwk("r"), kRsa, "r")) << "beyond the bound";
}

TEST(WebClaims, AreKeysOfTheProvider) {
  const WebClaims claims("arn:aws:iam::111122223333:oidc-provider/idp.example:8443/a", "alice",
                         "app", {"pwd", "mfa"});
  RequestContext context;
  claims.SetContext(&context);
  const auto* subject = context.Find(ResolveKey("idp.example:8443/a:sub"));
  ASSERT_NE(subject, nullptr);
  EXPECT_EQ(subject->text, "alice");
  EXPECT_EQ(context.Find(ResolveKey("IDP.example:8443/a:AUD"))->text, "app");
  EXPECT_EQ(context.Find(ResolveKey("idp.example:8443/a:amr"))->list.size(), 2u);
  EXPECT_EQ(context.Find(ResolveKey("idp.example:sub")), nullptr);
}

// Older versions open the tokens of sessions without claims, and refuse those with them.
TEST(WebClaims, StandInTheSessionsToken) {
  SystemSecureRandom random;
  const Keyring keyring = Keyring::FromKeys({std::string(32, 'm')}).value();
  Session session;
  session.key_id = "ASIA";
  const size_t plain = SealSession(session, keyring, &random)->size();
  session.web = {"alice", "app", "pwd"};
  const std::string token = *SealSession(session, keyring, &random);
  EXPECT_GT(token.size(), plain);
  const Result<Session> opened = OpenSession(token, keyring);
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened->web, session.web);
  session.web = {"alice"};
  EXPECT_FALSE(OpenSession(*SealSession(session, keyring, &random), keyring).ok());
}

}  // namespace
}  // namespace stator::access
