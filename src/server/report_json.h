// The JSON that the reports of the throughput model have in common.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ops/admission.h"
#include "throughput/heat_history.h"
#include "throughput/key_point.h"
#include "throughput/resource.h"

namespace stator::server {

std::string Quoted(std::string_view text);
// Six significant digits; null: there is no limit.
std::string Number(double value);
// {"read":1,"write":2}
std::string Json(const throughput::Rates& rates);

// [a,b] where render(element) returns one element.
template <typename List, typename Render>
std::string Array(const List& list, const Render& render) {
  std::string out = "[";
  for (const auto& element : list) {
    if (out.size() > 1) out.push_back(',');
    out += render(element);
  }
  return out + "]";
}

// {"hash":"00ff...","sortKey":"x"}: a sort key stands beside the hash only where a range begins or
// ends inside an item collection.
std::string Bound(const ops::Admission::Resource& resource, const throughput::KeyBound& bound);
// "from":{...},"to":{...}; to is null at the end of the hash space.
std::string Bounds(const ops::Admission::Resource& resource, const throughput::KeyRange& range);

// Return the rates of units that were counted in `seconds`.
throughput::Rates ConsumedPerSecond(const throughput::HeatUnits& units, double seconds);
throughput::Rates RefusedPerSecond(const throughput::HeatUnits& units, double seconds);

// "consumed":{"read":[...],"write":[...]},"refused":{...}: units per second by column of the map.
std::string HeatSeries(const throughput::HeatMap& map,
                       const std::vector<throughput::HeatUnits>& units);
// The columns of a row, and those of all rows together.
std::vector<throughput::HeatUnits> UnitsOf(const std::vector<throughput::HeatMap::Cell>& row);
std::vector<throughput::HeatUnits> ColumnSums(const throughput::HeatMap& map);

// Returns the id of the tablet (in Space::kItems) that has the table's items or the index's
// entries. Its heat history is stored under this id.
uint32_t TabletOf(const ops::Admission::Resource& resource);
// When the table or index was created.
int64_t BornOf(const ops::Admission::Resource& resource);

}  // namespace stator::server
