#include "s3/xml.h"

#include <charconv>
#include <cstdint>

namespace stator::s3 {
namespace {

constexpr size_t kMostEntityBytes = 16;  // "&#x0010FFFF;" and some zeros

void AppendUtf8(uint32_t code, std::string* out) {
  const auto put = [out](uint32_t byte) { out->push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6);
    put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3f));
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  }
}

// Appends what "&NAME;" stands for. False if it is none.
bool AppendEntity(std::string_view name, std::string* out) {
  constexpr std::pair<std::string_view, char> kNamed[] = {
      {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
  for (const auto& [known, character] : kNamed) {
    if (name != known) continue;
    out->push_back(character);
    return true;
  }
  if (!name.starts_with('#')) return false;
  name.remove_prefix(1);
  const bool hex = name.starts_with('x');
  if (hex) name.remove_prefix(1);
  uint32_t code = 0;
  const auto read = std::from_chars(name.data(), name.data() + name.size(), code, hex ? 16 : 10);
  if (read.ec != std::errc() || read.ptr != name.data() + name.size() || code > 0x10ffff)
    return false;
  AppendUtf8(code, out);
  return true;
}

// Takes the first element of that name, and what stands before it, off `xml`.
std::optional<std::string_view> TakeElement(std::string_view* xml, std::string_view name) {
  while (true) {
    const size_t open = xml->find('<');
    if (open == std::string_view::npos) return std::nullopt;
    xml->remove_prefix(open + 1);
    if (!xml->starts_with(name)) continue;
    if (xml->size() == name.size()) return std::nullopt;
    // Before the tag's end is looked for, which may be far away: each byte is looked at once.
    const char after = (*xml)[name.size()];
    if (after != '>' && after != ' ' && after != '/') continue;
    const size_t end = xml->find('>');
    if (end == std::string_view::npos) return std::nullopt;
    const bool is_empty = (*xml)[end - 1] == '/';
    xml->remove_prefix(end + 1);
    if (is_empty) return std::string_view();
    const size_t close = xml->find(std::string("</").append(name).append(">"));
    if (close == std::string_view::npos) return std::nullopt;
    const std::string_view content = xml->substr(0, close);
    xml->remove_prefix(close);
    return content;
  }
}

}  // namespace

std::optional<std::string_view> ElementIn(std::string_view xml, std::string_view name) {
  return TakeElement(&xml, name);
}

std::vector<std::string_view> ElementsIn(std::string_view xml, std::string_view name, size_t most) {
  std::vector<std::string_view> all;
  while (all.size() < most) {
    const std::optional<std::string_view> one = TakeElement(&xml, name);
    if (!one) break;
    all.push_back(*one);
  }
  return all;
}

std::string XmlText(std::string_view content) {
  std::string text;
  while (!content.empty()) {
    const size_t at = std::min(content.find('&'), content.size());
    text.append(content.substr(0, at));
    content.remove_prefix(at);
    if (content.empty()) break;
    const size_t end = content.substr(0, kMostEntityBytes).find(';');
    if (end == std::string_view::npos || !AppendEntity(content.substr(1, end - 1), &text)) {
      text.push_back('&');
      content.remove_prefix(1);
    } else {
      content.remove_prefix(end + 1);
    }
  }
  return text;
}

std::string TextIn(std::string_view xml, std::string_view name) {
  const std::optional<std::string_view> content = ElementIn(xml, name);
  return content ? XmlText(*content) : std::string();
}

}  // namespace stator::s3
