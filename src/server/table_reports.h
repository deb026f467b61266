// What the throughput model knows of a table over time and by key:
//
//   GET /_stator/tables/NAME/heat                   JSON; SVG with Accept: image/svg+xml
//   GET /_stator/tables/NAME/heat.svg               the picture of `stator simulate`, with hot keys
//     ?from=TIME&to=TIME    as base/time_text's ParseTime; the last three hours
//     &last=DURATION        instead of `from`
//     &step=DURATION        of a column; as short as fits in 180 columns
//     &index=NAME           of a global index; absent: of the table (SVG: of all of them)
//   GET /_stator/tables/NAME/contributor-insights   JSON: the contributors of each rule
//     ?index=NAME           of a global index; absent: of the table
//     &limit=N              keys of each rule, 1 to 100; 10
//
// docs/throughput.md has the members.
#pragma once

#include <string>
#include <string_view>

#include "management/hot_keys.h"
#include "ops/context.h"
#include "server/heat_histories.h"

namespace stator::server {

// Thread-safe.
class TableReports {
 public:
  // All outlive it. Without `hot_keys` pictures name no keys.
  TableReports(ops::Environment& environment, const HeatHistories& heat,
               management::HotKeys* hot_keys = nullptr)
      : environment_(environment), heat_(heat), hot_keys_(hot_keys) {}

  // Whether the path of a GET is one of these.
  static bool Owns(std::string_view path);

  struct Report {
    std::string content_type;
    std::string body;
  };
  // `target` has the path and the query. kResourceNotFound if there is no such table or index, or
  // if its Contributor Insights are disabled; kValidation for a bad query. May take milliseconds.
  Result<Report> Render(std::string_view target, std::string_view accept) const;

 private:
  ops::Environment& environment_;
  const HeatHistories& heat_;
  management::HotKeys* const hot_keys_;
};

}  // namespace stator::server
