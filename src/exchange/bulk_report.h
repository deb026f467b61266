// The output of a bulk put, in the bucket that the request names:
//
//   PREFIX/AWSDynamoDB/ID/errors/00000001.json                      a line for each error
//   PREFIX/AWSDynamoDB/ID/condition-check-failures/00000001.json    a line for each such item
//   PREFIX/AWSDynamoDB/ID/manifest.json                             one line, written last
//
// Lines are first records of the catalog, in the batch of the items that they go with, so that a
// restart neither loses one nor has it twice. Some megabytes of them become an object.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "exchange/job.h"
#include "exchange/object_store.h"
#include "kv/engine.h"

namespace stator::exchange {

enum class ReportType : uint8_t { kError, kCondition };
inline constexpr ReportType kReportTypes[] = {ReportType::kError, ReportType::kCondition};
// The name of OutputType.
std::string_view NameOf(ReportType type);
bool Wants(const BulkJob& job, ReportType type);
// Returns the bytes of the lines that are in no object yet.
int64_t PendingBytes(const BulkJob& job, ReportType type);

// Bytes of pending lines that become an object.
inline constexpr int64_t kReportPartBytes = 4 << 20;
// Bytes of all lines of one type. Lines beyond them are counted and left out.
inline constexpr int64_t kMostReportBytes = int64_t{1} << 30;

// Returns the key of an object of the output, such as "PREFIX/AWSDynamoDB/ID/manifest.json".
std::string BulkKeyOf(const BulkJob& job, std::string_view object);
// Returns the key of the record that says that a bulk put is to be cancelled.
std::string CancelKeyOf(std::string_view id);

// Adds report lines to the batch, if the job's output wants this type, and counts them in *job.
void AddLines(ReportType type, std::string_view lines, int64_t count, BulkJob* job,
              kv::Batch* batch);
// Writes the pending lines of a type as an object, if there are any. *job must be equal to the
// stored job; both are updated. Blocks.
Status WritePart(kv::Engine& engine, ObjectStore& objects, ReportType type, BulkJob* job);
// Writes the manifest of a job; `job` must be its final state.
Status WriteManifest(ObjectStore& objects, const BulkJob& job, std::string_view arn,
                     std::string_view status);
// Adds to the batch that nothing is left of a job but its record.
void ForgetPending(const BulkJob& job, kv::Batch* batch);

}  // namespace stator::exchange
