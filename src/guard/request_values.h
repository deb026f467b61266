// The parts of requests as values of condition keys. Internal to the room.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "expr/expr.h"
#include "guard/check.h"
#include "model/key_schema.h"
#include "model/value.h"
#include "ops/requests.h"

namespace stator::guard {

std::string_view TextOf(const std::optional<ops::ReturnValues>& value);
std::string_view TextOf(const std::optional<ops::ReturnConsumedCapacity>& value);
std::string_view TextOf(const std::optional<ops::ReturnValuesOnConditionCheckFailure>& value);

// Returns whether a policy may ask for values of the partition key.
bool WantsPartitionValues(access::KeySet wanted);

// Returns a key's value as policies compare it: S as it is, N in canonical decimal, B in base64.
// Other types have no such text.
std::optional<std::string> KeyText(model::ValueView value);

// Adds the partition key's values of `item` to the request's; sets the error if the table is
// missing.
void AddPartitionValues(const Check& check, access::KeySet wanted, std::string_view table_name,
                        model::ItemView item, RequestKeys* keys);
// Adds the names of the attributes of `item`.
void AddNames(model::ItemView item, RequestKeys* keys);

// Parses the expressions of a request to find out which attributes they name, and adds these names
// to `keys`, the values that policies are compared with.
class Expressions {
 public:
  // Copies `names` and `values`, which the expressions refer to. Sets the error of `keys` if one of
  // them is invalid.
  Expressions(const std::optional<ops::ExpressionAttributeNames>& names,
              const std::optional<ops::ExpressionAttributeValues>& values,
              const ops::ValueErrors& value_errors, RequestKeys* keys);

  void AddCondition(const std::optional<std::string>& text, expr::Role role);
  void AddProjection(const std::optional<std::string>& text);
  void AddUpdate(const std::optional<std::string>& text);
  // Returns the key condition's parts; none if it does not compile.
  std::vector<expr::KeyConditionPart> KeyConditions(const std::optional<std::string>& text,
                                                    bool add_names);

 private:
  RequestKeys* const keys_;
  expr::Substitutions substitutions_;
};

void AddLegacyNames(const std::optional<std::vector<ops::LegacyCondition>>& conditions,
                    RequestKeys* keys);
void AddNames(const std::optional<std::vector<std::string>>& names, RequestKeys* keys);

}  // namespace stator::guard
