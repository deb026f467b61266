// Reads policy documents. IAM and DynamoDB refuse the same faults with different texts, and IAM
// names few of them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "access/json.h"
#include "access/policy.h"
#include "access/sigv4.h"
#include "base/ascii.h"

namespace stator::access {
namespace {

constexpr std::string_view kVersion2012 = "2012-10-17";
constexpr std::string_view kVersion2008 = "2008-10-17";
constexpr std::string_view kResourcePrefix = "One or more parameter values were invalid: ";

bool IsName(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  });
}

// The characters that IAM's pattern for documents allows: tab, line ends, U+0020 to U+00FF.
bool HasForbiddenCharacter(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') return true;
    if (byte >= 0xc4) return true;  // leads a code point above U+00FF
  }
  return false;
}

}  // namespace

class PolicyReader {
 public:
  PolicyReader(std::string_view text, PolicyKind kind) : text_(text), kind_(kind) {}

  Result<std::shared_ptr<const Policy>> Read(std::string name) {
    auto policy = std::make_shared<Policy>();
    policy->name_ = std::move(name);
    policy->kind_ = kind_;
    TRY(CheckSize());
    const Result<JsonValue> document = ReadJson(text_);
    if (!document.ok() || !document->is_object()) return NoJson();
    TRY(ReadDocument(*document, policy.get()));
    policy->statements_->shrink_to_fit();
    for (Statement& statement : *policy->statements_) {
      statement.principals_.shrink_to_fit();
      statement.resources_.shrink_to_fit();
      statement.conditions_.shrink_to_fit();
    }
    return std::shared_ptr<const Policy>(std::move(policy));
  }

 private:
  bool is_resource() const { return kind_ == PolicyKind::kResource; }

  // ---- errors ----

  // A fault that IAM calls `iam` and DynamoDB `dynamodb`.
  Error Refuse(std::string_view iam, std::string_view dynamodb) const {
    if (!is_resource()) return ValidationError(std::string(iam));
    return ValidationError(fmt::format("{}Invalid policy document: {}", kResourcePrefix, dynamodb));
  }
  Error NoJson() const {
    return Refuse(kind_ == PolicyKind::kTrust ? "This policy contains invalid Json"
                                              : "Syntax errors in policy.",
                  "This policy contains invalid Json");
  }
  // A value of the wrong JSON type, or a member that does not belong.
  Error Syntax(const JsonValue& at) const {
    return Refuse("Syntax errors in policy.", fmt::format("Syntax error at position ({},{})",
                                                          at.position.line, at.position.column));
  }
  Error Missing(std::string_view field, std::string_view iam) const {
    if (kind_ == PolicyKind::kTrust)
      return ValidationError(fmt::format("Missing required field {}", field));
    return Refuse(iam, fmt::format("Missing required field {}", field));
  }

  Status CheckSize() const {
    if (is_resource() && text_.size() > Policy::kMaxResourcePolicyBytes) {
      return ValidationError(fmt::format("{}Maximum policy size of {} bytes exceeded",
                                         kResourcePrefix, Policy::kMaxResourcePolicyBytes));
    }
    if (text_.size() > Policy::kMaxBytes || HasForbiddenCharacter(text_))
      return Refuse("The policy failed legacy parsing", "This policy contains invalid Json");
    return OkStatus();
  }

  // ---- the document ----

  Status ReadDocument(const JsonValue& document, Policy* policy) {
    const JsonValue* statements = nullptr;
    for (const auto& [name, value] : document.members) {
      if (name == "Version") {
        if (!value.is_string()) return Syntax(value);
        if (value.text != kVersion2012 && value.text != kVersion2008) {
          return Refuse("Policy document must be version 2012-10-17 or greater.",
                        fmt::format("Syntax error at position ({},{})", value.position.line,
                                    value.position.column));
        }
        variables_ = value.text == kVersion2012;
      } else if (name == "Id") {
        if (!value.is_string()) return Syntax(value);
      } else if (name == "Statement") {
        statements = &value;
      } else {
        return Syntax(value);
      }
    }
    if (statements == nullptr) return Missing("Statement", "Syntax errors in policy.");
    if (statements->is_object()) {
      TRY(ReadStatement(*statements, policy));
    } else if (statements->is_array()) {
      if (statements->elements.empty()) {
        return Refuse(kind_ == PolicyKind::kTrust
                          ? "Could not parse the policy: Statement is empty!"
                          : "Syntax errors in policy.",
                      "Could not parse the policy: Statement is empty!");
      }
      for (const JsonValue& statement : statements->elements) {
        if (!statement.is_object()) return Syntax(statement);
        TRY(ReadStatement(statement, policy));
      }
    } else {
      return Syntax(*statements);
    }
    return CheckSids(*policy);
  }

