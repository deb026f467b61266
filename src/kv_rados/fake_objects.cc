#include "kv_rados/fake_objects.h"

#include <rados/librados.h>

#include <algorithm>
#include <cerrno>
#include <set>

namespace stator::kv_rados {
namespace {

using Kind = FakeStep::Kind;

bool IsRead(const FakeStep& step) { return step.kind >= Kind::kAttributes; }
bool IsCompare(const FakeStep& step) {
  return step.kind == Kind::kCompareAttribute || step.kind == Kind::kCompareKey;
}

bool Holds(const FakeObject& object, const FakeStep& step) {
  const bool of_attribute = step.kind == Kind::kCompareAttribute;
  const auto& in = of_attribute ? object.attributes : object.keys;
  const auto found = in.find(step.name);
  const std::string stored = found == in.end() ? std::string() : found->second;
  switch (step.compare) {
    case LIBRADOS_CMPXATTR_OP_EQ: return stored == step.value;
    case LIBRADOS_CMPXATTR_OP_NE: return stored != step.value;
    // An omap comparison tests the stored value against the operand, one of attributes the other
    // way.
    case LIBRADOS_CMPXATTR_OP_GT: return of_attribute ? step.value > stored : stored > step.value;
    case LIBRADOS_CMPXATTR_OP_LT: return of_attribute ? step.value < stored : stored < step.value;
    default: return false;
  }
}

void Read(const FakeObject& object, const FakeStep& step, uint64_t max_entries, FakeOutput* out) {
  if (step.kind == Kind::kAttributes) {
    out->entries.assign(object.attributes.begin(), object.attributes.end());
    return;
  }
  if (step.kind == Kind::kKeys) {
    const std::set<std::string> keys(step.keys.begin(), step.keys.end());
    for (const std::string& key : keys) {
      const auto found = object.keys.find(key);
      if (found != object.keys.end()) out->entries.push_back(*found);
    }
    return;
  }
  const bool values = step.kind == Kind::kRange;
  auto at = object.keys.upper_bound(step.name);
  if (step.value > step.name) at = object.keys.lower_bound(step.value);
  const uint64_t limit = std::min(step.limit, max_entries);
  for (; at != object.keys.end() && at->first.starts_with(step.value); ++at) {
    if (out->entries.size() >= limit) {
      out->more = true;
      return;
    }
    out->entries.emplace_back(at->first, values ? at->second : std::string());
  }
}

int Change(FakeObject& object, const FakeStep& step, bool existed, std::set<std::string>& made) {
  switch (step.kind) {
    case Kind::kSetAttribute: object.attributes[step.name] = step.value; break;
    case Kind::kSet:
      for (size_t i = 0; i < step.keys.size(); ++i) {
        const bool is_new = object.keys.insert_or_assign(step.keys[i], step.values[i]).second;
        if (is_new) made.insert(step.keys[i]);
      }
      break;
    case Kind::kRemove:
      if (!existed) return -ENOENT;
      for (const std::string& key : step.keys) object.keys.erase(key);
      break;
    case Kind::kRemoveRange: {
      if (!existed) return -ENOENT;
      auto at = object.keys.lower_bound(step.name);
      while (at != object.keys.end() && at->first < step.value) {
        at = made.contains(at->first) ? std::next(at) : object.keys.erase(at);
      }
      break;
    }
    default: break;
  }
  return 0;
}

}  // namespace

const FakeObject* FakeObjects::Find(const std::string& object) const {
  const auto found = objects_.find(object);
  return found == objects_.end() ? nullptr : &found->second;
}

FakeObject* FakeObjects::Find(const std::string& object) {
  const auto found = objects_.find(object);
  return found == objects_.end() ? nullptr : &found->second;
}

int FakeObjects::Apply(const std::string& name, const FakeSteps& steps,
                       std::vector<FakeOutput>* outputs) {
  outputs->assign(steps.size(), {});
  FakeObject* const object = Find(name);
  const bool is_write = std::any_of(steps.begin(), steps.end(), [](const FakeStep& step) {
    return !IsRead(step) && !IsCompare(step);
  });
  for (size_t i = 0; i < steps.size(); ++i) {
    const FakeStep& step = steps[i];
    if (step.kind == Kind::kCreateExclusively && object != nullptr) return -EEXIST;
    if (IsCompare(step)) {
      if (object == nullptr) return -ENOENT;
      if (!Holds(*object, step)) return -ECANCELED;
    } else if (IsRead(step)) {
      if (object == nullptr) return -ENOENT;
      Read(*object, step, max_entries, &outputs->at(i));
    }
  }
  if (!is_write) return object == nullptr ? -ENOENT : 0;
  std::set<std::string> made;
  if (object == nullptr) {
    FakeObject fresh;
    bool exists = false;
    for (const FakeStep& step : steps) {
      if (const int result = Change(fresh, step, exists, made); result < 0) return result;
      exists = true;
    }
    objects_.emplace(name, std::move(fresh));
    return 0;
  }
  for (const FakeStep& step : steps) (void)Change(*object, step, true, made);
  return 0;
}

}  // namespace stator::kv_rados
