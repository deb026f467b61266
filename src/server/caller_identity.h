// Answers sts:GetCallerIdentity while access control is off, because infrastructure tools ask it
// before anything else: every caller may do everything, so every caller is the account.
#pragma once

#include <optional>
#include <string_view>

#include "http/server.h"
#include "ops/context.h"

namespace stator::server {

// Returns the answer for a caller of `account`; nothing if the request is no such call.
std::optional<http::Reply> AnswerCallerIdentity(const http::Request& request,
                                                const ops::Environment& environment,
                                                std::string_view account);

}  // namespace stator::server