  Status CheckSids(const Policy& policy) const {
    std::set<std::string_view> sids;
    for (const Statement& statement : policy.statements()) {
      if (!statement.sid_.empty() && !sids.insert(statement.sid_).second) {
        return Refuse("Statement IDs (SID) in a single policy must be unique.",
                      "The Statement Ids in the policy are not unique");
      }
    }
    return OkStatus();
  }

  struct Members {
    const JsonValue* effect = nullptr;
    const JsonValue* principal = nullptr;
    const JsonValue* action = nullptr;
    const JsonValue* resource = nullptr;
    const JsonValue* condition = nullptr;
    bool not_action = false;
  };

  Status FindMembers(const JsonValue& json, Statement* statement, Members* members) const {
    const auto once = [&](const JsonValue** slot, const JsonValue& value) -> Status {
      if (*slot != nullptr) return Syntax(value);
      *slot = &value;
      return OkStatus();
    };
    for (const auto& [name, value] : json.members) {
      if (name == "Sid") {
        if (!value.is_string() || (!is_resource() && !IsName(value.text))) return Syntax(value);
        statement->sid_ = value.text;
      } else if (name == "Effect") {
        members->effect = &value;
      } else if (name == "Principal" || name == "NotPrincipal") {
        if (kind_ == PolicyKind::kIdentity)
          return ValidationError("Policy document should not specify a principal.");
        statement->not_principal_ = name == "NotPrincipal";
        if (statement->not_principal_ && kind_ == PolicyKind::kTrust) {
          return ValidationError("AssumeRole policy must not contain NotPrincipal field.");
        }
        TRY(once(&members->principal, value));
      } else if (name == "Action" || name == "NotAction") {
        members->not_action = name == "NotAction";
        TRY(once(&members->action, value));
      } else if (name == "Resource" || name == "NotResource") {
        if (kind_ == PolicyKind::kTrust) return ValidationError("Has prohibited field Resource.");
        statement->not_resource_ = name == "NotResource";
        TRY(once(&members->resource, value));
      } else if (name == "Condition") {
        members->condition = &value;
      } else {
        return Syntax(value);
      }
    }
    return OkStatus();
  }

  Status ReadStatement(const JsonValue& json, Policy* policy) {
    Statement statement;
    Members members;
    TRY(FindMembers(json, &statement, &members));
    if (members.effect == nullptr) return Missing("Effect", "Syntax errors in policy.");
    TRY(ReadEffect(*members.effect, &statement));
    if (kind_ != PolicyKind::kIdentity) {
      if (members.principal == nullptr) return Missing("Principal", "Syntax errors in policy.");
      TRY(ReadPrincipal(*members.principal, &statement));
    }
    if (members.action == nullptr)
      return Missing("Action", "Policy statement must contain actions.");
    TRY(ReadActions(*members.action, members.not_action, &statement));
    if (kind_ != PolicyKind::kTrust) {
      if (members.resource == nullptr)
        return Missing("Resource", "Policy statement must contain resources.");
      TRY(ReadResources(*members.resource, &statement));
    }
    bool bounded = false;
    if (members.condition != nullptr) TRY(ReadConditions(*members.condition, &statement, &bounded));
    if (is_resource() && statement.allows_ && !bounded && NamesAnyone(statement)) {
      return ValidationError(
          "Resource-based policy grants unbounded access in one or more elements. Please revise "
          "the policy to ensure least-privilege form of access");
    }
    policy->keys_.Add(statement.keys_);
    policy->statements_->push_back(std::move(statement));
    return OkStatus();
  }

  Status ReadEffect(const JsonValue& value, Statement* statement) const {
    if (!value.is_string()) return Syntax(value);
    // DynamoDB takes "allow" too.
    const auto is = [&](std::string_view effect) {
      return is_resource() ? EqualsIgnoringCase(value.text, effect) : value.text == effect;
    };
    statement->allows_ = is("Allow");
    if (!statement->allows_ && !is("Deny")) return Syntax(value);
    return OkStatus();
  }

  // Calls `add` with each text of a string or a list of strings.
  template <typename Add>
  Status ForEachText(const JsonValue& value, Add add) const {
    if (value.is_string()) return add(value);
    if (!value.is_array()) return Syntax(value);
    for (const JsonValue& element : value.elements) {
      if (!element.is_string()) return Syntax(element);
      TRY(add(element));
    }
    return OkStatus();
  }

  // ---- principals ----

  Error BadPrincipal(std::string_view type, std::string_view text) const {
    if (is_resource()) {
      return ValidationError(
          fmt::format("{}Invalid principal in policy document.", kResourcePrefix));
    }
    return ValidationError(fmt::format("Invalid principal in policy: \"{}\":\"{}\"", type, text));
  }

