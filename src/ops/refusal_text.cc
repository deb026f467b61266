#include "ops/refusal_text.h"

#include <fmt/format.h>

#include "base/log.h"

namespace stator::ops {
namespace {

using throughput::Access;
using throughput::Explanation;
using throughput::KeyBound;
using throughput::Limit;
using throughput::Meter;
using throughput::Verdict;

std::string UnitsOf(Access access) { return access == Access::kRead ? "read" : "write"; }

std::string WhatOf(const Explanation& e) {
  return fmt::format("{} {}", e.index ? "index" : "table", e.resource);
}

std::string LimitText(const Explanation& e, Access access, Limit limit) {
  const std::string partition =
      fmt::format("partition {} of {} (hashes {})", e.partition, WhatOf(e), RangeText(e.range));
  std::string units = fmt::format("{:.0f} {} units per second", e.limit, UnitsOf(access));
  if (e.granted < 0.999 * e.limit)
    units += fmt::format(", {:.0f} of them by way of this process", e.granted);
  switch (limit) {
    case Limit::kKeyRange: return fmt::format("{} can do {}", partition, units);
    case Limit::kProvisioned:
      return fmt::format("{} has {}; the request was for {}", WhatOf(e), units, partition);
    case Limit::kMaxOnDemand:
      return fmt::format("OnDemandThroughput of {} allows {}; the request was for {}", WhatOf(e),
                         units, partition);
    case Limit::kAccount:
      return fmt::format("the quota of {} is {}; the request was for {}", WhatOf(e), units,
                         partition);
  }
  return "";
}

std::string HottestText(const Explanation& e) {
  if (e.hottest.empty() || e.hottest[0].partition.empty()) return "";
  return fmt::format("; hottest partition key there: \"{}\" with {:.0f}% of its heat",
                     e.hottest[0].partition, 100 * e.hottest_share);
}

}  // namespace

std::string RangeText(const throughput::KeyRange& range) {
  const uint64_t last = range.to_end            ? UINT64_MAX
                        : range.to.sort.empty() ? range.to.hash - 1
                                                : range.to.hash;
  return fmt::format("{:016x} to {:016x}{}", range.from.hash, last,
                     range.InsideCollection() ? ", part of one item collection" : "");
}

std::string RefusalText(const Explanation& e, Access access, Limit limit) {
  std::string text = LimitText(e, access, limit);
  // Nothing is known yet when the first second of the first window has not passed.
  if (e.demand > 0) text += fmt::format(", and {:.0f} were asked for", e.demand);
  text += HottestText(e) + ".";
  if (!e.advice.empty()) text += " " + e.advice.front();
  return text;
}

std::string RefusalDetail(const Environment& env, Meter& meter, const Verdict& refusal) {
  return meter.Explained(refusal, env.clock.TicksMicros(), [&] {
    return "Stator: " + RefusalText(meter.resource().Explain(env.clock.NowMicros(), refusal),
                                    refusal.access, refusal.limit);
  });
}

void NoteRefusal(const Environment& env, const table::Table& table, Meter& meter,
                 const Verdict& refusal) {
  const int64_t refusals =
      meter.TakeUnlogged(refusal.access, refusal.limit, env.clock.TicksMicros(), kRefusalLogMicros);
  if (refusals == 0) return;
  LogRefusals(table, meter, refusal, refusals, env.clock.NowMicros());
}

void LogRefusals(const table::Table& table, const Meter& meter, const Verdict& refusal,
                 int64_t count, int64_t now_micros) {
  const Explanation why = meter.resource().Explain(now_micros, refusal);
  LogWarn(meter.mode() == throughput::Throttling::kEnforce ? "throttled" : "would be throttled",
          {{"table", table.descriptor.name},
           {"reason", why.reason},
           {"requests", count},
           {"why", RefusalText(why, refusal.access, refusal.limit)}});
}

}  // namespace stator::ops
