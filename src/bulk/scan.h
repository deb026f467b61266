// Tables at an endpoint, and parallel scans of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api_client/client.h"
#include "base/result.h"
#include "base/unique_function.h"
#include "model/key_schema.h"
#include "simdjson.h"

namespace stator::bulk {

struct TableInfo {
  std::string name;
  std::string id;  // of DescribeTable, or the time of creation where there is none
  std::string status;
  model::KeySchema key;
  int64_t items = 0;  // as DescribeTable says; the service's are hours old
  int64_t bytes = 0;
  std::string description;  // DescribeTable's member Table
};

// kResourceNotFound if there is no such table.
Result<TableInfo> DescribeTable(api_client::Client& client, const std::string& table);

// Makes a table and waits until it is ACTIVE. `body` is that of CreateTable. A table that is there
// already is waited for.
Result<TableInfo> MakeTable(api_client::Client& client, const std::string& table,
                            const std::string& body, const api_client::Pause& pause);
// Waits until the table is ACTIVE, and its indexes.
Result<TableInfo> WaitForTable(api_client::Client& client, const std::string& table,
                               const api_client::Pause& pause);
// Returns whether a strongly consistent read finds no item.
Result<bool> IsEmpty(api_client::Client& client, const std::string& table);
// Returns the names of all tables of the caller's account and Region.
Result<std::vector<std::string>> ListTables(api_client::Client& client);

struct Page {
  simdjson::dom::array items;
  std::string next;  // LastEvaluatedKey as JSON; empty: it was the last page
  double read_units = 0;
};

// Reads one page of a segment of the table behind `start`, which may be empty, and hands it over.
Status ScanPage(api_client::Client& client, const std::string& table, size_t segment,
                size_t segments, const std::string& start, bool consistent,
                FunctionRef<Status(const Page& page)> take);

}  // namespace stator::bulk
