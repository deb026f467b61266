// Answers why a principal may or may not perform an action, without a request.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access/directory.h"
#include "base/result.h"
#include "guard/gate.h"
#include "guard/judgement.h"
#include "ops/context.h"

namespace stator::guard {

struct Question {
  // A value of a condition key, as a request would have it.
  struct Entry {
    std::string key;  // "dynamodb:LeadingKeys"
    std::vector<std::string> values;
  };
  std::string principal;  // an ARN of a user, role, session or root; "root", or a name
  std::string action;     // "dynamodb:GetItem"
  std::string resource;   // an ARN, "*", or the name of a table; empty: "*"
  std::vector<Entry> context;
};

struct Answer {
  std::string principal;  // ARN
  Judgement judgement;
  // `keys`: the condition keys that the policies of principal and resource read. `missing`: those
  // of them for which the question has no value.
  std::vector<std::string> keys;
  std::vector<std::string> missing;
};

inline constexpr size_t kMostEntries = 64;
inline constexpr size_t kMostEntryValues = 1000;  // of all entries

// Decides with the policies of `directory` and of the resource. The server's own keys (time,
// Region, account, tags of the table) have their values unless the question sets them. kValidation
// for an action that does not exist and for a question beyond the bounds; kResourceNotFound for a
// principal that does not exist.
Result<Answer> AnswerWhy(const Question& question, const access::Directory& directory,
                         const ResourcePolicySource* resources, std::string_view region,
                         const ops::Environment& environment);

// {"allowed":false,"decision":"implicitDeny",...,"reason":"..."}
std::string RenderJson(const Answer& answer);
// Lines for people.
std::string RenderText(const Answer& answer);

}  // namespace stator::guard
