#include "scaling/call.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/base64.h"
#include "base/pump.h"
#include "ops/table_definition.h"
#include "table/settings_feature.h"

namespace stator::scaling {
namespace {

using table::AutoScalingRules;
using table::IndexDescriptor;
using table::ScalableTarget;
using table::TableDescriptor;
using throughput::Access;

constexpr std::string_view kTableReads = "dynamodb:table:ReadCapacityUnits";
constexpr std::string_view kTableWrites = "dynamodb:table:WriteCapacityUnits";
constexpr std::string_view kIndexReads = "dynamodb:index:ReadCapacityUnits";
constexpr std::string_view kIndexWrites = "dynamodb:index:WriteCapacityUnits";
constexpr std::string_view kPurpose = "scaling-page";  // of a Seal

Error WrongType(std::string_view name) {
  return Error(ErrorCode::kSerialization, fmt::format("{} has a wrong type", name));
}

// The member of a model as its error messages name it.
std::string Camel(std::string_view name) {
  std::string camel(name);
  camel[0] = static_cast<char>(camel[0] | 0x20);
  return camel;
}

Error Unsupported() {
  return ValidationError("Unsupported service namespace, resource type or scalable dimension");
}

// The rules of the table, or of the index that is named; null: there is no such index.
AutoScalingRules* RulesOf(TableDescriptor* table, std::string_view index) {
  if (index.empty()) return &table->auto_scaling;
  for (IndexDescriptor& each : table->indexes) {
    if (each.name == index && each.is_global() && each.state != IndexDescriptor::State::kDeleting)
      return &each.auto_scaling;
  }
  return nullptr;
}

std::optional<ScalableTarget>& TargetOf(AutoScalingRules& rules, Access access) {
  return access == Access::kRead ? rules.read_target : rules.write_target;
}

// The rule of a target: what its policy says within its bounds.
std::optional<throughput::AutoScalingSettings> RuleOf(const std::optional<ScalableTarget>& target) {
  if (!target || !target->policy || target->suspended) return std::nullopt;
  const table::ScalingPolicy& policy = *target->policy;
  throughput::AutoScalingSettings rule;
  rule.min_units = static_cast<double>(target->min_units);
  rule.max_units = static_cast<double>(target->max_units);
  rule.target = static_cast<double>(policy.target_millionths) / 1e8;
  rule.raise_cooldown_seconds = static_cast<double>(policy.scale_out_cooldown_seconds.value_or(0));
  rule.lower_cooldown_seconds = static_cast<double>(policy.scale_in_cooldown_seconds.value_or(0));
  // No use is that far under the target.
  if (policy.scale_in_disabled.value_or(0) != 0) rule.lower_margin = 1;
  return rule;
}

Status Change(TableDescriptor* descriptor, const Subject& subject, ChangeTarget change) {
  AutoScalingRules* const rules = RulesOf(descriptor, subject.index);
  if (rules == nullptr)
    return ValidationError("DynamoDB index does not exist: " + subject.resource_id());
  std::optional<ScalableTarget>& target = TargetOf(*rules, subject.access);
  TRY(change(*descriptor, &target));
  (subject.access == Access::kRead ? rules->read : rules->write) = RuleOf(target);
  return OkStatus();
}

void AppendTargets(const TableDescriptor& table, std::string_view index,
                   const AutoScalingRules& rules, std::vector<Found>* found) {
  for (const Access access : {Access::kRead, Access::kWrite}) {
    const auto& target = access == Access::kRead ? rules.read_target : rules.write_target;
    if (target) found->push_back({{table.name, std::string(index), access}, *target});
  }
}

std::string TokenOf(const Seal& seal, const std::string& position) {
  const std::string bytes = seal.Of(kPurpose, position) + position;
  std::string token(Base64Length(bytes.size()), '\0');
  EncodeBase64(bytes, token.data());
  return token;
}

}  // namespace

Error Fault(std::string type, std::string message) {
  return Error(ErrorCode::kValidation, std::move(message),
               std::make_shared<FaultPayload>(std::move(type)));
}

// ---- members ----

std::optional<simdjson::dom::element> Members::Find(std::string_view name) const {
  simdjson::dom::element element;
  if (object_.at_key(name).get(element) != simdjson::SUCCESS || element.is_null())
    return std::nullopt;
  return element;
}

bool Members::Has(std::string_view name) const { return Find(name).has_value(); }

Result<std::optional<std::string>> Members::Text(std::string_view name) const {
  const auto element = Find(name);
  if (!element) return std::optional<std::string>();
  std::string_view text;
  if (element->get(text) != simdjson::SUCCESS) return WrongType(name);
  return std::optional<std::string>(text);
}

Result<std::string> Members::RequiredText(std::string_view name) const {
  ASSIGN_OR_RETURN(std::optional<std::string> text, Text(name));
  if (text) return *std::move(text);
  return ValidationError(
      fmt::format("1 validation error detected: Value null at '{}' failed to satisfy constraint: "
                  "Member must not be null",
                  Camel(name)));
}

Result<std::optional<int64_t>> Members::Integer(std::string_view name) const {
  const auto element = Find(name);
  if (!element) return std::optional<int64_t>();
  int64_t number = 0;
  if (element->get(number) != simdjson::SUCCESS) return WrongType(name);
  return std::optional<int64_t>(number);
}

Result<std::optional<double>> Members::Number(std::string_view name) const {
  const auto element = Find(name);
  if (!element) return std::optional<double>();
  double number = 0;
  if (element->get(number) != simdjson::SUCCESS) return WrongType(name);
  return std::optional<double>(number);
}

Result<std::optional<bool>> Members::Bool(std::string_view name) const {
  const auto element = Find(name);
  if (!element) return std::optional<bool>();
  bool value = false;
  if (element->get(value) != simdjson::SUCCESS) return WrongType(name);
  return std::optional<bool>(value);
}

Result<std::vector<std::string>> Members::Texts(std::string_view name) const {
  const auto element = Find(name);
  std::vector<std::string> texts;
  if (!element) return texts;
  simdjson::dom::array array;
  if (element->get(array) != simdjson::SUCCESS) return WrongType(name);
  for (const simdjson::dom::element each : array) {
    std::string_view text;
    if (each.get(text) != simdjson::SUCCESS) return WrongType(name);
    texts.emplace_back(text);
  }
  return texts;
}

Result<std::optional<std::map<std::string, std::string>>> Members::TextMap(
    std::string_view name) const {
  using Map = std::map<std::string, std::string>;
  const auto element = Find(name);
  if (!element) return std::optional<Map>();
  simdjson::dom::object object;
  if (element->get(object) != simdjson::SUCCESS) return WrongType(name);
  Map map;
  for (const auto& [key, value] : object) {
    std::string_view text;
    if (value.get(text) != simdjson::SUCCESS) return WrongType(name);
    map[std::string(key)] = text;
  }
  return std::optional<Map>(std::move(map));
}

Result<std::optional<Members>> Members::Structure(std::string_view name) const {
  const auto element = Find(name);
  if (!element) return std::optional<Members>();
  simdjson::dom::object object;
  if (element->get(object) != simdjson::SUCCESS) return WrongType(name);
  return std::optional<Members>(Members(object));
}

// ---- subjects and targets ----

std::string Subject::resource_id() const {
  return index.empty() ? "table/" + table : "table/" + table + "/index/" + index;
}

std::string_view Subject::dimension() const {
  if (index.empty()) return access == Access::kRead ? kTableReads : kTableWrites;
  return access == Access::kRead ? kIndexReads : kIndexWrites;
}

Status CheckNamespace(const Members& request) {
  ASSIGN_OR_RETURN(const std::string name, request.RequiredText("ServiceNamespace"));
  return name == "dynamodb" ? OkStatus() : Status(Unsupported());
}

Result<Subject> SubjectIn(const Members& request) {
  TRY(CheckNamespace(request));
  ASSIGN_OR_RETURN(const std::string id, request.RequiredText("ResourceId"));
  ASSIGN_OR_RETURN(const std::string dimension, request.RequiredText("ScalableDimension"));
  constexpr std::string_view kTable = "table/", kIndex = "/index/";
  if (!id.starts_with(kTable)) return Unsupported();
  Subject subject;
  const std::string rest = id.substr(kTable.size());
  const size_t index = rest.find(kIndex);
  subject.table = rest.substr(0, index);
  if (index != std::string::npos) subject.index = rest.substr(index + kIndex.size());
  if (subject.table.empty() || subject.table.find('/') != std::string::npos ||
      (index != std::string::npos && subject.index.empty())) {
    return Unsupported();
  }
  subject.access = dimension.ends_with("WriteCapacityUnits") ? Access::kWrite : Access::kRead;
  if (subject.dimension() != dimension) return Unsupported();
  return subject;
}

Result<std::vector<Found>> TargetsIn(const Call& call) {
  ASSIGN_OR_RETURN(std::vector<std::string> ids, call.request.Texts("ResourceIds"));
  ASSIGN_OR_RETURN(const std::optional<std::string> id, call.request.Text("ResourceId"));
  ASSIGN_OR_RETURN(const std::optional<std::string> dimension,
                   call.request.Text("ScalableDimension"));
  if (id) ids.push_back(*id);
  // A dimension alone says nothing about which tables.
  if (dimension && ids.empty()) {
    return ValidationError(
        "ResourceId or ResourceIds must be specified when ScalableDimension is specified");
  }
  std::vector<Found> found;
  for (const table::TablePtr& table : call.env.store.ListOf("")) {
    const TableDescriptor& d = table->descriptor;
    AppendTargets(d, "", d.auto_scaling, &found);
    for (const IndexDescriptor& index : d.indexes) {
      if (index.is_global()) AppendTargets(d, index.name, index.auto_scaling, &found);
    }
  }
  std::erase_if(found, [&](const Found& each) {
    const bool named =
        ids.empty() || std::find(ids.begin(), ids.end(), each.subject.resource_id()) != ids.end();
    return !named || (dimension && *dimension != each.subject.dimension());
  });
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    return a.subject.position() < b.subject.position();
  });
  return found;
}

