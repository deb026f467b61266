// AssumeRoleWithWebIdentity over a store in memory, with a provider whose documents are in memory.
#include "iam/web_identity.h"

#include <gtest/gtest.h>

#include <future>
#include <map>

#include "access/test_provider.h"
#include "base/log.h"
#include "base/random.h"
#include "iam/service.h"
#include "iam/test_form.h"
#include "kv/memory_engine.h"
#include "table/store.h"

namespace stator::iam {
namespace {

constexpr char kAccount[] = "111122223333";
constexpr char kIssuer[] = "https://idp.example/a";
constexpr char kProvider[] = "arn:aws:iam::111122223333:oidc-provider/idp.example/a";
constexpr int64_t kSecond = 1'000'000;

class Documents final : public DocumentSource {
 public:
  Result<std::string> Get(const egress::Url& url, int64_t) override {
    ++asked;
    const auto found = texts.find(url.origin() + url.target);
    if (found == texts.end()) return Error(ErrorCode::kUnavailable, "none");
    return found->second;
  }
  void Cancel() override {}
  std::map<std::string, std::string> texts;
  int asked = 0;
};

class WebIdentityTest : public testing::Test {
 protected:
  WebIdentityTest()
      : store_(table::Store::Open(engine_, clock_, workers_).value()),
        env_{*store_, clock_, seeded_, workers_, {}} {
    SetLogLevel(LogLevel::kOff);
    Open();
    SetKeys(key_.Jwk("1"));
  }
  ~WebIdentityTest() override {
    service_.reset();
    workers_.Stop();
    SetLogLevel(LogLevel::kInfo);
  }

  // Opens the identities anew, as a server that starts does.
  void Open() {
    service_.reset();
    gate_.reset();
    identity::Identities::Options options;
    options.account = kAccount;
    options.root = identity::KeyPair{root_.id, root_.secret};
    options.keyring = std::make_shared<access::Keyring>(
        access::Keyring::FromKeys({std::string(32, 'm')}).value());
    identities_ = identity::Identities::Open(engine_, clock_, random_, std::move(options)).value();
    gate_ = std::make_unique<guard::Gate>(
        clock_, *identities_,
        guard::Gate::Options{guard::Mode::kEnforce, kAccount, "us-east-1", "dummy"});
    auto documents = std::make_unique<Documents>();
    if (documents_ != nullptr) documents->texts = texts_;
    documents_ = documents.get();
    service_ = std::make_unique<Service>(*identities_, *gate_, env_, nullptr, std::move(documents));
  }
  void SetKeys(const std::string& jwks) {
    texts_[std::string(kIssuer) + "/.well-known/openid-configuration"] =
        R"({"issuer":")" + std::string(kIssuer) + R"(","jwks_uri":"https://idp.example/k"})";
    texts_["https://idp.example/k"] = R"({"keys":[)" + jwks + "]}";
    documents_->texts = texts_;
  }

