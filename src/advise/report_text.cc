// The report of `stator advise` as text.
#include <fmt/format.h>

#include <algorithm>

#include "advise/report.h"
#include "base/time_text.h"

namespace stator::advise {
namespace {

using throughput::Access;

constexpr size_t kWidth = 100;
constexpr size_t kMostTablesShown = 8;
constexpr size_t kMostFindingsShown = 8;  // of a table

// `text` in lines of kWidth, the first behind `head`, the others below its end.
void Wrapped(std::string* out, const std::string& head, std::string_view text) {
  std::string line = head;
  const std::string indent(std::min<size_t>(head.size(), 20), ' ');
  bool fresh = true;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!fresh && line.size() + 1 + word.size() > kWidth) {
      *out += line + "\n";
      line = indent;
      fresh = true;
    }
    if (!fresh) line += ' ';
    line += word;
    fresh = false;
  }
  *out += line + "\n";
}

// Small shares as they are: "0.02%".
std::string ShareText(double share) {
  if (share < 0.00005) return "less than 0.01%";
  return fmt::format(fmt::runtime(share < 0.0995 / 100 ? "{:.2f}%" : "{:.1f}%"), 100 * share);
}

void Load(std::string* out, const ResourceReport& resource, Access access) {
  const size_t a = static_cast<size_t>(access);
  const KeyLoadSummary& keys = resource.keys[a];
  const CostSummary& cost = resource.cost;
  if (resource.requests[a] == 0) return;
  const bool refused = resource.refused[a] > 0;
  std::string text = fmt::format(
      "{} requests{}, {} units: {}/s on average{} {}/s in the busiest minute",
      NumberText(static_cast<double>(resource.requests[a])), refused ? " served" : "",
      NumberText(cost.average.Of(access) * cost.seconds), NumberText(cost.average.Of(access)),
      refused ? fmt::format("; {} refused. Asked for, refused ones included:",
                            NumberText(static_cast<double>(resource.refused[a])))
              : ",",
      NumberText(cost.busiest_minute.Of(access)));
  if (keys.peak_per_second > 0)
    text += fmt::format(", {} in the busiest second", NumberText(keys.peak_per_second));
  Wrapped(out, a == 0 ? "    reads   " : "    writes  ", text + ".");
  if (keys.hottest.empty()) return;
  text = fmt::format("{}: the hottest of about {} key{} (\"{}\") has {} of the units{}{}.",
                     GradeText(GradeOf(keys)), NumberText(std::round(keys.distinct)),
                     std::round(keys.distinct) == 1 ? "" : "s", KeyForPeople(keys.hottest[0].key),
                     ShareText(keys.hottest[0].share), refused ? " asked for" : "",
                     std::round(keys.effective) < 2
                         ? ""
                         : fmt::format(", they spread like {} equal ones",
                                       NumberText(std::round(keys.effective))));
  const throughput::ModelSettings model;
  const double most = a == 0 ? model.partition_read_units : model.partition_write_units;
  if (GradeOf(keys) != Grade::kGood && keys.peak_per_second < kIdlePart * most)
    text += " Harmless at this load.";
  Wrapped(out, "      keys  ", text);
}

void Costs(std::string* out, const Recording& recording, const TableReport& table,
           const throughput::UnitPrices& prices) {
  MonthlyCost sum;
  int64_t bytes = table.definition.bytes;
  for (const request_log::IndexDefinition& index : table.definition.indexes) bytes += index.bytes;
  for (const ResourceReport& resource : table.resources) {
    const MonthlyCost cost = CostOf(prices, resource, 0);
    sum.on_demand += cost.on_demand;
    sum.scaled += cost.scaled;
    sum.fixed += cost.fixed;
  }
  // Units are a table's or an index's: they are not added.
  const bool one = table.resources.size() == 1;
  if (recording.seconds() < kMonthNeeds || !one) {
    std::string head = "  capacity  ";
    for (const ResourceReport& resource : table.resources) {
      const throughput::Rates& scaled = resource.cost.scaled;
      const throughput::Rates& fixed = resource.cost.fixed;
      Wrapped(out, head,
              fmt::format(
                  "{}provisioned with auto scaling {} RCU and {} WCU on average; for the busiest "
                  "minute at 70% and the busiest second {} RCU and {} WCU.",
                  one                 ? ""
                  : resource.is_index ? fmt::format("index {}: ", resource.name)
                                      : "table: ",
                  NumberText(scaled.read), NumberText(scaled.write), NumberText(fixed.read),
                  NumberText(fixed.write)));
      head = std::string(head.size(), ' ');
    }
  }
  if (recording.seconds() < kMonthNeeds) return;
  const auto units = [&](const throughput::Rates& rates, std::string_view form) {
    return one ? fmt::format(fmt::runtime(form), NumberText(rates.read), NumberText(rates.write))
               : std::string();
  };
  const CostSummary& first = table.resources[0].cost;
  std::string text = fmt::format(
      "a month costs{} {:.2f} provisioned with auto scaling{}, {:.2f} provisioned for the busiest "
      "minute at 70% and the busiest second{}, ",
      one ? "" : ", indexes included,", sum.scaled,
      units(first.scaled, " ({} RCU and {} WCU on average)"), sum.fixed,
      units(first.fixed, " ({} RCU, {} WCU)"));
  text += prices.million_reads > 0 || prices.million_writes > 0
              ? fmt::format("{:.2f} on demand", sum.on_demand)
              : std::string("on demand not known without its prices");
  text += fmt::format("; storage {:.2f}.",
                      throughput::StorageMonth(prices, static_cast<double>(bytes)));
  Wrapped(out, "  cost      ", text);
}