std::optional<ScalableTarget> FindTarget(const ops::Environment& env, const Subject& subject) {
  const table::TablePtr table = env.store.Find(subject.table);
  if (table == nullptr) return std::nullopt;
  TableDescriptor descriptor = table->descriptor;
  AutoScalingRules* const rules = RulesOf(&descriptor, subject.index);
  if (rules == nullptr) return std::nullopt;
  return TargetOf(*rules, subject.access);
}

Error TargetNotFound(const Subject& subject) {
  return Fault("ObjectNotFoundException",
               fmt::format("No scalable target found for service namespace: dynamodb, resource ID: "
                           "{}, scalable dimension: {}",
                           subject.resource_id(), subject.dimension()));
}

std::string TargetArn(const ops::Environment& env, const ScalableTarget& target) {
  return fmt::format("arn:aws:application-autoscaling:{}:{}:scalable-target/{}",
                     env.settings.region, env.settings.account, target.id);
}

Status AlterTarget(ops::Environment& env, const Subject& subject, ChangeTarget change) {
  if (env.store.Find(subject.table) == nullptr)
    return ValidationError("DynamoDB table does not exist: table/" + subject.table);
  TRY(table::RequireTableSettings(env.store));
  Pump pump;
  std::optional<Status> outcome;
  env.store.Alter(
      subject.table,
      [&](TableDescriptor* descriptor) { return Change(descriptor, subject, change); },
      [&](Result<table::TablePtr> altered) {
        // Posted, because `outcome` belongs to this thread.
        pump.Post([&outcome, altered = std::move(altered)]() mutable {
          outcome = altered.ok() ? OkStatus() : Status(std::move(altered).error());
        });
      });
  pump.RunUntil([&outcome] { return outcome.has_value(); });
  return *std::move(outcome);
}

