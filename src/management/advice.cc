#include "management/advice.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "advise/analysis.h"
#include "advise/report.h"
#include "api/recorded_table.h"
#include "base/json_writer.h"
#include "management/reply.h"

namespace stator::management {
namespace {

// Requests between two looks at the time.
constexpr size_t kStep = 64;

// `hurry`: whether sizes are left out, since they may have to be waited for.
void Define(ops::Environment& environment, const std::vector<Recording::ChunkPtr>& chunks,
            int64_t from, const std::function<bool()>& hurry, advise::Analysis* analysis,
            int64_t* line) {
  std::set<std::string_view> names;
  int64_t first = 0;
  for (const Recording::ChunkPtr& chunk : chunks) {
    for (const request_log::Request& request : chunk->requests) {
      if (request.at_micros < from) continue;
      if (first == 0) first = request.at_micros;
      if (names.size() < advise::kMostTables) names.insert(request.table);
    }
  }
  request_log::Header header;
  header.at_micros = first;
  analysis->Add(header, ++*line);
  for (const std::string_view name : names) {
    const table::TablePtr table = environment.store.Find(name);
    if (table == nullptr) continue;  // it is gone: its requests are counted
    request_log::TableDefinition definition = api::RecordedTable(*table);
    definition.at_micros = first;
    if (!hurry()) api::AddSizes(environment.store, *table, &definition);
    analysis->Add(definition, ++*line);
  }
}

}  // namespace

Result<throughput::UnitPrices> PricesIn(std::string_view query) {
  throughput::UnitPrices prices;
  const std::pair<std::string_view, double*> members[] = {
      {"readUnit", &prices.read_unit},
      {"writeUnit", &prices.write_unit},
      {"gigabyte", &prices.gigabyte},
      {"millionReads", &prices.million_reads},
      {"millionWrites", &prices.million_writes},
  };
  for (const auto& [name, price] : members) {
    const std::optional<std::string> text = Parameter(query, name);
    if (!text) continue;
    const char* const end = text->data() + text->size();
    const auto [stop, error] = std::from_chars(text->data(), end, *price);
    if (error != std::errc() || stop != end || !(*price >= 0) || *price > 1e9)
      return ValidationError(fmt::format("{} must be a price in dollars: {}", name, *text));
  }
  return prices;
}

Result<std::string> Advice::Make(int64_t last_micros, const throughput::UnitPrices& prices) {
  if (making_.exchange(true)) {
    return Error(ErrorCode::kUnavailable,
                 "Advice is being made for another caller; ask again in some seconds");
  }
  Result<std::string> made = MakeAlone(last_micros, prices);
  making_.store(false);
  return made;
}

std::string Advice::MakeAlone(int64_t last_micros, const throughput::UnitPrices& prices) {
  const int64_t deadline = machine_.TicksMicros() + kMostMicros;
  const std::vector<Recording::ChunkPtr> chunks = recording_.Chunks();
  const int64_t now = environment_.clock.NowMicros();
  const int64_t from = last_micros == 0 ? 0 : now - last_micros;
  advise::Analysis analysis;
  int64_t line = 0, looked = 0, all = 0;
  analysis.BeginFile("memory");
  // Half of the time is for the requests.
  const auto hurry = [&] { return machine_.TicksMicros() > deadline - kMostMicros / 2; };
  Define(environment_, chunks, from, hurry, &analysis, &line);
  bool late = false;
  for (const Recording::ChunkPtr& chunk : chunks) {
    for (const request_log::Request& request : chunk->requests) {
      if (request.at_micros < from) continue;
      if (all++ % kStep == 0) late = late || machine_.TicksMicros() > deadline;
      if (late) continue;
      analysis.Add(request, ++line);
      ++looked;
    }
  }
  analysis.Add(request_log::End{now, "stopped"}, ++line);
  const advise::Recording recording = analysis.Finish();
  JsonWriter json;
  json.Open('{').Key("looked").Whole(looked).Key("of").Whole(all).Close('}');
  std::string body = json.Take();
  while (body.back() != '}') body.pop_back();
  body.pop_back();
  const auto add = [&body](std::string_view name, std::string text) {
    while (!text.empty() && text.back() == '\n') text.pop_back();
    body += fmt::format(",\"{}\":{}", name, text);
  };
  add("recording", RenderRecording(recording_.view()));
  add("report", advise::JsonReport(recording, prices));
  return body + "}\n";
}

}  // namespace stator::management
