// The report of `stator advise` as JSON.
#include <cmath>

#include "advise/report.h"
#include "base/json_writer.h"

namespace stator::advise {
namespace {

using throughput::Access;

void Rates(JsonWriter* json, std::string_view name, const throughput::Rates& rates) {
  json->Key(name).Open('{').Field("read", rates.read).Field("write", rates.write).Close('}');
}

void Keys(JsonWriter* json, std::string_view name, const ResourceReport& resource, Access access) {
  const size_t a = static_cast<size_t>(access);
  const KeyLoadSummary& keys = resource.keys[a];
  json->Key(name).Open('{').Key("requests").Whole(resource.requests[a]);
  json->Key("refused").Whole(resource.refused[a]);
  json->Field("units", resource.cost.average.Of(access) * resource.cost.seconds);
  json->Field("peak_units_per_second", keys.peak_per_second);
  json->Field("distribution", GradeText(GradeOf(keys)));
  json->Field("distinct_keys", std::round(keys.distinct)).Field("effective_keys", keys.effective);
  json->Field("peak_key_units_per_second", keys.peak_key_per_second);
  json->Key("keys_in_turn").Whole(keys.leaders).Key("rises").Bool(keys.rises);
  json->Key("hottest").Open('[');
  for (const KeyLoadSummary::Key& key : keys.hottest) {
    json->Open('{').Field("key", KeyForPeople(key.key)).Field("share", key.share);
    json->Field("peak_units_per_second", key.peak_per_second)
        .Key("sort_rises")
        .Bool(key.sort_rises)
        .Close('}');
  }
  json->Close(']').Close('}');
}

void Resource(JsonWriter* json, const Recording& recording, const TableReport& table,
              const ResourceReport& resource, const throughput::UnitPrices& prices) {
  int64_t bytes = table.definition.bytes;
  for (const request_log::IndexDefinition& index : table.definition.indexes) {
    if (resource.is_index && index.name == resource.name) bytes = index.bytes;
  }
  const MonthlyCost cost = CostOf(prices, resource, bytes);
  const bool month = recording.seconds() >= kMonthNeeds;
  json->Open('{').Field("name", resource.name).Field("kind", resource.is_index ? "index" : "table");
  Keys(json, "reads", resource, Access::kRead);
  Keys(json, "writes", resource, Access::kWrite);
  json->Field("strong_read_units", resource.strong_units)
      .Field("eventual_read_units", resource.eventual_units);
  Rates(json, "average", resource.cost.average);
  Rates(json, "busiest_minute", resource.cost.busiest_minute);
  Rates(json, "busiest_second", resource.cost.busiest_second);
  Rates(json, "quietest_minute", resource.cost.quietest_minute);
  Rates(json, "auto_scaled", resource.cost.scaled);
  Rates(json, "suggested_provisioned", resource.cost.fixed);
  json->Key("month");
  if (!month) {
    json->Null();
    json->Close('}');
    return;
  }
  json->Open('{')
      .Field("provisioned_auto_scaled", cost.scaled)
      .Field("provisioned_fixed", cost.fixed);
  json->Key("on_demand");
  if (prices.million_reads > 0 || prices.million_writes > 0) {
    json->Number(cost.on_demand);
  } else {
    json->Null();
  }
  json->Field("storage", cost.storage).Close('}').Close('}');
}

void Sizes(JsonWriter* json, std::string_view name, const SizeCount& sizes) {
  json->Key(name).Open('{').Key("items").Whole(sizes.items).Key("over_1kb").Whole(sizes.over_1kb);
  json->Key("over_4kb").Whole(sizes.over_4kb).Key("bytes").Whole(sizes.bytes);
  json->Key("largest").Whole(sizes.largest).Close('}');
}

void WriteFinding(JsonWriter* json, const Finding& finding) {
  static constexpr std::string_view kLevels[] = {"problem", "saving", "hint"};
  json->Open('{')
      .Field("id", finding.id)
      .Field("level", kLevels[static_cast<size_t>(finding.level)]);
  if (!finding.index.empty()) json->Field("index", finding.index);
  json->Field("text", finding.text).Key("evidence").Open('{');
  for (const auto& [name, value] : finding.evidence) json->Field(name, value);
  json->Close('}');
  if (finding.saves_month) json->Field("saves_month", *finding.saves_month);
  json->Close('}');
}

void Table(JsonWriter* json, const Recording& recording, const TableReport& table,
           const throughput::UnitPrices& prices) {
  json->Open('{').Field("name", table.definition.name);
  json->Field("billing", table.definition.on_demand ? "on-demand" : "provisioned");
  json->Key("throttled")
      .Whole(table.throttled)
      .Key("conditions_failed")
      .Whole(table.conditions_failed);
  Sizes(json, "items_read", table.sizes[0]);
  Sizes(json, "items_written", table.sizes[1]);
  json->Key("resources").Open('[');
  for (const ResourceReport& resource : table.resources)
    Resource(json, recording, table, resource, prices);
  json->Close(']').Key("model").Open('{').Key("requests").Whole(table.replay.requests);
  json->Key("throttled")
      .Whole(table.replay.throttled)
      .Key("partitions")
      .Whole(static_cast<int64_t>(table.replay.partitions));
  json->Key("reasons").Open('{');
  for (const auto& [reason, count] : table.replay.reasons) json->Key(reason).Whole(count);
  json->Close('}').Close('}').Key("findings").Open('[');
  for (const Finding& finding : Judge(recording, table, prices)) WriteFinding(json, finding);
  json->Close(']').Close('}');
}

}  // namespace

std::string JsonReport(const Recording& recording, const throughput::UnitPrices& prices) {
  JsonWriter json;
  json.Open('{').Key("recording").Open('{').Key("files").Open('[');
  for (const std::string& file : recording.files) json.Text(file);
  json.Close(']').Key("lines").Whole(recording.lines).Key("damaged").Whole(recording.damaged);
  json.Key("damage").Open('[');
  for (const Damage& damage : recording.damage) {
    json.Open('{')
        .Field("file", damage.file)
        .Key("line")
        .Whole(damage.line)
        .Field("what", damage.what)
        .Close('}');
  }
  json.Close(']').Key("requests").Whole(recording.requests).Key("lost").Whole(recording.lost);
  json.Key("start_micros")
      .Whole(recording.start_micros)
      .Key("end_micros")
      .Whole(recording.end_micros);
  json.Key("hashed").Bool(recording.hashed).Key("limits").Open('[');
  for (const std::string& limit : LimitsOf(recording)) json.Text(limit);
  json.Close(']').Close('}').Key("tables").Open('[');
  for (const TableReport& table : recording.tables) Table(&json, recording, table, prices);
  json.Close(']').Close('}');
  return json.Take();
}

}  // namespace stator::advise
