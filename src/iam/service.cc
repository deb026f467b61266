#include "iam/service.h"

#include <fmt/format.h>

#include <optional>

#include "base/ascii.h"
#include "iam/call.h"
#include "iam/call_record.h"
#include "iam/web_identity.h"

namespace stator::iam {
namespace {

using access::ContextKey;
using access::KeySet;

constexpr std::string_view kIamVersion = "2010-05-08";
constexpr std::string_view kStsVersion = "2011-06-15";
constexpr std::string_view kIamNamespace = "https://iam.amazonaws.com/doc/2010-05-08/";
constexpr std::string_view kStsNamespace = "https://sts.amazonaws.com/doc/2011-06-15/";

struct Shape {
  int status;
  std::string_view code;
};
Shape ShapeOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kMissingAuthenticationToken: return {403, "MissingAuthenticationToken"};
    case ErrorCode::kIncompleteSignature: return {400, "IncompleteSignature"};
    case ErrorCode::kInvalidSignature: return {403, "SignatureDoesNotMatch"};
    case ErrorCode::kUnrecognizedClient: return {403, "InvalidClientTokenId"};
    case ErrorCode::kExpiredToken: return {403, "ExpiredToken"};
    case ErrorCode::kAccessDenied: return {403, "AccessDenied"};
    case ErrorCode::kValidation: return {400, "ValidationError"};
    case ErrorCode::kUnavailable: return {503, "ServiceUnavailable"};
    case ErrorCode::kLimitExceeded: return {409, "LimitExceeded"};
    default: return {500, "InternalFailure"};
  }
}

// The identity that a call is about.
struct Subject {
  std::string arn = "*";
  std::string boundary;
  std::vector<access::Tag> tags;
};

std::string ArnOfNew(Call& call, std::string_view kind, std::string_view name) {
  return fmt::format("arn:aws:iam::{}:{}{}{}", call.account(), kind,
                     call.form.Find("Path").value_or("/"), name);
}

template <typename T>
Subject SubjectOf(const T& record) {
  Subject subject{access::ArnOf(record), record.boundary, record.tags};
  return subject;
}

Subject UserSubject(Call& call, std::string name) {
  if (name.empty() && call.caller.kind == access::Principal::Kind::kRoot)
    return {access::RootArn(call.account()), {}, {}};
  if (name.empty()) name = call.caller.arn.substr(call.caller.arn.rfind('/') + 1);
  const access::User* user = call.directory->FindUser(name);
  return user != nullptr ? SubjectOf(*user) : Subject{ArnOfNew(call, "user", name), {}, {}};
}

Subject SubjectOf(Call& call, const access::Action& action) {
  const Form& form = call.form;
  const std::string_view name = action.name.substr(action.name.find(':') + 1);
  if (name == "SimulatePrincipalPolicy") return {std::string(form.Get("PolicySourceArn")), {}, {}};
  if (name == "GetAccessKeyLastUsed") {
    for (const access::AccessKey& key : call.records().keys) {
      if (key.id == form.Get("AccessKeyId")) return UserSubject(call, key.user);
    }
    return {ArnOfNew(call, "user", "-"), {}, {}};
  }
  if ((action.required & access::kUser) != 0)
    return UserSubject(call, std::string(form.Get("UserName")));
  if ((action.required & access::kGroup) != 0) {
    const std::string group(form.Get("GroupName"));
    const access::Group* found = call.directory->FindGroup(group);
    return {found != nullptr ? access::ArnOf(*found) : ArnOfNew(call, "group", group), {}, {}};
  }
  if ((action.required & access::kRole) != 0) {
    const std::string role(form.Get("RoleName"));
    const access::Role* found = call.directory->FindRole(role);
    return found != nullptr ? SubjectOf(*found) : Subject{ArnOfNew(call, "role", role), {}, {}};
  }
  if ((action.required & access::kOidcProvider) != 0) {
    if (!form.Find("OpenIDConnectProviderArn"))
      return {access::ArnOf(access::OidcProvider{
                  call.account(), std::string(form.Get("Url")), {}, {}, 0, {}}),
              {},
              {}};
    const std::string_view arn = form.Get("OpenIDConnectProviderArn");
    const access::OidcProvider* found = FindProvider(call.records(), arn);
    return {std::string(arn), {}, found == nullptr ? std::vector<access::Tag>() : found->tags};
  }
  if ((action.required & access::kPolicy) != 0) {
    if (form.Find("PolicyArn")) return {std::string(form.Get("PolicyArn")), {}, {}};
    return {ArnOfNew(call, "policy", form.Get("PolicyName")), {}, {}};
  }
  return {};
}

