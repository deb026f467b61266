// POST /_stator/access/why, and the body that it shares with `stator iam why`.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "guard/gate.h"
#include "guard/why.h"
#include "identity/identities.h"
#include "ops/context.h"

namespace stator::server {

// Parses {"principal":"alice","action":"dynamodb:GetItem","resource":"photos",
// "context":{"dynamodb:LeadingKeys":["alice"],"aws:SourceIp":"192.0.2.7"}}. kValidation, with a
// sentence, for any other body.
Result<guard::Question> ReadQuestion(std::string_view body);
// Returns the body that ReadQuestion reads.
std::string WriteQuestion(const guard::Question& question);

// Answers a body. Errors are those of ReadQuestion and guard::AnswerWhy.
Result<std::string> HandleWhy(std::string_view body, const identity::Identities& identities,
                              const guard::Gate& gate, const ops::Environment& environment);

}  // namespace stator::server
