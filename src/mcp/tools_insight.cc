// Tools that explain load, play designs, and show faults and the clock.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "learn/lesson.h"
#include "learn/play.h"
#include "management/play.h"
#include "mcp/tools.h"

namespace stator::mcp {
namespace {

constexpr size_t kMostPartitions = 10;
constexpr size_t kMostKeys = 10;

// The elements of an array; none if there is no such member.
std::vector<Json> ElementsOf(Json from, std::string_view name) {
  std::vector<Json> elements;
  const std::optional<Json> list = Member(from, name);
  simdjson::dom::array array;
  if (!list || list->get(array) != simdjson::SUCCESS) return elements;
  for (const Json each : array) elements.push_back(each);
  return elements;
}

std::string Copy(Json from, std::initializer_list<std::string_view> names) {
  ObjectText out;
  for (const std::string_view name : names) out.AddMember(from, name);
  return out.Take();
}

double RefusedUnits(Json partition) {
  const std::optional<Json> refused = Member(partition, "refused");
  if (!refused) return 0;
  return NumberMember(*refused, "read").value_or(0) + NumberMember(*refused, "write").value_or(0);
}

// The partitions that refused most, then the hottest ones.
std::string WorstPartitions(const std::vector<Json>& partitions) {
  std::vector<std::pair<std::pair<double, double>, Json>> ranked;
  ranked.reserve(partitions.size());
  for (const Json each : partitions)
    ranked.push_back({{RefusedUnits(each), NumberMember(each, "heat").value_or(0)}, each});
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  ArrayText out;
  for (size_t i = 0; i < std::min(ranked.size(), kMostPartitions); ++i) {
    out.Add(Copy(ranked[i].second, {"id", "share", "consumed", "refused", "perSecond", "heat",
                                    "hottest", "notSplit"}));
  }
  return out.Take();
}

std::string ResourceText(Json resource) {
  const std::vector<Json> partitions = ElementsOf(resource, "partitions");
  ArrayText keys;
  const std::vector<Json> hottest = ElementsOf(resource, "hottest");
  for (size_t i = 0; i < std::min(hottest.size(), kMostKeys); ++i) keys.Add(TextOf(hottest[i]));
  ObjectText out;
  for (const char* name : {"type", "name", "provisioned", "consumed", "letPass"})
    out.AddMember(resource, name);
  out.AddWhole("partitions", static_cast<int64_t>(partitions.size()));
  out.Add("hottest_keys", keys.Take());
  out.Add("worst_partitions", WorstPartitions(partitions));
  return out.Take();
}

bool Throttles(Json faults) {
  for (const Json rule : ElementsOf(faults, "faults"))
    if (TextMember(rule, "fault") == "throttle") return true;
  return false;
}

// The fault rules for a table, those for all tables too, as an array.
std::string FaultsOf(std::string_view table, Endpoint& endpoint, bool* throttle) {
  ArrayText out;
  const Result<std::string> text = endpoint.Look("faults");
  if (!text.ok()) return out.Take();
  const Result<Document> all = Document::Parse(*text);
  if (!all.ok()) return out.Take();
  for (const std::string_view name : {table, std::string_view("*")}) {
    const std::optional<Json> faults = Member(all->root(), name);
    if (!faults) continue;
    *throttle |= Throttles(*faults);
    out.Add(ObjectText().AddText("table", name).AddMember(*faults, "faults").Take());
  }
  return out.Take();
}

std::string CauseText(std::string_view mode, const std::optional<Json>& worst, bool fault) {
  const std::string made =
      fault ? " A fault rule throttles requests of this table on purpose: show_faults has it." : "";
  if (mode == "off") return "Throttling is off for this table: nothing is measured." + made;
  if (!worst) {
    return "No limit of the table or its indexes has refused anything since the server started." +
           made;
  }
  const std::optional<std::string_view> why = TextMember(*worst, "why");
  std::string cause(why.value_or("Requests were refused more than a day ago."));
  if (mode == "observe")
    cause += " The mode is observe: such requests were counted and let pass, not refused.";
  return cause + made;
}

// A report of the server, as it is.
Result<ToolAnswer> Report(const std::string& path, Endpoint& endpoint) {
  ASSIGN_OR_RETURN(const std::string text, endpoint.Look(path));
  ASSIGN_OR_RETURN(const Document report, Document::Parse(text));
  return ToolAnswer{TextOf(report.root()), "", false};
}

// "path?a=b&c=d" of the arguments that are given.
std::string WithQuery(std::string path, const Arguments& arguments,
                      std::initializer_list<std::string_view> names) {
  char mark = '?';
  for (const std::string_view name : names) {
    if (!arguments.has(name)) continue;
    path += mark;
    path += QueryPart(name, arguments.Text(name));
    mark = '&';
  }
  return path;
}

}  // namespace

Result<ToolAnswer> WhyThrottled(const Arguments& arguments, Endpoint& endpoint) {
  const std::string table = arguments.Text("table");
  ASSIGN_OR_RETURN(const std::string path, TablePath(table, "partitions"));
  ASSIGN_OR_RETURN(const std::string text, endpoint.Look(path));
  ASSIGN_OR_RETURN(const Document report, Document::Parse(text));
  ArrayText refusals, resources;
  std::optional<Json> worst;
  for (const Json resource : ElementsOf(report.root(), "resources")) {
    resources.Add(ResourceText(resource));
    for (const Json refusal : ElementsOf(resource, "refused")) {
      const std::optional<Json> name = Member(resource, "name");
      refusals.Add(ObjectText()
                       .Add("resource", name ? TextOf(*name) : "null")
                       .AddMember(resource, "type")
                       .Add("refusal", TextOf(refusal))
                       .Take());
      if (!worst || NumberMember(refusal, "requests").value_or(0) >
                        NumberMember(*worst, "requests").value_or(0))
        worst = refusal;
    }
  }
  bool fault = false;
  const std::string faults = FaultsOf(table, endpoint, &fault);
  const std::string_view mode = TextMember(report.root(), "throttling").value_or("");
  ObjectText out;
  out.AddBool("throttled", worst.has_value());
  out.AddText("cause", CauseText(mode, worst, fault));
  out.AddText("mode", mode).AddMember(report.root(), "billingMode");
  out.Add("refusals", refusals.Take()).Add("resources", resources.Take());
  out.Add("faults", faults);
  return ToolAnswer{out.Take(), "", false};
}

Result<ToolAnswer> HotKeys(const Arguments& arguments, Endpoint& endpoint) {
  ASSIGN_OR_RETURN(std::string path, TablePath(arguments.Text("table"), "heat/keys"));
  return Report(WithQuery(std::move(path), arguments, {"index", "from", "to"}), endpoint);
}

Result<ToolAnswer> TableCost(const Arguments& arguments, Endpoint& endpoint) {
  ASSIGN_OR_RETURN(std::string path, TablePath(arguments.Text("table"), "cost"));
  return Report(WithQuery(std::move(path), arguments, {"last"}), endpoint);
}

Result<ToolAnswer> Advise(const Arguments& arguments, Endpoint& endpoint) {
  ASSIGN_OR_RETURN(ToolAnswer answer, Report(WithQuery("advice", arguments, {"last"}), endpoint));
  ASSIGN_OR_RETURN(const Document advice, Document::Parse(answer.json));
  if (NumberMember(advice.root(), "of").value_or(0) > 0) return answer;
  ObjectText out;
  out.AddText("note",
              "No requests are recorded. A user starts a recording on the console's page Advice, "
              "or with PUT /_stator/recording, and runs the application meanwhile.");
  out.AddMember(advice.root(), "recording");
  return ToolAnswer{out.Take(), "", false};
}

Result<ToolAnswer> Simulate(const Arguments& arguments, Endpoint& endpoint) {
  static const std::atomic<bool> kGoesOn{false};
  const std::string body = ObjectText().AddText("scenario", arguments.Text("scenario")).Take();
  ASSIGN_OR_RETURN(const std::string text, management::Play(body, endpoint.clock(), kGoesOn));
  ASSIGN_OR_RETURN(const Document report, Document::Parse(text));
  const std::string summary(TextMember(report.root(), "summary").value_or(""));
  return ToolAnswer{ObjectText().AddText("summary", summary).Take(), summary, false};
}

Result<ToolAnswer> Lessons(const Arguments& arguments, Endpoint&) {
  if (!arguments.has("name")) {
    ArrayText list;
    for (const std::string_view name : learn::LessonNames()) {
      ASSIGN_OR_RETURN(const learn::Lesson lesson, learn::ReadLesson(name));
      list.Add(ObjectText().AddText("name", name).AddText("title", lesson.title).Take());
    }
    return ToolAnswer{ObjectText().Add("lessons", list.Take()).Take(), "", false};
  }
  ASSIGN_OR_RETURN(const learn::Lesson lesson, learn::ReadLesson(arguments.Text("name")));
  ASSIGN_OR_RETURN(const auto variants, learn::Play(lesson));
  const std::string outcome = learn::LessonText(lesson, variants);
  ArrayText scenarios;
  std::string text = outcome;
  for (const auto& [name, toml] : lesson.scenarios) {
    scenarios.Add(ObjectText().AddText("name", name).AddText("toml", toml).Take());
    text += fmt::format("\nScenario {}:\n\n{}", name, toml);
  }
  ObjectText out;
  out.AddText("name", lesson.name).AddText("outcome", outcome);
  out.Add("scenarios", scenarios.Take());
  return ToolAnswer{out.Take(), std::move(text), false};
}

Result<ToolAnswer> ShowFaults(const Arguments& arguments, Endpoint& endpoint) {
  ASSIGN_OR_RETURN(const std::string text, endpoint.Look("faults"));
  ASSIGN_OR_RETURN(const Document all, Document::Parse(text));
  if (!arguments.has("table"))
    return ToolAnswer{ObjectText().Add("tables", TextOf(all.root())).Take(), "", false};
  bool throttle = false;
  const std::string faults = FaultsOf(arguments.Text("table"), endpoint, &throttle);
  return ToolAnswer{ObjectText().Add("faults", faults).Take(), "", false};
}

Result<ToolAnswer> ShowClock(const Arguments&, Endpoint& endpoint) {
  return Report("clock", endpoint);
}

}  // namespace stator::mcp
