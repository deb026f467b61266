// The operations TagResource, UntagResource and ListTagsOfResource.
#include <map>
#include <string>
#include <utility>

#include "ops/checks.h"
#include "ops/operations.h"
#include "ops/table_definition.h"
#include "ops/table_status.h"

namespace stator::ops {
namespace {

Error InvalidArn(const std::string& arn) {
  return ValidationError("Invalid TableArn: Invalid ResourceArn provided as input " + arn);
}

// The store's name of the table that an ARN names, if the ARN is one of a table of this Region and
// of the caller's account, or of another whose table the caller may tag.
Result<std::string> TableOfArn(const Context& ctx, const std::string& arn, bool* ours) {
  if (!arn.starts_with("arn:")) return InvalidArn(arn);
  ASSIGN_OR_RETURN(const StoreTableName name, StoreNameOf(ctx, arn));
  *ours = arn == TableArn(ctx.env, name.view());
  return name.str();
}

Error ArnNotFound(const std::string& arn) {
  return Error(ErrorCode::kResourceNotFound,
               "Requested resource not found: ResourcArn: " + arn + " not found");
}

void AlterTags(Context& ctx, const std::string& arn, table::Store::ChangeDescriptor change,
               UniqueFunction<void(Status)> done) {
  bool ours = false;
  Result<std::string> name = TableOfArn(ctx, arn, &ours);
  if (!name.ok()) {
    done(std::move(name).error());
    return;
  }
  if (!ours || ctx.env.store.Find(*name) == nullptr) {
    done(ArnNotFound(arn));
    return;
  }
  Executor& loop = ctx.loop;
  ctx.env.store.Alter(std::move(*name), std::move(change),
                      [&loop, done = std::move(done)](Result<table::TablePtr> table) mutable {
                        RunOn(loop, [table = std::move(table), done = std::move(done)]() mutable {
                          done(table.ok() ? OkStatus() : Status(std::move(table).error()));
                        });
                      });
}

}  // namespace

void TagResource(Context& ctx, TagResourceRequest request, Callback<TagResourceResponse> done) {
  if (request.tags.empty()) {
    done(ValidationError("Atleast one Tag needs to be provided as Input."));
    return;
  }
  if (Status checked = CheckTags(request.tags); !checked.ok()) {
    done(std::move(checked).error());
    return;
  }
  // Made here, for the change runs under the latch of the catalog.
  std::map<std::string, std::string> tags;
  for (Tag& tag : request.tags) tags.insert_or_assign(std::move(tag.key), std::move(tag.value));
  const std::string arn = request.resource_arn;
  AlterTags(
      ctx, arn,
      [tags = std::move(tags)](table::TableDescriptor* descriptor) -> Status {
        TRY(CheckTagCount(tags.size()));
        for (const auto& [key, value] : tags) descriptor->tags[key] = value;
        return CheckTagCount(descriptor->tags.size());
      },
      [done = std::move(done)](Status status) mutable {
        done(status.ok() ? Result<TagResourceResponse>(TagResourceResponse{})
                         : std::move(status).error());
      });
}

void UntagResource(Context& ctx, UntagResourceRequest request,
                   Callback<UntagResourceResponse> done) {
  if (request.tag_keys.empty()) {
    done(ValidationError("Atleast one Tag Key needs to be provided as Input."));
    return;
  }
  const std::string arn = request.resource_arn;
  AlterTags(
      ctx, arn,
      [keys = std::move(request.tag_keys)](table::TableDescriptor* descriptor) {
        for (const std::string& key : keys) descriptor->tags.erase(key);
        return OkStatus();
      },
      [done = std::move(done)](Status status) mutable {
        done(status.ok() ? Result<UntagResourceResponse>(UntagResourceResponse{})
                         : std::move(status).error());
      });
}

void ListTagsOfResource(Context& ctx, ListTagsOfResourceRequest request,
                        Callback<ListTagsOfResourceResponse> done) {
  bool ours = false;
  const Result<std::string> name = TableOfArn(ctx, request.resource_arn, &ours);
  if (!name.ok()) {
    done(name.error());
    return;
  }
  const table::TablePtr table = ours ? ctx.env.store.Find(*name) : nullptr;
  if (table == nullptr) {
    // The service does not say whether the table exists to a caller who could not list its tags
    // anyway.
    done(Error(
        ErrorCode::kAccessDenied,
        "User: arn:aws:iam::" + std::string(CallerAccount(ctx)) +
            ":root is not authorized to perform: dynamodb:ListTagsOfResource on resource: " +
            request.resource_arn +
            " because no identity-based policy allows the dynamodb:ListTagsOfResource action"));
    return;
  }
  // All 50 tags fit in one page, so a NextToken is none that we gave.
  if (request.next_token) {
    done(ValidationError("Invalid NextToken"));
    return;
  }
  ListTagsOfResourceResponse response;
  for (const auto& [key, value] : table->descriptor.tags) response.tags.push_back({key, value});
  done(std::move(response));
}

}  // namespace stator::ops
