#include "api/registry.h"

#include <cassert>

namespace stator::api {
namespace {

constexpr std::string_view kDynamoDbPrefix = "DynamoDB_20120810.";
constexpr std::string_view kStreamsPrefix = "DynamoDBStreams_20120810.";

}  // namespace

void Registry::Add(Operation operation) {
  assert(operation.name.size() <= kMaxNameLength);
  std::vector<Operation>& bucket = by_length_[operation.name.size()];
  for (Operation& present : bucket) {
    if (present.name == operation.name && present.api == operation.api) {
      present = operation;
      return;
    }
  }
  bucket.push_back(operation);
}

// The lengths of the names tell most of them apart, so there is nothing to hash.
const Operation* Registry::Find(std::string_view target) const {
  Api api;
  if (target.starts_with(kDynamoDbPrefix)) {
    api = Api::kDynamoDb;
    target.remove_prefix(kDynamoDbPrefix.size());
  } else if (target.starts_with(kStreamsPrefix)) {
    api = Api::kStreams;
    target.remove_prefix(kStreamsPrefix.size());
  } else {
    return nullptr;
  }
  if (target.size() > kMaxNameLength) return nullptr;
  for (const Operation& operation : by_length_[target.size()]) {
    if (operation.name == target && operation.api == api) return &operation;
  }
  return nullptr;
}

std::vector<Operation> Registry::All() const {
  std::vector<Operation> all;
  for (const std::vector<Operation>& bucket : by_length_)
    all.insert(all.end(), bucket.begin(), bucket.end());
  return all;
}

}  // namespace stator::api
