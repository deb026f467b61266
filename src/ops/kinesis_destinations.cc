#include "ops/kinesis_destinations.h"

#include <algorithm>
#include <utility>

#include "ops/checks.h"
#include "ops/table_definition.h"
#include "ops/table_settings.h"
#include "ops/table_status.h"

namespace stator::ops {
namespace {

using Destination = table::KinesisDestination;
using State = Destination::Status;

// Destinations of a table that are described; the oldest that are not in use go.
constexpr size_t kMostDestinations = 20;

Error BadState(std::string_view text) {
  return ValidationError("Table is not in a valid state to enable Kinesis Streaming Destination: " +
                         std::string(text));
}

std::optional<int64_t> ToStored(const std::optional<StreamingConfiguration>& configuration) {
  if (!configuration || !configuration->precision) return std::nullopt;
  return static_cast<int64_t>(*configuration->precision);
}

size_t CountInUse(const Environment& env) {
  size_t count = 0;
  for (const table::TablePtr& table : env.store.ListOf("")) {
    for (const Destination& each : table->descriptor.kinesis)
      count += each.status == State::kDisabled || each.status == State::kEnableFailed ? 0 : 1;
  }
  return count;
}

Destination* FindActive(table::TableDescriptor* descriptor, const std::string& arn) {
  for (Destination& each : descriptor->kinesis)
    if (each.stream_arn == arn && each.status == State::kActive) return &each;
  return nullptr;
}

Status Enable(const EnableKinesisStreamingDestinationRequest& request, const Environment& env,
              const std::string& id, table::TableDescriptor* descriptor) {
  TRY(CheckTakesItems(*descriptor, env));
  std::vector<Destination>& all = descriptor->kinesis;
  const bool idle = std::all_of(all.begin(), all.end(), [](const Destination& each) {
    return each.status == State::kDisabled || each.status == State::kEnableFailed;
  });
  if (!idle) {
    return BadState(
        "EnableKinesisStreamingDestination must be DISABLED or ENABLE_FAILED to perform ENABLE "
        "operation.");
  }
  std::erase_if(all,
                [&](const Destination& each) { return each.stream_arn == request.stream_arn; });
  if (all.size() >= kMostDestinations) all.erase(all.begin());
  all.push_back({.stream_arn = request.stream_arn,
                 .id = id,
                 .status = State::kEnabling,
                 .description = {},
                 .precision = ToStored(request.configuration),
                 .changed_micros = env.clock.NowMicros()});
  return OkStatus();
}

Status Disable(const std::string& arn, int64_t now, table::TableDescriptor* descriptor) {
  Destination* const active = FindActive(descriptor, arn);
  if (active == nullptr)
    return BadState("KinesisStreamingDestination must be ACTIVE to perform DISABLE operation.");
  active->status = State::kDisabling;
  active->changed_micros = now;
  return OkStatus();
}

Status Update(const UpdateKinesisStreamingDestinationRequest& request, int64_t now,
              table::TableDescriptor* descriptor) {
  Destination* const active = FindActive(descriptor, request.stream_arn);
  if (active == nullptr) {
    return BadState(
        "Kinesis streaming is not in ACTIVE state. Updates are only allowed in ACTIVE state. "
        "TableName: " +
        std::string(table::ShownName(descriptor->name)));
  }
  const std::optional<int64_t> wanted = ToStored(request.configuration);
  if (!wanted || *wanted == active->precision.value_or(0))
    return BadState("Precision is already set to the desired value.");
  active->precision = wanted;
  active->status = State::kUpdating;
  active->changed_micros = now;
  return OkStatus();
}

// Changes the table's descriptor and answers. `change` is run again if others were faster.
template <typename Request, typename Response, typename Change>
void Alter(Context& ctx, Request request, NeededFeatures needed, Change change,
           Callback<Response> done) {
  const Result<table::TablePtr> table =
      FindTableOfAnyStatus(ctx, request.table_name, ErrorCode::kResourceNotFound);
  if (!table.ok()) return done(table.error());
  std::string name = (*table)->descriptor.name;
  Environment& env = ctx.env;
  Executor& loop = ctx.loop;
  auto alter = [&env, &loop, name = std::move(name), request = std::move(request),
                change = std::move(change), done = std::move(done)](Status known) mutable {
    if (!known.ok()) return done(std::move(known).error());
    Response response;
    response.table_name = table::ShownName(name);
    response.stream_arn = request.stream_arn;
    if (request.configuration) response.configuration = *request.configuration;
    env.store.Alter(
        std::move(name),
        [&env, request = std::move(request), change = std::move(change)](
            table::TableDescriptor* descriptor) { return change(request, env, descriptor); },
        [&loop, response = std::move(response),
         done = std::move(done)](Result<table::TablePtr> altered) mutable {
          RunOn(loop, [response = std::move(response), done = std::move(done),
                       altered = std::move(altered)]() mutable {
            if (altered.ok()) return done(std::move(response));
            done(std::move(altered).error());
          });
        });
  };
  RequireFeatures(env, loop, needed, std::move(alter));
}

}  // namespace

void DescribeKinesisStreamingDestination(
    Context& ctx, DescribeKinesisStreamingDestinationRequest request,
    Callback<DescribeKinesisStreamingDestinationResponse> done) {
  const Result<table::TablePtr> table =
      FindTableOfAnyStatus(ctx, request.table_name, ErrorCode::kResourceNotFound);
  if (!table.ok()) return done(table.error());
  DescribeKinesisStreamingDestinationResponse response;
  response.table_name = table::ShownName((*table)->descriptor.name);
  for (const Destination& each : (*table)->descriptor.kinesis) {
    auto& shown = response.destinations.emplace_back();
    shown.stream_arn = each.stream_arn;
    shown.status = static_cast<DestinationStatus>(each.status);
    shown.description = each.description;
    if (each.precision) shown.precision = static_cast<DateTimePrecision>(*each.precision);
  }
  done(std::move(response));
}

void EnableKinesisStreamingDestination(Context& ctx,
                                       EnableKinesisStreamingDestinationRequest request,
                                       Callback<EnableKinesisStreamingDestinationResponse> done) {
  const Result<table::TablePtr> table =
      FindTableOfAnyStatus(ctx, request.table_name, ErrorCode::kResourceNotFound);
  if (!table.ok()) return done(table.error());
  if (!ctx.env.settings.kinesis) {
    return done(
        ValidationError("One or more parameter values were invalid: "
                        "EnableKinesisStreamingDestination needs a Kinesis endpoint, and this "
                        "server has none: set --kinesis-endpoint"));
  }
  if (table::IsOfOtherAccount((*table)->descriptor.name)) {
    return done(
        ValidationError("One or more parameter values were invalid: Kinesis destinations are for "
                        "tables of the default account"));
  }
  if (CountInUse(ctx.env) >= kMostDestinationsInUse) {
    return done(Error(ErrorCode::kLimitExceeded,
                      "Subscriber limit exceeded: this server sends the changes of at most " +
                          std::to_string(kMostDestinationsInUse) + " tables to Kinesis"));
  }
  // Made once, so that a change that runs again is the same.
  std::string id = NewUuid(ctx.env.random);
  Alter<EnableKinesisStreamingDestinationRequest, EnableKinesisStreamingDestinationResponse>(
      ctx, std::move(request), {.kinesis = true},
      [id = std::move(id)](const EnableKinesisStreamingDestinationRequest& wanted,
                           const Environment& env, table::TableDescriptor* descriptor) {
        return Enable(wanted, env, id, descriptor);
      },
      std::move(done));
}

void DisableKinesisStreamingDestination(Context& ctx,
                                        DisableKinesisStreamingDestinationRequest request,
                                        Callback<DisableKinesisStreamingDestinationResponse> done) {
  Alter<DisableKinesisStreamingDestinationRequest, DisableKinesisStreamingDestinationResponse>(
      ctx, std::move(request), {},
      [](const DisableKinesisStreamingDestinationRequest& wanted, const Environment& env,
         table::TableDescriptor* descriptor) {
        return Disable(wanted.stream_arn, env.clock.NowMicros(), descriptor);
      },
      std::move(done));
}

void UpdateKinesisStreamingDestination(Context& ctx,
                                       UpdateKinesisStreamingDestinationRequest request,
                                       Callback<UpdateKinesisStreamingDestinationResponse> done) {
  Alter<UpdateKinesisStreamingDestinationRequest, UpdateKinesisStreamingDestinationResponse>(
      ctx, std::move(request), {},
      [](const UpdateKinesisStreamingDestinationRequest& wanted, const Environment& env,
         table::TableDescriptor* descriptor) {
        return Update(wanted, env.clock.NowMicros(), descriptor);
      },
      std::move(done));
}

}  // namespace stator::ops
