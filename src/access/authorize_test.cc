#include "access/authorize.h"

#include <gtest/gtest.h>

namespace stator::access {
namespace {

constexpr char kOwn[] = "111122223333";
constexpr char kOther[] = "444455556666";
constexpr char kAlice[] = "arn:aws:iam::111122223333:user/team/alice";
constexpr char kRole[] = "arn:aws:iam::111122223333:role/app";
constexpr char kSession[] = "arn:aws:sts::111122223333:assumed-role/app/s1";
constexpr char kRoot[] = "arn:aws:iam::111122223333:root";
constexpr char kTable[] = "arn:aws:dynamodb:eu-central-1:111122223333:table/Music";
constexpr char kAllowAll[] = R"({"Effect": "Allow", "Action": "*", "Resource": "*"})";
constexpr char kDenyAll[] = R"({"Sid": "No", "Effect": "Deny", "Action": "*", "Resource": "*"})";
constexpr char kAllowPut[] =
    R"({"Effect": "Allow", "Action": "dynamodb:PutItem", "Resource": "*"})";

class AuthorizeTest : public testing::Test {
 public:
  std::shared_ptr<const Policy> Parse(std::string_view statement, PolicyKind kind) {
    auto policy = Policy::Parse(
        R"({"Version": "2012-10-17", "Statement": [)" + std::string(statement) + "]}", kind, "p");
    EXPECT_TRUE(policy.ok()) << policy.error().message();
    return policy.ok() ? *policy : nullptr;
  }
  AuthorizeTest& As(Principal::Kind kind, std::string_view arn, std::string_view issuer = "",
                    std::string_view id = "") {
    principal_ = {kind, kOwn, arn, issuer, id};
    if (arn.find(kOther) != std::string_view::npos) principal_.account = kOther;
    if (kind == Principal::Kind::kWebIdentity || kind == Principal::Kind::kAnonymous)
      principal_.account = "";
    identity_.clear();
    session_.clear();
    boundary_ = resource_ = nullptr;
    policies_ = {};
    return *this;
  }
  AuthorizeTest& AsAlice() { return As(Principal::Kind::kUser, kAlice, "", "AIDAALICE"); }
  AuthorizeTest& AsSession() {
    return As(Principal::Kind::kRoleSession, kSession, kRole, "AROAAPP");
  }
  AuthorizeTest& Identity(std::string_view statement) {
    identity_.push_back(Parse(statement, PolicyKind::kIdentity));
    return *this;
  }
  AuthorizeTest& Session(std::string_view statement) {
    session_.push_back(Parse(statement, PolicyKind::kIdentity));
    policies_.has_session = true;
    return *this;
  }
  AuthorizeTest& Boundary(std::string_view statement) {
    boundary_ = Parse(statement, PolicyKind::kIdentity);
    policies_.has_boundary = true;
    return *this;
  }
  // A resource policy's statement for these principals (JSON).
  AuthorizeTest& Resource(std::string_view effect, std::string_view principal,
                          std::string_view more = "") {
    resource_ = Parse(R"({"Effect": ")" + std::string(effect) + R"(", )" + std::string(principal) +
                          R"(, "Action": "dynamodb:*", "Resource": "*")" + std::string(more) + "}",
                      PolicyKind::kResource);
    policies_.has_resource = true;
    return *this;
  }
  AuthorizeTest& Trust(std::string_view principal, std::string_view action = "sts:AssumeRole") {
    resource_ = Parse(R"({"Effect": "Allow", "Principal": )" + std::string(principal) +
                          R"(, "Action": ")" + std::string(action) + "\"}",
                      PolicyKind::kTrust);
    policies_.has_resource = true;
    return *this;
  }
  Decision Decide(std::string_view action = "dynamodb:GetItem", std::string_view arn = kTable) {
    const std::optional<ActionId> id = FindAction(action);
    EXPECT_TRUE(id.has_value()) << action;
    const ResourceName resource(arn);
    policies_.identity = identity_;
    policies_.session = session_;
    policies_.boundary = boundary_.get();
    policies_.resource = resource_.get();
    RequestContext context;
    SetPrincipal(principal_, principal_.id, &context);
    return Authorize({principal_, *id, resource, kOwn, context}, policies_);
  }
  // "allow TYPE", "deny TYPE" (explicit) or "no TYPE".
  std::string Outcome(std::string_view action = "dynamodb:GetItem", std::string_view arn = kTable) {
    const Decision decision = Decide(action, arn);
    return std::string(decision.allowed         ? "allow "
                       : decision.explicit_deny ? "deny "
                                                : "no ") +
           std::string(PolicyTypeName(decision.type));
  }

