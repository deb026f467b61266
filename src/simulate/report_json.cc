// The report of a simulation as JSON.
#include "base/json_writer.h"
#include "simulate/report.h"

namespace stator::simulate {
namespace {

using Json = JsonWriter;
using throughput::RangeText;

void Rates(Json* json, std::string_view name, const throughput::Rates& rates) {
  json->Key(name).Open('{').Field("read", rates.read).Field("write", rates.write).Close('}');
}

void Counts(Json* json, std::string_view name, const std::map<std::string, int64_t>& counts) {
  json->Key(name).Open('{');
  for (const auto& [key, count] : counts) json->Field(key, static_cast<double>(count));
  json->Close('}');
}

void Trouble(Json* json, const simulate::Trouble& trouble) {
  const throughput::Explanation& e = trouble.explanation;
  json->Open('{').Field("reason", e.reason).Field("exception", e.exception);
  json->Field("requests", static_cast<double>(trouble.requests))
      .Field("worst_at_seconds", trouble.at_seconds);
  json->Field("partition", static_cast<double>(e.partition)).Field("range", RangeText(e.range));
  json->Field("limit", e.limit).Field("demand", e.demand).Field("cause", e.cause);
  json->Field("no_help", e.no_help);
  json->Field("lesson", e.lesson);
  json->Field("obstacle", throughput::ObstacleText(e.obstacle));
  json->Key("hottest").Open('[');
  for (size_t i = 0; i < e.hottest.size() && i < 5; ++i) json->Text(e.hottest[i].partition);
  json->Close(']').Field("hottest_share", e.hottest_share);
  json->Key("advice").Open('[');
  for (const std::string& advice : e.advice) json->Text(advice);
  json->Close(']').Key("notes").Open('[');
  for (const std::string& note : e.notes) json->Text(note);
  json->Close(']').Close('}');
}

void Resource(Json* json, const Scenario& s, const ResourceOutcome& r) {
  json->Open('{')
      .Field("name", r.name)
      .Field("kind", r.is_index ? "index" : "table")
      .Field("table", r.table);
  json->Field("billing", r.billing == throughput::Billing::kOnDemand ? "on-demand" : "provisioned");
  json->Field("partitions_before", static_cast<double>(r.partitions_before));
  json->Field("partitions_after", static_cast<double>(r.partitions_after));
  Counts(json, "splits", r.splits);
  Rates(json, "consumed_units", r.consumed);
  Rates(json, "peak", r.peak);
  Rates(json, "average_capacity", r.average_capacity);
  Rates(json, "lowest_capacity", r.lowest_capacity);
  Rates(json, "highest_capacity", r.highest_capacity);
  json->Field("capacity_changes", static_cast<double>(r.capacity_changes));
  json->Field("refused_decreases", static_cast<double>(r.refused_decreases));
  json->Field("bytes", static_cast<double>(r.bytes));
  json->Field("expired", static_cast<double>(r.expired));
  if (s.has_prices) {
    const MonthlyPrice price = PriceOf(s, r);
    json->Key("month")
        .Open('{')
        .Field("capacity", price.capacity)
        .Field("reserved", price.reserved);
    json->Field("storage", price.storage).Close('}');
  }
  json->Key("hottest").Open('[');
  for (const HotKey& key : r.hottest)
    json->Open('{').Field("key", key.name).Field("share", key.share).Close('}');
  json->Close(']').Key("throttled").Open('[');
  for (const simulate::Trouble& trouble : r.troubles) Trouble(json, trouble);
  json->Close(']').Key("partitions").Open('[');
  for (const throughput::PartitionView& p : r.partitions) {
    json->Open('{').Field("id", static_cast<double>(p.id)).Field("range", RangeText(p.range));
    json->Field("weight", p.weight).Field("bytes", static_cast<double>(p.bytes));
    Rates(json, "share", p.share);
    json->Close('}');
  }
  json->Close(']').Key("columns").Open('[');
  for (const Column& column : r.columns) {
    json->Open('{');
    Rates(json, "capacity", column.capacity);
    Rates(json, "consumed", column.consumed);
    Rates(json, "refused", column.refused);
    json->Field("partitions", static_cast<double>(column.partitions)).Close('}');
  }
  json->Close(']').Key("heat").Open('[');
  for (const Row& row : r.rows) {
    json->Open('{').Field("partition", static_cast<double>(row.partition)).Key("heat").Open('[');
    for (const float heat : row.heat) json->Number(std::round(heat * 1000) / 1000);
    json->Close(']').Close('}');
  }
  json->Close(']').Close('}');
}

}  // namespace

std::string JsonReport(const Scenario& s, const Outcome& o) {
  Json json;
  json.Open('{').Field("name", s.name).Field("description", s.description);
  json.Field("seed", static_cast<double>(s.seed)).Field("duration_seconds", s.duration_seconds);
  json.Field("step_seconds", s.step_seconds).Field("column_seconds", o.column_seconds);
  json.Key("traffic").Open('[');
  for (const TrafficOutcome& t : o.traffic) {
    json.Open('{').Field("name", t.name);
    json.Field("operation", t.access == throughput::Access::kRead ? "read" : "write");
    json.Field("requests", static_cast<double>(t.requests))
        .Field("served", static_cast<double>(t.served))
        .Field("cached", static_cast<double>(t.cached));
    Counts(&json, "throttled", t.throttled);
    if (t.is_upload) {
      json.Key("finished_seconds");
      t.finished_seconds ? json.Number(*t.finished_seconds) : json.Null();
    }
    json.Close('}');
  }
  json.Close(']').Key("resources").Open('[');
  for (const ResourceOutcome& r : o.resources) Resource(&json, s, r);
  json.Close(']').Close('}');
  return json.Take();
}

}  // namespace stator::simulate
