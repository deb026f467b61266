#include "base/accept_encoding.h"

#include <algorithm>

namespace stator {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

bool EqualsLower(std::string_view text, std::string_view lower) {
  return text.size() == lower.size() && std::equal(text.begin(), text.end(), lower.begin(),
                                                   [](char a, char b) { return Lower(a) == b; });
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

bool AcceptsEncoding(std::string_view accept, std::string_view coding) {
  while (!accept.empty()) {
    const size_t end = std::min(accept.find(','), accept.size());
    const std::string_view element = accept.substr(0, end);
    accept.remove_prefix(std::min(end + 1, accept.size()));
    const size_t semicolon = std::min(element.find(';'), element.size());
    if (!EqualsLower(Trim(element.substr(0, semicolon)), coding)) continue;
    const std::string_view weight = Trim(element.substr(std::min(semicolon + 1, element.size())));
    return !(weight.starts_with("q=0") &&
             weight.find_first_not_of("0.", 2) == std::string_view::npos);
  }
  return false;
}

}  // namespace stator
