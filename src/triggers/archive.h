// An archive: a directory of compressed files with a line of JSON for each change.
//
//   DIRECTORY/TABLE/date=YYYY-MM-DD/hour=HH/SHARD-SEQUENCE.ndjson.gz
//
// Date and hour, of UTC, are those of the file's changes; SEQUENCE is the sequence number of its
// first. A file is written beside its name, flushed to the disk and then renamed, so under its name
// it is whole. A batch that is delivered again begins with the first change of a file that exists:
// what that file holds is passed over, so the archive has every change once.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>

#include "triggers/function.h"

namespace stator::triggers {

class Archive final : public Target {
 public:
  explicit Archive(std::string directory) : directory_(std::move(directory)) {}

  // A disk that is full or gone is kNotRun.
  Outcome Deliver(const Batch& batch) override;
  // Writes DIRECTORY/TABLE/failed/SHARD-SEQUENCE.json.
  Outcome Report(const Batch& batch, const std::string& head) override;
  void Cancel() override { cancelled_ = true; }

 private:
  // Waits for the memory of a call. False: it was cancelled.
  bool Take(const Batch& batch, size_t bytes, Account::Share* share) const;
  const std::string directory_;
  std::atomic<bool> cancelled_{false};
};

}  // namespace stator::triggers
