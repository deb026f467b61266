#include "expand.h"

#include <fmt/format.h>

#include <charconv>

namespace stator::scripts {
namespace {

bool ReadInt(std::string_view text, int* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

// The position of the {{end}} that belongs to an {{each}} whose template starts at `from`.
size_t FindEnd(std::string_view text, size_t from) {
  int depth = 1;
  while (true) {
    const size_t end = text.find("{{end}}", from);
    if (end == std::string_view::npos) return end;
    const size_t inner = text.find("{{each:", from);
    if (inner < end) {
      ++depth;
      from = inner + 7;
    } else if (--depth == 0) {
      return end;
    } else {
      from = end + 7;
    }
  }
}

// The end of "TEXT:N}}" from `from`: where ":N}}" begins, and N.
bool FindCount(std::string_view text, size_t from, size_t* colon, size_t* after, int* count) {
  for (size_t close = text.find("}}", from); close != std::string_view::npos;
       close = text.find("}}", close + 1)) {
    *colon = text.rfind(':', close);
    if (*colon == std::string_view::npos || *colon < from) continue;
    if (!ReadInt(text.substr(*colon + 1, close - *colon - 1), count)) continue;
    *after = close + 2;
    return true;
  }
  return false;
}

bool AppendBinding(std::string_view name, const Bindings& bindings, std::string* out) {
  const size_t colon = name.find(':');
  int width = 0;
  if (colon != std::string_view::npos && !ReadInt(name.substr(colon + 1), &width)) return false;
  for (auto it = bindings.rbegin(); it != bindings.rend(); ++it) {
    if (it->first != name.substr(0, colon)) continue;
    *out += fmt::format("{:0{}}", it->second, width);
    return true;
  }
  return false;
}

}  // namespace

Result<std::pair<std::string, std::pair<int, int>>> ParseRange(std::string_view text) {
  const size_t equals = text.find('=');
  const size_t dots = text.find("..");
  int first = 0;
  int last = 0;
  if (equals == std::string_view::npos || dots == std::string_view::npos || dots < equals ||
      !ReadInt(text.substr(equals + 1, dots - equals - 1), &first) ||
      !ReadInt(text.substr(dots + 2), &last)) {
    return ValidationError(fmt::format("not a range: {}", text));
  }
  return std::pair{std::string(text.substr(0, equals)), std::pair{first, last}};
}

Result<std::string> Expand(std::string_view text, const Bindings& bindings, const Saved& saved) {
  std::string out;
  size_t at = 0;
  while (true) {
    const size_t open = text.find("{{", at);
    if (open == std::string_view::npos) break;
    out += text.substr(at, open - at);
    const std::string_view rest = text.substr(open);
    const size_t close = rest.find("}}");
    if (rest.starts_with("{{repeat:")) {
      size_t colon = 0;
      size_t after = 0;
      int count = 0;
      if (!FindCount(rest, 9, &colon, &after, &count))
        return ValidationError("{{repeat: without :N}}");
      ASSIGN_OR_RETURN(const std::string piece, Expand(rest.substr(9, colon - 9), bindings, saved));
      out.reserve(out.size() + piece.size() * count);
      for (int i = 0; i < count; ++i) out += piece;
      at = open + after;
    } else if (rest.starts_with("{{each:")) {
      if (close == std::string_view::npos) return ValidationError("{{each: without }}");
      ASSIGN_OR_RETURN(const auto range, ParseRange(rest.substr(7, close - 7)));
      const size_t end = FindEnd(rest, close + 2);
      if (end == std::string_view::npos) return ValidationError("{{each: without {{end}}");
      Bindings inner = bindings;
      inner.emplace_back(range.first, 0);
      for (int i = range.second.first; i <= range.second.second; ++i) {
        inner.back().second = i;
        ASSIGN_OR_RETURN(const std::string piece,
                         Expand(rest.substr(close + 2, end - close - 2), inner, saved));
        if (i != range.second.first) out += ',';
        out += piece;
      }
      at = open + end + 7;
    } else if (rest.starts_with("{{saved:") && close != std::string_view::npos) {
      const auto found = saved.find(std::string(rest.substr(8, close - 8)));
      if (found == saved.end())
        return ValidationError(fmt::format("nothing was saved as {}", rest.substr(8, close - 8)));
      if (out.empty() || out.back() != '"' || rest.substr(close + 2, 1) != "\"") {
        return ValidationError("{{saved: stands for a whole value, in quotes");
      }
      out.pop_back();
      out += found->second;
      at = open + close + 3;
    } else if (close != std::string_view::npos &&
               AppendBinding(rest.substr(2, close - 2), bindings, &out)) {
      at = open + close + 2;
    } else {
      out += "{{";
      at = open + 2;
    }
  }
  out += text.substr(at);
  return out;
}

}  // namespace stator::scripts