bool Used(const TableReport& table) {
  return table.throttled > 0 ||
         std::any_of(table.resources.begin(), table.resources.end(),
                     [](const ResourceReport& resource) {
                       return resource.requests[0] + resource.requests[1] > 0;
                     });
}

void Table(std::string* out, const Recording& recording, const TableReport& table,
           const throughput::UnitPrices& prices) {
  const request_log::TableDefinition& d = table.definition;
  std::string billing = "not defined in the recording";
  if (table.defined) {
    billing = d.on_demand ? "on-demand"
                          : fmt::format("provisioned {} RCU, {} WCU", NumberText(d.read_units),
                                        NumberText(d.write_units));
  }
  *out += fmt::format("\nTable {}, {}", d.name, billing);
  if (d.items > 0) {
    // A recording says how large tables are when it begins, when they change, and at its end.
    const bool old = d.at_micros + 1'000'000 < recording.end_micros;
    *out += fmt::format(", {} items, {:.1f} MB{}", NumberText(static_cast<double>(d.items)),
                        static_cast<double>(d.bytes) / (1 << 20),
                        old ? fmt::format(" when they were last counted, at {}, and not since",
                                          FormatTime(d.at_micros))
                            : "");
  }
  *out += '\n';
  for (const ResourceReport& resource : table.resources) {
    if (resource.requests[0] + resource.requests[1] == 0) continue;
    if (resource.is_index) *out += fmt::format("  index {}\n", resource.name);
    for (const Access access : {Access::kRead, Access::kWrite}) Load(out, resource, access);
  }
  const SizeCount& read = table.sizes[0];
  const SizeCount& written = table.sizes[1];
  if (read.over_4kb + written.over_1kb > 0) {
    const auto part = [](int64_t some, int64_t all) {
      return all == 0 ? 0.0 : 100 * static_cast<double>(some) / static_cast<double>(all);
    };
    Wrapped(
        out, "  items     ",
        fmt::format("{:.0f}% of the items read are over 4 KB, {:.0f}% of the items written over 1 "
                    "KB; the largest item has {} bytes.",
                    part(read.over_4kb, read.items), part(written.over_1kb, written.items),
                    NumberText(static_cast<double>(std::max(read.largest, written.largest)))));
  }
  Costs(out, recording, table, prices);
  const std::vector<Finding> findings = Judge(recording, table, prices);
  static constexpr std::string_view kMarks[] = {"!", "$", "-"};
  size_t shown = 0;
  for (const Finding& finding : findings) {
    if (++shown > kMostFindingsShown) break;
    std::string text = finding.text;
    if (finding.saves_month && *finding.saves_month >= 0.005)
      text += fmt::format(" Saves up to {:.2f} a month.", *finding.saves_month);
    Wrapped(out, fmt::format("  {} ", kMarks[static_cast<size_t>(finding.level)]),
            fmt::format("{}{}: {}", finding.id,
                        finding.index.empty() ? "" : fmt::format(" ({})", finding.index), text));
  }
  if (findings.size() > kMostFindingsShown)
    *out += fmt::format("  {} more with --json\n", findings.size() - kMostFindingsShown);
  if (findings.empty()) *out += "  nothing to advise\n";
}

}  // namespace

std::string TextReport(const Recording& recording, const throughput::UnitPrices& prices) {
  std::string out =
      fmt::format("{} requests in {}", NumberText(static_cast<double>(recording.requests)),
                  SpanText(recording.seconds()));
  if (recording.requests > 0) {
    out += fmt::format(", the first at {}, the last at {}", FormatTime(recording.start_micros),
                       FormatTime(recording.end_micros));
  }
  out += '\n';
  std::vector<const TableReport*> used;
  std::string idle;
  for (const TableReport& table : recording.tables) {
    if (Used(table)) {
      used.push_back(&table);
    } else {
      if (!idle.empty()) idle += ", ";
      idle += table.definition.name;
    }
  }
  std::stable_sort(used.begin(), used.end(), [](const TableReport* a, const TableReport* b) {
    const auto units = [](const TableReport& table) {
      double sum = 0;
      for (const ResourceReport& r : table.resources)
        sum += r.cost.average.read + 5 * r.cost.average.write;
      return sum;
    };
    return units(*a) > units(*b);
  });
  for (size_t i = 0; i < used.size() && i < kMostTablesShown; ++i)
    Table(&out, recording, *used[i], prices);
  if (used.size() > kMostTablesShown)
    out += fmt::format("\n{} smaller tables: --json\n", used.size() - kMostTablesShown);
  if (!idle.empty()) {
    out += '\n';
    Wrapped(&out, "Without requests: ", idle.size() > 400 ? idle.substr(0, 400) + " ..." : idle);
  }
  out += "\nLimits of the recording\n";
  for (const std::string& limit : LimitsOf(recording)) Wrapped(&out, "  ", limit);
  for (const Damage& damage : recording.damage) {
    Wrapped(&out, "  ", fmt::format("{}:{}: {}", damage.file, damage.line, damage.what));
  }
  return out;
}

}  // namespace stator::advise
