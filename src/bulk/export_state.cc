#include "bulk/export_state.h"

#include "api/attribute_json.h"
#include "base/base64.h"
#include "base/json_writer.h"
#include "bulk/seal.h"
#include "simdjson.h"

namespace stator::bulk {
namespace {

using Element = simdjson::dom::element;

std::string TextMember(Element from, std::string_view name) {
  std::string_view text;
  return from[name].get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}

Error NoState() { return CorruptionError("it is no progress file of this command"); }

Result<ExportState::Segment> ReadSegment(Element json, std::string_view seal_key) {
  ExportState::Segment segment;
  if (json["done"].get(segment.done) != simdjson::SUCCESS) return NoState();
  Element start;
  if (json["start"].get(start) == simdjson::SUCCESS) segment.start = simdjson::minify(start);
  const std::string sealed = TextMember(json, "sealed");
  if (sealed.empty()) return segment;
  std::string bytes;
  if (!DecodeBase64(sealed, &bytes).ok() || !Unseal(bytes, seal_key, &segment.start))
    return CorruptionError("the mask's secret is not the one that the command began with");
  return segment;
}

}  // namespace

int64_t ExportState::items() const {
  int64_t sum = 0;
  for (const Output& output : outputs) sum += output.items;
  return sum;
}

uint64_t ExportState::bytes() const {
  uint64_t sum = 0;
  for (const Output& output : outputs) sum += output.bytes;
  return sum;
}

void AppendSegments(const std::vector<ExportState::Segment>& segments, std::string_view seal_key,
                    std::string* out) {
  *out += '[';
  for (size_t i = 0; i < segments.size(); ++i) {
    const ExportState::Segment& segment = segments[i];
    if (i > 0) *out += ',';
    *out += segment.done ? R"({"done":true)" : R"({"done":false)";
    if (!segment.start.empty() && seal_key.empty()) {
      *out += ",\"start\":" + segment.start;
    } else if (!segment.start.empty()) {
      *out += ",\"sealed\":\"";
      api::AppendBase64(out, Seal(segment.start, seal_key));
      *out += '"';
    }
    *out += '}';
  }
  *out += ']';
}

Result<std::vector<ExportState::Segment>> ReadSegments(simdjson::dom::array segments,
                                                       std::string_view seal_key) {
  std::vector<ExportState::Segment> read;
  for (const Element each : segments) {
    ASSIGN_OR_RETURN(ExportState::Segment segment, ReadSegment(each, seal_key));
    read.push_back(std::move(segment));
  }
  return read;
}

std::string EncodeState(const ExportState& state, std::string_view seal_key) {
  JsonWriter json;
  json.Open('{').Field("stator", "export").Key("version").Whole(1);
  json.Field("table", state.table).Field("table_id", state.table_id);
  json.Field("format", NameOf(state.format)).Field("mask", state.mask);
  json.Key("columns").Open('[');
  for (const std::string& column : state.columns) json.Text(column);
  json.Close(']').Key("outputs").Open('[');
  for (const ExportState::Output& output : state.outputs) {
    json.Open('{').Key("bytes").Whole(static_cast<int64_t>(output.bytes));
    json.Key("items").Whole(output.items).Close('}');
  }
  json.Close(']');
  std::string text = json.Take();
  text.pop_back();  // the line feed
  text += ",\"segments\":";
  AppendSegments(state.segments, seal_key, &text);
  return text + "}\n";
}

Result<ExportState> DecodeState(std::string_view text, std::string_view seal_key) {
  simdjson::dom::parser parser;
  Element json;
  int64_t version = 0;
  if (parser.parse(text.data(), text.size()).get(json) != simdjson::SUCCESS ||
      TextMember(json, "stator") != "export" || json["version"].get(version) != simdjson::SUCCESS)
    return NoState();
  if (version != 1) return CorruptionError("a newer version of Stator has written it");
  ExportState state;
  state.table = TextMember(json, "table");
  state.table_id = TextMember(json, "table_id");
  state.mask = TextMember(json, "mask");
  const std::optional<Format> format = FormatNamed(TextMember(json, "format"));
  simdjson::dom::array columns, segments, outputs;
  if (!format || json["columns"].get(columns) != simdjson::SUCCESS ||
      json["segments"].get(segments) != simdjson::SUCCESS ||
      json["outputs"].get(outputs) != simdjson::SUCCESS)
    return NoState();
  state.format = *format;
  for (const Element column : columns) {
    std::string_view name;
    if (column.get(name) != simdjson::SUCCESS) return NoState();
    state.columns.emplace_back(name);
  }
  ASSIGN_OR_RETURN(state.segments, ReadSegments(segments, seal_key));
  for (const Element each : outputs) {
    ExportState::Output output;
    if (each["bytes"].get(output.bytes) != simdjson::SUCCESS ||
        each["items"].get(output.items) != simdjson::SUCCESS)
      return NoState();
    state.outputs.push_back(output);
  }
  const bool good = !state.segments.empty() &&
                    (state.outputs.size() == 1 || state.outputs.size() == state.segments.size());
  if (!good) return NoState();
  return state;
}

}  // namespace stator::bulk
