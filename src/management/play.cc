#include "management/play.h"

#include <fmt/format.h>

#include "base/json_writer.h"
#include "simdjson.h"
#include "simulate/report.h"
#include "simulate/run.h"
#include "simulate/scenario_reader.h"

namespace stator::management {
namespace {

constexpr size_t kMostBytes = 256 << 10;
constexpr int64_t kMostMicros = 2'000'000;
constexpr double kMostSteps = 1'000'000;
constexpr double kMostRequestsInAStep = 10'000'000;

// The sentence that says why a scenario is too large; empty: it is not. Bounds memory; time is
// bounded by the clock.
std::string Excess(const simulate::Scenario& scenario) {
  if (scenario.duration_seconds / scenario.step_seconds > kMostSteps)
    return fmt::format("The scenario has more than {:.0f} steps: shorten it, or lengthen step",
                       kMostSteps);
  for (const simulate::Traffic& traffic : scenario.traffic) {
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

Result<std::string> Play(std::string_view body, const Clock& clock) {
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
      simulate::RunUntil(scenario, [&clock, end] { return clock.TicksMicros() > end; });
  if (!outcome) {
    return ValidationError(
        "The scenario takes more than two seconds: shorten it, or play it with stator simulate");
  }
  std::string report = simulate::JsonReport(scenario, *outcome);
  // The report is one object and a line feed; the summary becomes its last member.
  report.resize(report.rfind('}'));
  JsonWriter summary;
  summary.Text(simulate::TextReport(scenario, *outcome));
  return report + ",\"summary\":" + summary.Take() + "}\n";
}

}  // namespace stator::management