  Status AddAwsPrincipal(std::string_view text, Statement* statement) const {
    using Kind = Statement::PrincipalPattern::Kind;
    auto& principals = statement->principals_;
    if (text == "*") {
      principals.push_back({Kind::kAnyone, {}});
      return OkStatus();
    }
    const auto is_account = [](std::string_view id) {
      return id.size() == 12 && id.find_first_not_of("0123456789") == std::string_view::npos;
    };
    if (is_account(text)) {
      principals.push_back({Kind::kAccount, std::string(text)});
      return OkStatus();
    }
    ArnView arn;
    if (SplitArn(text, &arn)) {
      if ((arn.service() != "iam" && arn.service() != "sts") || !is_account(arn.account()) ||
          arn.resource().empty() || text.find_first_of("*?") != std::string_view::npos ||
          arn.resource().starts_with("group/"))
        return BadPrincipal("AWS", text);
      if (arn.resource() == "root") {
        principals.push_back({Kind::kAccount, std::string(arn.account())});
      } else {
        principals.push_back({Kind::kArn, std::string(text)});
      }
      return OkStatus();
    }
    const bool is_id = text.size() >= 16 && text.size() <= 128 && IsName(text) &&
                       (text.starts_with("AIDA") || text.starts_with("AROA"));
    if (!is_id) return BadPrincipal("AWS", text);
    principals.push_back({Kind::kArn, std::string(text)});
    return OkStatus();
  }

  Status ReadPrincipal(const JsonValue& value, Statement* statement) const {
    using Kind = Statement::PrincipalPattern::Kind;
    if (value.is_string()) {
      if (value.text != "*") return Syntax(value);
      return AddAwsPrincipal("*", statement);
    }
    if (!value.is_object()) return Syntax(value);
    for (const auto& [type, names] : value.members) {
      if (type == "AWS") {
        TRY(ForEachText(names,
                        [&](const JsonValue& n) { return AddAwsPrincipal(n.text, statement); }));
      } else if (type == "Service") {
        TRY(ForEachText(names, [&](const JsonValue& n) -> Status {
          // Only these were seen in policies of DynamoDB.
          if (is_resource() && n.text != "redshift.amazonaws.com" &&
              n.text != "replication.dynamodb.amazonaws.com")
            return Refuse("", "Policy contains invalid service principal");
          statement->principals_.push_back({Kind::kService, n.text});
          return OkStatus();
        }));
      } else if (type == "Federated" && !is_resource()) {
        TRY(ForEachText(names, [&](const JsonValue& n) -> Status {
          statement->principals_.push_back({Kind::kFederated, n.text});
          return OkStatus();
        }));
      } else {
        return Syntax(names);
      }
    }
    if (statement->principals_.empty()) return Syntax(value);
    return OkStatus();
  }

  static bool NamesAnyone(const Statement& statement) {
    return statement.not_principal_ ||
           std::any_of(statement.principals_.begin(), statement.principals_.end(),
                       [](const Statement::PrincipalPattern& p) {
                         return p.kind == Statement::PrincipalPattern::Kind::kAnyone;
                       });
  }

  // ---- actions and resources ----

