// Scaling policies, and what they did.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/table_definition.h"
#include "scaling/call.h"

namespace stator::scaling {
namespace {

using table::ScalableTarget;
using table::ScalingPolicy;
using throughput::Access;

constexpr double kMillion = 1e6;
constexpr int64_t kMostCooldown = 1'000'000'000;
constexpr std::string_view kTargetTracking = "TargetTrackingScaling";

std::string_view MetricOf(Access access) {
  return access == Access::kRead ? "DynamoDBReadCapacityUtilization"
                                 : "DynamoDBWriteCapacityUtilization";
}

Error PolicyNotFound(const Subject& subject, const std::string& name) {
  return Fault("ObjectNotFoundException",
               fmt::format("No scaling policy found for service namespace: dynamodb, resource ID: "
                           "{}, scalable dimension: {}, policy name: {}",
                           subject.resource_id(), subject.dimension(), name));
}

Result<std::string> PolicyNameIn(const Members& request) {
  ASSIGN_OR_RETURN(std::string name, request.RequiredText("PolicyName"));
  if (name.empty() || name.size() > 4 * 256)
    return ValidationError("PolicyName must have 1 to 256 characters");
  return name;
}

Status CheckPolicyType(const Members& request) {
  ASSIGN_OR_RETURN(const std::optional<std::string> type, request.Text("PolicyType"));
  if (!type || *type == kTargetTracking) return OkStatus();
  if (*type != "StepScaling" && *type != "PredictiveScaling") {
    return ValidationError(fmt::format(
        "1 validation error detected: Value '{}' at 'policyType' failed to satisfy constraint: "
        "Member must satisfy enum value set: [PredictiveScaling, StepScaling, "
        "TargetTrackingScaling]",
        *type));
  }
  return ValidationError("PolicyType " + *type +
                         " is not supported for service namespace dynamodb");
}

Status ReadCooldown(const Members& from, std::string_view name, std::optional<int64_t>* seconds) {
  ASSIGN_OR_RETURN(*seconds, from.Integer(name));
  if (!*seconds || (**seconds >= 0 && **seconds <= kMostCooldown)) return OkStatus();
  return ValidationError(fmt::format("{} must be between 0 and {}", name, kMostCooldown));
}

// The policy that a request puts, but for its id and time.
Result<ScalingPolicy> ReadPolicy(const Members& request, const Subject& subject) {
  ScalingPolicy policy;
  ASSIGN_OR_RETURN(policy.name, PolicyNameIn(request));
  TRY(CheckPolicyType(request));
  ASSIGN_OR_RETURN(const std::optional<Members> tracking,
                   request.Structure("TargetTrackingScalingPolicyConfiguration"));
  if (!tracking)
    return ValidationError("TargetTrackingScalingPolicyConfiguration must be specified");
  if (tracking->Has("CustomizedMetricSpecification")) {
    return ValidationError(
        "CustomizedMetricSpecification is not supported by this version of Stator");
  }
  ASSIGN_OR_RETURN(const std::optional<Members> metric,
                   tracking->Structure("PredefinedMetricSpecification"));
  if (!metric) return ValidationError("PredefinedMetricSpecification must be specified");
  ASSIGN_OR_RETURN(const std::string type, metric->RequiredText("PredefinedMetricType"));
  if (type != MetricOf(subject.access)) {
    return ValidationError(fmt::format("PredefinedMetricType {} does not fit scalable dimension {}",
                                       type, subject.dimension()));
  }
  ASSIGN_OR_RETURN(const std::optional<double> target, tracking->Number("TargetValue"));
  if (!target) return ValidationError("TargetValue must be specified");
  if (!(*target >= 20 && *target <= 90)) {
    return ValidationError(
        fmt::format("For predefined metric type {}, target value must be between '20.0' and "
                    "'90.0', but was '{}'.",
                    type, *target));
  }
  policy.target_millionths = std::llround(*target * kMillion);
  TRY(ReadCooldown(*tracking, "ScaleOutCooldown", &policy.scale_out_cooldown_seconds));
  TRY(ReadCooldown(*tracking, "ScaleInCooldown", &policy.scale_in_cooldown_seconds));
  ASSIGN_OR_RETURN(const std::optional<bool> no_scale_in, tracking->Bool("DisableScaleIn"));
  if (no_scale_in) policy.scale_in_disabled = int64_t{*no_scale_in};
  return policy;
}

std::string PolicyArn(const ops::Environment& env, const Subject& subject,
                      const ScalingPolicy& policy) {
  return fmt::format(
      "arn:aws:autoscaling:{}:{}:scalingPolicy:{}:resource/dynamodb/{}:policyName/{}",
      env.settings.region, env.settings.account, policy.id, subject.resource_id(), policy.name);
}

// The four CloudWatch alarms that the service creates for a policy. Stator has no alarms, but
// describes their names and ARNs, because tools read them.
constexpr std::string_view kAlarms[] = {"AlarmHigh", "AlarmLow", "ProvisionedCapacityHigh",
                                        "ProvisionedCapacityLow"};
std::string AlarmName(const Subject& subject, const ScalingPolicy& policy, size_t alarm) {
  // A UUID of its own: that of the policy with another first digit.
  std::string id = policy.id;
  if (!id.empty()) id[0] = "0123"[alarm];
  return fmt::format("TargetTracking-{}-{}-{}", subject.resource_id(), kAlarms[alarm], id);
}

void AppendAlarms(const ops::Environment& env, const Subject& subject, const ScalingPolicy& policy,
                  JsonWriter* out) {
  out->Key("Alarms").Open('[');
  for (size_t i = 0; i < std::size(kAlarms); ++i) {
    const std::string name = AlarmName(subject, policy, i);
    out->Open('{')
        .Field("AlarmName", name)
        .Field("AlarmARN", fmt::format("arn:aws:cloudwatch:{}:{}:alarm:{}", env.settings.region,
                                       env.settings.account, name))
        .Close('}');
  }
  out->Close(']');
}

void AppendPolicy(const ops::Environment& env, const Subject& subject, const ScalingPolicy& policy,
                  JsonWriter* out) {
  out->Open('{');
  out->Field("PolicyARN", PolicyArn(env, subject, policy)).Field("PolicyName", policy.name);
  AppendSubject(subject, out);
  out->Field("PolicyType", kTargetTracking);
  out->Key("TargetTrackingScalingPolicyConfiguration").Open('{');
  out->Key("TargetValue").Number(static_cast<double>(policy.target_millionths) / kMillion);
  out->Key("PredefinedMetricSpecification").Open('{');
  out->Field("PredefinedMetricType", MetricOf(subject.access)).Close('}');
  if (policy.scale_out_cooldown_seconds)
    out->Key("ScaleOutCooldown").Whole(*policy.scale_out_cooldown_seconds);
  if (policy.scale_in_cooldown_seconds)
    out->Key("ScaleInCooldown").Whole(*policy.scale_in_cooldown_seconds);
  if (policy.scale_in_disabled) out->Key("DisableScaleIn").Bool(*policy.scale_in_disabled != 0);
  out->Close('}');
  AppendAlarms(env, subject, policy, out);
  out->Key("CreationTime").Whole(policy.created_micros / 1'000'000);
  out->Close('}');
}

// An activity with the policy that is there now, which may have made it.
void AppendActivity(const Call& call, const ops::ScalingActivity& activity, size_t number,
                    JsonWriter* out) {
  const Subject subject{activity.table, activity.index, activity.access};
  const char* const kind = activity.access == Access::kRead ? "read" : "write";
  const bool raised = activity.to_units > activity.from_units;
  std::string cause = activity.cause;
  if (cause.empty()) {
    const std::optional<ScalableTarget> target = FindTarget(call.env, subject);
    cause =
        target && target->policy
            ? fmt::format("monitor alarm {} in state ALARM triggered policy {}",
                          AlarmName(subject, *target->policy, raised ? 0 : 1), target->policy->name)
            : "an auto scaling rule of the server changed the capacity";
  }
  out->Open('{');
  out->Field("ActivityId", fmt::format("{:08x}-0000-4000-8000-{:012x}",
                                       activity.at_micros / 60'000'000 & 0xffffffff, number));
  AppendSubject(subject, out);
  out->Field("Description",
             fmt::format("Setting {} capacity units to {}.", kind, activity.to_units));
  out->Field("Cause", cause);
  out->Key("StartTime").Whole(activity.at_micros / 1'000'000);
  out->Key("EndTime").Whole(activity.at_micros / 1'000'000);
  out->Field("StatusCode", activity.refusal.empty() ? "Successful" : "Failed");
  out->Field("StatusMessage",
             activity.refusal.empty()
                 ? fmt::format("Successfully set {} capacity units to {}. Change successfully "
                               "fulfilled by dynamodb.",
                               kind, activity.to_units)
                 : fmt::format("Failed to set {} capacity units to {}. Reason: {}", kind,
                               activity.to_units, activity.refusal));
  out->Close('}');
}

}  // namespace

Result<std::string> PutScalingPolicy(const Call& call) {
  ASSIGN_OR_RETURN(const Subject subject, SubjectIn(call.request));
  ASSIGN_OR_RETURN(ScalingPolicy wanted, ReadPolicy(call.request, subject));
  const std::optional<ScalableTarget> known = FindTarget(call.env, subject);
  TRY(RequireRight(call, subject, known.value_or(ScalableTarget{.id = "-"})));
  if (!known) return TargetNotFound(subject);
  wanted.id = ops::NewUuid(call.env.random);
  wanted.created_micros = call.env.clock.NowMicros();
  ScalingPolicy made;
  TRY(AlterTarget(
      call.env, subject,
      [&](const table::TableDescriptor&, std::optional<ScalableTarget>* target) -> Status {
        if (!*target) return TargetNotFound(subject);
        std::optional<ScalingPolicy>& policy = (*target)->policy;
        if (policy && policy->name != wanted.name) {
          return ValidationError(
              "Only one TargetTrackingScaling policy for a given metric specification is "
              "allowed.");
        }
        made = wanted;
        if (policy) {
          made.id = policy->id;
          made.created_micros = policy->created_micros;
        }
        policy = made;
        return OkStatus();
      }));
  JsonWriter out;
  out.Open('{').Field("PolicyARN", PolicyArn(call.env, subject, made));
  AppendAlarms(call.env, subject, made, &out);
  out.Close('}');
  return out.Take();
}

Result<std::string> DeleteScalingPolicy(const Call& call) {
  ASSIGN_OR_RETURN(const Subject subject, SubjectIn(call.request));
  ASSIGN_OR_RETURN(const std::string name, PolicyNameIn(call.request));
  const std::optional<ScalableTarget> known = FindTarget(call.env, subject);
  TRY(RequireRight(call, subject, known.value_or(ScalableTarget{.id = "-"})));
  const auto has = [&name](const std::optional<ScalableTarget>& target) {
    return target && target->policy && target->policy->name == name;
  };
  if (!has(known)) return PolicyNotFound(subject, name);
  TRY(AlterTarget(
      call.env, subject,
      [&](const table::TableDescriptor&, std::optional<ScalableTarget>* target) -> Status {
        if (!has(*target)) return PolicyNotFound(subject, name);
        (*target)->policy.reset();
        return OkStatus();
      }));
  return std::string("{}");
}

Result<std::string> DescribeScalingPolicies(const Call& call) {
  TRY(RequireRight(call));
  TRY(CheckNamespace(call.request));
  ASSIGN_OR_RETURN(const std::vector<std::string> names, call.request.Texts("PolicyNames"));
  ASSIGN_OR_RETURN(std::vector<Found> all, TargetsIn(call));
  std::erase_if(all, [&](const Found& found) {
    const std::optional<ScalingPolicy>& policy = found.target.policy;
    return !policy ||
           (!names.empty() && std::find(names.begin(), names.end(), policy->name) == names.end());
  });
  std::vector<std::string> positions;
  for (const Found& found : all) positions.push_back(found.subject.position());
  ASSIGN_OR_RETURN(const Page page, PageOf(call, positions, 10));
  JsonWriter out;
  out.Open('{').Key("ScalingPolicies").Open('[');
  for (size_t i = page.begin; i < page.end; ++i)
    AppendPolicy(call.env, all[i].subject, *all[i].target.policy, &out);
  out.Close(']');
  if (page.next) out.Field("NextToken", *page.next);
  out.Close('}');
  return out.Take();
}

Result<std::string> DescribeScalingActivities(const Call& call) {
  TRY(RequireRight(call));
  TRY(CheckNamespace(call.request));
  ASSIGN_OR_RETURN(const std::optional<std::string> id, call.request.Text("ResourceId"));
  ASSIGN_OR_RETURN(const std::optional<std::string> dimension,
                   call.request.Text("ScalableDimension"));
  std::vector<ops::ScalingActivity> all;
  for (const table::TablePtr& table : call.env.store.ListOf("")) {
    for (ops::ScalingActivity& each : call.env.auto_scaler.ActivitiesOf(table->descriptor.name)) {
      const Subject subject{each.table, each.index, each.access};
      if (id && *id != subject.resource_id()) continue;
      if (dimension && *dimension != subject.dimension()) continue;
      all.push_back(std::move(each));
    }
  }
  // Newest first.
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.at_micros > b.at_micros; });
  std::vector<std::string> positions;
  for (size_t i = 0; i < all.size(); ++i) positions.push_back(fmt::format("{:08}", i));
  ASSIGN_OR_RETURN(const Page page, PageOf(call, positions, 50));
  JsonWriter out;
  out.Open('{').Key("ScalingActivities").Open('[');
  for (size_t i = page.begin; i < page.end; ++i) AppendActivity(call, all[i], all.size() - i, &out);
  out.Close(']');
  if (page.next) out.Field("NextToken", *page.next);
  out.Close('}');
  return out.Take();
}

