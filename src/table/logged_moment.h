// A table as it was at a moment, from its items and its change log.
//
// A read looks at the items first and at the changes then: a change that comes in between is among
// them, and undoes itself. Of each day of the log from that of the moment on it takes the first
// change after the moment, and the oldest of these is what stood there. A day costs a seek for an
// item, and about one for each item that changed in it for a scan.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "table/past.h"
#include "table/store.h"

namespace stator::table {

// For one thread at a time. Nothing is pinned: the table takes writes meanwhile.
class LoggedMoment final : public Past {
 public:
  // Reads the state with all changes up to `last_micros`, which must be durable (SettledChanges)
  // and in the log (ChangeLog::EarliestAt). kResourceNotFound if the table has no change log. The
  // store must outlive it.
  static Result<std::shared_ptr<const LoggedMoment>> Open(Store& store, TablePtr table,
                                                          int64_t last_micros);

  // Reads the table's items: the tablet must be its own, and the keys those of items. PastIsOver()
  // if the log was trimmed or given up meanwhile; so in Scan.
  Result<bool> Get(kv::Engine& engine, kv::Tablet tablet, std::string_view key, kv::Tier tier,
                   std::string* item) const override;
  // With Tier::kMemory always kWouldBlock. Holds about 0.3 MB, or two items and a record of each
  // day.
  Status Scan(kv::Engine& engine, const kv::Range& range, kv::Tier tier,
              FunctionRef<bool(std::string_view key, model::ItemView item)> visit) const override;
  uint64_t read_bytes() const override { return read_bytes_; }

  // Get, of the table's item.
  Result<std::string> ItemAt(std::string_view key) const;  // empty: there was none
  int64_t last_micros() const { return last_micros_; }

 private:
  class Day;

  LoggedMoment(Store& store, TablePtr table, int64_t last_micros)
      : store_(store), table_(std::move(table)), last_micros_(last_micros) {}
  const history::ChangeLog& log() const { return *table_->descriptor.change_log; }
  int64_t LastDay() const;
  Result<bool> HasMark(kv::Tier tier) const;
  Status CheckThere(kv::Tier tier) const;

  Store& store_;
  const TablePtr table_;
  const int64_t last_micros_;
  mutable std::optional<bool> had_mark_;  // whether the log had a mark when reading began
  mutable uint64_t read_bytes_ = 0;
};

// Returns the error of a moment that the log cannot tell any more.
Error PastIsOver();

}  // namespace stator::table
