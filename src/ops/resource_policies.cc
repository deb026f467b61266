#include "ops/resource_policies.h"

#include <algorithm>

#include "access/policy.h"
#include "access/policy_text.h"
#include "ops/checks.h"
#include "ops/on_worker.h"
#include "ops/payload.h"
#include "ops/streams.h"
#include "ops/table_status.h"

namespace stator::ops {
namespace {

using Policy = ResourcePolicies::Policy;

constexpr std::string_view kNoPolicy = "NO_POLICY";
constexpr std::string_view kInvalid = "One or more parameter values were invalid: ";
constexpr std::string_view kTable = "table/";
constexpr std::string_view kStream = "/stream/";

Error Invalid(std::string_view text, const std::string& arn) {
  return ValidationError(std::string(kInvalid).append(text).append(arn));
}

Error NoPolicyFound(std::string_view detail) {
  return Error(
      ErrorCode::kResourceNotFound,
      "Resource-based policy not found for the provided ResourceArn: " + std::string(detail),
      std::make_shared<ExceptionNamePayload>("PolicyNotFoundException"));
}

// The table or the stream of an ARN.
struct Resource {
  std::string id;
  std::string table;  // its name
};

Result<Resource> FindResource(const Context& ctx, const std::string& arn) {
  const Environment& env = ctx.env;
  if (!arn.starts_with("arn:")) return Invalid("ARNs must start with 'arn:': ", arn);
  std::string_view parts[5];
  std::string_view rest = arn;
  for (std::string_view& part : parts) {
    const size_t colon = rest.find(':');
    if (colon == std::string_view::npos) return Invalid("Invalid resource Arn: ", arn);
    part = rest.substr(0, colon);
    rest.remove_prefix(colon + 1);
  }
  if (parts[2] != "dynamodb") return Invalid("Provided Arn is not a DynamoDB resource arn: ", arn);
  if (parts[1] != "aws" || parts[3] != env.settings.region)
    return Invalid("Invalid resource Arn: ", arn);
  if (parts[4] != CallerAccount(ctx)) {
    return ValidationError(
        "This action is only supported by accounts that match the resource owner\xe2\x80\x99s "
        "account.");
  }
  const size_t stream = rest.find(kStream);
  const std::string_view name = rest.starts_with(kTable)
                                    ? rest.substr(kTable.size(), stream - kTable.size())
                                    : std::string_view();
  if (name.empty() || name.find('/') != std::string_view::npos) {
    return Invalid(
        "Invalid resource arn provided, only table or stream is accepted. Provided resource arn: ",
        arn);
  }
  if (stream != std::string_view::npos) {
    ASSIGN_OR_RETURN(const stream::StreamPtr found, FindStream(ctx, arn));
    return Resource{found->table_id + "/" + found->label, std::string(name)};
  }
  const table::TablePtr table = env.store.Find(table::StoreName(ctx.account, name));
  if (table == nullptr) {
    return Error(ErrorCode::kResourceNotFound,
                 "Requested resource not found: Table: " + std::string(name) + " not found");
  }
  return Resource{table->descriptor.table_id, std::string(name)};
}

Error NotKept() {
  return ValidationError(
      "Resource policies need access control: start the server with --auth=enforce or --auth=warn");
}

// Compares the expected revision of a request with that of the present policy.
Status CheckRevision(const std::optional<std::string>& expected, const std::optional<Policy>& old,
                     const std::string& table) {
  if (!expected) return OkStatus();
  const bool exists = old && !old->text.empty();
  if (*expected == kNoPolicy) {
    if (!exists) return OkStatus();
    return NoPolicyFound("Requested policy update expecting none to be present for table " + table +
                         ", but a policy exists with revision id " + std::to_string(old->revision) +
                         ".");
  }
  if (exists && *expected == std::to_string(old->revision)) return OkStatus();
  return NoPolicyFound("Requested update for policy with revision id " + *expected +
                       ", but the policy associated to target table " + table +
                       " has revision id " +
                       (exists ? std::to_string(old->revision) : std::string(kNoPolicy)) + ".");
}

int64_t NextRevision(const Environment& env, const std::optional<Policy>& old) {
  const int64_t now = env.clock.NowMicros() / 1000;
  return old ? std::max(now, old->revision + 1) : now;
}

// Stores `text`, unless it says the same as the policy that there is. Returns the revision.
Result<std::string> Store(const Environment& env, const std::string& id, const std::string& table,
                          const std::string& text, const std::optional<std::string>& expected) {
  ASSIGN_OR_RETURN(const access::ResourcePolicyText next, access::NormalizeResourcePolicy(text));
  int64_t revision = 0;
  TRY(env.resource_policies->Alter(
      id, [&](const std::optional<Policy>& old) -> Result<std::optional<Policy>> {
        TRY(CheckRevision(expected, old, table));
        if (old && !old->text.empty()) {
          const Result<access::ResourcePolicyText> before =
              access::NormalizeResourcePolicy(old->text);
          if (before.ok() && *before == next) {
            revision = old->revision;
            return std::optional<Policy>();
          }
        }
        revision = NextRevision(env, old);
        return std::optional<Policy>(Policy{revision, text});
      }));
  return std::to_string(revision);
}

}  // namespace

Status CheckResourcePolicy(const std::string& text) {
  const auto parsed = access::Policy::Parse(text, access::PolicyKind::kResource, "");
  return parsed.ok() ? OkStatus() : Status(parsed.error());
}

void PutResourcePolicy(Context& ctx, PutResourcePolicyRequest request,
                       Callback<PutResourcePolicyResponse> done) {
  if (ctx.env.resource_policies == nullptr) return done(NotKept());
  const Result<Resource> resource = FindResource(ctx, request.resource_arn);
  if (!resource.ok()) return done(resource.error());
  if (const Status fits = CheckResourcePolicy(request.policy); !fits.ok())
    return done(fits.error());
  OnWorker<PutResourcePolicyResponse>(
      ctx, ctx.env.resource_policies->changes(),
      [&env = ctx.env, resource = *resource,
       request = std::move(request)]() -> Result<PutResourcePolicyResponse> {
        ASSIGN_OR_RETURN(std::string revision, Store(env, resource.id, resource.table,
                                                     request.policy, request.expected_revision_id));
        return PutResourcePolicyResponse{std::move(revision)};
      },
      std::move(done));
}

void GetResourcePolicy(Context& ctx, GetResourcePolicyRequest request,
                       Callback<GetResourcePolicyResponse> done) {
  if (ctx.env.resource_policies == nullptr) return done(NotKept());
  const Result<Resource> resource = FindResource(ctx, request.resource_arn);
  if (!resource.ok()) return done(resource.error());
  const std::optional<Policy> policy = ctx.env.resource_policies->Find(resource->id);
  if (!policy || policy->text.empty()) return done(NoPolicyFound(request.resource_arn));
  Result<access::ResourcePolicyText> text = access::NormalizeResourcePolicy(policy->text);
  if (!text.ok()) return done(text.error());
  done(GetResourcePolicyResponse{std::move(text->normal), std::to_string(policy->revision)});
}

void DeleteResourcePolicy(Context& ctx, DeleteResourcePolicyRequest request,
                          Callback<DeleteResourcePolicyResponse> done) {
  if (ctx.env.resource_policies == nullptr) return done(NotKept());
  const Result<Resource> resource = FindResource(ctx, request.resource_arn);
  if (!resource.ok()) return done(resource.error());
  OnWorker<DeleteResourcePolicyResponse>(
      ctx, ctx.env.resource_policies->changes(),
      [&env = ctx.env, resource = *resource,
       request = std::move(request)]() -> Result<DeleteResourcePolicyResponse> {
        std::optional<std::string> revision;
        TRY(env.resource_policies->Alter(
            resource.id, [&](const std::optional<Policy>& old) -> Result<std::optional<Policy>> {
              revision.reset();
              TRY(CheckRevision(request.expected_revision_id, old, resource.table));
              if (!old) return std::optional<Policy>();
              if (old->text.empty()) {
                revision = std::to_string(old->revision);
                return std::optional<Policy>();
              }
              const Policy gone{NextRevision(env, old), ""};
              revision = std::to_string(gone.revision);
              return std::optional<Policy>(gone);
            }));
        return DeleteResourcePolicyResponse{std::move(revision)};
      },
      std::move(done));
}

void AttachBeforeCreation(Context& ctx, std::string table_id, std::string text,
                          UniqueFunction<void(Status)> done) {
  struct Attached {};
  OnWorker<Attached>(
      ctx, ctx.env.resource_policies->changes(),
      [&env = ctx.env, id = std::move(table_id), text = std::move(text)]() -> Result<Attached> {
        const Result<std::string> stored = Store(env, id, "", text, std::nullopt);
        if (!stored.ok()) return stored.error();
        return Attached{};
      },
      [done = std::move(done)](Result<Attached> attached) mutable {
        done(attached.ok() ? OkStatus() : Status(attached.error()));
      });
}

}  // namespace stator::ops
