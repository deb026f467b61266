// SimulatePrincipalPolicy and SimulateCustomPolicy: decisions without requests.
#include "access/authorize.h"
#include "access/policy.h"
#include "access/steps.h"
#include "iam/identity_calls.h"

namespace stator::iam {
namespace {

using access::ContextKey;
using access::PolicyKind;

// Decisions of one call.
constexpr size_t kMostDecisions = 1000;

// The ContextEntries of a call; values are views of its form.
class Entries {
 public:
  explicit Entries(const Form& form) {
    const size_t count = form.CountMembers("ContextEntries", "ContextKeyName");
    for (size_t n = 1; n <= count; ++n) {
      Entry& entry = entries_.emplace_back();
      entry.name = access::ResolveKey(form.Member("ContextEntries", n, "ContextKeyName"));
      const std::string_view type = form.Member("ContextEntries", n, "ContextKeyType");
      entry.is_list = type.ends_with("List");
      entry.values = form.List("ContextEntries.member." + std::to_string(n) + ".ContextKeyValues");
    }
  }
  void Set(access::RequestContext* context) const {
    for (const Entry& entry : entries_) {
      const bool known = entry.name.tag.empty() && entry.name.key != ContextKey::kOther;
      const std::string_view first = entry.values.empty() ? "" : entry.values.front();
      if (known && (entry.is_list || access::IsListKey(entry.name.key))) {
        context->SetList(entry.name.key, entry.values);
      } else if (known) {
        context->Set(entry.name.key, first);
      } else if (entry.is_list) {
        context->AddList(entry.name.key, entry.name.tag, entry.values);
      } else {
        context->Add(entry.name.key, entry.name.tag, first);
      }
    }
  }

 private:
  struct Entry {
    access::KeyName name;
    bool is_list = false;
    std::vector<std::string_view> values;
  };
  std::vector<Entry> entries_;
};

std::string RenderDecision(std::string_view action, std::string_view resource,
                           const access::Decision& decision) {
  Xml xml;
  xml.Open("member")
      .Element("EvalActionName", action)
      .Element("EvalResourceName", resource)
      .Element("EvalDecision", decision.allowed         ? "allowed"
                               : decision.explicit_deny ? "explicitDeny"
                                                        : "implicitDeny")
      .Open("MatchedStatements");
  if (decision.policy != nullptr) {
    xml.Open("member").Element("SourcePolicyId", decision.policy->name());
    if (decision.statement != nullptr && !decision.statement->sid().empty())
      xml.Element("SourcePolicyType", access::PolicyTypeName(decision.type));
    xml.Close("member");
  }
  xml.Close("MatchedStatements").Open("MissingContextValues").Close("MissingContextValues");
  return xml.Close("member").Take();
}

// Decides every action on every resource for `caller`.
Result<std::string> Simulate(Call& call, const access::Caller& caller) {
  const Form& form = call.form;
  const std::vector<std::string_view> actions = form.List("ActionNames");
  std::vector<std::string_view> resources = form.List("ResourceArns");
  if (resources.empty()) resources.push_back("*");
  if (actions.empty()) return InvalidInput("ActionNames must not be empty.");
  if (actions.size() * resources.size() > kMostDecisions)
    return InvalidInput(fmt::format("More than {} decisions were asked for.", kMostDecisions));
  guard::AttachedPolicy attached;
  if (const auto document = form.Find("ResourcePolicy")) {
    Result<std::shared_ptr<const access::Policy>> policy =
        access::Policy::Parse(*document, PolicyKind::kResource, "ResourcePolicy");
    if (!policy.ok()) return InvalidInput(policy.error().message());
    attached = {true, *std::move(policy)};
  }
  const Entries entries(form);
  access::PolicySteps steps(access::kMostStepsOfSimulation);
  Xml xml;
  xml.Open("EvaluationResults");
  for (const std::string_view action : actions) {
    const std::optional<access::ActionId> id = access::FindAction(action);
    if (!id) {
      return InvalidInput(
          fmt::format("Invalid Entity Arn: {} is no action of this server.", action));
    }
    for (const std::string_view resource : resources) {
      access::RequestContext context;
      caller.SetContext(&context);
      context.Set(ContextKey::kResourceAccount, call.account());
      entries.Set(&context);
      const access::ResourceName name(resource);
      const access::Principal principal = caller.principal();
      const access::Decision decision =
          access::Authorize({principal, *id, name, call.account(), context, &steps},
                            caller.policies(attached.present, attached.policy.get()));
      if (steps.exhausted()) {
        return InvalidInput(
            fmt::format("The policies take more than {} steps to evaluate. Ask for fewer decisions "
                        "or values.",
                        access::kMostStepsOfSimulation));
      }
      xml.Append(RenderDecision(access::ActionOf(*id).name, resource, decision));
    }
  }
  return xml.Close("EvaluationResults").Flag("IsTruncated", false).Take();
}

// Adds the documents of PolicyInputList to the caller's policies.
Status AddInput(Call& call, access::Caller* caller) {
  size_t n = 0;
  for (const std::string_view document : call.form.List("PolicyInputList")) {
    Result<std::shared_ptr<const access::Policy>> policy = access::Policy::Parse(
        document, PolicyKind::kIdentity, fmt::format("PolicyInputList.{}", ++n));
    if (!policy.ok()) return InvalidInput(policy.error().message());
    caller->identity.push_back(*std::move(policy));
  }
  return OkStatus();
}

Result<std::string> SimulateCustomPolicy(Call& call) {
  access::Caller caller;
  caller.kind = access::Principal::Kind::kUser;
  caller.account = call.account();
  caller.arn = call.form.Find("CallerArn")
                   .value_or(fmt::format("arn:aws:iam::{}:user/simulated", call.account()));
  caller.id = caller.user_id = "AIDASIMULATED";
  TRY(AddInput(call, &caller));
  return Simulate(call, caller);
}

Result<std::string> SimulatePrincipalPolicy(Call& call) {
  const std::string_view arn = call.form.Get("PolicySourceArn");
  const std::string_view name = arn.substr(arn.rfind('/') + 1);
  std::shared_ptr<const access::Caller> found;
  if (const access::User* user = call.directory->FindUser(name);
      user != nullptr && access::ArnOf(*user) == arn) {
    found = call.directory->CallerOf(user->name);
  } else if (const access::Role* role = call.directory->FindRole(name);
             role != nullptr && access::ArnOf(*role) == arn) {
    access::Session session;
    session.account = role->account;
    session.issuer = role->name;
    session.issuer_id = role->id;
    session.name = "simulated";
    session.issued_micros = call.now();
    session.expires_micros = session.issued_micros + 3'600'000'000;
    found = call.directory->CallerOf(session);
  }
  if (found == nullptr) return NoSuchEntity(fmt::format("The entity {} cannot be found.", arn));
  access::Caller caller = *found;
  TRY(AddInput(call, &caller));
  return Simulate(call, caller);
}

}  // namespace

std::vector<Row> SimulationRows() {
  return {{"SimulateCustomPolicy", SimulateCustomPolicy},
          {"SimulatePrincipalPolicy", SimulatePrincipalPolicy}};
}

}  // namespace stator::iam