// ---- rights ----

Status RequireRight(const Call& call, const Subject& subject, const ScalableTarget& target,
                    const std::map<std::string, std::string>& tags,
                    const std::vector<std::string>& untagged) {
  if (call.check == nullptr) return OkStatus();
  const access::ActionId action =
      guard::ActionNamed("application-autoscaling:" + std::string(call.operation));
  return call.check->Require(
      action, TargetArn(call.env, target), [&](access::KeySet, guard::RequestKeys* keys) {
        keys->texts.emplace_back(access::ContextKey::kServiceNamespace, "dynamodb");
        keys->texts.emplace_back(access::ContextKey::kScalableDimension, subject.dimension());
        if (!tags.empty() || !untagged.empty()) keys->tag_keys.emplace();
        for (const auto& [key, value] : tags) {
          keys->request_tags.emplace_back(key, value);
          keys->tag_keys->push_back(key);
        }
        for (const std::string& key : untagged) keys->tag_keys->push_back(key);
        for (const auto& [key, value] : target.tags) keys->resource_tags.emplace_back(key, value);
      });
}

Status RequireRight(const Call& call) {
  if (call.check == nullptr) return OkStatus();
  return call.check->Require(
      guard::ActionNamed("application-autoscaling:" + std::string(call.operation)), "*");
}

// ---- replies ----

void AppendSubject(const Subject& subject, JsonWriter* out) {
  out->Field("ServiceNamespace", "dynamodb")
      .Field("ResourceId", subject.resource_id())
      .Field("ScalableDimension", subject.dimension());
}

Result<Page> PageOf(const Call& call, const std::vector<std::string>& positions, int64_t most) {
  ASSIGN_OR_RETURN(const std::optional<int64_t> wanted, call.request.Integer("MaxResults"));
  const int64_t limit = wanted.value_or(most);
  if (limit < 1 || limit > most)
    return ValidationError(fmt::format("MaxResults must be between 1 and {}", most));
  ASSIGN_OR_RETURN(const std::optional<std::string> token, call.request.Text("NextToken"));
  Page page;
  if (token) {
    std::string bytes;
    if (!DecodeBase64(*token, &bytes).ok() || bytes.size() < Seal::kBytes ||
        !call.env.seal.Holds(kPurpose, std::string_view(bytes).substr(Seal::kBytes),
                             std::string_view(bytes).substr(0, Seal::kBytes))) {
      return Fault("InvalidNextTokenException", "The next token is invalid");
    }
    page.begin = static_cast<size_t>(
        std::upper_bound(positions.begin(), positions.end(), bytes.substr(Seal::kBytes)) -
        positions.begin());
  }
  page.end = std::min(positions.size(), page.begin + static_cast<size_t>(limit));
  if (page.end < positions.size()) page.next = TokenOf(call.env.seal, positions[page.end - 1]);
  return page;
}

}  // namespace stator::scaling
