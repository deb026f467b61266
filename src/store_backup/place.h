// Where whole-store backups are kept: a directory, or a bucket of an S3 endpoint.
//
//   PLACE/objects/HASH-BYTES       the content of a file; shared by the backups that hold it
//   PLACE/backups/ID.json          a backup: its manifest, written last
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "transfer/folders.h"

namespace stator::s3 {
class Client;
}

namespace stator::store_backup {

struct Entry {
  std::string name;  // "backups/ID.json"
  uint64_t bytes = 0;
  // True where the entry may belong to a backup that another process is writing.
  bool may_be_in_use = false;
};

// Objects by name. Errors are kUnavailable with a sentence for people that names the object. Every
// call may wait for a disk or a network. Thread-safe, but for one writer between Begin and End.
class Place {
 public:
  virtual ~Place() = default;
  // Makes the place if it can be made, keeps other writers out where that is possible, and removes
  // objects that a killed process has left unfinished.
  virtual Status Begin() = 0;
  virtual void End() = 0;
  // Returns the objects below a folder ("objects", "backups") that have names of backups
  // (IsNameHere), by name: others stay as they are. None if there is no place.
  virtual Result<std::vector<Entry>> List(std::string_view folder) = 0;
  // Writes an object, which appears whole with Finish and takes the place of an earlier one.
  virtual Result<std::unique_ptr<transfer::ObjectWriter>> Write(const std::string& name) = 0;
  // kResourceNotFound if there is no such object.
  virtual Result<std::unique_ptr<transfer::ObjectReader>> Read(const std::string& name) = 0;
  // OK if there is none.
  virtual Status Remove(const std::string& name) = 0;
  // Whether the place itself compares what it was sent with a checksum that came with it. If not,
  // a writer reads its objects back.
  virtual bool checks_writes() const = 0;
  // Ends calls that wait for a server, and fails later ones.
  virtual void Cancel() {}
  virtual std::string name() const = 0;
};

// A directory, made by the first Begin. One process at a time writes. A write that would leave less
// than `least_free_bytes` on the file system is refused.
std::unique_ptr<Place> MakeDirectoryPlace(std::string directory, uint64_t least_free_bytes);
// Returns the place below `prefix` (empty, or with a slash at its end) of an existing bucket. There
// are no locks on S3: an entry of another server counts as in use for a day by `clock`, which must
// have the machine's time and must outlive the place.
std::unique_ptr<Place> MakeS3Place(std::shared_ptr<s3::Client> client, std::string bucket,
                                   std::string prefix, const Clock& clock);

}  // namespace stator::store_backup
