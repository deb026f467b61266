// Resolves names (#n) and values (:v) of expressions.
#include <algorithm>

#include "expr/expr.h"

namespace stator::expr {

namespace {

constexpr size_t kMaxReferenceBytes = 255;  // with its sigil
constexpr size_t kMaxNameBytes = 65535;
constexpr size_t kMaxTotalBytes = 2 * 1024 * 1024;  // of all names and values

bool IsReference(std::string_view key, char sigil) {
  if (key.size() < 2 || key[0] != sigil) return false;
  return std::all_of(key.begin() + 1, key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

}  // namespace

Status Substitutions::Set(std::string_view parameter, char sigil,
                          std::vector<std::pair<std::string, std::string>> pairs,
                          std::vector<Entry>* entries) {
  const std::string name(parameter);
  if (pairs.empty()) return ValidationError(name + " must not be empty");
  entries->clear();
  entries->reserve(pairs.size());
  for (auto& [key, substitute] : pairs) {
    total_bytes_ += key.size() + substitute.size();
    if (total_bytes_ > kMaxTotalBytes) return ValidationError(name + " exceeds max size");
    if (!IsReference(key, sigil)) {
      return ValidationError(name + " contains invalid key: Syntax error; key: \"" + key + "\"");
    }
    if (key.size() > kMaxReferenceBytes) {
      return ValidationError(
          name +
          " contains invalid key: The expression attribute map contains a key that is too long; " +
          "size of key: " + std::to_string(key.size()));
    }
    entries->push_back({std::move(key), std::move(substitute), false});
  }
  std::sort(entries->begin(), entries->end(),
            [](const Entry& a, const Entry& b) { return a.key < b.key; });
  return OkStatus();
}

Status Substitutions::SetNames(std::vector<std::pair<std::string, std::string>> names) {
  TRY(Set("ExpressionAttributeNames", '#', std::move(names), &names_));
  for (const Entry& entry : names_) {
    if (!entry.substitute.empty() && entry.substitute.size() <= kMaxNameBytes) continue;
    return ValidationError(std::string("ExpressionAttributeNames contains invalid value: ") +
                           (entry.substitute.empty()
                                ? "Empty attribute name"
                                : "Attribute name is too large, must be less than 65536 bytes") +
                           " for key " + entry.key);
  }
  return OkStatus();
}

Status Substitutions::SetValues(std::vector<std::pair<std::string, std::string>> values) {
  return Set("ExpressionAttributeValues", ':', std::move(values), &values_);
}

Substitutions::Entry* Substitutions::Use(std::vector<Entry>* entries, std::string_view key) {
  const auto found =
      std::lower_bound(entries->begin(), entries->end(), key,
                       [](const Entry& entry, std::string_view k) { return entry.key < k; });
  if (found == entries->end() || found->key != key) return nullptr;
  found->used = true;
  return &*found;
}

Status Substitutions::CheckUsed(std::string_view parameter, const std::vector<Entry>& entries) {
  std::string unused;
  for (const Entry& entry : entries) {
    if (entry.used) continue;
    if (!unused.empty()) unused += ", ";
    unused += entry.key;
  }
  if (unused.empty()) return OkStatus();
  return ValidationError("Value provided in " + std::string(parameter) +
                         " unused in expressions: keys: {" + unused + "}");
}

Status Substitutions::CheckAllUsed() const {
  TRY(CheckUsed("ExpressionAttributeNames", names_));
  return CheckUsed("ExpressionAttributeValues", values_);
}

}  // namespace stator::expr
