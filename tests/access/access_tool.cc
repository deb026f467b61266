// Evaluates policies as the server does, one JSON request a line, for tests/access/*.test.mjs.
//
//   {"principal": {"kind": "user", "account", "arn", "issuer", "id"}, "action", "resource",
//    "resourceAccount", "context": {key: text or [text]}, "identity": [document],
//    "boundary": document, "session": [document], "resourcePolicy": document, "trust": document}
//
// Documents are JSON values. Answers a line: {"allowed", "explicit", "type", "policy", "sid"} or
// {"error": text}. `access_tool catalogue` prints the catalogue instead.
#include <fmt/format.h>

#include <deque>
#include <iostream>
#include <string>
#include <vector>

#include "access/authorize.h"
#include "access/event_source_mapping.h"
#include "access/json.h"
#include "base/json_writer.h"

namespace stator::access {
namespace {

// Writes a value back as the text that it was read from, apart from white space.
void Write(const JsonValue& value, JsonWriter* out) {
  switch (value.kind) {
    case JsonValue::Kind::kNull: out->Null(); break;
    case JsonValue::Kind::kBool: out->Bool(value.boolean); break;
    case JsonValue::Kind::kNumber: out->Number(std::stod(value.text)); break;
    case JsonValue::Kind::kString: out->Text(value.text); break;
    case JsonValue::Kind::kArray:
      out->Open('[');
      for (const JsonValue& element : value.elements) Write(element, out);
      out->Close(']');
      break;
    case JsonValue::Kind::kObject:
      out->Open('{');
      for (const auto& [name, member] : value.members) {
        out->Key(name);
        Write(member, out);
      }
      out->Close('}');
      break;
  }
}

std::string_view TextOf(const JsonValue& json, std::string_view name) {
  const JsonValue* found = json.Find(name);
  return found == nullptr ? std::string_view() : std::string_view(found->text);
}

Principal::Kind KindOf(std::string_view name) {
  if (name == "root") return Principal::Kind::kRoot;
  if (name == "user") return Principal::Kind::kUser;
  if (name == "role") return Principal::Kind::kRoleSession;
  if (name == "federated") return Principal::Kind::kFederatedUser;
  if (name == "web") return Principal::Kind::kWebIdentity;
  if (name == "service") return Principal::Kind::kService;
  return Principal::Kind::kAnonymous;
}

using PolicyPointer = std::shared_ptr<const Policy>;

Result<PolicyPointer> Parse(const JsonValue& document, PolicyKind kind, std::string name) {
  if (document.is_string()) return Policy::Parse(document.text, kind, std::move(name));
  JsonWriter text;
  Write(document, &text);
  return Policy::Parse(text.Take(), kind, std::move(name));
}

Result<std::vector<PolicyPointer>> ParseList(const JsonValue* list, std::string_view name) {
  std::vector<PolicyPointer> policies;
  if (list == nullptr) return policies;
  for (const JsonValue& document : list->elements) {
    ASSIGN_OR_RETURN(PolicyPointer policy, Parse(document, PolicyKind::kIdentity,
                                                 fmt::format("{}{}", name, policies.size())));
    policies.push_back(std::move(policy));
  }
  return policies;
}

Result<std::string> Answer(const JsonValue& request) {
  const JsonValue none;
  const JsonValue* who = request.Find("principal");
  if (who == nullptr) who = &none;
  const Principal principal{KindOf(TextOf(*who, "kind")), TextOf(*who, "account"),
                            TextOf(*who, "arn"), TextOf(*who, "issuer"), TextOf(*who, "id")};
  const std::optional<ActionId> action = FindAction(TextOf(request, "action"));
  if (!action) return ValidationError("unknown action");
  const ResourceName resource(TextOf(request, "resource"));

  RequestContext context;
  std::deque<std::vector<std::string_view>> lists;
  if (const JsonValue* values = request.Find("context")) {
    for (const auto& [name, value] : values->members) {
      const KeyName key = ResolveKey(name);
      // The name in the request outlives `key`.
      const std::string_view tag =
          key.tag.empty() ? std::string_view()
                          : std::string_view(name).substr(name.size() - key.tag.size());
      if (value.is_array()) {
        auto& list = lists.emplace_back();
        for (const JsonValue& element : value.elements) list.push_back(element.text);
        if (tag.empty()) {
          context.SetList(key.key, list);
        } else {
          context.AddList(key.key, tag, list);
        }
      } else if (tag.empty()) {
        context.Set(key.key, value.text);
      } else {
        context.Add(key.key, tag, value.text);
      }
    }
  }

  PolicySet policies;
  ASSIGN_OR_RETURN(const std::vector<PolicyPointer> identity,
                   ParseList(request.Find("identity"), "identity"));
  ASSIGN_OR_RETURN(const std::vector<PolicyPointer> session,
                   ParseList(request.Find("session"), "session"));
  policies.identity = identity;
  policies.session = session;
  policies.has_session = request.Find("session") != nullptr;
  PolicyPointer boundary;
  PolicyPointer of_resource;
  if (const JsonValue* document = request.Find("boundary")) {
    ASSIGN_OR_RETURN(boundary, Parse(*document, PolicyKind::kIdentity, "boundary"));
    policies.has_boundary = true;
    policies.boundary = boundary.get();
  }
  for (const auto& [member, kind] : {std::pair("resourcePolicy", PolicyKind::kResource),
                                     std::pair("trust", PolicyKind::kTrust)}) {
    const JsonValue* document = request.Find(member);
    if (document == nullptr) continue;
    ASSIGN_OR_RETURN(of_resource, Parse(*document, kind, member));
    policies.has_resource = true;
    policies.resource = of_resource.get();
  }

  const Decision decision = Authorize(
      {principal, *action, resource, TextOf(request, "resourceAccount"), context}, policies);
  JsonWriter out;
  out.Open('{').Key("allowed").Bool(decision.allowed).Key("explicit").Bool(decision.explicit_deny);
  out.Field("type", PolicyTypeName(decision.type));
  out.Field("policy", decision.policy == nullptr ? std::string_view() : decision.policy->name());
  out.Field("sid", decision.statement == nullptr ? std::string_view() : decision.statement->sid());
  out.Close('}');
  return out.Take();
}

void PrintCatalogue() {
  struct Type {
    uint32_t bit;
    std::string_view name;
  };
  constexpr Type kTypes[] = {{kTable, "table"},
                             {kIndex, "index"},
                             {kStream, "stream"},
                             {kBackup, "backup"},
                             {kExport, "export"},
                             {kImport, "import"},
                             {kBulkOperation, "bulk-operation"},
                             {kGlobalTable, "global-table"},
                             {kUser, "user"},
                             {kGroup, "group"},
                             {kRole, "role"},
                             {kPolicy, "policy"},
                             {kOidcProvider, "oidc-provider"},
                             {kFederatedUser, "federated-user"},
                             {kScalableTarget, "ScalableTarget"},
                             {kEventSourceMapping, "eventSourceMapping"}};
  for (const Action& action : Actions()) {
    JsonWriter out;
    const auto types = [&](std::string_view name, uint32_t bits) {
      out.Key(name).Open('[');
      for (const Type& type : kTypes) {
        if ((bits & type.bit) != 0) out.Text(type.name);
      }
      out.Close(']');
    };
    out.Open('{').Field("name", action.name);
    constexpr std::string_view kLevels[] = {"List", "Read", "Write", "Tagging", "Permissions"};
    out.Field("level", kLevels[static_cast<size_t>(action.level)]);
    types("required", action.required);
    types("optional", action.optional);
    out.Key("keys").Open('[');
    for (size_t i = 0; i < kContextKeys; ++i) {
      const auto key = static_cast<ContextKey>(i);
      if (action.keys.Has(key)) out.Text(ContextKeyName(key));
    }
    out.Close(']').Close('}');
    std::cout << out.Take();
  }
}

int Run() {
  std::string line;
  while (std::getline(std::cin, line)) {
    const Result<JsonValue> request = ReadJson(line);
    const Result<std::string> answer =
        request.ok() ? Answer(*request) : Result<std::string>(request.error());
    if (answer.ok()) {
      std::cout << *answer;
      continue;
    }
    JsonWriter out;
    out.Open('{').Field("error", answer.error().message()).Close('}');
    std::cout << out.Take();
  }
  return 0;
}

}  // namespace
}  // namespace stator::access

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  if (argc > 1 && std::string_view(argv[1]) == "catalogue") {
    stator::access::PrintCatalogue();
    return 0;
  }
  return stator::access::Run();
}
