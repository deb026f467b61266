// STS: temporary credentials, and what the caller is.
#include <charconv>

#include "access/policy.h"
#include "iam/identity_calls.h"
#include "iam/session_parts.h"
#include "ops/checks.h"

namespace stator::iam {
namespace {

using access::ContextKey;
using access::KeySet;
using access::Role;
using access::Session;

Result<std::string> GetCallerIdentity(Call& call) {
  return Xml()
      .Element("Arn", call.caller.arn)
      .Element("UserId", call.caller.user_id)
      .Element("Account", call.caller.account)
      .Take();
}

Result<std::string> GetAccessKeyInfo(Call& call) {
  const std::string_view id = call.form.Get("AccessKeyId");
  for (const access::AccessKey& key : call.records().keys) {
    if (key.id == id) return Xml().Element("Account", key.account).Take();
  }
  return Fault(403, "AccessDenied", "Access denied for the access key.");
}

}  // namespace

Result<int64_t> DurationIn(const Form& form, int64_t preset, int64_t most) {
  const auto given = form.Find("DurationSeconds");
  if (!given) return preset;
  int64_t seconds = 0;
  const auto [end, error] = std::from_chars(given->data(), given->data() + given->size(), seconds);
  if (error == std::errc() && end == given->data() + given->size() &&
      seconds >= access::kMinSessionSeconds && seconds <= most)
    return seconds;
  return InvalidInput(fmt::format(
      "1 validation error detected: Value '{}' at 'durationSeconds' failed to satisfy constraint: "
      "Member must have value between {} and {}",
      *given, access::kMinSessionSeconds, most));
}

Status TakePolicies(Call& call, Session* session) {
  size_t bytes = 0;
  if (const auto document = call.form.Find("Policy")) {
    TRY(CheckDocument(*document, access::PolicyKind::kIdentity));
    bytes += access::Policy::SizeWithoutSpace(*document);
    session->policies.emplace_back(*document);
  }
  const size_t arns = call.form.CountMembers("PolicyArns", "arn");
  if (arns > access::kMaxAttachedPolicies)
    return InvalidInput("More than 10 policies were given in policyArns.");
  for (size_t n = 1; n <= arns; ++n) {
    const std::string_view arn = call.form.Member("PolicyArns", n, "arn");
    // A policy is the session's account's, or one that every account has.
    const std::string_view owner = ops::AccountInArn(arn);
    const access::Directory* const directory = call.DirectoryOf(session->account);
    const std::string* document =
        directory != nullptr && (owner.empty() || owner == session->account)
            ? DocumentOf(directory->records(), arn)
            : nullptr;
    if (document == nullptr)
      return InvalidInput(fmt::format("Policy {} does not exist or is not attachable.", arn));
    session->policies.push_back(*document);
  }
  if (bytes > access::kMaxSessionPolicyBytes) {
    return Fault(400, "PackedPolicyTooLarge",
                 fmt::format("The session policy has {} bytes, {} more than it may have.", bytes,
                             bytes - access::kMaxSessionPolicyBytes));
  }
  session->has_policies = !session->policies.empty();
  return OkStatus();
}

Result<std::string> Issue(Call& call, int64_t seconds, Session* session) {
  access::SecureRandom& random = call.identities.random();
  session->key_id = access::NewId("ASIA", 20, &random);
  session->secret = access::NewSecret(&random);
  session->issued_micros = call.now();
  session->expires_micros = session->issued_micros + seconds * 1'000'000;
  Result<std::string> token = access::SealSession(*session, call.identities.keyring(), &random);
  if (!token.ok()) return Fault(400, "PackedPolicyTooLarge", token.error().message());
  return Xml()
      .Open("Credentials")
      .Element("AccessKeyId", session->key_id)
      .Element("SecretAccessKey", session->secret)
      .Element("SessionToken", *token)
      .Element("Expiration", Time(session->expires_micros))
      .Close("Credentials")
      .Take();
}

Result<std::string> SessionNameIn(const Form& form) {
  const std::string_view name = form.Get("RoleSessionName");
  if (name.size() >= 2 && access::IsIdentityName(name, 64)) return std::string(name);
  return InvalidInput(
      fmt::format("1 validation error detected: Value '{}' at 'roleSessionName' failed to satisfy "
                  "constraint: Member must satisfy regular expression pattern: [\\w+=,.@-]*",
                  name));
}

const Role* RoleOf(Call& call) {
  const std::string_view arn = call.form.Get("RoleArn");
  const access::Directory* const directory = call.DirectoryOf(ops::AccountInArn(arn));
  if (directory == nullptr) return nullptr;
  const Role* role = directory->FindRole(arn.substr(arn.rfind('/') + 1));
  return role != nullptr && access::ArnOf(*role) == arn ? role : nullptr;
}

guard::AttachedPolicy TrustOf(Call& call, const Role* role) {
  if (role != nullptr) {
    // If the directory is missing, the policy is null, which denies everything.
    const access::Directory* const directory = call.DirectoryOf(role->account);
    return {true, directory == nullptr ? nullptr : directory->TrustPolicyOf(*role)};
  }
  static const std::shared_ptr<const access::Policy> none =
      access::Policy::Parse(
          R"({"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"arn:aws:iam::000000000000:user/-"},"Action":"sts:AssumeRole"}]})",
          access::PolicyKind::kTrust, "none")
          .value();
  return {true, none};
}

