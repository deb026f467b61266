#include "server/report_json.h"

#include <fmt/format.h>

#include <cmath>

#include "api/attribute_json.h"
#include "table/meters.h"

namespace stator::server {

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

}  // namespace stator::server