  Principal principal_;
  std::vector<std::shared_ptr<const Policy>> identity_;
  std::vector<std::shared_ptr<const Policy>> session_;
  std::shared_ptr<const Policy> boundary_;
  std::shared_ptr<const Policy> resource_;
  PolicySet policies_;
};

constexpr char kToAlice[] = R"("Principal": {"AWS": "arn:aws:iam::111122223333:user/team/alice"})";
constexpr char kToAccount[] = R"("Principal": {"AWS": "111122223333"})";
constexpr char kToRole[] = R"("Principal": {"AWS": "arn:aws:iam::111122223333:role/app"})";
constexpr char kToSession[] =
    R"("Principal": {"AWS": "arn:aws:sts::111122223333:assumed-role/app/s1"})";

TEST_F(AuthorizeTest, OwnAccount) {
  EXPECT_EQ(AsAlice().Outcome(), "no identity-based policy");
  EXPECT_EQ(AsAlice().Identity(kAllowAll).Outcome(), "allow identity-based policy");
  EXPECT_EQ(AsAlice().Identity(kAllowAll).Identity(kDenyAll).Outcome(),
            "deny identity-based policy");
  EXPECT_EQ(AsAlice().Resource("Allow", kToAlice).Outcome(), "allow resource-based policy");
  EXPECT_EQ(AsAlice().Resource("Allow", kToAccount).Outcome(), "no identity-based policy");
  EXPECT_EQ(AsAlice().Resource("Allow", kToAccount).Identity(kAllowAll).Outcome(),
            "allow identity-based policy");
  EXPECT_EQ(AsAlice().Resource("Deny", kToAccount).Identity(kAllowAll).Outcome(),
            "deny resource-based policy");
  EXPECT_EQ(AsAlice().Resource("Allow", R"("Principal": {"AWS": "AIDAALICE0000000"})").Outcome(),
            "no identity-based policy");
}

TEST_F(AuthorizeTest, OtherAccountsNeedBothSides) {
  constexpr char kCarol[] = "arn:aws:iam::444455556666:user/carol";
  constexpr char kToCarol[] = R"("Principal": {"AWS": "arn:aws:iam::444455556666:user/carol"})";
  const auto as_carol = [&]() -> AuthorizeTest& { return As(Principal::Kind::kUser, kCarol); };
  EXPECT_EQ(as_carol().Identity(kAllowAll).Outcome(), "no resource-based policy");
  EXPECT_EQ(as_carol().Resource("Allow", kToCarol).Outcome(), "no identity-based policy");
  EXPECT_EQ(as_carol().Resource("Allow", kToCarol).Identity(kAllowAll).Outcome(),
            "allow resource-based policy");
  EXPECT_EQ(as_carol()
                .Resource("Allow", R"("Principal": {"AWS": "444455556666"})")
                .Identity(kAllowAll)
                .Boundary(kAllowPut)
                .Outcome(),
            "no permissions boundary");
}

TEST_F(AuthorizeTest, BoundariesAndSessionPoliciesNarrow) {
  EXPECT_EQ(AsAlice().Identity(kAllowAll).Boundary(kAllowPut).Outcome(), "no permissions boundary");
  EXPECT_EQ(AsAlice().Identity(kAllowAll).Boundary(kAllowAll).Outcome(),
            "allow identity-based policy");
  EXPECT_EQ(AsAlice().Identity(kAllowAll).Boundary(kDenyAll).Outcome(),
            "deny permissions boundary");
  EXPECT_EQ(AsSession().Identity(kAllowAll).Session(kAllowPut).Outcome(), "no session policy");
  EXPECT_EQ(AsSession().Identity(kAllowAll).Session(kDenyAll).Outcome(), "deny session policy");
  EXPECT_EQ(AsSession().Identity(kAllowPut).Session(kAllowAll).Outcome(),
            "no identity-based policy");
  EXPECT_EQ(AsSession().Identity(kAllowAll).Session(kAllowAll).Outcome(),
            "allow identity-based policy");
  // GetFederationToken without a policy: a session without any right of its own.
  As(Principal::Kind::kFederatedUser, "arn:aws:sts::111122223333:federated-user/f", kAlice);
  Identity(kAllowAll);
  policies_.has_session = true;
  EXPECT_EQ(Outcome(), "no session policy");
}

TEST_F(AuthorizeTest, GrantsToUserAndSessionAreNotNarrowed) {
  EXPECT_EQ(AsAlice().Resource("Allow", kToAlice).Boundary(kAllowPut).Outcome(),
            "allow resource-based policy");
  EXPECT_EQ(AsAlice().Resource("Allow", kToAlice).Boundary(kDenyAll).Outcome(),
            "deny permissions boundary");
  EXPECT_EQ(AsSession().Resource("Allow", kToSession).Session(kAllowPut).Outcome(),
            "allow resource-based policy");
  EXPECT_EQ(AsSession().Resource("Allow", kToRole).Session(kAllowPut).Outcome(),
            "no session policy");
  EXPECT_EQ(AsSession().Resource("Allow", kToRole).Boundary(kAllowPut).Outcome(),
            "no permissions boundary");
  EXPECT_EQ(AsSession().Resource("Allow", kToRole).Outcome(), "allow resource-based policy");
  EXPECT_EQ(AsSession()
                .Resource("Allow", R"("Principal": "*")",
                          R"(, "Condition": {"ArnEquals": {"aws:PrincipalArn":
                             "arn:aws:iam::111122223333:role/app"}})")
                .Boundary(kAllowPut)
                .Outcome(),
            "allow resource-based policy");
}