// Requires the right to a call of IAM.
Status RequireRight(Call& call, access::ActionId id) {
  const access::Action& action = access::ActionOf(id);
  const Subject subject = SubjectOf(call, action);
  const std::vector<access::Tag> tags = call.form.Tags();
  const std::vector<std::string_view> untagged = call.form.List("TagKeys");
  // A boundary that the call sets, else the one that stands.
  const std::string_view boundary =
      call.form.Find("PermissionsBoundary").value_or(std::string_view(subject.boundary));
  return call.check.Require(id, subject.arn, [&](KeySet, guard::RequestKeys* keys) {
    if (!boundary.empty()) keys->texts.emplace_back(ContextKey::kPermissionsBoundary, boundary);
    if (const auto arn = call.form.Find("PolicyArn"))
      keys->texts.emplace_back(ContextKey::kPolicyArn, *arn);
    if (!tags.empty() || !untagged.empty()) keys->tag_keys = untagged;
    for (const access::Tag& tag : tags) {
      keys->request_tags.emplace_back(tag.key, tag.value);
      keys->tag_keys->push_back(tag.key);
    }
    for (const access::Tag& tag : subject.tags)
      keys->resource_tags.emplace_back(tag.key, tag.value);
  });
}

}  // namespace

struct Service::Entry {
  Handler handler;
  access::ActionId action;
  // The handler requires the rights itself, or the call needs none.
  bool own_rights = false;
  bool by_token = false;
};

Service::Service(identity::Identities& identities, guard::Gate& gate,
                 const ops::Environment& environment, audit::Trail* audit,
                 std::unique_ptr<DocumentSource> documents)
    : identities_(identities),
      gate_(gate),
      environment_(environment),
      audit_(audit),
      provider_keys_(identities.clock(),
                     documents != nullptr ? std::move(documents) : MakeWebDocuments()) {
  const auto add = [this](std::string_view service, const std::vector<Row>& rows,
                          bool by_token = false) {
    for (const Row& row : rows) {
      const std::string name = fmt::format("{}:{}", service, row.name);
      const bool own = by_token || row.name == "AssumeRole" || row.name == "GetSessionToken";
      entries_.emplace(name, Entry{row.handler, guard::ActionNamed(name), own, by_token});
    }
  };
  // Not iam:, whose rights do not reach beyond an account.
  for (const Row& row : AccountRows()) {
    entries_.emplace(fmt::format("iam:{}", row.name),
                     Entry{row.handler, guard::ActionNamed(fmt::format("stator:{}", row.name))});
  }
  add("iam", UserRows());
  add("iam", GroupRows());
  add("iam", RoleRows());
  add("iam", PolicyRows());
  add("iam", SimulationRows());
  add("iam", ProviderRows());
  add("sts", SessionRows());
  add("sts", WebIdentityRows(), true);
}

Service::~Service() = default;

bool Service::Owns(std::string_view method, std::string_view target,
                   std::string_view content_type) {
  const std::string_view path = target.substr(0, target.find('?'));
  if (path != "/") return false;
  if (method == "GET") return target.find("Action=") != std::string_view::npos;
  constexpr std::string_view kForm = "application/x-www-form-urlencoded";
  return method == "POST" && EqualsIgnoringCase(content_type.substr(0, kForm.size()), kForm);
}

Result<Prepared> Service::Prepare(const access::HttpRequestView& http, const guard::Peer* peer) {
  const size_t question = http.target.find('?');
  const std::string_view text = http.method == "GET" && question != std::string_view::npos
                                    ? http.target.substr(question + 1)
                                    : http.body;
  Prepared call;
  ASSIGN_OR_RETURN(call.form, Form::Parse(text));
  const std::string_view version = call.form.Get("Version");
  call.action = call.form.Get("Action");
  call.sts = version == kStsVersion;
  if (call.action.empty())
    return Fault(400, "MissingAction", "The request must contain the parameter Action");
  const std::string_view service = call.sts ? "sts" : "iam";
  if ((!call.sts && version != kIamVersion) ||
      !entries_.contains(fmt::format("{}:{}", service, call.action))) {
    return Fault(400, "InvalidAction",
                 fmt::format("Could not find operation {} for version {}", call.action,
                             version.empty() ? "NO_VERSION_SPECIFIED" : version));
  }
  if (EntryOf(call).by_token) {
    // Signatures of such a call are not looked at, and Run refuses a wrong token.
    call.by_token = true;
    const Result<ClaimedIdentity> claimed = ReadClaimed(call.form, identities_);
    if (claimed.ok() && provider_keys_.NeedsFetch(claimed->provider.url, claimed->token.algorithm,
                                                  claimed->token.key_id))
      call.provider = claimed->provider.url;
    return call;
  }
  // Clients sign for the Region that they are set to, though both services have none.
  Result<access::VerifiedRequest> verified = gate_.Verify(http, service, true);
  if (!verified.ok()) {
    AuditRefused(call, http, peer, verified.error());
    return verified.error();
  }
  call.verified = *std::move(verified);
  return call;
}

void Service::AuditRefused(const Prepared& call, const access::HttpRequestView& http,
                           const guard::Peer* peer, const Error& error) {
  if (audit_ == nullptr) return;
  audit::Record record = RecordOf(call, http, peer, EntryOf(call).action, audit_->clock());
  record.key_id = audit::ShownKeyId(guard::ClaimedKey(http));
  record.parameters.clear();  // a stranger's
  const auto* fault = dynamic_cast<const FaultPayload*>(error.payload().get());
  record.error_code = fault != nullptr ? fault->code : std::string(ShapeOf(error.code()).code);
  audit_->Write(std::move(record));
}

