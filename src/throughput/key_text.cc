#include "throughput/key_text.h"

#include <string>

namespace stator::throughput {

bool LooksLikeDate(std::string_view text) {
  for (size_t i = 0; i + 8 <= text.size(); ++i) {
    std::string digits;
    size_t at = i;
    for (; at < text.size() && digits.size() < 8; ++at) {
      if (text[at] >= '0' && text[at] <= '9') {
        digits += text[at];
      } else if (!((text[at] == '-' || text[at] == '/') &&
                   (digits.size() == 4 || digits.size() == 6))) {
        break;
      }
    }
    const bool ends = at == text.size() || text[at] < '0' || text[at] > '9';
    const bool begins = i == 0 || text[i - 1] < '0' || text[i - 1] > '9';
    if (digits.size() == 8 && begins && ends && digits >= "19700101" && digits <= "21001231" &&
        digits.substr(4, 2) >= "01" && digits.substr(4, 2) <= "12" && digits.substr(6) >= "01" &&
        digits.substr(6) <= "31") {
      return true;
    }
  }
  return false;
}

}  // namespace stator::throughput
