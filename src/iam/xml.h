// Writes the XML of the Query protocol.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stator::iam {

// Appends text with the characters escaped that XML gives a meaning. Control characters that XML
// cannot hold become '?'.
inline void AppendXmlText(std::string_view text, std::string* out) {
  for (const char c : text) {
    switch (c) {
      case '<': out->append("&lt;"); break;
      case '>': out->append("&gt;"); break;
      case '&': out->append("&amp;"); break;
      case '"': out->append("&quot;"); break;
      default:
        const auto byte = static_cast<unsigned char>(c);
        out->push_back(byte < 0x20 && c != '\t' && c != '\n' && c != '\r' ? '?' : c);
    }
  }
}

class Xml {
 public:
  Xml& Open(std::string_view name) {
    text_.append("<").append(name).append(">");
    return *this;
  }
  Xml& Close(std::string_view name) {
    text_.append("</").append(name).append(">");
    return *this;
  }
  Xml& Element(std::string_view name, std::string_view text) {
    Open(name);
    AppendXmlText(text, &text_);
    return Close(name);
  }
  Xml& Element(std::string_view name, int64_t number) {
    return Element(name, std::string_view(std::to_string(number)));
  }
  Xml& Flag(std::string_view name, bool flag) { return Element(name, flag ? "true" : "false"); }
  // Appends what was written elsewhere.
  Xml& Append(std::string_view xml) {
    text_.append(xml);
    return *this;
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace stator::iam
