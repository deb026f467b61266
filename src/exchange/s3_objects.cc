// An object store that is an S3 endpoint.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "exchange/object_store.h"
#include "s3/client.h"
#include "transfer/s3_object.h"

namespace stator::exchange {
namespace {

using transfer::ObjectReader;
using transfer::ObjectWriter;

class S3Objects final : public ObjectStore {
 public:
  S3Objects(std::shared_ptr<s3::Client> client, std::vector<std::string> buckets)
      : client_(std::move(client)), buckets_(std::move(buckets)) {}

  Status CheckBucket(const std::string& bucket) override {
    TRY(CheckMayUse(bucket));
    return client_->CheckBucket(bucket);
  }
  Status MakeBucket(const std::string& bucket) override {
    TRY(CheckMayUse(bucket));
    return client_->MakeBucket(bucket);
  }
  Result<std::unique_ptr<ObjectWriter>> Write(const std::string& bucket,
                                              const std::string& key) override {
    TRY(CheckMayUse(bucket));
    TRY(CheckKey(key));
    return transfer::MakeS3Writer(client_, bucket, key);
  }
  Result<std::unique_ptr<ObjectReader>> Read(const std::string& bucket,
                                             const std::string& key) override {
    TRY(CheckMayUse(bucket));
    TRY(CheckKey(key));
    return transfer::MakeS3Reader(client_, bucket, key);
  }
  Result<std::vector<ObjectInfo>> List(const std::string& bucket, std::string_view prefix,
                                       size_t most) override {
    TRY(CheckMayUse(bucket));
    std::vector<ObjectInfo> list;
    TRY(client_->ListAll(bucket, prefix, SIZE_MAX, [&](const s3::Object& object) -> Status {
      if (list.size() == most) {
        return Error(ErrorCode::kLimitExceeded,
                     fmt::format("The prefix has more than {} objects.", most));
      }
      list.push_back({object.key, object.bytes});
      return OkStatus();
    }));
    return list;
  }
  void Cancel() override { client_->Cancel(); }
  std::string place() const override { return client_->place(); }

 private:
  // Only the buckets that the settings list may be used: the server's own key may have rights on
  // other buckets, to which callers must not get access.
  Status CheckMayUse(const std::string& bucket) const {
    TRY(CheckBucketName(bucket));
    if (std::any_of(buckets_.begin(), buckets_.end(),
                    [&bucket](const std::string& one) { return one == "*" || one == bucket; }))
      return OkStatus();
    return Error(ErrorCode::kAccessDenied,
                 fmt::format("The bucket {} is none of --object-store-buckets.", bucket));
  }

  const std::shared_ptr<s3::Client> client_;
  const std::vector<std::string> buckets_;
};

}  // namespace

std::unique_ptr<ObjectStore> MakeS3Objects(std::shared_ptr<s3::Client> client,
                                           std::vector<std::string> buckets) {
  return std::make_unique<S3Objects>(std::move(client), std::move(buckets));
}

}  // namespace stator::exchange
