// The common parts of the calls of STS that make credentials. Internal to the room.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "access/session.h"
#include "iam/call.h"

namespace stator::iam {

// Returns DurationSeconds, or `preset` if it is absent.
Result<int64_t> DurationIn(const Form& form, int64_t preset, int64_t most);
// Returns RoleSessionName.
Result<std::string> SessionNameIn(const Form& form);
// Returns the role of RoleArn; null if there is none.
const access::Role* RoleOf(Call& call);
// Returns the trust policy of a role. Without a role the policy gives no right: a role that does
// not exist is denied like one that does not trust the caller.
guard::AttachedPolicy TrustOf(Call& call, const access::Role* role);
// Takes Policy and PolicyArns.
Status TakePolicies(Call& call, access::Session* session);
// Completes a session and returns its Credentials as XML.
Result<std::string> Issue(Call& call, int64_t seconds, access::Session* session);
// Returns the session of a role as XML.
std::string RenderAssumedRole(const access::Role& role, const access::Session& session);

}  // namespace stator::iam
