// One file of an import: its items, what of them is durable in the table, and its log of errors.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "bulk/files.h"
#include "bulk/format.h"
#include "exchange/item_source.h"
#include "model/key_schema.h"

namespace stator::bulk {

// How files are read.
struct InputOptions {
  std::optional<Format> format;                     // else by the name and, for JSON, each object
  std::vector<model::KeyAttribute> types;           // of CSV: columns that are kN or kB
  std::optional<std::vector<std::string>> columns;  // of CSV: the first line is no header
  char delimiter = ',';                             // of CSV
};

// Returns the files that `path` means: itself, or the data files of a directory, sorted by name. Of
// an export of DynamoDB these are in its folder data/. kValidation for a path that is not there, a
// directory without data files, and an export of which a file of the manifest is missing.
Result<std::vector<std::string>> FilesOf(const std::string& path);

// Visits the items of a file in order (exchange::VisitItem). Recognizes gzip and zstd by their
// first bytes. kUnavailable if the file cannot be read, or `stopped` returned true.
Status ReadFileItems(std::unique_ptr<InputFile> file, const std::string& path,
                     const InputOptions& options, const model::KeySchema& key,
                     exchange::VisitItem visit, int64_t* plain_bytes,
                     std::function<bool()> stopped);

// The progress of a file, in FILE.import-progress beside it; FILE.errors has a line for each item
// that was refused:
//
//   {"file":"a.json","itemIndex":3,"errorMessages":["..."]}
//
// Items are counted from 0 in the order of the file. Ranges of them end in any order; the progress
// is the end of the ranges that follow each other from the beginning. Thread-safe.
class FileProgress {
 public:
  // A later run goes on if all of it is the same.
  struct Identity {
    std::string table;
    std::string table_id;
    std::string mask;
    uint64_t file_bytes = 0;
    int64_t file_changed_micros = 0;
  };

  // Reads the progress of an earlier run, or begins it.
  // kValidation, which names the file, if it is not that of this import.
  static Result<std::unique_ptr<FileProgress>> Open(const std::string& path,
                                                    const std::string& state_path,
                                                    Identity identity, const Clock& clock);

  // Returns how many items, from the first one on, need not be read again.
  int64_t durable() const;
  bool finished() const;
  int64_t errors() const;

  struct Refused {
    int64_t index = 0;
    std::string message;
  };
  // The items from `first` to before `end` are in the table or refused. Writes the progress now and
  // then.
  Status Done(int64_t first, int64_t end, std::vector<Refused> refused);
  // Writes the progress. `whole`: there are no items behind it.
  Status Save(bool whole);
  // Removes the progress, and a log of errors of an earlier import if there were none.
  Status Remove();
  const std::string& errors_path() const { return errors_path_; }

 private:
  struct Range {
    int64_t end = 0;
    std::vector<Refused> refused;
  };
  FileProgress(std::string path, std::string state_path, Identity identity, const Clock& clock);
  Status SaveLocked(bool whole) REQUIRES(mutex_);
  std::string Encode() const REQUIRES(mutex_);
  Status Decode(const std::string& text) REQUIRES(mutex_);

  const std::string path_;
  const std::string state_path_;
  const std::string errors_path_;
  const Identity identity_;
  const Clock& clock_;
  mutable Mutex mutex_;
  int64_t durable_ GUARDED_BY(mutex_) = 0;
  int64_t errors_ GUARDED_BY(mutex_) = 0;  // of the durable ones
  uint64_t errors_bytes_ GUARDED_BY(mutex_) = 0;
  bool finished_ GUARDED_BY(mutex_) = false;
  int64_t saved_ticks_ GUARDED_BY(mutex_) = 0;
  std::string unsaved_errors_ GUARDED_BY(mutex_);
  std::map<int64_t, Range> ranges_ GUARDED_BY(mutex_);  // by their first item
};

}  // namespace stator::bulk
