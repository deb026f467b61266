#include "model/fields.h"

#include <charconv>

namespace stator::model {

void FieldWriter::String(const char* name, const std::string& value) {
  std::string encoded;
  AppendString(&encoded, value);
  Put(name, std::move(encoded));
}

void FieldWriter::PutInteger(const char* name, int64_t value) {
  std::string encoded;
  AppendNumber(&encoded, Number::FromInt(value));
  Put(name, std::move(encoded));
}

void FieldWriter::Bool(const char* name, const bool& value) {
  std::string encoded;
  AppendBool(&encoded, value);
  Put(name, std::move(encoded));
}

void FieldWriter::Optional(const char* name, const std::optional<int64_t>& value) {
  if (value) PutInteger(name, *value);
}

void FieldWriter::KeyAttributes(const char* name, const std::vector<KeyAttribute>& attributes) {
  std::vector<std::string> texts;
  for (const KeyAttribute& attribute : attributes) {
    texts.push_back(std::string(TypeName(attribute.type)) + ":" + attribute.name);
  }
  Texts(name, texts);
}

void FieldWriter::Key(const char* name, const KeySchema& schema) {
  std::vector<KeyAttribute> attributes = {schema.partition};
  if (schema.sort) attributes.push_back(*schema.sort);
  KeyAttributes(name, attributes);
}

void FieldWriter::Strings(const char* name, const std::map<std::string, std::string>& map) {
  Node node;
  for (const auto& [key, value] : map) {
    std::string encoded;
    AppendString(&encoded, value);
    node.map()[key] = Node::FromOwned(std::move(encoded));
  }
  root_.map()[name] = std::move(node);
}

void FieldWriter::Texts(const char* name, const std::vector<std::string>& texts) {
  std::string elements;
  for (const std::string& text : texts) AppendString(&elements, text);
  PutList(name, texts.size(), elements);
}

void FieldWriter::Unsigned(const char* name, const std::vector<uint64_t>& values) {
  std::vector<std::string> texts;
  for (const uint64_t value : values) texts.push_back(std::to_string(value));
  Texts(name, texts);
}

void FieldWriter::PutList(const char* name, size_t count, std::string_view elements) {
  std::string encoded;
  AppendList(&encoded, count, elements);
  Put(name, std::move(encoded));
}

ValueView FieldReader::Find(const char* name, Type type, bool required) {
  const ValueView value = map_.Find(name);
  if (value.empty() ? required : value.type() != type) {
    ok_ = false;
    return ValueView();
  }
  return value;
}

std::string_view FieldReader::TextOf(ValueView value) {
  if (value.type() == Type::kS) return value.text();
  ok_ = false;
  return "";
}

void FieldReader::String(const char* name, std::string& value) {
  if (const ValueView found = Find(name, Type::kS, true); !found.empty()) value = found.text();
}

void FieldReader::StringIfAny(const char* name, std::string& value) {
  if (const ValueView found = Find(name, Type::kS, false); !found.empty()) value = found.text();
}

void FieldReader::GetInteger(const char* name, bool required, std::optional<int64_t>& value) {
  const ValueView found = Find(name, Type::kN, required);
  if (found.empty()) return;
  int64_t integer = 0;
  if (!found.number().ToInt64(&integer)) ok_ = false;
  value = integer;
}

void FieldReader::Bool(const char* name, bool& value) {
  if (const ValueView found = Find(name, Type::kBool, true); !found.empty())
    value = found.boolean();
}

void FieldReader::KeyAttributes(const char* name, std::vector<KeyAttribute>& attributes) {
  std::vector<std::string> texts;
  Texts(name, texts);
  for (const std::string& text : texts) {
    const size_t colon = text.find(':');
    const std::optional<Type> type = TypeFromName(std::string_view(text).substr(0, colon));
    if (colon == std::string::npos || !type) return Fail();
    attributes.push_back({text.substr(colon + 1), *type});
  }
}

void FieldReader::Key(const char* name, KeySchema& schema) {
  std::vector<KeyAttribute> attributes;
  KeyAttributes(name, attributes);
  if (attributes.empty() || attributes.size() > 2) return Fail();
  schema.partition = attributes[0];
  if (attributes.size() == 2) schema.sort = attributes[1];
}

void FieldReader::Strings(const char* name, std::map<std::string, std::string>& map) {
  const ValueView found = Find(name, Type::kM, false);
  if (found.empty()) return;
  for (const MapView::Entry& entry : found.map())
    map[std::string(entry.name)] = TextOf(entry.value);
}

void FieldReader::Texts(const char* name, std::vector<std::string>& texts) {
  const ValueView found = Find(name, Type::kL, true);
  if (found.empty()) return;
  for (ValueView element : found.list()) texts.emplace_back(TextOf(element));
}

void FieldReader::Unsigned(const char* name, std::vector<uint64_t>& values) {
  std::vector<std::string> texts;
  Texts(name, texts);
  for (const std::string& text : texts) {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return Fail();
    values.push_back(value);
  }
}

}  // namespace stator::model
