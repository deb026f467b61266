// Names of tables in the store. The default account's tables have their own names; a table of
// another account is "ACCOUNT/NAME". A slash cannot stand in the name that a client gives a table.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace stator::table {

inline constexpr size_t kAccountDigits = 12;

// The feature (kv/features.h) of a store that has a table of another account than the default.
inline constexpr std::string_view kAccountsFeature = "accounts";

// Whether the table is another account's than the default's.
inline bool IsOfOtherAccount(std::string_view store_name) {
  return store_name.size() > kAccountDigits && store_name[kAccountDigits] == '/';
}
// Returns the account in the store's name; empty for the default's.
inline std::string_view AccountIn(std::string_view store_name) {
  return IsOfOtherAccount(store_name) ? store_name.substr(0, kAccountDigits) : std::string_view();
}
// Returns the name that clients know.
inline std::string_view ShownName(std::string_view store_name) {
  return IsOfOtherAccount(store_name) ? store_name.substr(kAccountDigits + 1) : store_name;
}
// Returns the store's name of an account's table; an empty account is the default.
inline std::string StoreName(std::string_view account, std::string_view name) {
  if (account.empty()) return std::string(name);
  return std::string(account).append("/").append(name);
}

// The default account's names in order, then those of each other account.
struct NameLess {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const {
    const bool other = IsOfOtherAccount(a);
    return other == IsOfOtherAccount(b) ? a < b : !other;
  }
};
// The order of streams, by (name of the table, label).
struct StreamNameLess {
  template <typename A, typename B>
  bool operator()(const A& a, const B& b) const {
    return a.first == b.first ? a.second < b.second : NameLess()(a.first, b.first);
  }
};

}  // namespace stator::table
