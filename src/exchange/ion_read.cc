// Reads items from Ion text.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/base64.h"
#include "base/printable.h"
#include "base/unique_function.h"
#include "exchange/ion.h"
#include "simdjson.h"

namespace stator::exchange {
namespace {

using model::Type;

Error NotIon(std::string_view what) {
  return Error(ErrorCode::kSerialization, "The text is no Ion: " + std::string(what));
}
Error NoItem(std::string what) { return ValidationError(std::move(what)); }

void AppendUtf8(std::string* out, uint32_t code) {
  if (code < 0x80) {
    out->push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out->push_back(static_cast<char>(0xc0 | code >> 6));
    out->push_back(static_cast<char>(0x80 | (code & 0x3f)));
  } else if (code < 0x10000) {
    out->push_back(static_cast<char>(0xe0 | code >> 12));
    out->push_back(static_cast<char>(0x80 | (code >> 6 & 0x3f)));
    out->push_back(static_cast<char>(0x80 | (code & 0x3f)));
  } else {
    out->push_back(static_cast<char>(0xf0 | code >> 18));
    out->push_back(static_cast<char>(0x80 | (code >> 12 & 0x3f)));
    out->push_back(static_cast<char>(0x80 | (code >> 6 & 0x3f)));
    out->push_back(static_cast<char>(0x80 | (code & 0x3f)));
  }
}

bool IsSymbolCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$';
}

// A scalar of a set, as its encoding wants it.
struct Scalar {
  Type type = Type::kS;
  std::string text;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  // The struct of which a member is the item. With `condition`, the others are of one; without,
  // they are passed over.
  Result<std::string> Document(RecordCondition* condition) {
    std::optional<std::string> item;
    TRY(Members([&](const std::string& name) -> Status {
      if (name == "Item") {
        size_t count = 0;
        std::string entries;
        TRY(Entries(1, &entries, &count));
        item.emplace();
        model::AppendItem(&*item, count, entries);
        return OkStatus();
      }
      if (condition != nullptr) return ConditionMember(name, condition);
      std::string ignored;
      return Value(1, &ignored);
    }));
    Skip();
    if (!rest_.empty()) return NotIon("something follows the struct.");
    if (!item) return NoItem("The Ion struct has no member Item.");
    if (wrong_) return *std::move(wrong_);
    return *std::move(item);
  }

 private:
  Status ConditionMember(const std::string& name, RecordCondition* condition) {
    if (name == "ConditionExpression") {
      ASSIGN_OR_RETURN(Scalar text, ScalarValue());
      if (text.type != Type::kS) Refuse("ConditionExpression is no text.");
      condition->expression = std::move(text.text);
      return OkStatus();
    }
    if (name == "ExpressionAttributeNames") {
      condition->names.emplace();
      return Members([&](const std::string& placeholder) -> Status {
        ASSIGN_OR_RETURN(Scalar text, ScalarValue());
        if (text.type != Type::kS) Refuse("ExpressionAttributeNames has a value that is no text.");
        condition->names->emplace_back(placeholder, std::move(text.text));
        return OkStatus();
      });
    }
    if (name == "ExpressionAttributeValues") {
      size_t count = 0;
      std::string entries;
      TRY(Entries(1, &entries, &count));
      condition->values.emplace();
      model::AppendItem(&*condition->values, count, entries);
      return OkStatus();
    }
    Refuse("The record has an unknown member: " + Printable(name));
    std::string ignored;
    return Value(1, &ignored);
  }

  void Skip() {
    const size_t begin = rest_.find_first_not_of(" \t\r\n");
    rest_.remove_prefix(std::min(begin, rest_.size()));
  }
  bool Take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  // Keeps the first error of a value, and reads on.
  void Refuse(std::string what) {
    if (!wrong_) wrong_ = NoItem(std::move(what));
  }

  // Visits the members of a struct: the visitor reads the value.
  Status Members(FunctionRef<Status(const std::string& name)> visit) {
    Skip();
    if (!Take("{")) return NotIon("a struct is expected.");
    for (;;) {
      Skip();
      if (Take("}")) return OkStatus();
      ASSIGN_OR_RETURN(const std::string name, Symbol());
      Skip();
      if (!Take(":")) return NotIon("a field has no value.");
      TRY(visit(name));
      Skip();
      if (Take(",")) continue;
      if (!Take("}")) return NotIon("a struct has no end.");
      return OkStatus();
    }
  }

  Result<std::string> Symbol() {
    if (Take("'")) return Quoted('\'');
    if (Take("\"")) return Quoted('"');
    const size_t end = std::ranges::find_if_not(rest_, IsSymbolCharacter) - rest_.begin();
    if (end == 0) return NotIon("a name is expected.");
    std::string name(rest_.substr(0, end));
    rest_.remove_prefix(end);
    return name;
  }