TEST_F(AuthorizeTest, Root) {
  const auto as_root = [&]() -> AuthorizeTest& { return As(Principal::Kind::kRoot, kRoot); };
  EXPECT_EQ(as_root().Outcome(), "allow identity-based policy");
  EXPECT_EQ(as_root().Resource("Deny", kToAccount).Outcome(), "deny resource-based policy");
  EXPECT_EQ(as_root().Resource("Deny", kToAccount).Outcome("dynamodb:DeleteResourcePolicy"),
            "allow identity-based policy");
  EXPECT_EQ(as_root().Resource("Deny", kToAccount).Outcome("dynamodb:PutResourcePolicy"),
            "deny resource-based policy");
  EXPECT_EQ(As(Principal::Kind::kRoot, "arn:aws:iam::444455556666:root").Outcome(),
            "no resource-based policy");
}

TEST_F(AuthorizeTest, NotPrincipal) {
  constexpr char kOnlyAccount[] = R"("NotPrincipal": {"AWS": "111122223333"})";
  constexpr char kOnlyAlice[] =
      R"("NotPrincipal": {"AWS": "arn:aws:iam::111122223333:user/team/alice"})";
  constexpr char kBoth[] =
      R"("NotPrincipal": {"AWS": ["111122223333", "arn:aws:iam::111122223333:user/team/alice"]})";
  EXPECT_EQ(AsAlice().Identity(kAllowAll).Resource("Deny", kOnlyAccount).Outcome(),
            "deny resource-based policy");
  EXPECT_EQ(AsAlice().Identity(kAllowAll).Resource("Deny", kOnlyAlice).Outcome(),
            "deny resource-based policy");
  EXPECT_EQ(AsAlice().Identity(kAllowAll).Resource("Deny", kBoth).Outcome(),
            "allow identity-based policy");
  EXPECT_EQ(AsSession().Identity(kAllowAll).Resource("Deny", kBoth).Outcome(),
            "deny resource-based policy");
  EXPECT_EQ(AsAlice().Identity(kAllowAll).Boundary(kAllowAll).Resource("Deny", kBoth).Outcome(),
            "deny resource-based policy");
  EXPECT_EQ(As(Principal::Kind::kRoot, kRoot).Resource("Deny", kOnlyAccount).Outcome(),
            "allow identity-based policy");
}

TEST_F(AuthorizeTest, TrustPolicies) {
  const auto assume = [&] { return Outcome("sts:AssumeRole", kRole); };
  AsAlice().Identity(kAllowAll).Trust(R"({"AWS": "444455556666"})");
  EXPECT_EQ(assume(), "no role trust policy");
  AsAlice().Trust(R"({"AWS": "arn:aws:iam::111122223333:user/team/alice"})");
  EXPECT_EQ(assume(), "allow role trust policy");
  AsAlice().Trust(R"({"AWS": "111122223333"})");
  EXPECT_EQ(assume(), "no identity-based policy");
  AsAlice().Trust(R"({"AWS": "111122223333"})").Identity(kAllowAll);
  EXPECT_EQ(assume(), "allow identity-based policy");
  As(Principal::Kind::kUser, "arn:aws:iam::444455556666:user/carol")
      .Trust(R"({"AWS": "arn:aws:iam::444455556666:user/carol"})");
  EXPECT_EQ(assume(), "no identity-based policy");

  constexpr char kProvider[] = "arn:aws:iam::111122223333:oidc-provider/idp.example";
  const auto web = [&] { return Outcome("sts:AssumeRoleWithWebIdentity", kRole); };
  As(Principal::Kind::kWebIdentity, kProvider)
      .Trust(R"({"Federated": "arn:aws:iam::111122223333:oidc-provider/idp.example"})",
             "sts:AssumeRoleWithWebIdentity");
  EXPECT_EQ(web(), "allow role trust policy");
  As(Principal::Kind::kWebIdentity, kProvider)
      .Trust(R"({"AWS": "111122223333"})", "sts:AssumeRoleWithWebIdentity");
  EXPECT_EQ(web(), "no role trust policy");
}