Result<std::string> DescribeScheduledActions(const Call& call) {
  TRY(RequireRight(call));
  TRY(CheckNamespace(call.request));
  return std::string(R"({"ScheduledActions":[]})");
}

Result<std::string> PutScheduledAction(const Call& call) {
  ASSIGN_OR_RETURN(const Subject subject, SubjectIn(call.request));
  const std::optional<ScalableTarget> known = FindTarget(call.env, subject);
  TRY(RequireRight(call, subject, known.value_or(ScalableTarget{.id = "-"})));
  return ValidationError("Scheduled actions are not supported by this version of Stator");
}

Result<std::string> DeleteScheduledAction(const Call& call) {
  ASSIGN_OR_RETURN(const Subject subject, SubjectIn(call.request));
  ASSIGN_OR_RETURN(const std::string name, call.request.RequiredText("ScheduledActionName"));
  const std::optional<ScalableTarget> known = FindTarget(call.env, subject);
  TRY(RequireRight(call, subject, known.value_or(ScalableTarget{.id = "-"})));
  return Fault("ObjectNotFoundException",
               fmt::format("No scheduled action found for service namespace: dynamodb, resource "
                           "ID: {}, scheduled action name: {}",
                           subject.resource_id(), name));
}

}  // namespace stator::scaling
