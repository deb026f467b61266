#include "access/policy_text.h"

#include <array>

#include "access/identity.h"
#include "access/json.h"
#include "access/policy.h"
#include "access/sigv4.h"
#include "base/ascii.h"
#include "base/json_writer.h"

namespace stator::access {
namespace {

void Write(const JsonValue& value, std::string* out);

void WriteText(std::string_view text, std::string* out) {
  JsonWriter writer;
  writer.Text(text);
  *out += writer.Take();
  out->pop_back();  // Take's line feed
}

// Writes the elements with commas between them.
template <typename Range, typename WriteOne>
void WriteList(const Range& range, char open, char close, std::string* out, WriteOne write) {
  *out += open;
  bool first = true;
  for (const auto& element : range) {
    if (!first) *out += ',';
    first = false;
    write(element);
  }
  *out += close;
}

void Write(const JsonValue& value, std::string* out) {
  switch (value.kind) {
    case JsonValue::Kind::kNull: *out += "null"; return;
    case JsonValue::Kind::kBool: *out += value.boolean ? "true" : "false"; return;
    case JsonValue::Kind::kNumber: *out += value.text; return;
    case JsonValue::Kind::kString: WriteText(value.text, out); return;
    case JsonValue::Kind::kArray:
      WriteList(value.elements, '[', ']', out, [out](const JsonValue& e) { Write(e, out); });
      return;
    case JsonValue::Kind::kObject:
      WriteList(value.members, '{', '}', out, [out](const JsonMember& member) {
        WriteText(member.name, out);
        *out += ':';
        Write(member.value, out);
      });
      return;
  }
}

// A list of one becomes its element.
const JsonValue& Unwrapped(const JsonValue& value) {
  return value.is_array() && value.elements.size() == 1 ? value.elements[0] : value;
}

void ExpandAccounts(JsonValue* value) {
  if (value->is_string() && IsAccountId(value->text)) value->text = RootArn(value->text);
  for (JsonValue& element : value->elements) ExpandAccounts(&element);
}

void WritePrincipal(const JsonValue& principal, std::string* out) {
  if (!principal.is_object()) return Write(principal, out);
  JsonValue expanded = principal;
  for (auto& [type, names] : expanded.members) {
    if (type == "AWS") ExpandAccounts(&names);
    names = JsonValue(Unwrapped(names));
  }
  Write(expanded, out);
}

void WriteStatement(const JsonValue& statement, std::string* out) {
  constexpr std::array<std::string_view, 9> kOrder = {"Sid",          "Effect",      "Principal",
                                                      "NotPrincipal", "Action",      "NotAction",
                                                      "Resource",     "NotResource", "Condition"};
  *out += '{';
  bool first = true;
  for (const std::string_view name : kOrder) {
    const JsonValue* value = statement.Find(name);
    if (value == nullptr) continue;
    if (!first) *out += ',';
    first = false;
    WriteText(name, out);
    *out += ':';
    if (name == "Effect") {
      *out += EqualsIgnoringCase(value->text, "Allow") ? "\"Allow\"" : "\"Deny\"";
    } else if (name.ends_with("Principal")) {
      WritePrincipal(*value, out);
    } else if (name.ends_with("Action") || name.ends_with("Resource")) {
      Write(Unwrapped(*value), out);
    } else {
      Write(*value, out);
    }
  }
  *out += '}';
}

}  // namespace

Result<ResourcePolicyText> NormalizeResourcePolicy(std::string_view text) {
  TRY(Policy::Parse(text, PolicyKind::kResource, ""));
  ASSIGN_OR_RETURN(const JsonValue document, ReadJson(text));
  ResourcePolicyText result;
  const JsonValue* version = document.Find("Version");
  result.has_version = version != nullptr;
  std::string& out = result.normal;
  out = "{\"Version\":";
  WriteText(version == nullptr ? std::string_view("2008-10-17") : version->text, &out);
  if (const JsonValue* id = document.Find("Id")) {
    out += ",\"Id\":";
    WriteText(id->text, &out);
  }
  out += ",\"Statement\":[";
  const JsonValue& statements = *document.Find("Statement");
  if (statements.is_object()) {
    WriteStatement(statements, &out);
  } else {
    bool first = true;
    for (const JsonValue& statement : statements.elements) {
      if (!first) out += ',';
      first = false;
      WriteStatement(statement, &out);
    }
  }
  out += "]}";
  return result;
}

}  // namespace stator::access
