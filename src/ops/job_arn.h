// ARNs of exports and imports: arn:aws:dynamodb:REGION:ACCOUNT:table/TABLE/export/ID.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "ops/checks.h"
#include "ops/context.h"

namespace stator::ops {

struct JobArn {
  std::string region;
  std::string table;  // as clients know it
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
// Returns an error if the caller's account is not the default one. Only the default account may
// begin jobs, because a job can name any bucket of the object store.
Status CheckJobAccount(const Context& ctx);

// Returns the token of a page: the id of the page's last job, sealed for `purpose`, as hexadecimal
// digits. Their number is 112 or more and a multiple of 16. [B]
std::string JobTokenOf(const Environment& env, std::string_view purpose, std::string_view id);
// Returns the id in a token; nullopt if this store did not make the token.
std::optional<std::string> IdInJobToken(const Environment& env, std::string_view purpose,
                                        std::string_view token);

// Returns the id in the token of a page; empty without a token. kValidation if this store did not
// make it.
Result<std::string> IdBeforePage(const Environment& env, std::string_view purpose,
                                 const std::optional<std::string>& token);

// Returns the job that an ARN of this kind names, of a list of the latest jobs; null if there is
// none. kValidation with `malformed` if it is no such ARN; kAccessDenied for another account's than
// the caller's.
template <typename List>
auto FindJob(const Context& ctx, const List& jobs, const std::string& arn, std::string_view kind,
             const char* malformed) -> Result<decltype(jobs.Find(std::string()))> {
  using JobPtr = decltype(jobs.Find(std::string()));
  const std::optional<JobArn> parsed = ParseJobArn(arn, kind);
  if (!parsed) return ValidationError(malformed);
  if (PlaceOfArn(arn).account != CallerAccount(ctx))
    return Error(ErrorCode::kAccessDenied, "Access is denied");
  if (parsed->region != ctx.env.settings.region) return JobPtr();
  const JobPtr job = jobs.Find(parsed->id);
  const std::string name = table::StoreName(ctx.account, parsed->table);
  return job != nullptr && job->table_name == name ? job : JobPtr();
}

// Calls `add(job)` for each job of a page: at most `limit` jobs of the caller's account, or of its
// table `table` if that is not empty, that are `wanted(job)` and come after the job `before` in the
// list, which has the latest first. Returns the token of the next page.
template <typename List, typename Wanted, typename Add>
std::optional<std::string> AddPage(const Context& ctx, std::string_view purpose, const List& jobs,
                                   std::string_view table, const std::string& before, size_t limit,
                                   Wanted wanted, Add add) {
  size_t added = 0;
  std::string last;
  std::string place = before;
  for (;;) {
    const auto page = jobs.Page(ctx.account, table, place, limit + 1);
    for (const auto& job : page) {
      if (!wanted(*job)) continue;
      if (added == limit) return JobTokenOf(ctx.env, purpose, last);
      add(*job);
      last = job->id;
      ++added;
    }
    if (page.size() <= limit) return std::nullopt;
    place = page.back()->id;
  }
}

}  // namespace stator::ops
