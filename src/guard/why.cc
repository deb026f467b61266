#include "guard/why.h"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <memory>

#include "access/steps.h"
#include "base/json_writer.h"
#include "base/time_text.h"
#include "guard/check.h"
#include "ops/checks.h"
#include "ops/table_status.h"

namespace stator::guard {
namespace {

using access::ContextKey;
using CallerPtr = std::shared_ptr<const access::Caller>;

CallerPtr SessionOf(const access::Directory& directory, const access::Role& role,
                    std::string_view name, const Clock& clock) {
  access::Session session;
  session.account = role.account;
  session.issuer = role.name;
  session.issuer_id = role.id;
  session.name = name;
  session.issued_micros = clock.NowMicros();
  session.expires_micros = session.issued_micros + 3'600'000'000;
  return directory.CallerOf(session);
}

CallerPtr FindPrincipal(const std::string& text, const access::Directory& directory,
                        const ops::Environment& environment) {
  const std::string& account = environment.settings.account;
  if (text == "root" || text == access::RootArn(account)) return directory.CallerOf("");
  constexpr std::string_view kAssumed = ":assumed-role/";
  if (const size_t at = text.find(kAssumed); at != std::string::npos) {
    const std::string rest = text.substr(at + kAssumed.size());
    const std::string role_name = rest.substr(0, rest.find('/'));
    const std::string name = rest.substr(std::min(role_name.size() + 1, rest.size()));
    const access::Role* const role = directory.FindRole(role_name);
    if (role == nullptr || name.empty() || access::SessionArn(*role, name) != text) return nullptr;
    return SessionOf(directory, *role, name, environment.clock);
  }
  const bool is_arn = text.starts_with("arn:");
  const std::string name = text.substr(is_arn ? text.rfind('/') + 1 : 0);
  const access::User* const user = directory.FindUser(name);
  if (user != nullptr && (!is_arn || access::ArnOf(*user) == text))
    return directory.CallerOf(user->name);
  const access::Role* const role = directory.FindRole(name);
  if (role != nullptr && (!is_arn || access::ArnOf(*role) == text))
    return SessionOf(directory, *role, "why", environment.clock);
  return nullptr;
}

// Returns the account that owns a resource.
std::string OwnerOf(std::string_view resource, const ops::Environment& environment) {
  const std::string_view account = ops::AccountInArn(resource);
  return account.empty() ? environment.settings.account : std::string(account);
}

// The request context that a question describes. Its views point into this object and into the
// question.
class Values {
 public:
  Values(const access::Caller& caller, const Question& question, std::string_view resource,
         std::string_view region, const ops::Environment& environment)
      : account_(OwnerOf(resource, environment)) {
    caller.SetContext(&context_);
    const int64_t now = environment.clock.NowMicros();
    time_ = FormatTime(now);
    epoch_ = std::to_string(now / 1'000'000);
    context_.Set(ContextKey::kCurrentTime, time_);
    context_.Set(ContextKey::kEpochTime, epoch_);
    context_.Set(ContextKey::kSecureTransport, "false");
    context_.Set(ContextKey::kViaAwsService, "false");
    context_.Set(ContextKey::kRequestedRegion, region);
    context_.Set(ContextKey::kResourceAccount, account_);
    table_ = FindTagged(environment, resource);
    if (table_ != nullptr) {
      for (const auto& [key, value] : table_->descriptor.tags)
        context_.Add(ContextKey::kResourceTag, key, value);
    }
    lists_.reserve(question.context.size());
    for (const Question::Entry& entry : question.context) Set(entry);
  }
  const access::RequestContext& context() const { return context_; }
  bool Has(const access::KeyName& name) const { return context_.Find(name) != nullptr; }

 private:
  void Set(const Question::Entry& entry) {
    const access::KeyName& name = names_.emplace_back(access::ResolveKey(entry.key));
    std::vector<std::string_view>& list =
        lists_.emplace_back(entry.values.begin(), entry.values.end());
    const std::string_view first = list.empty() ? std::string_view() : list.front();
    if (!name.tag.empty()) {
      // The names stand still: std::list.
      if (list.size() == 1) {
        context_.Add(name.key, name.tag, first);
      } else {
        context_.AddList(name.key, name.tag, list);
      }
    } else if (access::IsListKey(name.key)) {
      context_.SetList(name.key, list);
      // Both names have the same values in a request.
      if (name.key == ContextKey::kLeadingKeys)
        context_.SetList(ContextKey::kFirstPartitionKeyValues, list);
    } else {
      context_.Set(name.key, first);
    }
  }

