#include "triggers/mapping.h"

#include <fmt/format.h>

#include <charconv>

#include "base/json_writer.h"
#include "simdjson.h"
#include "triggers/pattern.h"

namespace stator::triggers {
namespace {

constexpr char kFormat = 1;
constexpr char kWindowsFormat = 2;  // of a checkpoint
constexpr size_t kCheckpointBytes = 13;
constexpr size_t kHead = kv::kStampBytes + 1;

Error Damaged() { return CorruptionError("An event source mapping in the store is damaged."); }

Status CheckRange(std::string_view member, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return OkStatus();
  const bool low = value < least;
  return ValidationError(
      fmt::format("1 validation error detected: Value '{}' at '{}' failed to satisfy constraint: "
                  "Member must have value {} than or equal to {}",
                  value, member, low ? "greater" : "less", low ? least : most));
}

std::string Framed(std::string_view content, char format = kFormat) {
  std::string value(kHead, '\0');
  value[kv::kStampBytes] = format;
  value += content;
  return value;
}

void AppendBig(uint64_t number, int bytes, std::string* out) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    out->push_back(static_cast<char>(number >> shift & 0xff));
}

uint64_t Big(std::string_view bytes) {
  uint64_t number = 0;
  for (const char byte : bytes) number = number << 8 | static_cast<uint8_t>(byte);
  return number;
}

}  // namespace

Status Mapping::Check() const {
  TRY(CheckRange("batchSize", batch, 1, kMostBatch));
  TRY(CheckRange("maximumBatchingWindowInSeconds", window_seconds, 0, kMostWindowSeconds));
  TRY(CheckRange("tumblingWindowInSeconds", tumbling_seconds, 0, kMostTumblingSeconds));
  TRY(CheckRange("parallelizationFactor", parallel, 1, kMostParallel));
  TRY(CheckRange("maximumRetryAttempts", retries, -1, kMostRetries));
  if (age_seconds != -1)
    TRY(CheckRange("maximumRecordAgeInSeconds", age_seconds, kLeastAgeSeconds, kMostAgeSeconds));
  TRY(CheckWindows());
  return CheckFilters();
}

Status Mapping::CheckWindows() const {
  if (tumbling_seconds <= 0 || parallel == 1) return OkStatus();
  return ValidationError(
      "ParallelizationFactor must be 1 with TumblingWindowInSeconds: a shard has one state.");
}

Status Mapping::CheckFilters() const {
  if (filters.size() > kMostFilters) {
    return ValidationError(
        fmt::format("An event source mapping has at most {} filters", kMostFilters));
  }
  for (const std::string& filter : filters) {
    const Result<Pattern> pattern = Pattern::Parse(filter);
    if (!pattern.ok()) return pattern.error();
  }
  return OkStatus();
}

std::string Mapping::Encode() const {
  JsonWriter json;
  json.Open('{').Field("UUID", uuid).Field("Table", table).Field("Label", label);
  json.Field("Function", function);
  json.Key("Enabled").Bool(enabled).Key("Latest").Bool(latest).Key("Declared").Bool(declared);
  json.Key("BatchSize").Whole(batch).Key("Window").Whole(window_seconds);
  json.Key("Parallel").Whole(parallel).Key("Age").Whole(age_seconds);
  json.Key("Retries").Whole(retries).Key("Bisect").Bool(bisect);
  json.Key("ReportsFailures").Bool(reports_failures);
  json.Key("Filters").Open('[');
  for (const std::string& filter : filters) json.Text(filter);
  json.Close(']').Field("OnFailure", on_failure);
  if (tumbling_seconds > 0) json.Key("Tumbling").Whole(tumbling_seconds);
  json.Key("Modified").Whole(modified_micros).Close('}');
  return Framed(json.Take());
}

