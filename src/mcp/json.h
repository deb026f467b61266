// JSON of messages: documents that own their text, and objects written member by member.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/whole_characters.h"
#include "simdjson.h"

namespace stator::mcp {

using Json = simdjson::dom::element;

// A parsed text. Movable; its elements stay valid as long as it lives.
class Document {
 public:
  // kSerialization for what is no JSON.
  static Result<Document> Parse(std::string_view text);
  Json root() const { return root_; }

 private:
  std::unique_ptr<simdjson::dom::parser> parser_;
  Json root_;
};

// Return a member of an object. Nothing if there is none, it has another type, or `from` is no
// object.
std::optional<Json> Member(Json from, std::string_view name);
std::optional<std::string_view> TextMember(Json from, std::string_view name);
std::optional<double> NumberMember(Json from, std::string_view name);

// The element as text without white space.
std::string TextOf(Json element);
// The JSON string with that content, which must be UTF-8.
std::string Quoted(std::string_view text);

// Writes an object.
class ObjectText {
 public:
  // `json` is the text of a value.
  ObjectText& Add(std::string_view name, std::string_view json);
  ObjectText& AddText(std::string_view name, std::string_view text);
  ObjectText& AddWhole(std::string_view name, int64_t number);
  ObjectText& AddBool(std::string_view name, bool value);
  // Adds it as it is, or nothing if it is not there.
  ObjectText& AddMember(Json from, std::string_view name);
  std::string Take();

 private:
  std::string out_ = "{";
};

// Writes an array of values that are JSON text.
class ArrayText {
 public:
  ArrayText& Add(std::string_view json);
  std::string Take();

 private:
  std::string out_ = "[";
};

}  // namespace stator::mcp
