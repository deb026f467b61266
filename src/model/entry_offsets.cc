#include "model/entry_offsets.h"

#include <algorithm>

namespace stator::model {
namespace {

std::string_view ReadName(const char** p) {
  const auto length = static_cast<size_t>(ReadVarint(p) >> 1);
  const std::string_view name(*p, length);
  *p += length;
  return name;
}

}  // namespace

EntryOffsets OffsetsOfEntries(const char* counted, bool is_map) {
  EntryOffsets offsets;
  const char* p = counted;
  const auto count = static_cast<size_t>(ReadVarint(&p));
  offsets.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    offsets.push_back(static_cast<uint32_t>(p - counted));
    if (is_map) ReadName(&p);
    p = ValueView(p).end();
  }
  return offsets;
}

ValueView FindByOffsets(const char* counted, const EntryOffsets& offsets, std::string_view name,
                        uint64_t* compared) {
  const auto found = std::lower_bound(offsets.begin(), offsets.end(), name,
                                      [&](uint32_t offset, std::string_view wanted) {
                                        const char* p = counted + offset;
                                        if (compared != nullptr) ++*compared;
                                        return ReadName(&p) < wanted;
                                      });
  if (found == offsets.end()) return {};
  const char* p = counted + *found;
  return ReadName(&p) == name ? ValueView(p) : ValueView();
}

ValueView AttributeFinder::Find(std::string_view name) {
  if (!large_) return item_.Find(name);
  const char* counted = item_.encoded().data();
  ReadVarint(&counted);
  if (!indexed_) {
    offsets_ = OffsetsOfEntries(counted, true);
    indexed_ = true;
  }
  return FindByOffsets(counted, offsets_, name);
}

}  // namespace stator::model
