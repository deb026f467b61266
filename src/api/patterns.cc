#include "api/patterns.h"

#include <algorithm>

namespace stator::api {
namespace {

bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsAlphanumeric(char c) { return IsLower(c) || (c >= 'A' && c <= 'Z') || IsDigit(c); }
bool IsNameCharacter(char c) { return IsAlphanumeric(c) || c == '_' || c == '.' || c == '-'; }

}  // namespace

std::string_view PatternText(Pattern pattern) {
  switch (pattern) {
    case Pattern::kNone: return "";
    case Pattern::kName: return "[a-zA-Z0-9_.-]+";
    case Pattern::kBucket: return R"(^[a-z0-9A-Z]+[\.\-\w]*[a-z0-9A-Z]+$)";
    case Pattern::kAccount: return "[0-9]{12}";
    case Pattern::kClientToken: return R"(^[^\$]+$)";
    case Pattern::kDelimiter: return R"([,;:|\t ])";
    case Pattern::kCsvHeader: return R"([\x20-\x21\x23-\x2B\x2D-\x7E]*)";
    case Pattern::kImportToken: return "([0-9a-f]{16})+";
  }
  return "";
}

bool Matches(Pattern pattern, std::string_view text) {
  const auto all = [text](auto of) { return std::all_of(text.begin(), text.end(), of); };
  switch (pattern) {
    case Pattern::kNone: return true;
    case Pattern::kName: return !text.empty() && all(IsNameCharacter);
    case Pattern::kBucket:
      return text.size() > 1 && all(IsNameCharacter) && IsAlphanumeric(text.front()) &&
             IsAlphanumeric(text.back());
    case Pattern::kAccount: return text.size() == 12 && all(IsDigit);
    case Pattern::kClientToken: return !text.empty() && text.find('$') == std::string_view::npos;
    case Pattern::kDelimiter:
      return text.size() == 1 && std::string_view(",;:|\t ").find(text) != std::string_view::npos;
    case Pattern::kCsvHeader:
      return all([](char c) { return c >= 0x20 && c <= 0x7e && c != '"' && c != ','; });
    case Pattern::kImportToken:
      return !text.empty() && text.size() % 16 == 0 &&
             all([](char c) { return IsDigit(c) || (c >= 'a' && c <= 'f'); });
  }
  return false;
}

}  // namespace stator::api
