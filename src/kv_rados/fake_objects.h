// Objects of a pool in memory, and what RADOS does with an operation on one. For tests only.
//
// The semantics are those that were measured on Ceph 16.2:
//  - An operation takes effect as a whole or not at all. Its comparisons see the object as it was
//    before.
//  - A comparison on a missing object gives -ENOENT. A missing attribute or key compares as the
//    empty text.
//  - A range delete does not see the keys that its own operation has made (BlueStore).
//  - One read of keys returns a bounded number of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace stator::kv_rados {

struct FakeObject {
  std::map<std::string, std::string> attributes;
  std::map<std::string, std::string> keys;
  bool operator==(const FakeObject&) const = default;
};

// One piece of an operation.
struct FakeStep {
  enum class Kind {
    // Parts of writes.
    kCreate,
    kCreateExclusively,
    kSetAttribute,
    kSet,
    kRemove,
    kRemoveRange,
    // Parts of both.
    kCompareAttribute,
    kCompareKey,
    // Parts of reads.
    kAttributes,
    kKeys,
    kRange,
    kCells,
  };
  Kind kind;
  // Depends on the kind: the attribute or key; the first key of a range; the key behind which a
  // read starts.
  std::string name = {};
  std::string value = {};  // to set, or to compare with; the end of a range; the prefix
  int compare = 0;         // LIBRADOS_CMPXATTR_OP_*
  std::vector<std::string> keys = {};
  std::vector<std::string> values = {};
  uint64_t limit = 0;
};
using FakeSteps = std::vector<FakeStep>;

// The result of a step that reads, in the order of the names.
struct FakeOutput {
  std::vector<std::pair<std::string, std::string>> entries;
  bool more = false;
};

class FakeObjects {
 public:
  // Applies an operation and returns 0 or -errno. outputs->at(i) belongs to steps[i]; what stands
  // before a comparison that fails is filled in.
  int Apply(const std::string& object, const FakeSteps& steps, std::vector<FakeOutput>* outputs);
  // Null: there is no such object.
  const FakeObject* Find(const std::string& object) const;
  FakeObject* Find(const std::string& object);
  const std::map<std::string, FakeObject>& all() const { return objects_; }
  void Erase(const std::string& object) { objects_.erase(object); }

  uint64_t max_entries = 1024;  // of one read of keys

 private:
  std::map<std::string, FakeObject> objects_;
};

}  // namespace stator::kv_rados
