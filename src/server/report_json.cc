#include "server/report_json.h"

#include <fmt/format.h>

#include <cmath>

#include "api/attribute_json.h"
#include "table/meters.h"

namespace stator::server {

using throughput::HeatMap;
using throughput::HeatUnits;

std::string Quoted(std::string_view text) {
  std::string out;
  api::AppendJsonString(&out, text);
  return out;
}

std::string Number(double value) {
  return std::isfinite(value) ? fmt::format("{:.6g}", value) : "null";
}

std::string Json(const throughput::Rates& rates) {
  return fmt::format(R"({{"read":{},"write":{}}})", Number(rates.read), Number(rates.write));
}

std::string Bound(const ops::Admission::Resource& resource, const throughput::KeyBound& bound) {
  const bool is_index = resource.index != nullptr;
  std::string out = fmt::format(R"({{"hash":"{:016x}")", bound.hash);
  if (!bound.sort.empty()) {
    out += ",\"sortKey\":" +
           Quoted(table::ReadableSort(
               is_index ? resource.index->key
                        : model::IndexKeySchema::Of(resource.table->descriptor.key_schema),
               is_index, bound.sort));
  }
  return out + "}";
}

std::string Bounds(const ops::Admission::Resource& resource, const throughput::KeyRange& range) {
  return fmt::format(R"("from":{},"to":{})", Bound(resource, range.from),
                     range.to_end ? "null" : Bound(resource, range.to));
}

uint32_t TabletOf(const ops::Admission::Resource& resource) {
  return resource.index != nullptr ? resource.index->tablet_id
                                   : resource.table->descriptor.tablet_id;
}

int64_t BornOf(const ops::Admission::Resource& resource) {
  return resource.index != nullptr ? resource.index->created_micros
                                   : resource.table->descriptor.created_micros;
}

throughput::Rates ConsumedPerSecond(const HeatUnits& units, double seconds) {
  return {static_cast<double>(units.read) / 2 / seconds,
          static_cast<double>(units.write) / 2 / seconds};
}

throughput::Rates RefusedPerSecond(const HeatUnits& units, double seconds) {
  return {static_cast<double>(units.refused_read) / 2 / seconds,
          static_cast<double>(units.refused_write) / 2 / seconds};
}

std::vector<HeatUnits> UnitsOf(const std::vector<HeatMap::Cell>& row) {
  std::vector<HeatUnits> units;
  for (const HeatMap::Cell& cell : row) units.push_back(cell.units);
  return units;
}

std::vector<HeatUnits> ColumnSums(const HeatMap& map) {
  std::vector<HeatUnits> sums(map.columns());
  for (const std::vector<HeatMap::Cell>& row : map.cells) {
    for (size_t i = 0; i < row.size(); ++i) sums[i] += row[i].units;
  }
  return sums;
}

std::string HeatSeries(const HeatMap& map, const std::vector<HeatUnits>& units) {
  std::string out;
  for (const bool refused : {false, true}) {
    std::string reads;
    std::string writes;
    for (size_t i = 0; i < units.size(); ++i) {
      const double seconds = map.covered_seconds[i];
      const throughput::Rates rates =
          refused ? RefusedPerSecond(units[i], seconds) : ConsumedPerSecond(units[i], seconds);
      const char* comma = i > 0 ? "," : "";
      reads += comma + Number(rates.read);
      writes += comma + Number(rates.write);
    }
    out += fmt::format(R"({}"{}":{{"read":[{}],"write":[{}]}})", refused ? "," : "",
                       refused ? "refused" : "consumed", reads, writes);
  }
  return out;
}

}  // namespace stator::server
