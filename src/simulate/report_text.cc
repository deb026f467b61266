// The report of a simulation as text.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "simulate/report.h"

namespace stator::simulate {
namespace {

using throughput::Access;
using throughput::Billing;
using throughput::RangeText;

// 1234567 as "1,234,567".
std::string Grouped(int64_t number) {
  std::string digits = std::to_string(number);
  for (int64_t at = static_cast<int64_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<size_t>(at), ",");
  }
  return digits;
}

std::string Units(double units) {
  if (units >= 100 || units == std::floor(units)) return Grouped(std::llround(units));
  return fmt::format("{:.3g}", units);
}

std::string Percent(double part, double whole) {
  return whole <= 0 ? "-" : fmt::format("{:.1f}%", 100 * part / whole);
}

std::string Size(int64_t bytes) {
  if (bytes >= int64_t{1} << 30)
    return fmt::format("{:.1f} GB", static_cast<double>(bytes) / (1 << 30));
  if (bytes >= 1 << 20) return fmt::format("{:.1f} MB", static_cast<double>(bytes) / (1 << 20));
  return fmt::format("{} KB", bytes >> 10);
}

void Line(std::string* out, std::string_view name, const std::string& text) {
  *out += fmt::format("  {:<14}{}\n", name, text);
}

void Describe(std::string* out, const Scenario& s, const Outcome& o, const ResourceOutcome& r) {
  *out += r.is_index ? fmt::format("\nIndex {} of {}", r.name, r.table)
                     : fmt::format("\nTable {}", r.name);
  *out += r.billing == Billing::kOnDemand ? ", on-demand\n" : ", provisioned\n";
  // Partitions over time, at the ends of columns.
  std::string partitions = std::to_string(r.partitions_before);
  int64_t last = static_cast<int64_t>(r.partitions_before);
  int shown = 0;
  for (size_t i = 0; i < r.columns.size(); ++i) {
    if (r.columns[i].partitions == last) continue;
    last = r.columns[i].partitions;
    if (++shown > 6) continue;
    partitions += fmt::format(", {} after {}", last,
                              DurationText(static_cast<double>(i + 1) * o.column_seconds));
  }
  if (shown > 6) partitions += fmt::format(", ... {} at the end", r.partitions_after);
  if (!r.splits.empty()) {
    partitions += " (split for";
    bool first = true;
    for (const auto& [reason, count] : r.splits) {
      partitions += fmt::format("{} {}: {}", first ? "" : ",", reason, count);
      first = false;
    }
    partitions += ")";
  }
  Line(out, "partitions", partitions);
  if (r.billing == Billing::kProvisioned) {
    const auto range = [](double low, double high) {
      return low == high ? Units(low) : fmt::format("{} to {}", Units(low), Units(high));
    };
    Line(out, "capacity",
         fmt::format("{} RCU, {} WCU", range(r.lowest_capacity.read, r.highest_capacity.read),
                     range(r.lowest_capacity.write, r.highest_capacity.write)));
    double least_read = 0, most_read = 0, least_write = 0, most_write = 0;
    for (const throughput::PartitionView& p : r.partitions) {
      least_read = most_read == 0 ? p.share.read : std::min(least_read, p.share.read);
      least_write = most_write == 0 ? p.share.write : std::min(least_write, p.share.write);
      most_read = std::max(most_read, p.share.read);
      most_write = std::max(most_write, p.share.write);
    }
    Line(out, "share",
         fmt::format("{} RCU, {} WCU for a partition at the end", range(least_read, most_read),
                     range(least_write, most_write)));
  }
  Line(out, "consumed",
       fmt::format("read {} per second (highest {}), write {} (highest {})",
                   Units(r.consumed.read / s.duration_seconds), Units(r.peak.read),
                   Units(r.consumed.write / s.duration_seconds), Units(r.peak.write)));
  if (r.bytes > 0 || r.expired > 0) {
    Line(out, "data",
         r.expired > 0 ? fmt::format("{}, and {} items expired, free of units", Size(r.bytes),
                                     Grouped(r.expired))
                       : Size(r.bytes));
  }
  if (!r.hottest.empty()) {
    std::string keys;
    for (const HotKey& key : r.hottest) {
      keys += fmt::format("{}{} {:.1f}%", keys.empty() ? "" : ", ", key.name, 100 * key.share);
    }
    Line(out, "hottest keys", keys);
  }
  if (r.refused_decreases > 0) {
    Line(
        out, "note",
        fmt::format("{} decreases are more than the service allows in a day", r.refused_decreases));
  }
  if (s.has_prices) {
    const MonthlyPrice price = PriceOf(s, r);
    std::string text = fmt::format("{:.2f} a month", price.capacity);
    if (r.billing == Billing::kProvisioned)
      text += fmt::format(" ({:.2f} reserved)", price.reserved);
    text += fmt::format(" for capacity, {:.2f} for storage", price.storage);
    Line(out, "price", text);
  }
  for (const Trouble& trouble : r.troubles) {
    const throughput::Explanation& e = trouble.explanation;
    *out += fmt::format("  throttled     {} requests: {}\n", Grouped(trouble.requests), e.cause);
    *out += fmt::format("                {}, first this high at {}, partition {}: {}\n", e.reason,
                        DurationText(trouble.at_seconds), e.partition, RangeText(e.range));
    if (e.obstacle != throughput::SplitObstacle::kNone) {
      *out += fmt::format("                not split for heat: {}\n",
                          throughput::ObstacleText(e.obstacle));
    }
    if (!e.no_help.empty()) *out += fmt::format("    {}\n", e.no_help);
    for (const std::string& advice : e.advice) *out += fmt::format("    fix: {}\n", advice);
    for (const std::string& note : e.notes) *out += fmt::format("    note: {}\n", note);
    if (!e.lesson.empty()) *out += fmt::format("    lesson: {}\n", e.lesson);
  }
}

}  // namespace

