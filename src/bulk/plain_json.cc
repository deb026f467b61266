#include "bulk/plain_json.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "api/attribute_json.h"
#include "base/base64.h"
#include "model/number.h"
#include "simdjson.h"

namespace stator::bulk {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr std::array<std::string_view, 5> kTyped = {"$B", "$SS", "$NS", "$BS", "$M"};

bool IsTyped(std::string_view name) {
  return std::find(kTyped.begin(), kTyped.end(), name) != kTyped.end();
}

void AppendPlain(std::string* out, model::ValueView value);

void AppendQuotedBase64(std::string* out, std::string_view bytes) {
  out->push_back('"');
  api::AppendBase64(out, bytes);
  out->push_back('"');
}

void AppendEntries(std::string* out, model::MapView map) {
  out->push_back('{');
  bool first = true;
  for (const model::MapView::Entry& entry : map) {
    if (!std::exchange(first, false)) out->push_back(',');
    api::AppendJsonString(out, entry.name);
    out->push_back(':');
    AppendPlain(out, entry.value);
  }
  out->push_back('}');
}

void AppendMembers(std::string* out, model::ValueView value) {
  const model::Type type = value.type();
  out->append("{\"$").append(model::TypeName(type)).append("\":[");
  bool first = true;
  for (const std::string_view member : value.set()) {
    if (!std::exchange(first, false)) out->push_back(',');
    if (type == model::Type::kNS) {
      out->append(member);
    } else if (type == model::Type::kBS) {
      AppendQuotedBase64(out, member);
    } else {
      api::AppendJsonString(out, member);
    }
  }
  out->append("]}");
}

void AppendPlain(std::string* out, model::ValueView value) {
  switch (value.type()) {
    case model::Type::kS: return api::AppendJsonString(out, value.text());
    case model::Type::kN: out->append(value.text()); return;
    case model::Type::kBool: out->append(value.boolean() ? "true" : "false"); return;
    case model::Type::kNull: out->append("null"); return;
    case model::Type::kB:
      out->append("{\"$B\":");
      AppendQuotedBase64(out, value.text());
      out->push_back('}');
      return;
    case model::Type::kL: {
      out->push_back('[');
      bool first = true;
      for (const model::ValueView element : value.list()) {
        if (!std::exchange(first, false)) out->push_back(',');
        AppendPlain(out, element);
      }
      out->push_back(']');
      return;
    }
    case model::Type::kM: {
      const model::MapView map = value.map();
      const bool looks_typed = map.size() == 1 && IsTyped(map.begin()->name);
      if (looks_typed) out->append("{\"$M\":");
      AppendEntries(out, map);
      if (looks_typed) out->push_back('}');
      return;
    }
    case model::Type::kSS:
    case model::Type::kNS:
    case model::Type::kBS: return AppendMembers(out, value);
  }
}

Error NoJson() { return CorruptionError("The text is no JSON object."); }

std::string_view Trimmed(std::string_view token) {
  const size_t last = token.find_last_not_of(" \t\r\n");
  return last == std::string_view::npos ? std::string_view() : token.substr(0, last + 1);
}

Status ReadValue(ondemand::value json, int depth, std::string* out);

// Reads the entries of an object. `*count` is their number.
Status ReadEntries(ondemand::object object, int depth, size_t* count, std::string* entries) {
  std::map<std::string, std::string> found;
  for (auto each : object) {
    ondemand::field field;
    if (std::move(each).get(field) != simdjson::SUCCESS) return NoJson();
    std::string_view name;
    if (field.unescaped_key().get(name) != simdjson::SUCCESS) return NoJson();
    const auto [place, fresh] = found.emplace(name, std::string());
    if (!fresh) return ValidationError("An object has the name " + place->first + " twice.");
    TRY(ReadValue(field.value(), depth + 1, &place->second));
  }
  *count = found.size();
  for (const auto& [name, value] : found) {
    model::AppendName(entries, name);
    entries->append(value);
  }
  return OkStatus();
}

Status ReadBinary(ondemand::value json, std::string* bytes) {
  std::string_view text;
  if (json.get_string().get(text) != simdjson::SUCCESS)
    return ValidationError("$B and $BS need base64 texts.");
  return DecodeBase64(text, bytes).ok() ? OkStatus()
                                        : ValidationError("$B or $BS: the text is no base64.");
}

Status ReadSet(ondemand::value json, model::Type type, std::string* out) {
  ondemand::array array;
  if (json.get_array().get(array) != simdjson::SUCCESS)
    return ValidationError("$SS, $NS and $BS need an array.");
  std::set<std::string> members;
  for (auto each : array) {
    ondemand::value element;
    if (std::move(each).get(element) != simdjson::SUCCESS) return NoJson();
    std::string member;
    if (type == model::Type::kBS) {
      TRY(ReadBinary(element, &member));
    } else if (type == model::Type::kNS) {
      ASSIGN_OR_RETURN(const model::Number number,
                       model::Number::Parse(Trimmed(element.raw_json_token())));
      member = number.ToString();
    } else {
      std::string_view text;
      if (element.get_string().get(text) != simdjson::SUCCESS)
        return ValidationError("$SS needs texts.");
      member = text;
    }
    if (!members.insert(std::move(member)).second)
      return ValidationError("A set has a member twice.");
  }
  if (members.empty()) return ValidationError("A set has no members.");
  model::AppendSet(out, type, std::vector<std::string_view>(members.begin(), members.end()));
  return OkStatus();
}

Status ReadMap(ondemand::object object, int depth, std::string* out) {
  size_t count = 0;
  std::string entries;
  TRY(ReadEntries(object, depth, &count, &entries));
  model::AppendMap(out, count, entries);
  return OkStatus();
}

// Reads an object with one member whose name is one of kTyped.
Status ReadTyped(ondemand::object object, std::string_view name, int depth, std::string* out) {
  ondemand::value json;
  if (object.find_field(name).get(json) != simdjson::SUCCESS) return NoJson();
  if (name == "$B") {
    std::string bytes;
    TRY(ReadBinary(json, &bytes));
    model::AppendBinary(out, bytes);
    return OkStatus();
  }
  if (name != "$M") return ReadSet(json, *model::TypeFromName(name.substr(1)), out);
  ondemand::object map;
  if (json.get_object().get(map) != simdjson::SUCCESS) return ValidationError("$M needs a map.");
  return ReadMap(map, depth, out);
}

// Returns the name of an object's only member, if that is one of kTyped; else an empty text. The
// object can be read afterwards.
Result<std::string_view> TypedNameOf(ondemand::object* object) {
  size_t fields = 0;
  if (object->count_fields().get(fields) != simdjson::SUCCESS) return NoJson();
  if (fields != 1) return std::string_view();
  for (const std::string_view name : kTyped) {
    ondemand::value value;
    const simdjson::error_code found = object->find_field_unordered(name).get(value);
    bool empty = false;
    if (object->reset().get(empty) != simdjson::SUCCESS) return NoJson();
    if (found == simdjson::SUCCESS) return name;
    if (found != simdjson::NO_SUCH_FIELD) return NoJson();
  }
  return std::string_view();
}

Status ReadObject(ondemand::object object, int depth, std::string* out) {
  ASSIGN_OR_RETURN(const std::string_view typed, TypedNameOf(&object));
  if (!typed.empty()) return ReadTyped(object, typed, depth, out);
  return ReadMap(object, depth, out);
}

Status ReadList(ondemand::array array, int depth, std::string* out) {
  std::string elements;
  size_t count = 0;
  for (auto each : array) {
    ondemand::value element;
    if (std::move(each).get(element) != simdjson::SUCCESS) return NoJson();
    TRY(ReadValue(element, depth + 1, &elements));
    ++count;
  }
  model::AppendList(out, count, elements);
  return OkStatus();
}

Status ReadValue(ondemand::value json, int depth, std::string* out) {
  // Typed values add a level that the item does not have.
  if (depth > 2 * model::kMaxNestingDepth)
    return ValidationError("Nesting Levels have exceeded supported limits");
  ondemand::json_type type;
  if (json.type().get(type) != simdjson::SUCCESS) return NoJson();
  switch (type) {
    case ondemand::json_type::string: {
      std::string_view text;
      if (json.get_string().get(text) != simdjson::SUCCESS) return NoJson();
      model::AppendString(out, text);
      return OkStatus();
    }
    case ondemand::json_type::number: {
      ASSIGN_OR_RETURN(const model::Number number,
                       model::Number::Parse(Trimmed(json.raw_json_token())));
      model::AppendNumber(out, number);
      return OkStatus();
    }
    case ondemand::json_type::boolean: {
      bool value = false;
      if (json.get_bool().get(value) != simdjson::SUCCESS) return NoJson();
      model::AppendBool(out, value);
      return OkStatus();
    }
    case ondemand::json_type::null:
      if (Trimmed(json.raw_json_token()) != "null") return NoJson();
      model::AppendNull(out);
      return OkStatus();
    case ondemand::json_type::array: {
      ondemand::array array;
      if (json.get_array().get(array) != simdjson::SUCCESS) return NoJson();
      return ReadList(array, depth, out);
    }
    case ondemand::json_type::object: {
      ondemand::object object;
      if (json.get_object().get(object) != simdjson::SUCCESS) return NoJson();
      return ReadObject(object, depth, out);
    }
  }
  return NoJson();
}

}  // namespace

void AppendPlainItem(std::string* out, model::ItemView item) {
  AppendEntries(out, item.attributes());
}

Result<std::string> ReadPlainItem(std::string_view text) {
  const simdjson::padded_string padded(text);
  ondemand::parser parser;
  ondemand::document document;
  if (parser.iterate(padded).get(document) != simdjson::SUCCESS) return NoJson();
  ondemand::object object;
  if (document.get_object().get(object) != simdjson::SUCCESS) return NoJson();
  size_t count = 0;
  std::string entries;
  TRY(ReadEntries(object, 1, &count, &entries));
  std::string item;
  model::AppendItem(&item, count, entries);
  return item;
}

}  // namespace stator::bulk
