// AssumeRoleWithWebIdentity: temporary credentials for who has the token of a provider.
#include "iam/web_identity.h"

#include <algorithm>

#include "access/session.h"
#include "iam/call.h"
#include "iam/session_parts.h"
#include "ops/checks.h"

namespace stator::iam {
namespace {

using access::ContextKey;
using access::KeySet;
using access::Role;
using access::Session;

Error InvalidToken(std::string message) {
  return Fault(400, "InvalidIdentityToken", std::move(message));
}

Result<std::string> AssumeRoleWithWebIdentity(Call& call) {
  static const access::ActionId assume = guard::ActionNamed("sts:AssumeRoleWithWebIdentity");
  const access::WebClaims& web = *call.caller.web;
  ASSIGN_OR_RETURN(const std::string name, SessionNameIn(call.form));
  const Role* role = RoleOf(call);
  const auto fill = [&](KeySet, guard::RequestKeys* keys) {
    keys->texts.emplace_back(ContextKey::kRoleSessionName, name);
    if (role == nullptr) return;
    for (const access::Tag& tag : role->tags) keys->resource_tags.emplace_back(tag.key, tag.value);
  };
  const Status allowed =
      call.check.Require(assume, call.form.Get("RoleArn"), TrustOf(call, role), fill);
  if (!allowed.ok() || role == nullptr) {
    return Error(ErrorCode::kAccessDenied,
                 "Not authorized to perform sts:AssumeRoleWithWebIdentity");
  }
  ASSIGN_OR_RETURN(const int64_t seconds, DurationIn(call.form, 3600, access::kMaxSessionSeconds));
  if (seconds > role->max_session_seconds) {
    return InvalidInput(
        "The requested DurationSeconds exceeds the MaxSessionDuration set for this role.");
  }
  Session session;
  session.kind = Session::Kind::kRole;
  session.account = role->account;
  session.issuer = role->name;
  session.issuer_id = role->id;
  session.name = name;
  session.federated_provider = call.caller.arn;
  session.web = {web.subject(), web.audience()};
  session.web.insert(session.web.end(), web.methods().begin(), web.methods().end());
  TRY(TakePolicies(call, &session));
  ASSIGN_OR_RETURN(const std::string credentials, Issue(call, seconds, &session));
  std::string issuer;
  if (const auto* directory = call.DirectoryOf(ops::AccountInArn(call.caller.arn))) {
    const access::OidcProvider* provider = FindProvider(directory->records(), call.caller.arn);
    if (provider != nullptr) issuer = provider->url;
  }
  return Xml()
      .Element("SubjectFromWebIdentityToken", web.subject())
      .Element("Audience", web.audience())
      .Element("Provider", issuer)
      .Append(credentials)
      .Append(RenderAssumedRole(*role, session))
      .Take();
}

}  // namespace

Result<ClaimedIdentity> ReadClaimed(const Form& form, const identity::Identities& identities) {
  TRY(identities.Fresh());
  if (form.Find("ProviderId")) {
    return InvalidInput(
        "ProviderId is for the access tokens of OAuth 2.0, which are not supported: give an ID "
        "token of OpenID Connect without it.");
  }
  const std::string_view text = form.Get("WebIdentityToken");
  if (text.size() < 4 || text.size() > access::kMaxWebTokenBytes) {
    return InvalidInput(
        "1 validation error detected: Value at 'webIdentityToken' failed to satisfy constraint: "
        "Member must have length between 4 and 20000");
  }
  Result<access::WebToken> token = access::WebToken::Parse(text);
  if (!token.ok()) return InvalidToken(token.error().message());
  // The provider of the role's account.
  const std::string_view named = ops::AccountInArn(form.Get("RoleArn"));
  const std::shared_ptr<const access::Directory> directory =
      identities.DirectoryOf(named.empty() ? std::string_view(identities.account()) : named);
  static const std::vector<access::OidcProvider> none;
  const std::vector<access::OidcProvider>& all =
      directory == nullptr ? none : directory->records().providers;
  const auto provider = std::find_if(all.begin(), all.end(), [&](const access::OidcProvider& one) {
    return one.url == token->issuer;
  });
  if (provider == all.end()) {
    return InvalidToken(
        fmt::format("No OpenIDConnect provider found in your account for {}", token->issuer));
  }
  const std::vector<std::string>& clients = provider->client_ids;
  if (std::find(clients.begin(), clients.end(), token->audience) == clients.end())
    return InvalidToken("Incorrect token audience");
  if (const Status times = token->CheckTimes(identities.clock().NowMicros()); !times.ok()) {
    if (times.error().code() == ErrorCode::kExpiredToken)
      return Fault(400, "ExpiredTokenException", times.error().message());
    return InvalidToken(times.error().message());
  }
  return ClaimedIdentity{*std::move(token), *provider};
}

Result<access::VerifiedRequest> VerifyToken(const Form& form,
                                            const identity::Identities& identities,
                                            const ProviderKeys& keys) {
  ASSIGN_OR_RETURN(const ClaimedIdentity claimed, ReadClaimed(form, identities));
  const access::WebToken& token = claimed.token;
  const auto known = keys.Find(claimed.provider.url);
  if (!known.ok()) return Fault(400, "IDPCommunicationError", known.error().message());
  if (!(*known)->Has(token.algorithm, token.key_id)) {
    return InvalidToken(
        "Couldn't retrieve verification key from your identity provider, please reference "
        "AssumeRoleWithWebIdentity documentation for requirements");
  }
  if (!(*known)->Verify(token)) return InvalidToken("The signature of the token is not valid");
  auto caller = std::make_shared<access::Caller>();
  caller->kind = access::Principal::Kind::kWebIdentity;
  caller->arn = access::ArnOf(claimed.provider);
  caller->user_id = fmt::format("{}:{}:{}", caller->arn, token.audience, token.subject);
  caller->federated_provider = caller->arn;
  caller->web = std::make_shared<access::WebClaims>(caller->arn, token.subject, token.audience,
                                                    token.methods);
  auto credential = std::make_shared<access::AccessCredential>();
  credential->caller = std::move(caller);
  access::VerifiedRequest verified;
  verified.credential = std::move(credential);
  return verified;
}

std::vector<Row> WebIdentityRows() {
  return {{"AssumeRoleWithWebIdentity", AssumeRoleWithWebIdentity}};
}

}  // namespace stator::iam
