#include "server/why_control.h"

#include <fmt/format.h>

#include "base/json_writer.h"
#include "simdjson.h"

namespace stator::server {
namespace {

namespace dom = simdjson::dom;

constexpr size_t kMaxBodyBytes = 256 << 10;

Error NoQuestion(std::string_view what) {
  return ValidationError(fmt::format(
      "{}; a question is {{\"principal\":\"alice\",\"action\":\"dynamodb:GetItem\","
      "\"resource\":\"TABLE or ARN\",\"context\":{{\"dynamodb:LeadingKeys\":[\"alice\"]}}}}",
      what));
}

Status TakeText(const dom::element& value, std::string_view name, std::string* text) {
  std::string_view found;
  if (value.get(found) != simdjson::SUCCESS) return NoQuestion(fmt::format("{} is no text", name));
  *text = found;
  return OkStatus();
}

Status TakeContext(const dom::element& value, std::vector<guard::Question::Entry>* context) {
  dom::object entries;
  if (value.get(entries) != simdjson::SUCCESS) return NoQuestion("context is no object");
  for (const auto& [key, given] : entries) {
    if (context->size() > guard::kMostEntries) break;  // refused later
    guard::Question::Entry& entry = context->emplace_back();
    entry.key = key;
    dom::array list;
    if (given.get(list) != simdjson::SUCCESS) {
      TRY(TakeText(given, "a value of context", &entry.values.emplace_back()));
      continue;
    }
    for (const dom::element element : list) {
      if (entry.values.size() > guard::kMostEntryValues) break;
      TRY(TakeText(element, "a value of context", &entry.values.emplace_back()));
    }
  }
  return OkStatus();
}

}  // namespace

Result<guard::Question> ReadQuestion(std::string_view body) {
  if (body.size() > kMaxBodyBytes)
    return ValidationError(fmt::format("The body is longer than {} KB", kMaxBodyBytes >> 10));
  dom::parser parser;
  const simdjson::padded_string padded(body);
  dom::object root;
  if (parser.parse(padded).get(root) != simdjson::SUCCESS)
    return NoQuestion("The body is no JSON object");
  guard::Question question;
  for (const auto& [key, value] : root) {
    if (key == "principal") {
      TRY(TakeText(value, key, &question.principal));
    } else if (key == "action") {
      TRY(TakeText(value, key, &question.action));
    } else if (key == "resource") {
      TRY(TakeText(value, key, &question.resource));
    } else if (key == "context") {
      TRY(TakeContext(value, &question.context));
    } else {
      return NoQuestion(fmt::format("There is no member \"{}\"", std::string(key).substr(0, 100)));
    }
  }
  if (question.principal.empty() || question.action.empty())
    return NoQuestion("principal or action is missing");
  return question;
}

std::string WriteQuestion(const guard::Question& question) {
  JsonWriter out;
  out.Open('{').Field("principal", question.principal).Field("action", question.action);
  out.Field("resource", question.resource).Key("context").Open('{');
  for (const guard::Question::Entry& entry : question.context) {
    out.Key(entry.key).Open('[');
    for (const std::string& value : entry.values) out.Text(value);
    out.Close(']');
  }
  out.Close('}').Close('}');
  std::string text = out.Take();
  text.pop_back();
  return text;
}

Result<std::string> HandleWhy(std::string_view body, const identity::Identities& identities,
                              const guard::Gate& gate, const ops::Environment& environment) {
  ASSIGN_OR_RETURN(const guard::Question question, ReadQuestion(body));
  const std::shared_ptr<const access::Directory> directory =
      identities.DirectoryOf(identities.account());
  ASSIGN_OR_RETURN(
      const guard::Answer answer,
      guard::AnswerWhy(question, *directory, gate.resources(), gate.region(), environment));
  return guard::RenderJson(answer);
}

}  // namespace stator::server