std::string RenderAssumedRole(const Role& role, const Session& session) {
  return Xml()
      .Open("AssumedRoleUser")
      .Element("AssumedRoleId", fmt::format("{}:{}", role.id, session.name))
      .Element("Arn", access::SessionArn(role, session.name))
      .Close("AssumedRoleUser")
      .Take();
}

namespace {

// Requires the rights to assume a role, which its trust policy has to give.
Status RequireAssumption(Call& call, const Role* role, const std::vector<access::Tag>& tags) {
  static const access::ActionId assume = guard::ActionNamed("sts:AssumeRole");
  static const access::ActionId tag_session = guard::ActionNamed("sts:TagSession");
  static const access::ActionId set_source = guard::ActionNamed("sts:SetSourceIdentity");
  const Form& form = call.form;
  const std::string_view arn = form.Get("RoleArn");
  const auto fill = [&](KeySet, guard::RequestKeys* keys) {
    keys->texts.emplace_back(ContextKey::kRoleSessionName, form.Get("RoleSessionName"));
    if (const auto id = form.Find("ExternalId"))
      keys->texts.emplace_back(ContextKey::kExternalId, *id);
    if (const auto source = form.Find("SourceIdentity"))
      keys->texts.emplace_back(ContextKey::kStsSourceIdentity, *source);
    if (!tags.empty()) keys->tag_keys.emplace();
    for (const access::Tag& tag : tags) {
      keys->request_tags.emplace_back(tag.key, tag.value);
      keys->tag_keys->push_back(tag.key);
    }
    if (role == nullptr) return;
    for (const access::Tag& tag : role->tags) keys->resource_tags.emplace_back(tag.key, tag.value);
  };
  const guard::AttachedPolicy trust = TrustOf(call, role);
  TRY(call.check.Require(assume, arn, trust, fill));
  if (!tags.empty()) TRY(call.check.Require(tag_session, arn, trust, fill));
  if (form.Find("SourceIdentity")) TRY(call.check.Require(set_source, arn, trust, fill));
  if (role == nullptr)
    return Fault(
        403, "AccessDenied",
        fmt::format("User: {} is not authorized to perform: sts:AssumeRole on resource: {}",
                    call.caller.arn, arn));
  return OkStatus();
}

Result<std::string> AssumeRole(Call& call) {
  ASSIGN_OR_RETURN(const std::string name, SessionNameIn(call.form));
  const Role* role = RoleOf(call);
  Session session;
  session.tags = call.form.Tags();
  TRY(CheckTags(session.tags));
  TRY(RequireAssumption(call, role, session.tags));
  ASSIGN_OR_RETURN(int64_t seconds, DurationIn(call.form, 3600, access::kMaxSessionSeconds));
  if (call.caller.issued_micros != 0 && seconds > access::kMaxChainedSessionSeconds) {
    return InvalidInput(
        "The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role "
        "chaining.");
  }
  if (seconds > role->max_session_seconds) {
    return InvalidInput(
        "The requested DurationSeconds exceeds the MaxSessionDuration set for this role.");
  }
  session.kind = Session::Kind::kRole;
  session.account = role->account;
  session.issuer = role->name;
  session.issuer_id = role->id;
  session.name = name;
  session.source_identity = call.form.Find("SourceIdentity").value_or(call.caller.source_identity);
  TRY(TakePolicies(call, &session));
  ASSIGN_OR_RETURN(const std::string credentials, Issue(call, seconds, &session));
  Xml xml;
  xml.Append(credentials).Append(RenderAssumedRole(*role, session));
  if (!session.source_identity.empty()) xml.Element("SourceIdentity", session.source_identity);
  return xml.Take();
}

Result<std::string> GetSessionToken(Call& call) {
  const access::Caller& caller = call.caller;
  const bool root = caller.kind == access::Principal::Kind::kRoot;
  if (caller.issued_micros != 0 || (!root && caller.kind != access::Principal::Kind::kUser))
    return Fault(403, "AccessDenied", "Cannot call GetSessionToken with session credentials");
  ASSIGN_OR_RETURN(const int64_t seconds,
                   DurationIn(call.form, 43'200, access::kMaxUserSessionSeconds));
  Session session;
  session.kind = Session::Kind::kUser;
  session.account = call.account();
  if (!root) session.issuer = caller.arn.substr(caller.arn.rfind('/') + 1);
  session.issuer_id = caller.id;
  return Issue(call, root ? std::min<int64_t>(seconds, 3600) : seconds, &session);
}

}  // namespace

std::vector<Row> SessionRows() {
  return {
      {"GetCallerIdentity", GetCallerIdentity},
      {"GetAccessKeyInfo", GetAccessKeyInfo},
      {"AssumeRole", AssumeRole},
      {"GetSessionToken", GetSessionToken},
  };
}

}  // namespace stator::iam
