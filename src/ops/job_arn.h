// ARNs of exports and imports: arn:aws:dynamodb:REGION:ACCOUNT:table/TABLE/export/ID.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "ops/context.h"

namespace stator::ops {

struct JobArn {
  std::string region;
  std::string table;
  std::string id;
};

// Returns the parts of an ARN of a job of this kind, "export" or "import"; nothing if it is none.
std::optional<JobArn> ParseJobArn(std::string_view arn, std::string_view kind);

// Returns the account and the Region that an ARN names; empty if it is none.
struct ArnPlace {
  std::string_view region;
  std::string_view account;
};
ArnPlace PlaceOfArn(std::string_view arn);

// The answer of every operation on exports and imports where the engine has none.
Error NoObjectStore(const Context& ctx);

// Tokens of pages: the id of the last job, sealed for `purpose`, in hexadecimal digits, 112 of them
// or more and a multiple of 16. [B]
std::string JobTokenOf(const Environment& env, std::string_view purpose, std::string_view id);
// Returns the id; nothing if this store did not make the token.
std::optional<std::string> IdInJobToken(const Environment& env, std::string_view purpose,
                                        std::string_view token);

}  // namespace stator::ops
