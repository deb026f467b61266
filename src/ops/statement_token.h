// NextToken of ExecuteStatement: where a page ended, bound to the statement and its parameters.
//
//   token := base64(version statement range key seal)       version := 0x02
//   statement := digest of statement and parameters, 16 bytes        range := varint, which of the
//                                                                    statement's ranges
//   key := the LastEvaluatedKey, an encoded item                      seal := 16 bytes, for
//                                                                     "statement", of all before
//                                                                     (base/seal.h)
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/seal.h"

namespace stator::ops {

struct StatementPosition {
  size_t range = 0;
  std::string key;  // encoded item
};

// What a token is bound to.
std::string StatementDigest(std::string_view statement,
                            const std::optional<std::vector<std::string>>& parameters);

std::string MakeNextToken(const Seal& seal, const std::string& digest,
                          const StatementPosition& position);
// kValidation: `Invalid NextToken` for what no server of this store has made, `NextToken does not
// match request` for a token of another statement.
Result<StatementPosition> ReadNextToken(const Seal& seal, const std::string& digest,
                                        std::string_view token);

inline Error InvalidNextToken() { return ValidationError("Invalid NextToken"); }

}  // namespace stator::ops
