// The tables of a catalog by name, and which of them have insights. Internal to the room.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "table/table.h"
#include "table/table_name.h"

namespace stator::table {

// Not thread-safe.
class TableIndex {
 public:
  // Returns null if there is none of this name.
  TablePtr Find(std::string_view name) const;
  // Puts a table in the place of the one of its name.
  void Put(TablePtr table);
  void Erase(std::string_view name);

  // Returns all tables, in the order of NameLess.
  std::vector<TablePtr> All() const;
  // Returns the tables as Store::ListOf and Store::ListWithInsights say.
  std::vector<TablePtr> Page(std::string_view account, std::string_view after, size_t most) const;
  std::vector<TablePtr> PageWithInsights(std::string_view account, std::string_view from,
                                         size_t most) const;

 private:
  std::map<std::string, TablePtr, NameLess> tables_;
  std::set<std::string, NameLess> with_insights_;  // names of tables_
};

}  // namespace stator::table
