// Where backups are kept: folders of objects. A folder is written once, published whole, and only
// read afterwards.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace stator::s3 {
class Client;
}

namespace stator::transfer {

// An object being written. One that is destroyed before Finish is of no use. Not thread-safe.
class ObjectWriter {
 public:
  virtual ~ObjectWriter() = default;
  virtual Status Append(std::string_view bytes) = 0;
  // Makes the object durable.
  virtual Status Finish() = 0;
};

// Not thread-safe.
class ObjectReader {
 public:
  virtual ~ObjectReader() = default;
  virtual uint64_t size() const = 0;
  // Reads up to `bytes` bytes at `offset` into *out: fewer only at the end of the object.
  virtual Status Read(uint64_t offset, size_t bytes, std::string* out) = 0;
};

// Thread-safe; each folder has one writer. Names are of a-z, 0-9, "-" and ".". Every call may wait
// for a disk or a network. Errors are kUnavailable with a sentence for people that names the file.
class Folders {
 public:
  virtual ~Folders() = default;
  // Returns the published folders, and removes those that a crash has left unpublished or half
  // removed. Must be called once, before all other calls.
  virtual Result<std::vector<std::string>> Open() = 0;
  // Creates an object in a folder that was not published yet.
  virtual Result<std::unique_ptr<ObjectWriter>> Write(const std::string& folder,
                                                      const std::string& object) = 0;
  // Makes the folder durable, with all its finished objects. After a crash it is there whole, or
  // not at all if this call did not return.
  virtual Status Publish(const std::string& folder) = 0;
  // kResourceNotFound if there is no such object.
  virtual Result<std::unique_ptr<ObjectReader>> Read(const std::string& folder,
                                                     const std::string& object) = 0;
  // Removes a folder, published or not. After a crash it is there whole, or not at all if this call
  // returned. OK if there is none.
  virtual Status Remove(const std::string& folder) = 0;
  // Ends calls that wait for a server, and fails later ones.
  virtual void Cancel() {}
  // Returns where the folders are, for people.
  virtual std::string place() const = 0;
};

// Returns folders in memory.
std::unique_ptr<Folders> MakeMemoryFolders();
// Returns folders in a directory, which is created when the first one is written. The directory is
// locked against other processes while the object lives. A write that would leave less than
// `least_free_bytes` on the file system is refused.
std::unique_ptr<Folders> MakeDirectoryFolders(std::string directory, uint64_t least_free_bytes);
// Returns folders below `prefix` in a bucket. There are no locks: an unpublished folder that a
// crash has left is removed a day later by `clock`, which must have the machine's time and outlive
// the object.
std::unique_ptr<Folders> MakeS3Folders(std::shared_ptr<s3::Client> client, std::string bucket,
                                       std::string prefix, const Clock& clock);

}  // namespace stator::transfer
