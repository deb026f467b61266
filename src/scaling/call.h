// One call of Application Auto Scaling on its way through its handler. Internal to the room.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "base/result.h"
#include "guard/check.h"
#include "ops/context.h"
#include "simdjson.h"
#include "table/store.h"
#include "throughput/partitions.h"

namespace stator::scaling {

// An error with a name of its own: ObjectNotFoundException.
struct FaultPayload : ErrorPayload {
  explicit FaultPayload(std::string type) : type(std::move(type)) {}
  std::string type;
};
Error Fault(std::string type, std::string message);

// The members of a request or of a structure in one. A member of a wrong type is a
// SerializationException; null counts as absent.
class Members {
 public:
  explicit Members(simdjson::dom::object object) : object_(object) {}
  Result<std::optional<std::string>> Text(std::string_view name) const;
  // kValidation, with the service's text, if it is absent.
  Result<std::string> RequiredText(std::string_view name) const;
  Result<std::optional<int64_t>> Integer(std::string_view name) const;
  Result<std::optional<double>> Number(std::string_view name) const;
  Result<std::optional<bool>> Bool(std::string_view name) const;
  Result<std::vector<std::string>> Texts(std::string_view name) const;
  Result<std::optional<std::map<std::string, std::string>>> TextMap(std::string_view name) const;
  Result<std::optional<Members>> Structure(std::string_view name) const;
  bool Has(std::string_view name) const;

 private:
  std::optional<simdjson::dom::element> Find(std::string_view name) const;
  simdjson::dom::object object_;
};

// The reads or writes of a table or global index.
struct Subject {
  std::string table;
  std::string index;  // empty: the table itself
  throughput::Access access = throughput::Access::kRead;

  std::string resource_id() const;     // "table/T", "table/T/index/I"
  std::string_view dimension() const;  // "dynamodb:table:ReadCapacityUnits"
  std::string position() const { return resource_id() + "\n" + std::string(dimension()); }
  bool operator==(const Subject&) const = default;
};

struct Call {
  ops::Environment& env;
  std::string_view operation;
  const Members& request;
  guard::Check* check;  // null: everything is allowed
};

// A target with where it is.
struct Found {
  Subject subject;
  table::ScalableTarget target;
};

// Returns the subject that ServiceNamespace, ResourceId and ScalableDimension name; kValidation.
Result<Subject> SubjectIn(const Members& request);
// Returns the namespace, which must be dynamodb; kValidation.
Status CheckNamespace(const Members& request);
// Returns all targets, or those that pass the filters of the request (ResourceIds, ResourceId,
// ScalableDimension), in the order of their positions.
Result<std::vector<Found>> TargetsIn(const Call& call);
std::optional<table::ScalableTarget> FindTarget(const ops::Environment& env,
                                                const Subject& subject);
// "No scalable target found for ...".
Error TargetNotFound(const Subject& subject);
std::string TargetArn(const ops::Environment& env, const table::ScalableTarget& target);

// Changes the target of a subject and brings the rules beside it up to date. `change` may run
// several times; its error changes nothing. kValidation: there is no such table or index. Waits for
// the disk.
using ChangeTarget =
    FunctionRef<Status(const table::TableDescriptor&, std::optional<table::ScalableTarget>*)>;
Status AlterTarget(ops::Environment& env, const Subject& subject, ChangeTarget change);

// Requires the right to the operation on the target; `tags` are those of the request.
Status RequireRight(const Call& call, const Subject& subject, const table::ScalableTarget& target,
                    const std::map<std::string, std::string>& tags = {},
                    const std::vector<std::string>& untagged = {});
// Requires the right to an operation without resource.
Status RequireRight(const Call& call);

void AppendSubject(const Subject& subject, JsonWriter* out);

// A page of a list: which elements, and the token of the next page.
struct Page {
  size_t begin = 0;
  size_t end = 0;
  std::optional<std::string> next;
};
// Cuts a list whose elements have these positions, in order, by MaxResults (1 to `most`) and
// NextToken. kValidation; InvalidNextTokenException.
Result<Page> PageOf(const Call& call, const std::vector<std::string>& positions, int64_t most);

// ---- handlers: each returns its reply's JSON ----

using Handler = Result<std::string> (*)(const Call& call);
Result<std::string> RegisterScalableTarget(const Call& call);
Result<std::string> DeregisterScalableTarget(const Call& call);
Result<std::string> DescribeScalableTargets(const Call& call);
Result<std::string> ListTagsForResource(const Call& call);
Result<std::string> TagResource(const Call& call);
Result<std::string> UntagResource(const Call& call);
Result<std::string> PutScalingPolicy(const Call& call);
Result<std::string> DeleteScalingPolicy(const Call& call);
Result<std::string> DescribeScalingPolicies(const Call& call);
Result<std::string> DescribeScalingActivities(const Call& call);
Result<std::string> DescribeScheduledActions(const Call& call);
Result<std::string> PutScheduledAction(const Call& call);
Result<std::string> DeleteScheduledAction(const Call& call);

}  // namespace stator::scaling
