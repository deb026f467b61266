// NextToken of ExecuteStatement: where a page ended, bound to the statement and its parameters.
//
//   token := base64(version statement range key check)      version := 0x01
//   statement := digest of statement and parameters, 16 bytes        range := varint, which of the
//                                                                    statement's ranges
//   key := the LastEvaluatedKey, an encoded item                      check := digest of all
//                                                                     before, 16 bytes
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stator::ops {

struct StatementPosition {
  size_t range = 0;
  std::string key;  // encoded item
};

// What a token is bound to.
std::string StatementDigest(std::string_view statement,
                            const std::optional<std::vector<std::string>>& parameters);

std::string MakeNextToken(const std::string& digest, const StatementPosition& position);
// kValidation: `Invalid NextToken` for what MakeNextToken did not make, `NextToken does not match
// request` for a token of another statement.
Result<StatementPosition> ReadNextToken(const std::string& digest, std::string_view token);

inline Error InvalidNextToken() { return ValidationError("Invalid NextToken"); }

}  // namespace stator::ops
