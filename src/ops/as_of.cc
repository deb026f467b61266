#include "ops/as_of.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/printable.h"
#include "base/time_text.h"
#include "ops/checks.h"
#include "ops/continuous_backups.h"
#include "ops/payload.h"

namespace stator::ops {
namespace {

constexpr std::array<std::string_view, 4> kReads = {"BatchGetItem", "GetItem", "Query", "Scan"};
constexpr size_t kLeastMillisDigits = 12;  // seconds have 10
constexpr size_t kShownText = 60;

// `exception`: a literal.
Error Named(std::string_view exception, std::string message) {
  return Error(ErrorCode::kValidation, std::move(message),
               std::make_shared<ExceptionNamePayload>(exception));
}

}  // namespace

Result<int64_t> ParseMoment(std::string_view what, std::string_view text) {
  int64_t millis = 0;
  const char* const end = text.data() + text.size();
  if (text.size() >= kLeastMillisDigits) {
    const auto [stop, error] = std::from_chars(text.data(), end, millis);
    if (error == std::errc() && stop == end && millis >= 0 && millis <= kLastTimeMicros / 1000)
      return millis;
  }
  if (const std::optional<int64_t> micros = ParseTime(text)) return *micros / 1000;
  return ValidationError(fmt::format(
      "{} '{}' is no moment: write 2026-11-26T22:00:00.123Z, or seconds or milliseconds since 1970",
      what, Printable(text.substr(0, kShownText))));
}

bool ReadsPast(std::string_view operation) {
  return std::find(kReads.begin(), kReads.end(), operation) != kReads.end();
}

Error RefuseAsOf(std::string_view operation) {
  return ValidationError(
      fmt::format("{} is for GetItem, BatchGetItem, Query and Scan: {} does not read the past",
                  kAsOfHeader, operation));
}

Result<int64_t> LastMicrosOf(const Environment& env, const table::Table& table,
                             std::string_view what, int64_t millis) {
  const std::string name(table::ShownName(table.descriptor.name));
  if (env.store.shared()) {
    return Named("PointInTimeRecoveryUnavailableException",
                 "The past of table '" + name +
                     "' cannot be read: a store on a cluster has no point-in-time recovery");
  }
  const auto& log = table.descriptor.change_log;
  if (!log) {
    return Named("PointInTimeRecoveryUnavailableException",
                 "Point in time recovery is not enabled for table '" + name + "'");
  }
  const RestorableWindow window = WindowOf(env, *log);
  if (millis >= window.earliest_micros / 1000 && millis <= window.latest_micros / 1000)
    return std::clamp(millis * 1000 + 999, window.earliest_micros, window.latest_micros);
  return Named(
      "InvalidRestoreTimeException",
      fmt::format("{} '{}' must be within EarliestRestorableDateTime '{}' and "
                  "LatestRestorableDateTime '{}'",
                  what, FormatTime(std::clamp<int64_t>(millis, 0, kLastTimeMicros / 1000) * 1000),
                  FormatTime(window.earliest_micros), FormatTime(window.latest_micros)));
}

void OpenMoment(Environment& env, table::TablePtr table, std::string_view what, int64_t millis,
                MomentDone done) {
  const Result<int64_t> last = LastMicrosOf(env, *table, what, millis);
  if (!last.ok()) return done(last.error());
  const std::string name = table->descriptor.name;
  const uint32_t log = table->descriptor.change_log->tablet_id;
  env.settled.Await(name, log, *last,
                    [&env, table = std::move(table), last = *last,
                     done = std::move(done)](Status settled) mutable {
                      if (!settled.ok()) return done(std::move(settled).error());
                      done(table::LoggedMoment::Open(env.store, std::move(table), last));
                    });
}

void OpenPast(Context& ctx, table::TablePtr table, const table::IndexDescriptor* index,
              PastDone done) {
  if (index != nullptr) {
    return done(ValidationError(
        fmt::format("{} cannot read index {}: indexes have no history. Query or Scan the table "
                    "without IndexName, with a filter",
                    kAsOfHeader, index->name)));
  }
  Executor& loop = ctx.loop;
  OpenMoment(ctx.env, std::move(table), kAsOfHeader, *ctx.as_of_millis,
             [&loop, done = std::move(done)](
                 Result<std::shared_ptr<const table::LoggedMoment>> moment) mutable {
               RunOn(loop, [done = std::move(done), moment = std::move(moment)]() mutable {
                 if (!moment.ok()) return done(std::move(moment).error());
                 done(std::shared_ptr<const table::Past>(*std::move(moment)));
               });
             });
}

}  // namespace stator::ops
