// For tests: expressions of a request whose names and values are drawn from one stock, as far as a
// text mentions them.
#pragma once

#include <map>
#include <string>

#include "expr/expr.h"
#include "expr/test_notation.h"

namespace stator::expr::notation {

// Undefined on purpose: #x and :x.
inline Substitutions StockFor(std::string_view text) {
  static const std::map<std::string, std::string> names = {
      {"#a", "a"}, {"#b", "b"}, {"#dot", "a.b"}, {"#size", "size"}, {"#1", "one"}, {"#_", "under"}};
  static const std::map<std::string, std::string> values = {
      {":s", "'x'"},
      {":t", "'y'"},
      {":n", "1"},
      {":m", "2"},
      {":b", "x'ab'"},
      {":c", "x'aa'"},
      {":ss", "<'a', 'b'>"},
      {":ns", "<1, 2>"},
      {":bs", "<x'ab'>"},
      {":l", "['x']"},
      {":map", "{a: 'x'}"},
      {":bool", "true"},
      {":null", "null"},
      {":Z", "'Z'"},
      {":S", "'S'"},
      {":BOOL", "'BOOL'"},
      {":big", "99999999999999999999999999999999999999"},
      {":1", "'one'"},
      {":_", "'under'"}};
  std::vector<std::pair<std::string, std::string>> used_names, used_values;
  for (size_t p = 0; p < text.size(); ++p) {
    if (text[p] != '#' && text[p] != ':') continue;
    size_t end = p + 1;
    while (end < text.size() &&
           (isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_'))
      ++end;
    const std::string reference(text.substr(p, end - p));
    auto add = [&](const auto& stock, auto* used, auto convert) {
      const auto found = stock.find(reference);
      if (found == stock.end()) return;
      for (const auto& entry : *used) {
        if (entry.first == reference) return;
      }
      used->emplace_back(reference, convert(found->second));
    };
    if (text[p] == '#') add(names, &used_names, [](const std::string& name) { return name; });
    if (text[p] == ':')
      add(values, &used_values, [](const std::string& value) { return Value(value); });
  }
  Substitutions subs;
  if (!used_names.empty() && !subs.SetNames(used_names).ok()) return Substitutions();
  if (!used_values.empty() && !subs.SetValues(used_values).ok()) return Substitutions();
  return subs;
}

inline Result<Condition> ParseWithStock(std::string_view text, Role role = Role::kCondition) {
  Substitutions subs = StockFor(text);
  return ParseCondition(text, role, &subs);
}

// "" when it parses.
inline std::string ConditionError(std::string_view text, Role role = Role::kCondition) {
  const Result<Condition> condition = ParseWithStock(text, role);
  return condition.ok() ? "" : condition.error().message();
}

inline std::string Repeat(std::string_view part, std::string_view separator, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) {
    if (i > 0) out += separator;
    out += part;
  }
  return out;
}

}  // namespace stator::expr::notation