  Reply Send(const access::HttpRequestView& http) {
    Result<Prepared> prepared = service_->Prepare(http);
    if (!prepared.ok()) return service_->RenderError(prepared.error(), false);
    std::promise<void> ready;
    service_->FetchKeys(*prepared, [&ready] { ready.set_value(); });
    ready.get_future().wait();
    return service_->Run(*std::move(prepared), http, nullptr);
  }
  Reply Ask(const KeyOf& key, const std::string& form) {
    const bool sts = form.find("GetCallerIdentity") != std::string::npos;
    return Send(SignedForm(key, form, sts, clock_.NowMicros()).http());
  }
  std::string Ok(const std::string& form) {
    const Reply reply = Ask(root_, form);
    EXPECT_EQ(reply.status, 200) << form << ": " << reply.body;
    return reply.body;
  }
  // An unsigned call.
  Reply Assume(const std::string& token, const std::string& more = "",
               const std::string& role = "web") {
    const std::string body =
        "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleSessionName=s1&RoleArn="
        "arn:aws:iam::111122223333:role/" +
        role + "&WebIdentityToken=" + token + more;
    const std::vector<access::HeaderLine> lines = {
        {"Host", "localhost"}, {"Content-Type", "application/x-www-form-urlencoded"}};
    return Send({"POST", "/", lines, body});
  }
  static void ExpectError(const Reply& reply, int status, const std::string& code,
                          const std::string& text = "") {
    EXPECT_EQ(reply.status, status) << reply.body;
    EXPECT_EQ(reply.error, code) << reply.body;
    EXPECT_NE(reply.message.find(text), std::string::npos) << reply.body;
  }
  std::string Token(const std::string& more = "", const std::string& audience = "app",
                    const std::string& subject = "alice") const {
    const int64_t now = clock_.NowMicros() / kSecond;
    return key_.TokenOf("1", R"({"iss":")" + std::string(kIssuer) + R"(","sub":")" + subject +
                                 R"(","aud":")" + audience + R"(","iat":)" + std::to_string(now) +
                                 R"(,"exp":)" + std::to_string(now + 600) + more + "}");
  }
  // The provider, and a role for its subject alice.
  void MakeRole(const std::string& condition =
                    R"({"StringEquals":{"idp.example/a:sub":"alice","idp.example/a:aud":"app"}})") {
    Ok(std::string("Action=CreateOpenIDConnectProvider&ClientIDList.member.1=app&Url=") + kIssuer);
    Ok("Action=CreateRole&RoleName=web&AssumeRolePolicyDocument=" +
       Document(R"({"Effect":"Allow","Principal":{"Federated":")" + std::string(kProvider) +
                R"("},"Action":"sts:AssumeRoleWithWebIdentity","Condition":)" + condition + "}"));
    Ok("Action=PutRolePolicy&RoleName=web&PolicyName=p&PolicyDocument=" +
       Document(R"({"Effect":"Allow","Action":"iam:ListUsers","Resource":"*"},
                   {"Effect":"Allow","Action":"iam:GetUser",
                    "Resource":"arn:aws:iam::*:user/${idp.example/a:sub}"})"));
  }

  kv::MemoryEngine engine_;
  const KeyOf root_{"AKIAROOTROOTROOTROOT", "root's secret"};
  ManualClock clock_;
  SeededRandom seeded_{1};
  access::SystemSecureRandom random_;
  WorkerPool workers_{1, 100};
  std::unique_ptr<table::Store> store_;
  ops::Environment env_;
  const access::TestKey key_ = access::TestKey::Ec();
  std::map<std::string, std::string> texts_;
  Documents* documents_ = nullptr;
  std::unique_ptr<identity::Identities> identities_;
  std::unique_ptr<guard::Gate> gate_;
  std::unique_ptr<Service> service_;
};

TEST_F(WebIdentityTest, ATokenGivesARoleItsRights) {
  MakeRole();
  const Reply reply = Assume(Token());
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(Between(reply.body, "SubjectFromWebIdentityToken"), "alice");
  EXPECT_EQ(Between(reply.body, "Audience"), "app");
  EXPECT_EQ(Between(reply.body, "Provider"), kIssuer);
  EXPECT_EQ(Between(reply.body, "Arn"), "arn:aws:sts::111122223333:assumed-role/web/s1");
  const KeyOf session{Between(reply.body, "AccessKeyId"), Between(reply.body, "SecretAccessKey"),
                      Between(reply.body, "SessionToken")};
  EXPECT_EQ(Ask(session, "Action=ListUsers").status, 200);
  ExpectError(Ask(session, "Action=ListRoles"), 403, "AccessDenied");
  // The claims are condition keys of the session.
  Ok("Action=CreateUser&UserName=alice");
  Ok("Action=CreateUser&UserName=bob");
  EXPECT_EQ(Ask(session, "Action=GetUser&UserName=alice").status, 200);
  ExpectError(Ask(session, "Action=GetUser&UserName=bob"), 403, "AccessDenied");
  // A server that starts has no keys: it fetches them.
  Open();
  EXPECT_EQ(Assume(Token()).status, 200);
  EXPECT_EQ(documents_->asked, 2);
  EXPECT_EQ(Assume(Token()).status, 200);
  EXPECT_EQ(documents_->asked, 2) << "the keys are kept";
  EXPECT_EQ(Ask(session, "Action=ListUsers").status, 200);
  clock_.AdvanceMicros(3601 * kSecond);
  ExpectError(Ask(session, "Action=ListUsers"), 403, "ExpiredToken");
}

