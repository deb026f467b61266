#include "ops/refusal_text.h"

#include <fmt/format.h>

#include "base/log.h"
#include "base/printable.h"

namespace stator::ops {
namespace {

using throughput::Explanation;
using throughput::Meter;
using throughput::Verdict;

constexpr char kBetween = '\n';  // of the words before the service's sentence and those after it

}  // namespace

std::string RefusalText(const Explanation& e) {
  std::string text = e.cause + ".";
  if (!e.no_help.empty()) text += " " + e.no_help;
  if (!e.advice.empty()) text += " " + e.advice.front();
  return Printable(text);  // it names a key, which is text of a client
}

RefusalWords WordsOf(const Environment& env, Meter& meter, const Verdict& refusal) {
  const std::string both =
      meter.Explained(refusal, env.clock.NowMicros(), env.clock.TicksMicros(), [&] {
        const Explanation e = meter.resource().Explain(env.clock.NowMicros(), refusal);
        std::string text = RefusalText(e) + kBetween;
        if (!e.lesson.empty()) text += fmt::format("Lesson: {}.", e.lesson);
        return text;
      });
  const size_t at = both.rfind(kBetween);
  return {both.substr(0, at), both.substr(at + 1)};
}

void LogRefusals(const table::Table& table, const Meter& meter, const Explanation& why,
                 int64_t count) {
  LogWarn(meter.mode() == throughput::Throttling::kEnforce ? "throttled" : "would be throttled",
          {{"table", table.descriptor.name},
           {"reason", why.reason},
           {"requests", count},
           {"why", RefusalText(why)}});
}

}  // namespace stator::ops
