// For tests: values and items written short, to and from their encoding.
//
//   value := number | 'text' | x'bytes' | true | false | null | "[" values "]"
//          | "{" fields "}" | "<" values ">"
//   field := name ":" value
//
// < > is a set, of the type of its members. An item is a map.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/value.h"

namespace stator::expr::notation {

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::string Value() {
    std::string out;
    const char c = Peek();
    if (c == '\'') {
      model::AppendString(&out, Quoted());
    } else if (c == 'x' && text_.substr(p_, 2) == "x'") {
      ++p_;
      model::AppendBinary(&out, Quoted());
    } else if (c == '[') {
      const std::vector<std::string> members = Members(']');
      std::string elements;
      for (const std::string& member : members) elements += member;
      model::AppendList(&out, members.size(), elements);
    } else if (c == '<') {
      const std::vector<std::string> members = Members('>');
      std::vector<std::string_view> texts;
      for (const std::string& member : members)
        texts.push_back(model::ValueView(std::string_view(member)).text());
      const model::Type type = model::ValueView(std::string_view(members.at(0))).type();
      model::AppendSet(&out,
                       type == model::Type::kS   ? model::Type::kSS
                       : type == model::Type::kN ? model::Type::kNS
                                                 : model::Type::kBS,
                       texts);
    } else if (c == '{') {
      size_t count = 0;
      const std::string entries = Fields(&count);
      model::AppendMap(&out, count, entries);
    } else {
      const std::string word = Word();
      if (word == "true" || word == "false") {
        model::AppendBool(&out, word == "true");
      } else if (word == "null") {
        model::AppendNull(&out);
      } else {
        model::AppendNumber(&out, model::Number::Parse(word).value());
      }
    }
    return out;
  }

  // Reads "{...}" into sorted encoded entries.
  std::string Fields(size_t* count) {
    std::map<std::string, std::string> fields;
    Take();
    while (Peek() != '}') {
      const std::string name = Word();
      Peek();
      Take();  // ":"
      fields[name] = Value();
      if (Peek() == ',') Take();
    }
    Take();
    *count = fields.size();
    std::string entries;
    for (const auto& [name, value] : fields) {
      model::AppendName(&entries, name);
      entries += value;
    }
    return entries;
  }

 private:
  char Peek() {
    while (p_ < text_.size() && text_[p_] == ' ') ++p_;
    return p_ < text_.size() ? text_[p_] : '\0';
  }
  char Take() { return text_.at(p_++); }
  std::string Quoted() {
    Take();
    std::string out;
    while (text_.at(p_) != '\'') out += Take();
    Take();
    return out;
  }
  std::string Word() {
    Peek();
    std::string out;
    while (p_ < text_.size() &&
           std::string_view(" ,:]}>").find(text_[p_]) == std::string_view::npos)
      out += Take();
    return out;
  }
  std::vector<std::string> Members(char close) {
    std::vector<std::string> members;
    Take();
    while (Peek() != close) {
      members.push_back(Value());
      if (Peek() == ',') Take();
    }
    Take();
    return members;
  }

  std::string_view text_;
  size_t p_ = 0;
};

inline std::string Value(std::string_view text) { return Reader(text).Value(); }

// "" is no item.
inline std::string Item(std::string_view text) {
  if (text.empty()) return "";
  size_t count = 0;
  const std::string entries = Reader(text).Fields(&count);
  std::string out;
  model::AppendItem(&out, count, entries);
  return out;
}

inline std::string Show(model::ValueView value);

inline std::string Show(model::MapView map) {
  std::string out;
  for (const auto& entry : map)
    out += (out.empty() ? "" : ", ") + std::string(entry.name) + ": " + Show(entry.value);
  return "{" + out + "}";
}

inline std::string Show(model::ValueView value) {
  std::string out;
  switch (value.type()) {
    case model::Type::kS: return "'" + std::string(value.text()) + "'";
    case model::Type::kB: return "x'" + std::string(value.text()) + "'";
    case model::Type::kN: return std::string(value.text());
    case model::Type::kBool: return value.boolean() ? "true" : "false";
    case model::Type::kNull: return "null";
    case model::Type::kL:
      for (const model::ValueView element : value.list())
        out += (out.empty() ? "" : ", ") + Show(element);
      return "[" + out + "]";
    case model::Type::kM: return Show(value.map());
    case model::Type::kSS:
    case model::Type::kNS:
    case model::Type::kBS:
      for (const std::string_view member : value.set()) {
        const std::string text(member);
        out += out.empty() ? "" : ", ";
        out += value.type() == model::Type::kNS
                   ? text
                   : (value.type() == model::Type::kBS ? "x'" : "'") + text + "'";
      }
      return "<" + out + ">";
  }
  return out;
}

inline std::string Show(model::ItemView item) {
  return item.exists() ? Show(item.attributes()) : "";
}

}  // namespace stator::expr::notation
