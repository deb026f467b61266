#include "exchange/bucket_failure.h"

namespace stator::exchange {

namespace {

const Failure kDenied = {
    "S3AccessDenied",
    "Access Denied (Service: Amazon S3; Status Code: 403; Error Code: AccessDenied)"};

}  // namespace

Failure OwnerFailure(const Job& job, const std::string& account) {
  if (!job.bucket_owner || *job.bucket_owner == account) return {};
  return kDenied;
}

Result<Failure> BucketFailure(const Job& job, ObjectStore& objects) {
  const Status bucket = objects.CheckBucket(job.bucket);
  if (bucket.ok()) return Failure{};
  if (bucket.error().code() == ErrorCode::kAccessDenied) return kDenied;
  if (bucket.error().code() != ErrorCode::kResourceNotFound) return bucket.error();
  return Failure{"S3NoSuchBucket",
                 "The specified bucket does not exist (Service: Amazon S3; Status Code: 404; "
                 "Error Code: NoSuchBucket)"};
}

}  // namespace stator::exchange
