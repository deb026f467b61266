#include "table/table_index.h"

#include <utility>

namespace stator::table {

TablePtr TableIndex::Find(std::string_view name) const {
  const auto found = tables_.find(name);
  return found == tables_.end() ? nullptr : found->second;
}

void TableIndex::Put(TablePtr table) {
  const std::string& name = table->descriptor.name;
  if (table->descriptor.ShowsInsights())
    with_insights_.insert(name);
  else
    with_insights_.erase(name);
  TablePtr& place = tables_[name];
  place = std::move(table);
}

void TableIndex::Erase(std::string_view name) {
  if (const auto found = tables_.find(name); found != tables_.end()) tables_.erase(found);
  if (const auto found = with_insights_.find(name); found != with_insights_.end())
    with_insights_.erase(found);
}

std::vector<TablePtr> TableIndex::All() const {
  std::vector<TablePtr> tables;
  tables.reserve(tables_.size());
  for (const auto& [name, table] : tables_) tables.push_back(table);
  return tables;
}

std::vector<TablePtr> TableIndex::Page(std::string_view account, std::string_view after,
                                       size_t most) const {
  const std::string start = StoreName(account, after);
  std::vector<TablePtr> tables;
  for (auto it = after.empty() && !account.empty() ? tables_.lower_bound(start)
                                                   : tables_.upper_bound(start);
       it != tables_.end() && AccountIn(it->first) == account && tables.size() < most; ++it)
    tables.push_back(it->second);
  return tables;
}

std::vector<TablePtr> TableIndex::PageWithInsights(std::string_view account, std::string_view from,
                                                   size_t most) const {
  std::vector<TablePtr> tables;
  for (auto it = with_insights_.lower_bound(StoreName(account, from));
       it != with_insights_.end() && AccountIn(*it) == account && tables.size() < most; ++it)
    tables.push_back(tables_.find(*it)->second);
  return tables;
}

}  // namespace stator::table
