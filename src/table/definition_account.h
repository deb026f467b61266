// How much memory the definitions of tables hold, so that no client fills it with tables. Internal
// to the room.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_function.h"
#include "table/descriptor.h"
#include "table/table.h"

namespace stator::table {

// The bound for all definitions of a store together.
inline constexpr uint64_t kMostDefinitionBytes = 512ull << 20;

// Not thread-safe.
class DefinitionAccount {
 public:
  // An estimate of the memory of the idle table, its meters included. Only members that clients
  // define count: those that the server changes by itself cost nothing.
  static uint64_t BytesOf(const TableDescriptor& table);
  // For tests. `bytes` in the place of kMostDefinitionBytes, in this process.
  static void SetMost(uint64_t bytes);

  // kLimitExceeded if a new table, or the change of one, defines more than there is room for: more
  // than all may have, or than an account's share once more than half of that is held. `before`:
  // null for a new table.
  Status Check(const TableDescriptor* before, const TableDescriptor& next) const;
  void Add(const TableDescriptor& table);
  uint64_t bytes() const { return bytes_; }

 private:
  uint64_t bytes_ = 0;
  std::map<std::string, uint64_t, std::less<>> of_accounts_;
};

// Checks changes of a catalog that come one at a time. Counts the tables now and then only, and in
// between what has been added, while that is surely less than half of what there may be.
class DefinitionBound {
 public:
  // Checks like DefinitionAccount::Check. `all` lists the tables that there are.
  Status Check(FunctionRef<std::vector<TablePtr>()> all, const TableDescriptor* before,
               const TableDescriptor& next);

 private:
  static constexpr int kChecksPerCount = 64;  // others may have changed the catalog
  uint64_t most_held_ = 0;                    // since the last count at most
  int checks_left_ = 0;
};

}  // namespace stator::table