Result<Mapping> Mapping::Decode(std::string_view value) {
  if (value.size() <= kHead || value[kv::kStampBytes] != kFormat) return Damaged();
  simdjson::dom::parser parser;
  simdjson::dom::element json;
  const simdjson::padded_string padded(value.substr(kHead));
  if (parser.parse(padded).get(json) != simdjson::SUCCESS || !json.is_object()) return Damaged();
  bool good = true;
  const auto text = [&](const char* name, std::string* to) {
    std::string_view found;
    good = good && json[name].get(found) == simdjson::SUCCESS;
    *to = found;
  };
  const auto whole = [&](const char* name, int64_t* to) {
    good = good && json[name].get(*to) == simdjson::SUCCESS;
  };
  const auto flag = [&](const char* name, bool* to) {
    good = good && json[name].get(*to) == simdjson::SUCCESS;
  };
  Mapping mapping;
  text("UUID", &mapping.uuid);
  text("Table", &mapping.table);
  text("Label", &mapping.label);
  text("Function", &mapping.function);
  flag("Enabled", &mapping.enabled);
  flag("Latest", &mapping.latest);
  flag("Declared", &mapping.declared);
  whole("BatchSize", &mapping.batch);
  whole("Window", &mapping.window_seconds);
  whole("Parallel", &mapping.parallel);
  whole("Age", &mapping.age_seconds);
  whole("Retries", &mapping.retries);
  flag("Bisect", &mapping.bisect);
  flag("ReportsFailures", &mapping.reports_failures);
  simdjson::dom::array filters;
  good = good && json["Filters"].get(filters) == simdjson::SUCCESS;
  if (!good) return Damaged();
  for (const simdjson::dom::element each : filters) {
    std::string_view filter;
    if (each.get(filter) != simdjson::SUCCESS) return Damaged();
    mapping.filters.emplace_back(filter);
  }
  text("OnFailure", &mapping.on_failure);
  if (!json["Tumbling"].error()) whole("Tumbling", &mapping.tumbling_seconds);
  whole("Modified", &mapping.modified_micros);
  if (!good) return Damaged();
  return mapping;
}

std::string Checkpoint::Encode() const {
  std::string content;
  AppendBig(next.stamp, 8, &content);
  AppendBig(next.index, 4, &content);
  content.push_back(ended ? 1 : 0);
  if (tumbling == Tumbling()) return Framed(content);
  AppendBig(static_cast<uint64_t>(tumbling.ended_micros), 8, &content);
  content.push_back(tumbling.open ? 1 : 0);
  if (tumbling.open) {
    AppendBig(static_cast<uint64_t>(tumbling.open->start_micros), 8, &content);
    AppendBig(static_cast<uint64_t>(tumbling.open->end_micros), 8, &content);
    content.push_back(tumbling.open->state != nullptr ? 1 : 0);
    if (tumbling.open->state != nullptr) content += *tumbling.open->state;
  }
  return Framed(content, kWindowsFormat);
}

Result<Checkpoint> Checkpoint::Decode(std::string_view value) {
  const Error damaged = CorruptionError("A checkpoint of an event source mapping is damaged.");
  if (value.size() < kHead + kCheckpointBytes) return damaged;
  const char format = value[kv::kStampBytes];
  if (format != kWindowsFormat && (format != kFormat || value.size() != kHead + kCheckpointBytes))
    return damaged;
  Checkpoint checkpoint;
  checkpoint.stamp = kv::StampOf(value);
  checkpoint.next.stamp = Big(value.substr(kHead, 8));
  checkpoint.next.index = static_cast<uint32_t>(Big(value.substr(kHead + 8, 4)));
  checkpoint.ended = value[kHead + kCheckpointBytes - 1] != 0;
  if (format == kFormat) return checkpoint;
  std::string_view windows = value.substr(kHead + kCheckpointBytes);
  if (windows.size() < 9) return damaged;
  checkpoint.tumbling.ended_micros = static_cast<int64_t>(Big(windows.substr(0, 8)));
  const bool open = windows[8] != 0;
  windows.remove_prefix(9);
  if (!open) {
    if (!windows.empty()) return damaged;
    return checkpoint;
  }
  if (windows.size() < 17) return damaged;
  OpenWindow& window = checkpoint.tumbling.open.emplace();
  window.start_micros = static_cast<int64_t>(Big(windows.substr(0, 8)));
  window.end_micros = static_cast<int64_t>(Big(windows.substr(8, 8)));
  const bool has_state = windows[16] != 0;
  windows.remove_prefix(17);
  if (has_state) window.state = std::make_shared<const std::string>(windows);
  if (has_state ? windows.empty() || windows.size() > kMostStateBytes : !windows.empty())
    return damaged;
  return checkpoint;
}

std::string MappingKey(std::string_view uuid) { return fmt::format("m/{}", uuid); }

std::string PairKey(const Mapping& mapping) {
  return fmt::format("u/{}/{}\n{}", mapping.table, mapping.label, mapping.function);
}

std::string CheckpointPrefix(std::string_view uuid) { return fmt::format("c/{}/", uuid); }

std::string CheckpointKey(std::string_view uuid, uint32_t shard) {
  return fmt::format("c/{}/{:08x}", uuid, shard);
}

}  // namespace stator::triggers
