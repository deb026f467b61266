#include "access/json.h"

#include <fmt/format.h>

#include <algorithm>

namespace stator::access {
namespace {

class Reader {
 public:
  Reader(std::string_view text, const JsonLimits& limits) : text_(text), limits_(limits) {}

  Result<JsonValue> Read() {
    JsonValue value;
    SkipSpace();
    TRY(ReadValue(&value, 0));
    SkipSpace();
    if (at_ < text_.size()) return Fail("text after the end of the document");
    return value;
  }

 private:
  Error Fail(std::string_view what) const {
    const JsonPosition here = Here();
    return Error(ErrorCode::kSerialization,
                 fmt::format("line {}, column {}: {}", here.line, here.column, what));
  }
  JsonPosition Here() const { return {line_, static_cast<uint32_t>(at_ - line_start_ + 1)}; }
  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void SkipSpace() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\n') {
        ++line_;
        line_start_ = at_ + 1;
      } else if (c != ' ' && c != '\t' && c != '\r') {
        return;
      }
    }
  }

  bool TakeWord(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  Status ReadValue(JsonValue* value, size_t depth) {
    if (++values_ > limits_.max_values) return Fail("too many values");
    value->position = Here();
    switch (Peek()) {
      case '{': return ReadObject(value, depth);
      case '[': return ReadArray(value, depth);
      case '"': value->kind = JsonValue::Kind::kString; return ReadString(&value->text);
      case 't':
      case 'f':
        value->kind = JsonValue::Kind::kBool;
        value->boolean = Peek() == 't';
        if (TakeWord(value->boolean ? "true" : "false")) return OkStatus();
        return Fail("not a value");
      case 'n':
        if (TakeWord("null")) return OkStatus();
        return Fail("not a value");
      default: return ReadNumber(value);
    }
  }

  Status ReadObject(JsonValue* value, size_t depth) {
    if (depth >= limits_.max_depth) return Fail("nested too deeply");
    value->kind = JsonValue::Kind::kObject;
    ++at_;
    SkipSpace();
    if (Peek() == '}') {
      ++at_;
      return OkStatus();
    }
    while (true) {
      SkipSpace();
      if (Peek() != '"') return Fail("a member's name was expected");
      auto& [name, member] = value->members.emplace_back();
      TRY(ReadString(&name));
      SkipSpace();
      if (Peek() != ':') return Fail("':' was expected");
      ++at_;
      SkipSpace();
      TRY(ReadValue(&member, depth + 1));
      SkipSpace();
      const char c = Peek();
      if (c != ',' && c != '}') return Fail("',' or '}' was expected");
      ++at_;
      if (c == '}') break;
    }
    return RefuseEqualNames(*value);
  }

  Status RefuseEqualNames(const JsonValue& object) const {
    std::vector<std::string_view> names;
    names.reserve(object.members.size());
    for (const auto& [name, member] : object.members) names.push_back(name);
    std::sort(names.begin(), names.end());
    const auto equal = std::adjacent_find(names.begin(), names.end());
    if (equal == names.end()) return OkStatus();
    return Fail(fmt::format("the member \"{}\" stands twice in one object", *equal));
  }

  Status ReadArray(JsonValue* value, size_t depth) {
    if (depth >= limits_.max_depth) return Fail("nested too deeply");
    value->kind = JsonValue::Kind::kArray;
    ++at_;
    SkipSpace();
    if (Peek() == ']') {
      ++at_;
      return OkStatus();
    }
    while (true) {
      SkipSpace();
      TRY(ReadValue(&value->elements.emplace_back(), depth + 1));
      SkipSpace();
      const char c = Peek();
      if (c != ',' && c != ']') return Fail("',' or ']' was expected");
      ++at_;
      if (c == ']') return OkStatus();
    }
  }

  Status ReadNumber(JsonValue* value) {
    const size_t start = at_;
    const auto digits = [&] {
      const size_t first = at_;
      while (Peek() >= '0' && Peek() <= '9') ++at_;
      return at_ > first;
    };
    if (Peek() == '-') ++at_;
    const size_t whole = at_;
    if (!digits()) return Fail("not a value");
    if (text_[whole] == '0' && at_ - whole > 1) return Fail("a number begins with 0");
    if (Peek() == '.') {
      ++at_;
      if (!digits()) return Fail("a digit was expected");
    }
    if (Peek() == 'e' || Peek() == 'E') {
      ++at_;
      if (Peek() == '+' || Peek() == '-') ++at_;
      if (!digits()) return Fail("a digit was expected");
    }
    value->kind = JsonValue::Kind::kNumber;
    value->text = text_.substr(start, at_ - start);
    return OkStatus();
  }

  // Appends the code point of four hex digits.
  bool ReadHex4(uint32_t* code) {
    if (at_ + 4 > text_.size()) return false;
    *code = 0;
    for (size_t i = 0; i < 4; ++i) {
      const char c = text_[at_++];
      uint32_t digit = 0;
      if (c >= '0' && c <= '9')
        digit = static_cast<uint32_t>(c - '0');
      else if (c >= 'a' && c <= 'f')
        digit = static_cast<uint32_t>(c - 'a' + 10);
      else if (c >= 'A' && c <= 'F')
        digit = static_cast<uint32_t>(c - 'A' + 10);
      else
        return false;
      *code = *code * 16 + digit;
    }
    return true;
  }

  static void AppendUtf8(uint32_t code, std::string* out) {
    const auto put = [out](uint32_t byte) { out->push_back(static_cast<char>(byte)); };
    if (code < 0x80) {
      put(code);
    } else if (code < 0x800) {
      put(0xc0 | (code >> 6));
      put(0x80 | (code & 63));
    } else if (code < 0x10000) {
      put(0xe0 | (code >> 12));
      put(0x80 | ((code >> 6) & 63));
      put(0x80 | (code & 63));
    } else {
      put(0xf0 | (code >> 18));
      put(0x80 | ((code >> 12) & 63));
      put(0x80 | ((code >> 6) & 63));
      put(0x80 | (code & 63));
    }
  }

  Status ReadEscape(std::string* out) {
    const char c = Peek();
    ++at_;
    switch (c) {
      case '"':
      case '\\':
      case '/': out->push_back(c); return OkStatus();
      case 'b': out->push_back('\b'); return OkStatus();
      case 'f': out->push_back('\f'); return OkStatus();
      case 'n': out->push_back('\n'); return OkStatus();
      case 'r': out->push_back('\r'); return OkStatus();
      case 't': out->push_back('\t'); return OkStatus();
      case 'u': break;
      default: return Fail("unknown escape");
    }
    uint32_t code = 0;
    if (!ReadHex4(&code)) return Fail("four hex digits were expected");
    if (code >= 0xdc00 && code < 0xe000) return Fail("unpaired surrogate");
    if (code >= 0xd800 && code < 0xdc00) {
      uint32_t low = 0;
      if (!TakeWord("\\u") || !ReadHex4(&low) || low < 0xdc00 || low >= 0xe000)
        return Fail("unpaired surrogate");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    AppendUtf8(code, out);
    return OkStatus();
  }

  // The length of the UTF-8 sequence at `at_`, or 0 if it is none.
  size_t SequenceLength() const {
    const auto byte = [&](size_t i) {
      return at_ + i < text_.size() ? static_cast<unsigned char>(text_[at_ + i]) : 0u;
    };
    const unsigned first = byte(0);
    const auto follows = [&](size_t i, unsigned low = 0x80, unsigned high = 0xbf) {
      return byte(i) >= low && byte(i) <= high;
    };
    if (first < 0x80) return 1;
    if (first >= 0xc2 && first <= 0xdf) return follows(1) ? 2 : 0;
    if (first >= 0xe0 && first <= 0xef) {
      const unsigned low = first == 0xe0 ? 0xa0 : 0x80;
      const unsigned high = first == 0xed ? 0x9f : 0xbf;
      return follows(1, low, high) && follows(2) ? 3 : 0;
    }
    if (first >= 0xf0 && first <= 0xf4) {
      const unsigned low = first == 0xf0 ? 0x90 : 0x80;
      const unsigned high = first == 0xf4 ? 0x8f : 0xbf;
      return follows(1, low, high) && follows(2) && follows(3) ? 4 : 0;
    }
    return 0;
  }

  Status ReadString(std::string* out) {
    ++at_;
    while (true) {
      if (at_ >= text_.size()) return Fail("a string does not end");
      const char c = text_[at_];
      if (c == '"') {
        ++at_;
        return OkStatus();
      }
      if (c == '\\') {
        ++at_;
        TRY(ReadEscape(out));
        continue;
      }
      if (static_cast<unsigned char>(c) < 0x20) return Fail("a control character in a string");
      const size_t length = SequenceLength();
      if (length == 0) return Fail("invalid UTF-8");
      out->append(text_, at_, length);
      at_ += length;
    }
  }

  const std::string_view text_;
  const JsonLimits& limits_;
  size_t at_ = 0;
  size_t line_start_ = 0;
  uint32_t line_ = 1;
  size_t values_ = 0;
};

}  // namespace

const JsonValue* JsonValue::Find(std::string_view name) const {
  for (const auto& [key, value] : members) {
    if (key == name) return &value;
  }
  return nullptr;
}

Result<JsonValue> ReadJson(std::string_view text, const JsonLimits& limits) {
  return Reader(text, limits).Read();
}

}  // namespace stator::access
