// Accounts for the memory of the definitions of tables and of the descriptions of disabled streams,
// and bounds it, so that clients cannot fill the memory. Internal to the room.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "table/descriptor.h"
#include "table/stream_index.h"
#include "table/table.h"

namespace stator::table {

// The bound for all definitions of a store and the descriptions of its disabled streams together.
inline constexpr uint64_t kMostDefinitionBytes = 512ull << 20;

// Not thread-safe.
class DefinitionAccount {
 public:
  // Returns an estimate of the memory of a table without load, its meters included. It counts only
  // members that clients define, an enabled stream too, not those that the server changes itself.
  static uint64_t BytesOf(const TableDescriptor& table);
  // For tests: replaces kMostDefinitionBytes by `bytes` in this process.
  static void SetMost(uint64_t bytes);

  // Returns kLimitExceeded if a new table, or the change of one, needs more memory than there is:
  // more than all tables may have, or, once more than half of that is used, more than an account's
  // share. `before`: null for a new table.
  Status Check(const TableDescriptor* before, const TableDescriptor& next) const;
  void Add(const TableDescriptor& table);
  // Adds what disabled streams hold, once.
  void Add(const DisabledStreams& streams);
  // The bytes of the tables.
  uint64_t table_bytes() const { return table_bytes_; }

 private:
  void AddTo(std::string_view account, uint64_t bytes);

  uint64_t table_bytes_ = 0;
  DisabledStreams streams_;
  std::map<std::string, uint64_t, std::less<>> of_accounts_;  // tables and disabled streams
};

// Checks changes of a catalog that come one at a time. Counts the tables now and then only, and in
// between what has been added, while that is surely less than half of what there may be.
class DefinitionBound {
 public:
  // What there is now.
  struct Held {
    std::function<std::vector<TablePtr>()> tables;
    std::function<DisabledStreams()> streams;
    uint64_t stream_bytes = 0;  // DisabledStreams::bytes
  };

  // Checks like DefinitionAccount::Check.
  Status Check(const Held& held, const TableDescriptor* before, const TableDescriptor& next);

 private:
  static constexpr int kChecksPerCount = 64;  // others may have changed the catalog
  uint64_t most_held_ = 0;                    // by tables, since the last count at most
  int checks_left_ = 0;
};

}  // namespace stator::table
