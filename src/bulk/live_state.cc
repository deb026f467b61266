#include "bulk/live_state.h"

#include "base/json_writer.h"
#include "simdjson.h"

namespace stator::bulk {
namespace {

using Element = simdjson::dom::element;

Error NoState() { return CorruptionError("it is no progress file of a copy from an endpoint"); }

bool Read(Element from, std::string_view name, std::string* out) {
  std::string_view text;
  if (from[name].get(text) != simdjson::SUCCESS) return false;
  *out = text;
  return true;
}

}  // namespace

std::string EncodeLive(const LiveState& state, std::string_view seal_key) {
  JsonWriter json;
  json.Open('{').Field("stator", "live").Key("version").Whole(1);
  json.Field("table", state.table).Field("source", state.source);
  json.Field("source_id", state.source_id).Field("target", state.target);
  json.Field("target_id", state.target_id).Field("mask", state.mask);
  json.Key("made").Bool(state.made).Key("scanned").Bool(state.scanned);
  json.Key("items").Whole(state.items).Key("bytes").Whole(state.bytes);
  json.Key("errors").Whole(state.errors);
  json.Key("error_bytes").Whole(static_cast<int64_t>(state.error_bytes));
  json.Field("stream", state.stream).Key("stream_added").Bool(state.stream_added);
  json.Key("safe_micros").Whole(state.safe_micros);
  json.Key("records").Whole(state.records).Key("shards").Open('[');
  for (const FollowedShard& shard : state.shards) {
    json.Open('{').Field("id", shard.id).Field("parent", shard.parent);
    json.Field("position", shard.position).Key("done").Bool(shard.done).Close('}');
  }
  json.Close(']');
  std::string text = json.Take();
  text.pop_back();  // the line feed
  text += ",\"segments\":";
  AppendSegments(state.segments, seal_key, &text);
  return text + "}\n";
}

Result<LiveState> DecodeLive(std::string_view text, std::string_view seal_key) {
  simdjson::dom::parser parser;
  Element json;
  std::string kind;
  int64_t version = 0;
  if (parser.parse(text.data(), text.size()).get(json) != simdjson::SUCCESS ||
      !Read(json, "stator", &kind) || kind != "live" ||
      json["version"].get(version) != simdjson::SUCCESS)
    return NoState();
  if (version != 1) return CorruptionError("a newer version of Stator has written it");
  LiveState state;
  simdjson::dom::array segments, shards;
  const auto fails = [](simdjson::error_code code) { return code != simdjson::SUCCESS; };
  if (!Read(json, "table", &state.table) || !Read(json, "source", &state.source) ||
      !Read(json, "source_id", &state.source_id) || !Read(json, "target", &state.target) ||
      !Read(json, "target_id", &state.target_id) || !Read(json, "mask", &state.mask) ||
      !Read(json, "stream", &state.stream) || fails(json["made"].get(state.made)) ||
      fails(json["scanned"].get(state.scanned)) || fails(json["items"].get(state.items)) ||
      fails(json["bytes"].get(state.bytes)) || fails(json["errors"].get(state.errors)) ||
      fails(json["error_bytes"].get(state.error_bytes)) ||
      fails(json["stream_added"].get(state.stream_added)) ||
      fails(json["safe_micros"].get(state.safe_micros)) ||
      fails(json["records"].get(state.records)) || fails(json["segments"].get(segments)) ||
      fails(json["shards"].get(shards)) || segments.size() == 0)
    return NoState();
  for (const Element each : shards) {
    FollowedShard shard;
    if (!Read(each, "id", &shard.id) || !Read(each, "parent", &shard.parent) ||
        !Read(each, "position", &shard.position) || fails(each["done"].get(shard.done)))
      return NoState();
    state.shards.push_back(std::move(shard));
  }
  ASSIGN_OR_RETURN(state.segments, ReadSegments(segments, seal_key));
  return state;
}

}  // namespace stator::bulk
