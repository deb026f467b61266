// Scalable targets and their tags.
#include <fmt/format.h>

#include <algorithm>

#include "ops/table_definition.h"
#include "scaling/call.h"

namespace stator::scaling {
namespace {

using table::ScalableTarget;
using Tags = std::map<std::string, std::string>;

constexpr size_t kMostRoleArn = 1600;

Status CheckTagMap(const Tags& tags) {
  std::vector<ops::Tag> list;
  for (const auto& [key, value] : tags) {
    if (key.empty() || key.size() > 4 * 128 || value.size() > 4 * 256)
      return ValidationError("A tag has a key of 1 to 128 and a value of 0 to 256 characters");
    list.push_back({key, value});
  }
  return ops::CheckTags(list);
}

Status CheckTagCount(const Tags& tags, const std::string& arn) {
  if (tags.size() <= ops::kMaxTags) return OkStatus();
  return Fault("TooManyTagsException", "A scalable target may have at most 50 tags: " + arn);
}

// The members that a request to register a target gives. Absent ones leave the target as it is.
struct Registration {
  std::optional<int64_t> min_units;
  std::optional<int64_t> max_units;
  std::optional<std::string> role_arn;
  std::optional<bool> suspended;
  std::optional<bool> scheduled_suspended;
  Tags tags;
};

Result<Registration> ReadRegistration(const Members& request) {
  Registration out;
  ASSIGN_OR_RETURN(out.min_units, request.Integer("MinCapacity"));
  ASSIGN_OR_RETURN(out.max_units, request.Integer("MaxCapacity"));
  ASSIGN_OR_RETURN(out.role_arn, request.Text("RoleARN"));
  if (out.role_arn && (out.role_arn->empty() || out.role_arn->size() > kMostRoleArn))
    return ValidationError("RoleARN must have 1 to 1600 characters");
  ASSIGN_OR_RETURN(const std::optional<Members> state, request.Structure("SuspendedState"));
  if (state) {
    ASSIGN_OR_RETURN(const std::optional<bool> in, state->Bool("DynamicScalingInSuspended"));
    ASSIGN_OR_RETURN(const std::optional<bool> out_too, state->Bool("DynamicScalingOutSuspended"));
    ASSIGN_OR_RETURN(out.scheduled_suspended, state->Bool("ScheduledScalingSuspended"));
    if (in.value_or(false) != out_too.value_or(false)) {
      return ValidationError(
          "DynamicScalingInSuspended and DynamicScalingOutSuspended must be equal: suspending one "
          "of them is not supported by this version of Stator. DisableScaleIn of a scaling policy "
          "is");
    }
    if (in || out_too) out.suspended = in.value_or(false);
  }
  ASSIGN_OR_RETURN(std::optional<Tags> tags, request.TextMap("Tags"));
  if (tags) {
    TRY(CheckTagMap(*tags));
    out.tags = *std::move(tags);
  }
  return out;
}

Status Register(const Registration& wanted, std::string id, int64_t now,
                std::optional<ScalableTarget>* target) {
  ScalableTarget next = target->value_or(ScalableTarget());
  if (!*target) {
    if (!wanted.min_units || !wanted.max_units) {
      return ValidationError(
          "MinCapacity and MaxCapacity must both be specified when a scalable target is "
          "registered");
    }
    next.id = std::move(id);
    next.created_micros = now;
  }
  next.min_units = wanted.min_units.value_or(next.min_units);
  next.max_units = wanted.max_units.value_or(next.max_units);
  if (next.min_units < 1)
    return ValidationError("MinCapacity must be at least 1 for service namespace dynamodb");
  if (next.min_units > next.max_units)
    return ValidationError("MaxCapacity must be greater than or equal to MinCapacity");
  if (next.max_units > 1'000'000'000'000)
    return ValidationError("MaxCapacity must be at most 1000000000000");
  if (wanted.role_arn) next.role_arn = *wanted.role_arn;
  if (wanted.suspended) next.suspended = *wanted.suspended;
  if (wanted.scheduled_suspended) next.scheduled_suspended = *wanted.scheduled_suspended;
  for (const auto& [key, value] : wanted.tags) next.tags[key] = value;
  TRY(CheckTagCount(next.tags, next.id));
  *target = std::move(next);
  return OkStatus();
}

std::string RoleOf(const ops::Environment& env, const ScalableTarget& target) {
  if (!target.role_arn.empty()) return target.role_arn;
  return fmt::format(
      "arn:aws:iam::{}:role/aws-service-role/dynamodb.application-autoscaling.amazonaws.com/"
      "AWSServiceRoleForApplicationAutoScaling_DynamoDBTable",
      env.settings.account);
}

Error ArnNotFound(const std::string& arn) {
  return Fault("ResourceNotFoundException", "No scalable target found for ARN: " + arn);
}

// The target that the ResourceARN of a request names.
Result<Found> FindByArn(const Call& call) {
  ASSIGN_OR_RETURN(const std::string arn, call.request.RequiredText("ResourceARN"));
  ASSIGN_OR_RETURN(std::vector<Found> all, TargetsIn(call));
  for (Found& found : all) {
    if (TargetArn(call.env, found.target) == arn) return std::move(found);
  }
  return ArnNotFound(arn);
}

Status AlterTags(const Call& call, const Found& found, FunctionRef<Status(Tags*)> change) {
  return AlterTarget(
      call.env, found.subject,
      [&](const table::TableDescriptor&, std::optional<ScalableTarget>* target) -> Status {
        if (!*target || (*target)->id != found.target.id)
          return ArnNotFound(TargetArn(call.env, found.target));
        return change(&(*target)->tags);
      });
}

}  // namespace

Result<std::string> RegisterScalableTarget(const Call& call) {
  ASSIGN_OR_RETURN(const Subject subject, SubjectIn(call.request));
  ASSIGN_OR_RETURN(const Registration wanted, ReadRegistration(call.request));
  ScalableTarget known;
  if (const auto found = FindTarget(call.env, subject)) known = *found;
  if (known.id.empty()) known.id = ops::NewUuid(call.env.random);
  TRY(RequireRight(call, subject, known, wanted.tags));
  ScalableTarget made;
  TRY(AlterTarget(
      call.env, subject,
      [&](const table::TableDescriptor&, std::optional<ScalableTarget>* target) -> Status {
        TRY(Register(wanted, known.id, call.env.clock.NowMicros(), target));
        made = **target;
        return OkStatus();
      }));
  if (const table::TablePtr table = call.env.store.Find(subject.table)) {
    const table::IndexDescriptor* const index =
        subject.index.empty() ? nullptr : table->descriptor.FindIndex(subject.index);
    call.env.auto_scaler.MoveInto(call.env, table->descriptor, index, subject.access,
                                  made.min_units, made.max_units);
  }
  JsonWriter out;
  out.Open('{').Field("ScalableTargetARN", TargetArn(call.env, made)).Close('}');
  return out.Take();
}

Result<std::string> DeregisterScalableTarget(const Call& call) {
  ASSIGN_OR_RETURN(const Subject subject, SubjectIn(call.request));
  const std::optional<ScalableTarget> known = FindTarget(call.env, subject);
  TRY(RequireRight(call, subject, known.value_or(ScalableTarget{.id = "-"})));
  if (!known) return TargetNotFound(subject);
  TRY(AlterTarget(
      call.env, subject,
      [&](const table::TableDescriptor&, std::optional<ScalableTarget>* target) -> Status {
        if (!*target) return TargetNotFound(subject);
        target->reset();
        return OkStatus();
      }));
  return std::string("{}");
}

Result<std::string> DescribeScalableTargets(const Call& call) {
  TRY(RequireRight(call));
  TRY(CheckNamespace(call.request));
  ASSIGN_OR_RETURN(const std::vector<Found> all, TargetsIn(call));
  std::vector<std::string> positions;
  for (const Found& found : all) positions.push_back(found.subject.position());
  ASSIGN_OR_RETURN(const Page page, PageOf(call, positions, 50));
  JsonWriter out;
  out.Open('{').Key("ScalableTargets").Open('[');
  for (size_t i = page.begin; i < page.end; ++i) {
    const ScalableTarget& target = all[i].target;
    out.Open('{');
    AppendSubject(all[i].subject, &out);
    out.Key("MinCapacity").Whole(target.min_units);
    out.Key("MaxCapacity").Whole(target.max_units);
    out.Field("RoleARN", RoleOf(call.env, target));
    out.Key("CreationTime").Whole(target.created_micros / 1'000'000);
    out.Key("SuspendedState").Open('{');
    out.Key("DynamicScalingInSuspended").Bool(target.suspended);
    out.Key("DynamicScalingOutSuspended").Bool(target.suspended);
    out.Key("ScheduledScalingSuspended").Bool(target.scheduled_suspended);
    out.Close('}');
    out.Field("ScalableTargetARN", TargetArn(call.env, target));
    out.Close('}');
  }
  out.Close(']');
  if (page.next) out.Field("NextToken", *page.next);
  out.Close('}');
  return out.Take();
}

Result<std::string> ListTagsForResource(const Call& call) {
  ASSIGN_OR_RETURN(const Found found, FindByArn(call));
  TRY(RequireRight(call, found.subject, found.target));
  JsonWriter out;
  out.Open('{').Key("Tags").Open('{');
  for (const auto& [key, value] : found.target.tags) out.Field(key, value);
  out.Close('}').Close('}');
  return out.Take();
}

Result<std::string> TagResource(const Call& call) {
  ASSIGN_OR_RETURN(const Found found, FindByArn(call));
  ASSIGN_OR_RETURN(const std::optional<Tags> tags, call.request.TextMap("Tags"));
  if (!tags) return ValidationError("Tags must be specified");
  TRY(CheckTagMap(*tags));
  TRY(RequireRight(call, found.subject, found.target, *tags));
  TRY(AlterTags(call, found, [&](Tags* all) {
    for (const auto& [key, value] : *tags) (*all)[key] = value;
    return CheckTagCount(*all, TargetArn(call.env, found.target));
  }));
  return std::string("{}");
}

Result<std::string> UntagResource(const Call& call) {
  ASSIGN_OR_RETURN(const Found found, FindByArn(call));
  ASSIGN_OR_RETURN(const std::vector<std::string> keys, call.request.Texts("TagKeys"));
  TRY(RequireRight(call, found.subject, found.target, {}, keys));
  TRY(AlterTags(call, found, [&](Tags* all) {
    for (const std::string& key : keys) all->erase(key);
    return OkStatus();
  }));
  return std::string("{}");
}

}  // namespace stator::scaling