TEST_F(WebIdentityTest, WrongTokensGetTheErrorsOfSts) {
  MakeRole();
  const std::string good = Token();
  ASSERT_EQ(Assume(good).status, 200);
  ExpectError(Assume(""), 400, "ValidationError");
  ExpectError(Assume("no-token"), 400, "InvalidIdentityToken", "not a valid JWT");
  ExpectError(Assume(Token("", "other")), 400, "InvalidIdentityToken", "Incorrect token audience");
  ExpectError(Assume(good, "&ProviderId=www.amazon.com"), 400, "ValidationError");
  ExpectError(Assume(access::TestKey::Ec().TokenOf("1", R"({"iss":"https://idp.example/a",
      "sub":"alice","aud":"app","iat":0,"exp":99999999999})")),
              400, "InvalidIdentityToken", "signature");
  ExpectError(Assume(key_.TokenOf("1", R"({"iss":"https://idp.example","sub":"alice","aud":"app",
      "iat":0,"exp":99999999999})")),
              400, "InvalidIdentityToken", "No OpenIDConnect provider found");
  ExpectError(Assume(key_.TokenOf("2", R"({"iss":"https://idp.example/a","sub":"alice",
      "aud":"app","iat":0,"exp":99999999999})")),
              400, "InvalidIdentityToken", "Couldn't retrieve verification key");
  ExpectError(Assume(good, "&DurationSeconds=7200"), 400, "ValidationError", "MaxSessionDuration");
  ExpectError(Assume(good, "&Policy=nonsense"), 400, "MalformedPolicyDocument");
  ExpectError(Assume(good, "&Policy=" + Document(R"({"Effect":"Allow","Action":"*","Resource":")" +
                                                 std::string("arn:aws:dynamodb:::") +
                                                 std::string(2048, 'x') + "\"}")),
              400, "PackedPolicyTooLarge");
  const int before = documents_->asked;
  clock_.AdvanceMicros(601 * kSecond);
  ExpectError(Assume(good), 400, "ExpiredTokenException", "Token expired");
  EXPECT_EQ(documents_->asked, before) << "nothing is fetched for it";
}

TEST_F(WebIdentityTest, TheTrustPolicyDecides) {
  MakeRole();
  const std::string denied = "Not authorized to perform sts:AssumeRoleWithWebIdentity";
  ExpectError(Assume(Token("", "app", "bob")), 403, "AccessDenied", denied);
  ExpectError(Assume(Token(), "", "none"), 403, "AccessDenied", denied);
  const auto trust = [&](const std::string& statement) {
    Ok("Action=UpdateAssumeRolePolicy&RoleName=web&PolicyDocument=" + Document(statement));
    return Assume(Token(R"(,"amr":["pwd","otp"])")).status;
  };
  const auto of = [](const std::string& provider, const std::string& action,
                     const std::string& condition = "{}") {
    return R"({"Effect":"Allow","Principal":{"Federated":")" + provider + R"("},"Action":")" +
           action + R"(","Condition":)" + condition + "}";
  };
  const std::string web = "sts:AssumeRoleWithWebIdentity";
  EXPECT_EQ(trust(of(kProvider, web)), 200);
  EXPECT_EQ(trust(of(kProvider, "sts:AssumeRole")), 403);
  EXPECT_EQ(trust(of(std::string(kProvider) + "b", web)), 403);
  EXPECT_EQ(trust(of("idp.example/a", web)), 403);
  EXPECT_EQ(
      trust(R"({"Effect":"Allow","Principal":{"AWS":"111122223333"},"Action":")" + web + "\"}"),
      403);
  EXPECT_EQ(
      trust(of(kProvider, web, R"({"ForAnyValue:StringEquals":{"idp.example/a:amr":"otp"}})")),
      200);
  EXPECT_EQ(
      trust(of(kProvider, web, R"({"ForAnyValue:StringEquals":{"idp.example/a:amr":"face"}})")),
      403);
  EXPECT_EQ(trust(of(kProvider, web, R"({"StringEquals":{"other.example:sub":"alice"}})")), 403);
  EXPECT_EQ(trust(of(kProvider, web) + "," +
                  R"({"Effect":"Deny","Principal":"*","Action":"sts:AssumeRoleWithWebIdentity",
                      "Condition":{"StringLike":{"idp.example/a:sub":"al*"}}})"),
            403);
}

TEST_F(WebIdentityTest, AProviderThatFailsIsNotAskedAgainAtOnce) {
  MakeRole();
  documents_->texts.clear();
  ExpectError(Assume(Token()), 400, "IDPCommunicationError");
  const int asked = documents_->asked;
  ExpectError(Assume(Token()), 400, "IDPCommunicationError");
  EXPECT_EQ(documents_->asked, asked);
  SetKeys(key_.Jwk("1"));
  clock_.AdvanceMicros(ProviderKeys::kRetryMicros);
  EXPECT_EQ(Assume(Token()).status, 200);
}

