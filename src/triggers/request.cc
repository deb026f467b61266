#include "triggers/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace stator::triggers {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;

Error WrongType(std::string_view name) {
  return Error(ErrorCode::kSerialization, fmt::format("{} has a wrong type", name));
}

// Absent and null are the same.
std::optional<element> Find(object request, std::string_view name) {
  element found;
  if (request.at_key(name).get(found) != simdjson::SUCCESS || found.is_null()) return std::nullopt;
  return found;
}

Result<std::optional<std::string>> Text(object request, std::string_view name) {
  const std::optional<element> found = Find(request, name);
  if (!found) return std::optional<std::string>();
  std::string_view text;
  if (found->get(text) != simdjson::SUCCESS) return WrongType(name);
  return std::optional<std::string>(text);
}

Status Whole(object request, std::string_view name, int64_t* to) {
  const std::optional<element> found = Find(request, name);
  if (!found) return OkStatus();
  if (found->get(*to) != simdjson::SUCCESS) return WrongType(name);
  return OkStatus();
}

Status Flag(object request, std::string_view name, bool* to) {
  const std::optional<element> found = Find(request, name);
  if (!found) return OkStatus();
  if (found->get(*to) != simdjson::SUCCESS) return WrongType(name);
  return OkStatus();
}

Status ReadFilters(object request, Mapping* mapping) {
  const std::optional<element> criteria = Find(request, "FilterCriteria");
  if (!criteria) return OkStatus();
  object members;
  if (criteria->get(members) != simdjson::SUCCESS) return WrongType("FilterCriteria");
  mapping->filters.clear();
  const std::optional<element> filters = Find(members, "Filters");
  if (!filters) return OkStatus();
  simdjson::dom::array list;
  if (filters->get(list) != simdjson::SUCCESS) return WrongType("Filters");
  for (const element each : list) {
    object filter;
    if (each.get(filter) != simdjson::SUCCESS) return WrongType("Filters");
    ASSIGN_OR_RETURN(std::optional<std::string> pattern, Text(filter, "Pattern"));
    if (pattern) mapping->filters.push_back(*std::move(pattern));
  }
  return OkStatus();
}

Status ReadResponseTypes(object request, Mapping* mapping) {
  const std::optional<element> types = Find(request, "FunctionResponseTypes");
  if (!types) return OkStatus();
  simdjson::dom::array list;
  if (types->get(list) != simdjson::SUCCESS) return WrongType("FunctionResponseTypes");
  mapping->reports_failures = false;
  for (const element each : list) {
    std::string_view type;
    if (each.get(type) != simdjson::SUCCESS) return WrongType("FunctionResponseTypes");
    if (type != "ReportBatchItemFailures") {
      return ValidationError(
          fmt::format("1 validation error detected: Value '[{}]' at 'functionResponseTypes' failed "
                      "to satisfy constraint: Member must satisfy constraint: [Member must satisfy "
                      "enum value set: [ReportBatchItemFailures]]",
                      type));
    }
    mapping->reports_failures = true;
  }
  return OkStatus();
}

Status ReadDestination(object request, Mapping* mapping) {
  const std::optional<element> config = Find(request, "DestinationConfig");
  if (!config) return OkStatus();
  object members;
  if (config->get(members) != simdjson::SUCCESS) return WrongType("DestinationConfig");
  mapping->on_failure.clear();
  const std::optional<element> on_failure = Find(members, "OnFailure");
  if (!on_failure) return OkStatus();
  object destination;
  if (on_failure->get(destination) != simdjson::SUCCESS) return WrongType("OnFailure");
  ASSIGN_OR_RETURN(std::optional<std::string> text, Text(destination, "Destination"));
  mapping->on_failure = text.value_or("");
  if (mapping->on_failure.size() > 350)
    return ValidationError("Destination has more than 350 characters");
  return OkStatus();
}

