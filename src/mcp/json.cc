#include "mcp/json.h"

#include <fmt/format.h>

#include <utility>

#include "base/json_writer.h"

namespace stator::mcp {

Result<Document> Document::Parse(std::string_view text) {
  Document document;
  document.parser_ = std::make_unique<simdjson::dom::parser>();
  if (const simdjson::error_code error =
          document.parser_->parse(text.data(), text.size()).get(document.root_);
      error != simdjson::SUCCESS) {
    return Error(ErrorCode::kSerialization, simdjson::error_message(error));
  }
  return document;
}

std::optional<Json> Member(Json from, std::string_view name) {
  simdjson::dom::object object;
  Json found;
  if (from.get(object) != simdjson::SUCCESS || object[name].get(found) != simdjson::SUCCESS)
    return std::nullopt;
  return found;
}

std::optional<std::string_view> TextMember(Json from, std::string_view name) {
  const std::optional<Json> member = Member(from, name);
  std::string_view text;
  if (!member || member->get(text) != simdjson::SUCCESS) return std::nullopt;
  return text;
}

std::optional<double> NumberMember(Json from, std::string_view name) {
  const std::optional<Json> member = Member(from, name);
  double number = 0;
  if (!member || member->get(number) != simdjson::SUCCESS) return std::nullopt;
  return number;
}

std::string TextOf(Json element) { return simdjson::minify(element); }

std::string Quoted(std::string_view text) {
  std::string quoted = JsonWriter().Text(text).Take();
  quoted.pop_back();  // the line feed
  return quoted;
}

ObjectText& ObjectText::Add(std::string_view name, std::string_view json) {
  if (out_.size() > 1) out_ += ',';
  out_ += Quoted(name);
  out_ += ':';
  out_ += json;
  return *this;
}

ObjectText& ObjectText::AddText(std::string_view name, std::string_view text) {
  return Add(name, Quoted(text));
}

ObjectText& ObjectText::AddWhole(std::string_view name, int64_t number) {
  return Add(name, fmt::format("{}", number));
}

ObjectText& ObjectText::AddBool(std::string_view name, bool value) {
  return Add(name, value ? "true" : "false");
}

ObjectText& ObjectText::AddMember(Json from, std::string_view name) {
  const std::optional<Json> member = Member(from, name);
  return member ? Add(name, TextOf(*member)) : *this;
}

std::string ObjectText::Take() {
  out_ += '}';
  return std::exchange(out_, "{");
}

ArrayText& ArrayText::Add(std::string_view json) {
  if (out_.size() > 1) out_ += ',';
  out_ += json;
  return *this;
}

std::string ArrayText::Take() {
  out_ += ']';
  return std::exchange(out_, "[");
}

}  // namespace stator::mcp