TEST_F(WebIdentityTest, ProvidersAreManagedByTheCallsOfIam) {
  const std::string thumbprint(40, 'a');
  const std::string create = std::string("Action=CreateOpenIDConnectProvider&Url=") + kIssuer;
  EXPECT_EQ(Between(Ok(create + "&ThumbprintList.member.1=" + thumbprint +
                       "&Tags.member.1.Key=k&Tags.member.1.Value=v"),
                    "OpenIDConnectProviderArn"),
            kProvider);
  ExpectError(Ask(root_, create), 409, "EntityAlreadyExists");
  ExpectError(Ask(root_, create + "b&ThumbprintList.member.1=zz"), 400, "InvalidInput");
  ExpectError(Ask(root_, "Action=CreateOpenIDConnectProvider&Url=http://idp.example"), 400,
              "InvalidInput", "https");
  const std::string arn = std::string("&OpenIDConnectProviderArn=") + kProvider;
  Ok("Action=AddClientIDToOpenIDConnectProvider&ClientID=one" + arn);
  Ok("Action=AddClientIDToOpenIDConnectProvider&ClientID=two" + arn);
  Ok("Action=AddClientIDToOpenIDConnectProvider&ClientID=two" + arn);
  Ok("Action=RemoveClientIDFromOpenIDConnectProvider&ClientID=one" + arn);
  Ok("Action=RemoveClientIDFromOpenIDConnectProvider&ClientID=none" + arn);
  Ok("Action=UpdateOpenIDConnectProviderThumbprint&ThumbprintList.member.1=" +
     std::string(40, 'B') + arn);
  Ok("Action=TagOpenIDConnectProvider&Tags.member.1.Key=x&Tags.member.1.Value=y" + arn);
  Ok("Action=UntagOpenIDConnectProvider&TagKeys.member.1=k" + arn);
  Open();
  const std::string shown = Ok("Action=GetOpenIDConnectProvider" + arn);
  EXPECT_EQ(Between(shown, "Url"), "idp.example/a");
  EXPECT_EQ(Between(shown, "ClientIDList"), "<member>two</member>");
  EXPECT_EQ(Between(shown, "ThumbprintList"), "<member>" + std::string(40, 'B') + "</member>");
  EXPECT_EQ(Between(shown, "Tags"), "<member><Key>x</Key><Value>y</Value></member>");
  EXPECT_EQ(Between(Ok("Action=ListOpenIDConnectProviderTags" + arn), "Tags"),
            "<member><Key>x</Key><Value>y</Value></member>");
  EXPECT_EQ(Between(Ok("Action=ListOpenIDConnectProviders"), "Arn"), kProvider);
  // Rights are on the provider.
  Ok("Action=CreateUser&UserName=alice");
  const std::string made = Ok("Action=CreateAccessKey&UserName=alice");
  const KeyOf alice{Between(made, "AccessKeyId"), Between(made, "SecretAccessKey"), {}};
  ExpectError(Ask(alice, "Action=GetOpenIDConnectProvider" + arn), 403, "AccessDenied", kProvider);
  Ok("Action=PutUserPolicy&UserName=alice&PolicyName=p&PolicyDocument=" +
     Document(R"({"Effect":"Allow","Action":"iam:*OpenIDConnectProvider","Resource":")" +
              std::string(kProvider) +
              R"(","Condition":{"StringEquals":{"aws:ResourceTag/x":"y"}}})"));
  EXPECT_EQ(Ask(alice, "Action=GetOpenIDConnectProvider" + arn).status, 200);
  ExpectError(Ask(alice, create + "b"), 403, "AccessDenied", "oidc-provider/idp.example/ab");
  Ok("Action=DeleteOpenIDConnectProvider" + arn);
  Ok("Action=DeleteOpenIDConnectProvider" + arn);
  ExpectError(Ask(root_, "Action=GetOpenIDConnectProvider" + arn), 404, "NoSuchEntity");
  ExpectError(Assume(Token()), 400, "InvalidIdentityToken", "No OpenIDConnect provider found");
}

TEST_F(WebIdentityTest, ClientIdsAreBounded) {
  Ok(std::string("Action=CreateOpenIDConnectProvider&Url=") + kIssuer);
  const std::string add = std::string(
                              "Action=AddClientIDToOpenIDConnectProvider"
                              "&OpenIDConnectProviderArn=") +
                          kProvider + "&ClientID=";
  for (int i = 0; i < 100; ++i) Ok(add + std::to_string(i));
  ExpectError(Ask(root_, add + "100"), 409, "LimitExceeded");
  ExpectError(Ask(root_, add), 400, "ValidationError");
  ExpectError(Ask(root_, add + std::string(256, 'c')), 400, "ValidationError");
}

}  // namespace
}  // namespace stator::iam