TEST_F(AuthorizeTest, FailsClosed) {
  AsAlice().Identity(kAllowAll);
  identity_.push_back(nullptr);
  EXPECT_EQ(Outcome(), "deny identity-based policy");
  AsAlice().Identity(kAllowAll);
  policies_.has_boundary = true;
  EXPECT_EQ(Outcome(), "deny permissions boundary");
  AsAlice().Identity(kAllowAll);
  policies_.has_resource = true;
  EXPECT_EQ(Outcome(), "deny resource-based policy");
  EXPECT_EQ(As(Principal::Kind::kAnonymous, "").Identity(kAllowAll).Outcome(),
            "no resource-based policy");
}

TEST_F(AuthorizeTest, CallerIdentityIsAlwaysAllowed) {
  EXPECT_TRUE(AsAlice().Identity(kDenyAll).Decide("sts:GetCallerIdentity", "*").allowed);
}

TEST_F(AuthorizeTest, Resources) {
  const auto on = [&](std::string_view element, std::string_view arn) {
    AsAlice().Identity(R"({"Effect": "Allow", "Action": "*", )" + std::string(element) + "}");
    return Decide("dynamodb:GetItem", arn).allowed;
  };
  constexpr char kStream[] =
      "arn:aws:dynamodb:eu-central-1:111122223333:table/Music/stream/2026-01-01T00:00:00.000";
  EXPECT_TRUE(on(R"("Resource": "arn:aws:dynamodb:*:111122223333:table/Music")", kTable));
  EXPECT_FALSE(on(R"("Resource": "arn:aws:dynamodb:*:111122223333:table/music")", kTable));
  EXPECT_TRUE(on(R"("Resource": "arn:aws:dynamodb:eu-*:*:table/M?sic/stream/*T00:00:*")", kStream));
  EXPECT_TRUE(on(R"("Resource": "arn:aws:dynamodb:*:*:table/*")", kStream)) << "'*' crosses '/'";
  EXPECT_FALSE(on(R"("NotResource": "arn:aws:dynamodb:*:*:table/Music")", kTable));
  EXPECT_TRUE(on(R"("NotResource": "arn:aws:dynamodb:*:*:table/Music")", kStream));
  EXPECT_FALSE(on(R"("Resource": "arn:aws:dynamodb:*:*:*")", "*")) << "only * stands for *";
  EXPECT_TRUE(on(R"("Resource": "*")", "*"));
  EXPECT_TRUE(
      on(R"("Resource": "arn:aws:dynamodb:*:*:table/M${aws:SourceIdentity, 'us'}ic")", kTable));
  EXPECT_FALSE(on(R"("Resource": "arn:aws:dynamodb:*:*:table/*${aws:SourceIdentity}")", kTable));
  EXPECT_FALSE(on(R"("NotResource": "arn:aws:dynamodb:*:*:table/*${aws:SourceIdentity}")", kTable));
}

TEST_F(AuthorizeTest, Messages) {
  const ActionId get = *FindAction("dynamodb:GetItem");
  Decision decision = AsAlice().Decide();
  EXPECT_EQ(DenialMessage(decision, principal_, get, kTable),
            "User: arn:aws:iam::111122223333:user/team/alice is not authorized to perform: "
            "dynamodb:GetItem on resource: arn:aws:dynamodb:eu-central-1:111122223333:table/Music "
            "because no identity-based policy allows the dynamodb:GetItem action");
  decision = AsAlice().Identity(kAllowAll).Identity(kDenyAll).Decide();
  EXPECT_EQ(decision.policy, identity_[1].get());
  EXPECT_EQ(decision.statement->sid(), "No");
  EXPECT_TRUE(DenialMessage(decision, principal_, get, kTable)
                  .ends_with("table/Music with an explicit deny in an identity-based policy"));
  decision = AsAlice().Identity(kAllowAll).Boundary(kDenyAll).Decide();
  EXPECT_TRUE(DenialMessage(decision, principal_, get, kTable)
                  .ends_with("with an explicit deny in a permissions boundary"));
}

}  // namespace
}  // namespace stator::access
