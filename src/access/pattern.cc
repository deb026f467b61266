#include "access/pattern.h"

#include <algorithm>

#include "access/steps.h"
#include "base/ascii.h"

namespace stator::access {
namespace {

// Length of the UTF-8 sequence that begins with `first`; 1 for bytes that begin none.
size_t SequenceLength(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
}

// A cell of a pattern is a byte, or one of these.
using Cell = uint16_t;
constexpr Cell kAnyRunCell = 0x100;
constexpr Cell kAnyOneCell = 0x101;

// Matches greedily and goes back to the last '*' only: what an earlier '*' took need not change,
// since the last one can take any more of the text.
template <typename Pattern>
bool MatchCells(const Pattern& pattern, std::string_view text, bool ignore_case) {
  size_t p = 0;
  size_t t = 0;
  size_t star = pattern.size();  // position of the last '*', or none
  size_t star_text = 0;          // where the text that it takes ends
  constexpr int64_t kStepsAtOnce = 1024;
  int64_t steps = 0;
  while (t < text.size()) {
    if (++steps == kStepsAtOnce) {
      if (!PolicySteps::Spend(steps)) return false;
      steps = 0;
    }
    if (p < pattern.size()) {
      const Cell cell = pattern[p];
      if (cell == kAnyRunCell) {
        star = p++;
        star_text = t;
        continue;
      }
      if (cell == kAnyOneCell) {
        ++p;
        t += std::min(SequenceLength(text[t]), text.size() - t);
        continue;
      }
      const char c = ignore_case ? LowerAscii(text[t]) : text[t];
      if (cell == static_cast<unsigned char>(c)) {
        ++p;
        ++t;
        continue;
      }
    }
    if (star == pattern.size()) {
      PolicySteps::Spend(steps);
      return false;
    }
    p = star + 1;
    star_text += std::min(SequenceLength(text[star_text]), text.size() - star_text);
    t = star_text;
  }
  PolicySteps::Spend(steps);
  while (p < pattern.size() && pattern[p] == kAnyRunCell) ++p;
  return p == pattern.size();
}

// Reads a plain pattern as cells.
struct GlobCells {
  std::string_view text;
  size_t size() const { return text.size(); }
  Cell operator[](size_t i) const {
    const char c = text[i];
    return c == '*' ? kAnyRunCell : c == '?' ? kAnyOneCell : static_cast<unsigned char>(c);
  }
};

}  // namespace

Glob::Glob(std::string_view pattern, bool ignore_case)
    : pattern_(pattern),
      has_wildcard_(pattern.find_first_of("*?") != std::string_view::npos),
      ignore_case_(ignore_case) {
  if (!ignore_case) return;
  pattern_ = LowerAscii(pattern);
}

bool Glob::Matches(std::string_view text) const {
  if (pattern_ == "*") return true;
  if (!has_wildcard_) return ignore_case_ ? EqualsIgnoringCase(text, pattern_) : text == pattern_;
  return MatchCells(GlobCells{pattern_}, text, ignore_case_);
}

Template::Template(std::string_view text, bool variables, Wildcards wildcards) {
  size_t begin = 0;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (wildcards == Wildcards::kActive && (c == '*' || c == '?')) {
      AddText(text.substr(begin, i - begin));
      parts_.emplace_back().kind = c == '*' ? Part::Kind::kAnyRun : Part::Kind::kAnyOne;
      has_wildcards_ = true;
      begin = ++i;
    } else if (variables && c == '$' && i + 1 < text.size() && text[i + 1] == '{') {
      const size_t end = text.find('}', i + 2);
      if (end == std::string_view::npos) {
        ++i;
        continue;
      }
      AddText(text.substr(begin, i - begin));
      const std::string_view inside = text.substr(i + 2, end - i - 2);
      if (inside == "*" || inside == "?" || inside == "$") {
        AddText(inside);
      } else {
        AddVariable(inside);
      }
      begin = i = end + 1;
    } else {
      ++i;
    }
  }
  AddText(text.substr(begin));
}

void Template::AddText(std::string_view text) {
  if (text.empty()) return;
  if (parts_.empty() || parts_.back().kind != Part::Kind::kText) parts_.emplace_back();
  parts_.back().text += text;
}

void Template::AddVariable(std::string_view inside) {
  has_variables_ = true;
  Part& part = parts_.emplace_back();
  part.kind = Part::Kind::kVariable;
  const size_t comma = inside.find(',');
  if (comma != std::string_view::npos) {
    const std::string_view fallback = Trim(inside.substr(comma + 1), " ");
    if (fallback.size() >= 2 && fallback.front() == '\'' && fallback.back() == '\'') {
      part.has_default = true;
      part.text = fallback.substr(1, fallback.size() - 2);
    }
    inside = inside.substr(0, comma);
  }
  part.key = ResolveKey(Trim(inside, " "));
  keys_.Add(part.key.key);
}

size_t Template::heap_bytes() const {
  size_t bytes = parts_.capacity() * sizeof(Part);
  for (const Part& part : parts_) bytes += HeapBytes(part.text) + HeapBytes(part.key.tag);
  return bytes;
}

bool Template::Matches(std::string_view text, const RequestContext& context,
                       bool* unresolved) const {
  if (is_literal()) return text == literal();
  return MatchesAny(text, context, /*ignore_case=*/false, unresolved);
}

bool Template::MatchesIgnoringCase(std::string_view text, const RequestContext& context,
                                   bool* unresolved) const {
  if (is_literal()) return EqualsIgnoringCase(text, literal());
  return MatchesAny(text, context, /*ignore_case=*/true, unresolved);
}

bool Template::MatchesAny(std::string_view text, const RequestContext& context, bool ignore_case,
                          bool* unresolved) const {
  thread_local std::vector<Cell> cells;
  cells.clear();
  const auto add = [ignore_case](std::string_view literal) {
    for (const char c : literal)
      cells.push_back(static_cast<unsigned char>(ignore_case ? LowerAscii(c) : c));
  };
  for (const Part& part : parts_) {
    switch (part.kind) {
      case Part::Kind::kText: add(part.text); break;
      case Part::Kind::kAnyRun: cells.push_back(kAnyRunCell); break;
      case Part::Kind::kAnyOne: cells.push_back(kAnyOneCell); break;
      case Part::Kind::kVariable: {
        const RequestContext::Value* value = context.Find(part.key);
        if (value != nullptr && !value->is_list) {
          add(value->text);
        } else if (part.has_default) {
          add(part.text);
        } else {
          *unresolved = true;
          return false;
        }
      }
    }
  }
  return MatchCells(cells, text, ignore_case);
}

bool Template::Resolve(const RequestContext& context, std::string* out) const {
  for (const Part& part : parts_) {
    switch (part.kind) {
      case Part::Kind::kText: *out += part.text; break;
      case Part::Kind::kAnyRun: *out += '*'; break;
      case Part::Kind::kAnyOne: *out += '?'; break;
      case Part::Kind::kVariable: {
        const RequestContext::Value* value = context.Find(part.key);
        if (value != nullptr && !value->is_list) {
          *out += value->text;
        } else if (part.has_default) {
          *out += part.text;
        } else {
          return false;
        }
      }
    }
  }
  return true;
}

}  // namespace stator::access
