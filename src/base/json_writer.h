// Writes JSON text for reports and log lines. (api/render_response writes replies of the API.) Not
// thread-safe.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace stator {

// Writes commas where they belong. Text must be UTF-8 and is escaped; a number that is not finite
// becomes null. The caller matches brackets and keys.
class JsonWriter {
 public:
  JsonWriter& Open(char bracket) {
    Comma();
    out_ += bracket;
    fresh_ = true;
    return *this;
  }
  JsonWriter& Close(char bracket) {
    out_ += bracket;
    fresh_ = false;
    return *this;
  }
  JsonWriter& Key(std::string_view name) {
    Text(name);
    out_ += ':';
    fresh_ = true;
    return *this;
  }
  JsonWriter& Text(std::string_view text) {
    Comma();
    out_ += '"';
    size_t begin = 0;  // start of the bytes that need no escape
    for (size_t i = 0; i < text.size(); ++i) {
      const unsigned char byte = static_cast<unsigned char>(text[i]);
      if (byte >= 0x20 && byte != '"' && byte != '\\') continue;
      out_.append(text, begin, i - begin);
      begin = i + 1;
      if (byte < 0x20) {
        out_ += fmt::format("\\u{:04x}", byte);
      } else {
        out_ += '\\';
        out_ += text[i];
      }
    }
    out_.append(text, begin);
    out_ += '"';
    return *this;
  }
  JsonWriter& Number(double number) {
    Comma();
    if (!std::isfinite(number)) {
      out_ += "null";
    } else if (number == std::floor(number) && std::abs(number) < 1e15) {
      AppendWhole(static_cast<int64_t>(number));
    } else {
      out_ += fmt::format("{:.6g}", number);
    }
    return *this;
  }
  JsonWriter& Whole(int64_t number) {
    Comma();
    AppendWhole(number);
    return *this;
  }
  JsonWriter& Bool(bool value) {
    Comma();
    out_ += value ? "true" : "false";
    return *this;
  }
  JsonWriter& Null() {
    Comma();
    out_ += "null";
    return *this;
  }
  JsonWriter& Field(std::string_view name, std::string_view text) { return Key(name).Text(text); }
  JsonWriter& Field(std::string_view name, double number) { return Key(name).Number(number); }
  // Returns the document and a line feed, and empties the writer.
  std::string Take() {
    std::string out = std::exchange(out_, {});
    fresh_ = true;
    out += '\n';
    return out;
  }

 private:
  void AppendWhole(int64_t number) {
    char digits[20];
    out_.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
  }
  void Comma() {
    if (!fresh_ && !out_.empty()) out_ += ',';
    fresh_ = false;
  }
  std::string out_;
  bool fresh_ = true;
};

}  // namespace stator
