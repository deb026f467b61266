// Failures of a job for its bucket, with S3's words. A code that is empty is none.
#pragma once

#include <string>

#include "base/result.h"
#include "exchange/job.h"
#include "exchange/object_store.h"

namespace stator::exchange {

// Returns the failure of a job that names another account as its bucket's owner.
Failure OwnerFailure(const Job& job, const std::string& account);
// Returns the failure of a job whose bucket is not there; other errors are ObjectStore's.
Result<Failure> BucketFailure(const Job& job, ObjectStore& objects);

}  // namespace stator::exchange