void Service::FetchKeys(const Prepared& call, UniqueFunction<void()> then) {
  if (call.provider.empty()) return then();
  provider_keys_.Fetch(call.provider, std::move(then));
}

Result<Prepared> Service::PrepareLocal(std::string_view form,
                                       std::shared_ptr<const access::Caller> caller) {
  Prepared call;
  ASSIGN_OR_RETURN(call.form, Form::Parse(form));
  call.action = call.form.Get("Action");
  if (!entries_.contains("iam:" + call.action))
    return ValidationError(fmt::format("there is no call {} of IAM here", call.action));
  auto credential = std::make_shared<access::AccessCredential>();
  credential->caller = std::move(caller);
  call.verified.credential = std::move(credential);
  return call;
}

const Service::Entry& Service::EntryOf(const Prepared& call) const {
  return entries_.find(fmt::format("{}:{}", call.sts ? "sts" : "iam", call.action))->second;
}

Result<std::string> Service::Perform(Prepared& prepared, const access::HttpRequestView& http,
                                     const guard::Peer* peer, guard::Judgements* judgements) {
  const Entry& entry = EntryOf(prepared);
  guard::Check check(gate_, prepared.verified, environment_, prepared.action, http, peer);
  if (check.caller() == nullptr) return Error(ErrorCode::kAccessDenied, "Access denied.");
  check.TellOf(judgements);
  const std::string& account = check.caller()->account;
  std::shared_ptr<const access::Directory> directory =
      identities_.DirectoryOf(account.empty() ? identities_.account() : account);
  // Its account was deleted since the call was verified.
  if (directory == nullptr) return Error(ErrorCode::kAccessDenied, "Access denied.");
  Call call{identities_, std::move(directory), prepared.form, check, *check.caller()};
  if (!entry.own_rights) TRY(RequireRight(call, entry.action));
  return entry.handler(call);
}

Reply Service::Run(Prepared call, const access::HttpRequestView& http, const guard::Peer* peer) {
  if (call.by_token) {
    Result<access::VerifiedRequest> verified = VerifyToken(call.form, identities_, provider_keys_);
    if (!verified.ok()) {
      AuditRefused(call, http, peer, verified.error());
      return Render(call, verified.error());
    }
    call.verified = *std::move(verified);
  }
  if (audit_ == nullptr) return Render(call, Perform(call, http, peer, nullptr));
  const access::ActionId action = EntryOf(call).action;
  audit::Record record = RecordOf(call, http, peer, action, audit_->clock());
  std::optional<audit::Trail::Slot> slot;
  if (IsChange(action)) {
    Result<audit::Trail::Slot> reserved = audit_->Reserve();
    if (!reserved.ok()) return Render(call, reserved.error());
    slot.emplace(*std::move(reserved));
  }
  const Result<std::string> result = Perform(call, http, peer, &record.judgements);
  Reply reply = Render(call, result);
  record.error_code = reply.error;
  record.request_id = reply.request_id;
  if (!result.ok() && result.error().code() == ErrorCode::kAccessDenied)
    record.error_message = result.error().message();
  if (result.ok()) AddMadeIds(*result, &record);
  if (slot) {
    audit_->WriteChangeAndWait(*std::move(slot), std::move(record));
  } else {
    audit_->Write(std::move(record));
  }
  return reply;
}

Reply Service::Render(const Prepared& call, const Result<std::string>& result) const {
  if (!result.ok()) return RenderError(result.error(), call.sts);
  const std::string id = RequestId();
  Xml xml;
  xml.Open(fmt::format("{}Response xmlns=\"{}\"", call.action,
                       call.sts ? kStsNamespace : kIamNamespace));
  if (!result->empty()) {
    const std::string element = call.action + "Result";
    xml.Open(element).Append(*result).Close(element);
  }
  xml.Open("ResponseMetadata").Element("RequestId", id).Close("ResponseMetadata");
  xml.Close(call.action + "Response");
  return {200, xml.Take(), id, "", ""};
}

Reply Service::RenderError(const Error& error, bool sts) const {
  Shape shape = ShapeOf(error.code());
  std::string code(shape.code);
  if (const auto* fault = dynamic_cast<const FaultPayload*>(error.payload().get())) {
    shape.status = fault->status;
    code = fault->code;
  }
  const std::string id = RequestId();
  Xml xml;
  xml.Open(fmt::format("ErrorResponse xmlns=\"{}\"", sts ? kStsNamespace : kIamNamespace))
      .Open("Error")
      .Element("Type", shape.status < 500 ? "Sender" : "Receiver")
      .Element("Code", code)
      .Element("Message", error.message())
      .Close("Error")
      .Element("RequestId", id)
      .Close("ErrorResponse");
  return {shape.status, xml.Take(), id, std::move(code), error.message()};
}

std::string Service::RequestId() const {
  const uint64_t high = environment_.random.Next();
  const uint64_t low = environment_.random.Next();
  return fmt::format("{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}", high >> 32, high >> 16 & 0xffff,
                     high & 0xfff, low >> 48 & 0xfff, low & 0xffffffffffff);
}

}  // namespace stator::iam