  // The text behind an opening quote.
  Result<std::string> Quoted(char quote) {
    std::string text;
    for (;;) {
      if (rest_.empty()) return NotIon("a text has no end.");
      const char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == quote) return text;
      if (c != '\\') {
        text.push_back(c);
        continue;
      }
      TRY(Escape(&text));
    }
  }

  Status Escape(std::string* text) {
    if (rest_.empty()) return NotIon("a text has no end.");
    const char c = rest_.front();
    rest_.remove_prefix(1);
    constexpr std::string_view kNames = "abtnfrv0?/'\"\\";
    constexpr std::string_view kMeanings("\a\b\t\n\f\r\v\0?/'\"\\", 13);
    if (const size_t at = kNames.find(c); at != std::string_view::npos) {
      text->push_back(kMeanings[at]);
      return OkStatus();
    }
    if (c == '\n') return OkStatus();
    const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    ASSIGN_OR_RETURN(uint32_t code, Hexadecimal(digits));
    if (code >= 0xd800 && code < 0xdc00 && Take("\\u")) {
      ASSIGN_OR_RETURN(const uint32_t low, Hexadecimal(4));
      if (low < 0xdc00 || low >= 0xe000) return NotIon("an escape is no character.");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    if ((code >= 0xd800 && code < 0xe000) || code > 0x10ffff)
      return NotIon("an escape is no character.");
    AppendUtf8(text, code);
    return OkStatus();
  }

  Result<uint32_t> Hexadecimal(size_t digits) {
    if (digits == 0 || rest_.size() < digits) return NotIon("an escape is not known.");
    uint32_t code = 0;
    for (const char c : rest_.substr(0, digits)) {
      const uint32_t digit = c >= '0' && c <= '9'   ? static_cast<uint32_t>(c - '0')
                             : c >= 'a' && c <= 'f' ? static_cast<uint32_t>(c - 'a' + 10)
                             : c >= 'A' && c <= 'F' ? static_cast<uint32_t>(c - 'A' + 10)
                                                    : 16;
      if (digit == 16) return NotIon("an escape is not known.");
      code = code << 4 | digit;
    }
    rest_.remove_prefix(digits);
    return code;
  }

  // The entries of a struct on nesting level `depth`, sorted by name; of equal names the last wins.
  Status Entries(int depth, std::string* out, size_t* count) {
    if (depth > model::kMaxNestingDepth)
      return NoItem("Attributes in the item have nested levels beyond supported limit");
    std::vector<std::pair<std::string, std::string>> entries;
    TRY(Members([&](const std::string& name) -> Status {
      if (name.empty()) Refuse("Empty attribute name");
      entries.emplace_back(name, std::string());
      return Value(depth, &entries.back().second);
    }));
    std::ranges::stable_sort(entries, {}, [](const auto& entry) { return entry.first; });
    *count = 0;
    for (size_t i = 0; i < entries.size(); ++i) {
      if (i + 1 < entries.size() && entries[i + 1].first == entries[i].first) continue;
      ++*count;
      model::AppendName(out, entries[i].first);
      out->append(entries[i].second);
    }
    return OkStatus();
  }

  // Reads one value and appends its encoding to `out`. `depth` is the nesting level of the
  // enclosing struct or list.
  Status Value(int depth, std::string* out) {
    Skip();
    if (rest_.empty()) return NotIon("a value is expected.");
    const char c = rest_.front();
    if (c == '$') return Set(out);
    if (c == '[') return List(depth + 1, out);
    if (c == '{' && !rest_.starts_with("{{")) {
      std::string entries;
      size_t count = 0;
      TRY(Entries(depth + 1, &entries, &count));
      model::AppendMap(out, count, entries);
      return OkStatus();
    }
    if (IsSymbolCharacter(c) && !(c >= '0' && c <= '9')) {
      ASSIGN_OR_RETURN(const std::string word, Symbol());
      if (word == "true" || word == "false") {
        model::AppendBool(out, word == "true");
      } else if (word == "null") {
        if (Take(".")) TRY(Symbol());
        model::AppendNull(out);
      } else {
        return NotIon("a symbol is no value of an item.");
      }
      return OkStatus();
    }
    ASSIGN_OR_RETURN(const Scalar scalar, ScalarValue());
    switch (scalar.type) {
      case Type::kN: {
        const Result<model::Number> number = model::Number::Parse(scalar.text);
        if (!number.ok()) {
          Refuse(number.error().message());
          model::AppendNull(out);
        } else {
          model::AppendNumber(out, *number);
        }
        return OkStatus();
      }
      case Type::kB: model::AppendBinary(out, scalar.text); return OkStatus();
      default: model::AppendString(out, scalar.text); return OkStatus();
    }
  }

  // A text, a blob, or a number that was not looked at.
  Result<Scalar> ScalarValue() {
    Skip();
    if (rest_.starts_with("'''")) {
      Scalar long_text;
      while (Take("'''")) {
        const size_t end = rest_.find("'''");
        if (end == std::string_view::npos) return NotIon("a text has no end.");
        std::string_view part = rest_.substr(0, end);
        rest_.remove_prefix(end + 3);
        std::swap(part, rest_);
        while (!rest_.empty()) {
          const char c = rest_.front();
          rest_.remove_prefix(1);
          if (c == '\\') {
            TRY(Escape(&long_text.text));
          } else {
            long_text.text.push_back(c);
          }
        }
        rest_ = part;
        Skip();
      }
      return long_text;
    }
    if (Take("\"")) {
      ASSIGN_OR_RETURN(std::string text, Quoted('"'));
      return Scalar{Type::kS, std::move(text)};
    }
    if (Take("{{")) {
      const size_t end = rest_.find("}}");
      if (end == std::string_view::npos) return NotIon("a blob has no end.");
      std::string digits(rest_.substr(0, end));
      std::erase_if(digits, [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; });
      Scalar blob{Type::kB, {}};
      if (!DecodeBase64(digits, &blob.text).ok()) return NotIon("a blob is no base64.");
      rest_.remove_prefix(end + 2);
      return blob;
    }
    const size_t end = std::min(rest_.find_first_not_of("+-0123456789.dDeE"), rest_.size());
    if (end == 0) return NotIon("a value is expected.");
    Scalar number{Type::kN, std::string(rest_.substr(0, end))};
    rest_.remove_prefix(end);
    // An Ion decimal is 6d2, and 103. has nothing behind its point.
    std::ranges::replace_if(
        number.text, [](char c) { return c == 'd' || c == 'D'; }, 'e');
    const size_t point = number.text.find('.');
    if (point != std::string::npos &&
        (point + 1 == number.text.size() || number.text[point + 1] == 'e' ||
         number.text[point + 1] == 'E'))
      number.text.erase(point, 1);
    return number;
  }

  Status List(int depth, std::string* out) {
    if (depth > model::kMaxNestingDepth)
      return NoItem("Attributes in the item have nested levels beyond supported limit");
    std::string elements;
    size_t count = 0;
    TRY(Elements([&]() -> Status {
      ++count;
      return Value(depth, &elements);
    }));
    model::AppendList(out, count, elements);
    return OkStatus();
  }

  Status Elements(FunctionRef<Status()> visit) {
    if (!Take("[")) return NotIon("a list is expected.");
    for (;;) {
      Skip();
      if (Take("]")) return OkStatus();
      TRY(visit());
      Skip();
      if (Take(",")) continue;
      if (!Take("]")) return NotIon("a list has no end.");
      return OkStatus();
    }
  }

  Status Set(std::string* out) {
    ASSIGN_OR_RETURN(const std::string annotation, Symbol());
    const Type type = annotation == "$dynamodb_SS"   ? Type::kSS
                      : annotation == "$dynamodb_NS" ? Type::kNS
                      : annotation == "$dynamodb_BS" ? Type::kBS
                                                     : Type::kNull;
    if (type == Type::kNull || !Take("::")) return NotIon("an annotation is not known.");
    const Type member = type == Type::kSS ? Type::kS : type == Type::kNS ? Type::kN : Type::kB;
    std::vector<std::string> members;
    Skip();
    TRY(Elements([&]() -> Status {
      ASSIGN_OR_RETURN(Scalar scalar, ScalarValue());
      if (scalar.type != member) return NotIon("a set has a member of another type.");
      if (member == Type::kN) {
        const Result<model::Number> number = model::Number::Parse(scalar.text);
        if (!number.ok()) {
          Refuse(number.error().message());
          return OkStatus();
        }
        scalar.text = number->ToString();
      }
      members.push_back(std::move(scalar.text));
      return OkStatus();
    }));
    std::vector<std::string_view> views(members.begin(), members.end());
    std::ranges::sort(views);
    if (std::ranges::adjacent_find(views) != views.end())
      Refuse("Input collection contains duplicates");
    if (views.empty()) {
      Refuse("A set may not be empty");
      model::AppendNull(out);
      return OkStatus();
    }
    model::AppendSet(out, type, std::move(views));
    return OkStatus();
  }

  std::string_view rest_;
  std::optional<Error> wrong_;
};

}  // namespace

Result<std::string> ReadIonItem(std::string_view text) {
  if (!simdjson::validate_utf8(text)) return NotIon("it is not UTF-8.");
  return Parser(text).Document(nullptr);
}

Result<std::string> ReadIonRecord(std::string_view text, RecordCondition* condition) {
  if (!simdjson::validate_utf8(text)) return NotIon("it is not UTF-8.");
  return Parser(text).Document(condition);
}

}  // namespace stator::exchange
