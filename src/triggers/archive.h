// An archive: compressed files, in a directory or in a bucket, with a line of JSON for each change.
//
//   PLACE/TABLE/date=YYYY-MM-DD/hour=HH/SHARD-SEQUENCE.ndjson.gz
//
// Date and hour, of UTC, are those of the file's changes; SEQUENCE is the sequence number of its
// first. A file is whole under its name: in a directory it is written aside, flushed to the disk
// and renamed. A batch that is delivered again begins with the first change of a file that exists,
// or, where an earlier repetition has ended inside a file, with a later one of it: the changes of
// that file are passed over, so the archive has every change once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "stream/position.h"
#include "triggers/function.h"

namespace stator::triggers {

// The files of an archive. Names have slashes. For one thread at a time, but for Cancel.
class ArchivePlace {
 public:
  virtual ~ArchivePlace() = default;
  // Returns the size of a file; nullopt if there is none.
  virtual Result<std::optional<uint64_t>> SizeOf(const std::string& name) = 0;
  virtual Result<std::string> Read(const std::string& name, uint64_t size) = 0;
  // Returns the names of the files that begin with `prefix`, which has a slash, in any order.
  virtual Result<std::vector<std::string>> List(const std::string& prefix) = 0;
  // Writes a file, which appears whole and durable, in the place of one that is there.
  virtual Status Write(const std::string& name, std::string_view bytes) = 0;
  virtual void Cancel() {}
};
std::unique_ptr<ArchivePlace> MakeDirectory(std::string directory);
// The bucket of a function, with the access key of the process. `clock` is the machine's and must
// outlive the place. kValidation if there is no key.
Result<std::unique_ptr<ArchivePlace>> MakeBucket(const FunctionSettings& function,
                                                 const Clock& clock);

class Archive final : public Target {
 public:
  explicit Archive(std::unique_ptr<ArchivePlace> place) : place_(std::move(place)) {}

  // A place that is full or gone is kNotRun.
  Outcome Deliver(const Batch& batch) override;
  // Writes PLACE/TABLE/failed/SHARD-SEQUENCE.json.
  Outcome Report(const Batch& batch, const std::string& head) override;
  void Cancel() override {
    cancelled_ = true;
    place_->Cancel();
  }

 private:
  // Waits for the memory of a call. False: it was cancelled.
  bool Take(const Batch& batch, size_t bytes, Account::Share* share) const;
  // Finds the file of an earlier process in which the change lies, but not as its first, and sets
  // covered_to_.
  Status FindCovering(const Batch& batch, Account::Share* share);
  const std::unique_ptr<ArchivePlace> place_;
  bool looked_ = false;  // for a file that covers the first change
  // Changes up to this one are in files.
  std::optional<stream::Position> covered_to_;
  std::atomic<bool> cancelled_{false};
};

}  // namespace stator::triggers
