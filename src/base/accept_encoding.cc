#include "base/accept_encoding.h"

#include <algorithm>

#include "base/ascii.h"

namespace stator {
bool AcceptsEncoding(std::string_view accept, std::string_view coding) {
  while (!accept.empty()) {
    const size_t end = std::min(accept.find(','), accept.size());
    const std::string_view element = accept.substr(0, end);
    accept.remove_prefix(std::min(end + 1, accept.size()));
    const size_t semicolon = std::min(element.find(';'), element.size());
    if (!EqualsLower(Trim(element.substr(0, semicolon), " "), coding)) continue;
    const std::string_view weight =
        Trim(element.substr(std::min(semicolon + 1, element.size())), " ");
    return !(weight.starts_with("q=0") &&
             weight.find_first_not_of("0.", 2) == std::string_view::npos);
  }
  return false;
}

}  // namespace stator
