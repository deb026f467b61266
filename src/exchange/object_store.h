// The object store of exports and imports: buckets of objects, as S3 has them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "transfer/folders.h"

namespace stator::s3 {
class Client;
}

namespace stator::exchange {

struct ObjectInfo {
  std::string key;
  uint64_t bytes = 0;
  bool operator==(const ObjectInfo&) const = default;
};

// Thread-safe; each object has one writer. Calls may wait for a disk or a network. Errors are
// kResourceNotFound, for a bucket or an object that is not there, kValidation, for a key that the
// store cannot have, kAccessDenied, for what the server may not do there, and kUnavailable, with a
// sentence for people that names the object.
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;
  // OK if the bucket is there.
  virtual Status CheckBucket(const std::string& bucket) = 0;
  // Makes the bucket if it is not there.
  virtual Status MakeBucket(const std::string& bucket) = 0;
  // Writes an object, which appears whole with Finish, in the place of an older one.
  virtual Result<std::unique_ptr<transfer::ObjectWriter>> Write(const std::string& bucket,
                                                                const std::string& key) = 0;
  virtual Result<std::unique_ptr<transfer::ObjectReader>> Read(const std::string& bucket,
                                                               const std::string& key) = 0;
  // Returns the objects whose keys begin with the prefix, in the order of the keys.
  // kLimitExceeded if there are more than `most`.
  virtual Result<std::vector<ObjectInfo>> List(const std::string& bucket, std::string_view prefix,
                                               size_t most) = 0;
  // Ends calls that wait for a server, and fails later ones.
  virtual void Cancel() {}
  // Returns where the objects are, for people.
  virtual std::string place() const = 0;
};

// Returns a store of objects in files DIRECTORY/BUCKET/KEY. A bucket is an existing folder.
// Symbolic links are not followed. A write that would leave less than `least_free_bytes` on the
// file system is refused.
std::unique_ptr<ObjectStore> MakeDirectoryObjects(std::string directory, uint64_t least_free_bytes);
// Returns a store of objects in memory, with at most `most_bytes` together. Every bucket exists.
std::unique_ptr<ObjectStore> MakeMemoryObjects(uint64_t most_bytes);
// Returns a store of the objects of an S3 endpoint, only in the buckets of these names; "*": in all
// buckets that the client's key may use.
std::unique_ptr<ObjectStore> MakeS3Objects(std::shared_ptr<s3::Client> client,
                                           std::vector<std::string> buckets);

// OK if every store can have an object of this key: 1 to 1024 bytes, in segments between slashes
// of 1 to 200 bytes that are no "." or ".." and do not begin with ".stator-"; no zero byte.
// kValidation names what is wrong.
Status CheckKey(std::string_view key);
// OK if the text is the name of a bucket: letters, digits, "_", "." and "-", a letter or a digit at
// both ends.
Status CheckBucketName(std::string_view bucket);

}  // namespace stator::exchange
