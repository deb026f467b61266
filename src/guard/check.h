// Decides whether the caller of one request may do what the request asks for.
//
// The request is authorized when its types and constraints are known and before any table is
// touched, once for each (action, resource) that it names. Condition keys are computed only if a
// policy that applies reads them.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "access/authorize.h"
#include "access/caller.h"
#include "access/catalogue.h"
#include "access/steps.h"
#include "access/verifier.h"
#include "base/result.h"
#include "base/unique_function.h"
#include "guard/gate.h"
#include "guard/judgement.h"
#include "ops/context.h"
#include "table/store.h"

namespace stator::guard {

// The values that a request has for DynamoDB's condition keys, and for those of tags.
struct RequestKeys {
  // By position in the partition key, which may have several attributes; absent: not known.
  std::array<std::optional<std::vector<std::string>>, 4> partition_values;
  std::optional<std::vector<std::string>> attributes;
  std::string_view select;  // this and the next three: empty if the request has none
  std::string_view return_values;
  std::string_view return_consumed_capacity;
  std::string_view enclosing_operation;
  std::optional<bool> full_table_scan;
  std::vector<std::pair<std::string_view, std::string_view>> request_tags;
  std::vector<std::pair<std::string_view, std::string_view>> resource_tags;  // not of tables
  // Values of further keys that are not lists: those of iam: and sts:.
  std::vector<std::pair<access::ContextKey, std::string_view>> texts;
  std::optional<std::vector<std::string_view>> tag_keys;
  // The error that the operation will return, such as an invalid expression or a missing table. The
  // request's keys are then not known. So callers who might be allowed get this error instead of a
  // denial.
  std::optional<Error> error;

  void AddAttribute(std::string_view name);
  void AddAttributes(const std::vector<std::string>& names);
  // Keeps the first error.
  void SetError(Error found) {
    if (!error) error = std::move(found);
  }
};

// Returns the table of "arn:...:table/NAME" and "arn:...:table/NAME/index/I", whose tags the
// resource has; null for other resources. Streams have tags of their own, and none so far.
table::TablePtr FindTagged(const ops::Environment& environment, std::string_view arn);
// Returns the policy of the table or stream of an ARN; an index has its table's. `source` may be
// null.
AttachedPolicy FindAttached(const ResourcePolicySource* source, const ops::Environment& environment,
                            std::string_view arn);

// The index of an action that is in the catalogue.
access::ActionId ActionNamed(std::string_view name);

// One request, on one thread. The views that it is made of must outlive it.
class Check {
 public:
  // `http` and `peer` may be asked for aws:UserAgent and aws:SourceIp.
  Check(Gate& gate, access::VerifiedRequest verified, const ops::Environment& env,
        std::string_view operation, const access::HttpRequestView& http, const Peer* peer)
      : gate_(gate),
        verified_(std::move(verified)),
        env_(env),
        operation_(operation),
        http_(http),
        peer_(peer) {}

  const ops::Environment& env() const { return env_; }
  const Gate& gate() const { return gate_; }
  std::string_view operation() const { return operation_; }
  // Returns the caller. Null if the signature did not verify, which is possible only with
  // Mode::kWarn: then everything is allowed.
  const access::Caller* caller() const {
    return verified_.credential == nullptr ? nullptr : verified_.credential->caller.get();
  }
  const access::VerifiedRequest& verified() const { return verified_; }
  // Declares that the checks run on a thread of an I/O loop. Require then returns kWouldBlock
  // without a decision if matching takes more than kMostStepsInLoop. Must be called before the
  // first Require.
  void StayInLoop() {
    steps_ = access::PolicySteps(access::kMostStepsInLoop);
    in_loop_ = true;
  }
  // Declares that the request reads a past moment: its reads then need the right stator:ReadPast,
  // too. Must be called before the first Require.
  void AskPast() { asks_past_ = true; }
  bool asks_past() const { return asks_past_; }
  // Adds each later decision to `judgements`, which must outlive the check. Null: adds none.
  void TellOf(Judgements* judgements) { judgements_ = judgements; }
  // The last denial.
  const std::optional<Judgement>& denial() const { return denial_; }
  const access::HttpRequestView& http() const { return http_; }
  const Peer* peer() const { return peer_; }

  // Returns the caller's account; the default for a request whose signature did not verify.
  std::string_view caller_account() const;
  // Returns the caller's account; empty for the default account.
  std::string_view other_account() const;
  // Returns the ARN of the table, index or stream that a name or an ARN denotes. A name belongs to
  // the caller's account. The Region of an ARN is replaced by this server's.
  std::string ArnOf(std::string_view name_or_arn) const;
  // Returns the table of a name or an ARN; null if there is none.
  table::TablePtr FindTable(std::string_view name_or_arn) const;
  // Sets the keys that `wanted` has.
  using Fill = FunctionRef<void(access::KeySet wanted, RequestKeys* keys)>;
  // Returns OK if the caller may perform `action` on `resource`, which is an ARN or "*". Otherwise
  // kAccessDenied with the service's message, or the error that `fill` has set.
  Status Require(access::ActionId action, std::string_view resource, Fill fill);
  Status Require(access::ActionId action, std::string_view resource);
  // Decides as above, with the policy of the resource.
  Status Require(access::ActionId action, std::string_view resource, const AttachedPolicy& attached,
                 Fill fill);
  // Returns whether the resource would allow the action if it had this policy.
  bool WouldAllow(access::ActionId action, std::string_view resource,
                  const AttachedPolicy& attached);
  // Denies in the name of an action that is not in the catalogue.
  Status DenyUnknown(std::string_view action, std::string_view resource);

 private:
  // The account that owns a resource; of "*" it is the caller's, and management is the default's.
  std::string_view AccountOf(access::ActionId action, std::string_view resource) const;
  // Counts a denial. The error with Mode::kEnforce, and always where the resource is another
  // account's than the caller's.
  Status Refuse(std::string message, std::string_view account);
  access::Decision Decide(access::ActionId action, std::string_view resource,
                          const AttachedPolicy& attached, Fill fill, RequestKeys* keys);
  void SetGlobalKeys(access::KeySet wanted, access::RequestContext* context);

  Gate& gate_;
  const access::VerifiedRequest verified_;
  const ops::Environment& env_;
  const std::string_view operation_;
  const access::HttpRequestView& http_;
  const Peer* const peer_;
  Judgements* judgements_ = nullptr;
  std::optional<Judgement> denial_;
  access::PolicySteps steps_{access::kMostStepsOfRequest};
  bool in_loop_ = false;
  bool asks_past_ = false;
  // Texts that the context's views look at.
  std::string current_time_;
  std::string epoch_time_;
  std::string source_ip_;
};

}  // namespace stator::guard