  Status CheckAction(std::string_view text) const {
    if (text == "*") return OkStatus();
    const size_t colon = text.find(':');
    if (colon == std::string_view::npos || colon == 0) {
      return ValidationError(
          "Actions/Conditions must be prefaced by a vendor, e.g., iam, sdb, ec2, etc.");
    }
    if (text.find(':', colon + 1) != std::string_view::npos)
      return ValidationError("Actions/Condition can contain only one colon.");
    const std::string_view vendor = text.substr(0, colon);
    const bool fits = std::all_of(vendor.begin(), vendor.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
    });
    if (!fits) return ValidationError(fmt::format("Vendor {} is not valid", vendor));
    return OkStatus();
  }

  Status ReadActions(const JsonValue& value, bool negated, Statement* statement) const {
    std::string invalid;
    TRY(ForEachText(value, [&](const JsonValue& action) -> Status {
      const std::string_view text = action.text;
      const ActionSet matched = MatchActions(text);
      if (is_resource()) {
        const bool fits = text.find_first_of("*?") == std::string_view::npos
                              ? (matched & (TablePolicyActions() | StreamPolicyActions())).any() ||
                                    EqualsIgnoringCase(text, "dynamodb:TransactGetItems") ||
                                    EqualsIgnoringCase(text, "dynamodb:TransactWriteItems")
                              : text == "*" || CheckAction(text).ok();
        if (!fits) invalid += fmt::format("{}\"{}\"", invalid.empty() ? "" : ", ", text);
      } else {
        TRY(CheckAction(text));
        if (kind_ == PolicyKind::kTrust &&
            (text.size() < 4 || !EqualsIgnoringCase(text.substr(0, 4), "sts:")))
          return ValidationError("AssumeRole policy may only specify STS AssumeRole actions.");
      }
      statement->actions_ |= matched;
      return OkStatus();
    }));
    if (!invalid.empty())
      return Refuse("", fmt::format("The following action names are invalid: {}", invalid));
    if (value.is_array() && value.elements.empty())
      return Missing("Action", "Policy statement must contain actions.");
    if (negated) statement->actions_.flip();
    return OkStatus();
  }

  Status ReadResources(const JsonValue& value, Statement* statement) const {
    statement->has_resources_ = true;
    TRY(ForEachText(value, [&](const JsonValue& resource) -> Status {
      Result<ResourcePattern> pattern = ResourcePattern::Compile(resource.text, variables_);
      if (!pattern.ok()) {
        if (!is_resource()) return std::move(pattern).error();
        const size_t last = std::min(resource.text.rfind(':') + 1, resource.text.size());
        return Refuse("", fmt::format("The relative-id \"{}\" is invalid for ARN \"{}\"",
                                      resource.text.substr(last), resource.text));
      }
      statement->keys_.Add(pattern->keys());
      statement->resources_.push_back(*std::move(pattern));
      return OkStatus();
    }));
    if (statement->resources_.empty())
      return Missing("Resource", "Policy statement must contain resources.");
    return OkStatus();
  }

  // ---- conditions ----

  // True if a line bounds who may use a grant to everyone: a positive operator on one of the keys
  // that name principals, with values without wildcards and variables.
  static bool BoundsPrincipals(std::string_view operation, std::string_view key,
                               const JsonValue& values) {
    constexpr std::array<std::string_view, 4> kOperators = {"StringEquals", "StringLike",
                                                            "ArnEquals", "ArnLike"};
    constexpr std::array<std::string_view, 15> kKeys = {"aws:PrincipalAccount",
                                                        "aws:PrincipalArn",
                                                        "aws:PrincipalOrgID",
                                                        "aws:PrincipalOrgPaths",
                                                        "aws:SourceAccount",
                                                        "aws:SourceArn",
                                                        "aws:SourceVpc",
                                                        "aws:SourceVpce",
                                                        "aws:UserId",
                                                        "aws:PrincipalServiceName",
                                                        "aws:Ec2InstanceSourceVpc",
                                                        "aws:SourceOrgID",
                                                        "aws:SourceOrgPaths",
                                                        "aws:PrincipalIsAWSService",
                                                        "aws:PrincipalServiceNamesList"};
    const auto listed = [](const auto& names, std::string_view name) {
      return std::any_of(names.begin(), names.end(),
                         [&](std::string_view n) { return EqualsIgnoringCase(n, name); });
    };
    if (!listed(kKeys, key)) return false;
    if (EqualsIgnoringCase(key, "aws:PrincipalIsAWSService")) {
      return EqualsIgnoringCase(operation, "Bool") &&
             (values.boolean || EqualsIgnoringCase(values.text, "true"));
    }
    if (!listed(kOperators, operation)) return false;
    const auto bounded = [](const JsonValue& value) {
      return value.is_string() && value.text.find_first_of("*?$") == std::string::npos;
    };
    if (!values.is_array()) return bounded(values);
    return !values.elements.empty() &&
           std::all_of(values.elements.begin(), values.elements.end(), bounded);
  }

  Status ReadConditions(const JsonValue& block, Statement* statement, bool* bounded) const {
    if (!block.is_object()) return Syntax(block);
    for (const auto& [operation, keys] : block.members) {
      if (!keys.is_object()) return Syntax(keys);
      for (const auto& [key, values] : keys.members) {
        Result<Condition> condition = Condition::Compile(operation, key, values, variables_);
        if (!condition.ok())
          return Refuse(condition.error().message(), condition.error().message());
        statement->keys_.Add(condition->keys());
        statement->conditions_.push_back(*std::move(condition));
        *bounded |= BoundsPrincipals(operation, key, values);
      }
    }
    return OkStatus();
  }

  const std::string_view text_;
  const PolicyKind kind_;
  bool variables_ = false;  // as the version says
};

Result<std::shared_ptr<const Policy>> Policy::Parse(std::string_view text, PolicyKind kind,
                                                    std::string name) {
  return PolicyReader(text, kind).Read(std::move(name));
}

std::shared_ptr<const Policy> Policy::Named(const std::shared_ptr<const Policy>& policy,
                                            std::string name) {
  auto named = std::make_shared<Policy>(*policy);
  named->name_ = std::move(name);
  named->statements_ = {policy, policy->statements_.get()};
  return named;
}

}  // namespace stator::access