// Members that mean something else than what a server could do.
Status RefuseForeign(object request) {
  static constexpr std::string_view kForeign[] = {
      "KMSKeyArn",
      "MetricsConfig",
      "Tags",
      "SelfManagedEventSource",
      "ScalingConfig",
      "Queues",
      "Topics",
      "SourceAccessConfigurations",
      "LoggingConfig",
      "ProvisionedPollerConfig",
      "AmazonManagedKafkaEventSourceConfig",
      "SelfManagedKafkaEventSourceConfig",
      "DocumentDBEventSourceConfig",
      "StartingPositionTimestamp",
  };
  for (const std::string_view name : kForeign) {
    const std::optional<element> found = Find(request, name);
    if (!found) continue;
    simdjson::dom::array list;
    object members;
    if (found->get(list) == simdjson::SUCCESS && list.size() == 0) continue;
    if (found->get(members) == simdjson::SUCCESS && members.size() == 0) continue;
    return InvalidValue(fmt::format("{} is not supported by Stator for streams of tables.", name));
  }
  return OkStatus();
}

bool IsNamePart(std::string_view part) {
  return !part.empty() && part.size() <= 128 && std::all_of(part.begin(), part.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '$';
  });
}

}  // namespace

Error Fault(std::string type, int status, std::string message) {
  return Error(ErrorCode::kValidation, std::move(message),
               std::make_shared<FaultPayload>(std::move(type), status));
}

Error InvalidValue(std::string message) {
  return Fault("InvalidParameterValueException", 400, std::move(message));
}

Error NotFound() {
  return Fault("ResourceNotFoundException", 404, "The resource you requested does not exist.");
}

Result<Members> ReadMembers(object request, bool for_update, Mapping* mapping) {
  Members members;
  ASSIGN_OR_RETURN(members.function, Text(request, "FunctionName"));
  if (!for_update) {
    ASSIGN_OR_RETURN(members.stream_arn, Text(request, "EventSourceArn"));
    ASSIGN_OR_RETURN(members.starting_position, Text(request, "StartingPosition"));
  }
  TRY(RefuseForeign(request));
  TRY(Flag(request, "Enabled", &mapping->enabled));
  TRY(Whole(request, "BatchSize", &mapping->batch));
  TRY(Whole(request, "MaximumBatchingWindowInSeconds", &mapping->window_seconds));
  TRY(Whole(request, "TumblingWindowInSeconds", &mapping->tumbling_seconds));
  TRY(Whole(request, "ParallelizationFactor", &mapping->parallel));
  TRY(Whole(request, "MaximumRecordAgeInSeconds", &mapping->age_seconds));
  TRY(Whole(request, "MaximumRetryAttempts", &mapping->retries));
  TRY(Flag(request, "BisectBatchOnFunctionError", &mapping->bisect));
  TRY(ReadFilters(request, mapping));
  TRY(ReadResponseTypes(request, mapping));
  TRY(ReadDestination(request, mapping));
  return members;
}

Result<std::string> FunctionNameIn(std::string_view text) {
  const Error wrong = ValidationError(fmt::format(
      "1 validation error detected: Value '{}' at 'functionName' failed to satisfy constraint: "
      "Member must satisfy regular expression pattern: "
      "(arn:(aws[a-zA-Z-]*)?:lambda:)?([a-z]{{2}}((-gov)|(-iso(b?)))?-[a-z]+-\\d{{1}}:)?(\\d{{12}}:"
      ")"
      "?(function:)?([a-zA-Z0-9-_]+)(:(\\$LATEST|[a-zA-Z0-9-_]+))?",
      text.substr(0, 200)));
  const size_t function = text.rfind("function:");
  if (function != std::string_view::npos && (function == 0 || text[function - 1] == ':'))
    text.remove_prefix(function + 9);
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  if (!IsNamePart(name)) return wrong;
  if (colon == std::string_view::npos) return std::string(name);
  const std::string_view alias = text.substr(colon + 1);
  if (!IsNamePart(alias)) return wrong;
  return std::string(text);
}

}  // namespace stator::triggers