  const std::string account_;
  std::string time_, epoch_;
  table::TablePtr table_;
  std::list<access::KeyName> names_;
  std::vector<std::vector<std::string_view>> lists_;
  access::RequestContext context_;
};

std::string ResourceOf(const Question& question, const access::Action& action,
                       const ops::Environment& environment) {
  if (question.resource.empty() || question.resource == "*") return "*";
  if (question.resource.starts_with("arn:")) return question.resource;
  // A name alone is a table's.
  return action.name.starts_with("iam:") ? question.resource
                                         : ops::TableArn(environment, question.resource);
}

}  // namespace

Result<Answer> AnswerWhy(const Question& question, const access::Directory& directory,
                         const ResourcePolicySource* resources, std::string_view region,
                         const ops::Environment& environment) {
  size_t values = 0;
  for (const Question::Entry& entry : question.context) values += entry.values.size();
  if (question.context.size() > kMostEntries || values > kMostEntryValues) {
    return ValidationError(fmt::format("A question may have {} condition keys with {} values",
                                       kMostEntries, kMostEntryValues));
  }
  const std::optional<access::ActionId> action = access::FindAction(question.action);
  if (!action) {
    return ValidationError(
        fmt::format("\"{}\" is no action of this server, such as dynamodb:GetItem",
                    question.action.substr(0, 100)));
  }
  const CallerPtr caller = FindPrincipal(question.principal, directory, environment);
  if (caller == nullptr) {
    return Error(ErrorCode::kResourceNotFound,
                 fmt::format("There is no user, role or session {} in account {}",
                             question.principal.substr(0, 300), environment.settings.account));
  }
  const std::string resource = ResourceOf(question, access::ActionOf(*action), environment);
  const Values given(*caller, question, resource, region, environment);
  const AttachedPolicy attached = FindAttached(resources, environment, resource);
  const access::ResourceName name(resource);
  const std::string owner = OwnerOf(resource, environment);
  const access::Principal principal = caller->principal();
  access::PolicySteps steps(access::kMostStepsOfRequest);
  const access::Decision decision =
      access::Authorize({principal, *action, name, owner, given.context(), &steps},
                        caller->policies(attached.present, attached.policy.get()));
  if (steps.exhausted()) {
    return ValidationError(fmt::format(
        "Comparing these values with the policies takes more than {} steps, which denies a request",
        access::kMostStepsOfRequest));
  }
  Answer answer;
  answer.principal = caller->arn;
  answer.judgement = JudgementOf(access::ActionOf(*action).name, resource, decision);
  access::KeySet keys = caller->keys;
  if (attached.policy != nullptr) keys.Add(attached.policy->keys());
  for (size_t i = 0; i < access::kContextKeys; ++i) {
    const auto key = static_cast<ContextKey>(i);
    const std::string shown(access::ContextKeyName(key));
    if (!keys.Has(key) || shown.empty()) continue;
    answer.keys.push_back(shown);
    // A policy does not tell which members of a family it reads.
    const bool family = key == ContextKey::kPrincipalTag || key == ContextKey::kResourceTag ||
                        key == ContextKey::kRequestTag;
    if (!family && !given.Has({key, {}})) answer.missing.push_back(shown);
  }
  return answer;
}

std::string RenderJson(const Answer& answer) {
  const Judgement& judgement = answer.judgement;
  JsonWriter out;
  out.Open('{').Key("allowed").Bool(judgement.allowed);
  out.Field("decision", judgement.allowed         ? "allowed"
                        : judgement.explicit_deny ? "explicitDeny"
                                                  : "implicitDeny");
  out.Field("principal", answer.principal).Field("action", judgement.action);
  out.Field("resource", judgement.resource);
  if (judgement.type != access::PolicyType::kNone)
    out.Field("policyType", access::PolicyTypeName(judgement.type));
  if (!judgement.policy.empty()) out.Field("policy", judgement.policy);
  if (judgement.statement >= 0) {
    out.Key("statement").Whole(judgement.statement + 1);
    out.Field("effect", judgement.allowed ? "Allow" : "Deny");
  }
  if (!judgement.sid.empty()) out.Field("sid", judgement.sid);
  out.Field("reason", Explain(judgement));
  const auto list = [&out](std::string_view key, const std::vector<std::string>& texts) {
    out.Key(key).Open('[');
    for (const std::string& text : texts) out.Text(text);
    out.Close(']');
  };
  list("keysRead", answer.keys);
  list("keysMissing", answer.missing);
  out.Close('}');
  std::string text = out.Take();
  text.pop_back();
  return text;
}

std::string RenderText(const Answer& answer) {
  std::string text = fmt::format(
      "{} {} {} on {}\n{}\n", answer.principal, answer.judgement.allowed ? "may" : "may not",
      answer.judgement.action, answer.judgement.resource, Explain(answer.judgement));
  if (!answer.missing.empty()) {
    text += fmt::format("policies read keys that the question has no value for: {}\n",
                        fmt::join(answer.missing, ", "));
  }
  return text;
}

}  // namespace stator::guard
