#include "management/play.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_writer.h"
#include "simdjson.h"
#include "simulate/report.h"
#include "simulate/run.h"
#include "simulate/scenario_reader.h"

namespace stator::management {
namespace {

constexpr size_t kMostBytes = 256 << 10;
constexpr int64_t kMostMicros = 2'000'000;
constexpr const char* kStopping = "The server is stopping";
constexpr double kMostSteps = 1'000'000;
constexpr double kMostRequestsInAStep = 10'000'000;
constexpr size_t kMostResources = 64;
constexpr size_t kMostTraffics = 256;
// The maximum number of users in one step, summed over all uploads that go user by user.
constexpr double kMostUsersInAStep = 100'000;

// Returns a sentence on why a scenario is too large; empty if it is not. The check bounds the
// memory. The time is bounded by a timeout.
std::string Excess(const simulate::Scenario& scenario) {
  if (scenario.duration_seconds / scenario.step_seconds > kMostSteps)
    return fmt::format("The scenario has more than {:.0f} steps: shorten it, or lengthen step",
                       kMostSteps);
  size_t resources = 0;
  for (const simulate::TableScenario& table : scenario.tables)
    resources += 1 + table.indexes.size();
  if (resources > kMostResources || scenario.traffic.size() > kMostTraffics) {
    return fmt::format("The scenario has more than {} tables and indexes, or {} kinds of traffic",
                       kMostResources, kMostTraffics);
  }
  double users = 0;
  for (const simulate::Traffic& traffic : scenario.traffic) {
    double most = 0;
    for (const auto& [at, rate] : traffic.rate) most = std::max(most, rate);
    if (traffic.keys.kind == simulate::KeySpace::Kind::kUpload && !traffic.keys.interleaved)
      users += most * scenario.step_seconds / static_cast<double>(traffic.keys.items_per_user);
    if (users > kMostUsersInAStep) {
      return fmt::format("The uploads have more than {:.0f} users in a step: shorten step",
                         kMostUsersInAStep);
    }
    for (const auto& [at, rate] : traffic.rate) {
      if (rate * scenario.step_seconds > kMostRequestsInAStep) {
        return fmt::format("{} has more than {:.0f} requests in a step: shorten step", traffic.name,
                           kMostRequestsInAStep);
      }
    }
  }
  return "";
}

// Whether a line has more dots than kMostDots, each behind another character. Every dot of a key is
// a table within a table, and toml++ destroys those by recursion: 130,000 end the stack.
bool NestsDeeply(std::string_view text) {
  constexpr int kMostDots = 64;
  int dots = 0;
  char before = '\n';
  for (const char c : text) {
    if (c == '\n') dots = 0;
    if (c == '.' && before != '.' && ++dots > kMostDots) return true;
    before = c;
  }
  return false;
}

}  // namespace

Result<std::string> Play(std::string_view body, const Clock& clock,
                         const std::atomic<bool>& stopping) {
  if (stopping) return Error(ErrorCode::kUnavailable, kStopping);
  if (body.size() > kMostBytes) return ValidationError("The scenario is longer than 256 KB");
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  std::string_view text;
  if (parser.parse(body.data(), body.size()).get(document) != simdjson::SUCCESS ||
      document.at_key("scenario").get(text) != simdjson::SUCCESS) {
    return ValidationError(R"(The body must be {"scenario":"TOML"})");
  }
  if (NestsDeeply(text))
    return ValidationError("A line of the scenario has more than 64 dots; shorten it");
  ASSIGN_OR_RETURN(const simulate::Scenario scenario,
                   simulate::ParseScenario(text, "scenario.toml"));
  if (std::string excess = Excess(scenario); !excess.empty())
    return ValidationError(std::move(excess));
  const int64_t end = clock.TicksMicros() + kMostMicros;
  const std::optional<simulate::Outcome> outcome =
      simulate::RunUntil(scenario, [&] { return stopping || clock.TicksMicros() > end; });
  if (!outcome && stopping) return Error(ErrorCode::kUnavailable, kStopping);
  if (!outcome) {
    return ValidationError(
        "The scenario takes more than two seconds of a processor: shorten it, or play it with "
        "stator simulate");
  }
  std::string report = simulate::JsonReport(scenario, *outcome);
  // The report is one object and a line feed; the summary becomes its last member.
  report.resize(report.rfind('}'));
  JsonWriter summary;
  summary.Text(simulate::TextReport(scenario, *outcome));
  return report + ",\"summary\":" + summary.Take() + "}\n";
}

}  // namespace stator::management
