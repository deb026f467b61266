// The operations UpdateTimeToLive and DescribeTimeToLive.
#include "ops/checks.h"
#include "ops/operations.h"
#include "ops/table_status.h"

namespace stator::ops {
namespace {

using State = table::IndexDescriptor::State;

// The service accepts only one change of a table's time to live in this time.
constexpr int64_t kChangeIntervalMicros = 3'600 * int64_t{1'000'000};

TimeToLiveStatus TimeToLiveStatusOf(const table::TableDescriptor& descriptor,
                                    const Environment& env) {
  const bool changing =
      env.settings.delay_transient_statuses && descriptor.expiry_changed_micros &&
      env.clock.NowMicros() < *descriptor.expiry_changed_micros + kTransientStatusMicros;
  const std::optional<table::ExpiryIndex>& expiry = descriptor.expiry;
  if (expiry && expiry->on())
    return changing ? TimeToLiveStatus::kEnabling : TimeToLiveStatus::kEnabled;
  return changing ? TimeToLiveStatus::kDisabling : TimeToLiveStatus::kDisabled;
}

Status Change(const TimeToLiveSpecification& wanted, const Environment& env,
              table::TableDescriptor* descriptor) {
  TRY(CheckTakesItems(*descriptor, env));
  std::optional<table::ExpiryIndex>& expiry = descriptor->expiry;
  const bool on = descriptor->HasTimeToLive();
  if (on && expiry->attribute != wanted.attribute_name) {
    return ValidationError(
        "TimeToLive is active on a different AttributeName: current AttributeName is " +
        expiry->attribute);
  }
  if (on && wanted.enabled) return ValidationError("TimeToLive is already enabled");
  if (!on && !wanted.enabled) return ValidationError("TimeToLive is already disabled");
  const int64_t now = env.clock.NowMicros();
  const std::optional<int64_t>& changed = descriptor->expiry_changed_micros;
  // The second half is for entries that are still being removed: a new index needs the old one
  // gone.
  if ((changed && now < *changed + kChangeIntervalMicros) || (wanted.enabled && expiry)) {
    return ValidationError("Time to live has been modified multiple times within a fixed interval");
  }
  descriptor->expiry_changed_micros = now;
  if (wanted.enabled) {
    expiry.emplace().attribute = wanted.attribute_name;
  } else {
    expiry->state = State::kDeleting;
  }
  return OkStatus();
}

}  // namespace

void UpdateTimeToLive(Context& ctx, UpdateTimeToLiveRequest request,
                      Callback<UpdateTimeToLiveResponse> done) {
  const Result<StoreTableName> name = StoreNameOf(ctx, request.table_name);
  if (!name.ok()) {
    done(name.error());
    return;
  }
  Environment& env = ctx.env;
  Executor& loop = ctx.loop;
  auto wanted =
      std::make_shared<TimeToLiveSpecification>(std::move(request.time_to_live_specification));
  env.store.Alter(
      name->str(),
      [&env, wanted](table::TableDescriptor* descriptor) {
        return Change(*wanted, env, descriptor);
      },
      [&loop, wanted, done = std::move(done)](Result<table::TablePtr> table) mutable {
        RunOn(loop, [wanted, table = std::move(table), done = std::move(done)]() mutable {
          if (!table.ok()) {
            done(std::move(table).error());
          } else {
            done(UpdateTimeToLiveResponse{std::move(*wanted)});
          }
        });
      });
}

void DescribeTimeToLive(Context& ctx, DescribeTimeToLiveRequest request,
                        Callback<DescribeTimeToLiveResponse> done) {
  const Result<table::TablePtr> table =
      FindTableOfAnyStatus(ctx, request.table_name, ErrorCode::kResourceNotFound);
  if (!table.ok()) {
    done(table.error());
    return;
  }
  const table::TableDescriptor& descriptor = (*table)->descriptor;
  DescribeTimeToLiveResponse response;
  response.time_to_live_status = TimeToLiveStatusOf(descriptor, ctx.env);
  if (descriptor.HasTimeToLive()) response.attribute_name = descriptor.expiry->attribute;
  done(std::move(response));
}

}  // namespace stator::ops