std::string DurationText(double seconds) {
  const int64_t whole = std::llround(seconds);
  const int64_t d = whole / 86400, h = whole / 3600 % 24, m = whole / 60 % 60, s = whole % 60;
  std::string text;
  const auto add = [&text](int64_t n, char unit) {
    if (n > 0) text += fmt::format("{}{}{}", text.empty() ? "" : " ", n, unit);
  };
  add(d, 'd');
  add(h, 'h');
  add(m, 'm');
  add(s, 's');
  return text.empty() ? "0s" : text;
}

std::string TextReport(const Scenario& s, const Outcome& o) {
  std::string out = s.name + "\n";
  if (!s.description.empty()) out += s.description + "\n";
  out += fmt::format("{} in steps of {:g} s, seed {}\n\n", DurationText(s.duration_seconds),
                     s.step_seconds, s.seed);
  size_t width = 7;
  for (const TrafficOutcome& t : o.traffic) width = std::max(width, t.name.size());
  out += fmt::format("{:<{}} {:>14} {:>14} {:>14} {:>7}\n", "traffic", width, "requests", "served",
                     "throttled", "");
  for (const TrafficOutcome& t : o.traffic) {
    out += fmt::format(
        "{:<{}} {:>14} {:>14} {:>14} {:>7}", t.name, width, Grouped(t.requests), Grouped(t.served),
        Grouped(t.throttled_total()),
        Percent(static_cast<double>(t.throttled_total()), static_cast<double>(t.requests)));
    if (t.is_upload) {
      out +=
          t.finished_seconds ? "  done after " + DurationText(*t.finished_seconds) : "  not done";
    }
    if (t.cached > 0) out += fmt::format("  {} of them by the cache", Grouped(t.cached));
    out += "\n";
    for (const auto& [reason, count] : t.throttled) {
      out += fmt::format("{:<{}}   {}: {}\n", "", width, reason, Grouped(count));
    }
  }
  MonthlyPrice sum;
  for (const ResourceOutcome& r : o.resources) {
    Describe(&out, s, o, r);
    const MonthlyPrice price = PriceOf(s, r);
    sum.capacity += price.capacity;
    sum.storage += price.storage;
  }
  if (s.has_prices && o.resources.size() > 1) {
    out += fmt::format("\nAll together {:.2f} a month for capacity and {:.2f} for storage.\n",
                       sum.capacity, sum.storage);
  }
  return out;
}

}  // namespace stator::simulate
