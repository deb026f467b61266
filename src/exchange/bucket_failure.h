// The failures of a job that its bucket causes, with the codes and words of S3. An empty code means
// that there is no failure.
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
