// PutResourcePolicy, GetResourcePolicy, DeleteResourcePolicy, and the ResourcePolicy of
// CreateTable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_function.h"
#include "ops/context.h"
#include "table/store.h"

namespace stator::ops {

struct PutResourcePolicyRequest {
  std::string resource_arn;
  std::string policy;
  std::optional<std::string> expected_revision_id;
  std::optional<bool> confirm_remove_self_resource_access;
};
struct GetResourcePolicyRequest {
  std::string resource_arn;
};
struct DeleteResourcePolicyRequest {
  std::string resource_arn;
  std::optional<std::string> expected_revision_id;
};
struct PutResourcePolicyResponse {
  std::string revision_id;
};
struct GetResourcePolicyResponse {
  std::string policy;
  std::string revision_id;
};
struct DeleteResourcePolicyResponse {
  std::optional<std::string> revision_id;  // absent: there never was a policy
};

// Keeps the policies: those of a table under its UUID, those of a stream under the UUID, "/"
// and the stream's label. Knows the accounts of the store, which stand among them. Thread-safe.
class ResourcePolicies {
 public:
  struct Policy {
    int64_t revision = 0;  // milliseconds of the change, rising
    std::string text;      // as it was sent; empty: deleted
  };
  virtual ~ResourcePolicies() = default;
  virtual std::optional<Policy> Find(std::string_view id) const = 0;
  // Stores what `change` makes of the policy; nothing if it returns none. `change` may run several
  // times; its error changes nothing. In force when it returns. Blocks on the engine.
  using Change = FunctionRef<Result<std::optional<Policy>>(const std::optional<Policy>& old)>;
  virtual Status Alter(const std::string& id, Change change) = 0;
  // Returns the threads on which Alter must be called: it waits for the store and for other
  // servers, so it must not occupy the threads that read the disk for requests.
  virtual WorkerPool& changes() = 0;
  // Returns kAccessDenied if the account does not exist (the default account always does);
  // kUnavailable if that cannot be read. Blocks on the engine if other processes may change the
  // store.
  virtual Status CheckAccount(std::string_view account) = 0;
};

void PutResourcePolicy(Context& ctx, PutResourcePolicyRequest request,
                       Callback<PutResourcePolicyResponse> done);
void GetResourcePolicy(Context& ctx, GetResourcePolicyRequest request,
                       Callback<GetResourcePolicyResponse> done);
void DeleteResourcePolicy(Context& ctx, DeleteResourcePolicyRequest request,
                          Callback<DeleteResourcePolicyResponse> done);

// kValidation, with DynamoDB's text, for a policy that cannot be attached.
Status CheckResourcePolicy(const std::string& text);
// Stores the policy of a table that is about to be created, then calls `done` on the loop's thread.
void AttachBeforeCreation(Context& ctx, std::string table_id, std::string text,
                          UniqueFunction<void(Status)> done);

}  // namespace stator::ops
