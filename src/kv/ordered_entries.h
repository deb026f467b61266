// The keys and values of one tablet in memory, in order. Internal to the memory engine.
//
// The nodes of a binary search tree are scattered over memory, so a search or scan has a cache miss
// at every step. Here a B-tree node holds a dozen entries with the first bytes of their keys beside
// them: a search reads few nodes and usually no key but the last, and a scan can prefetch entries
// before it reaches them.
#pragma once

#include <absl/container/btree_set.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/unique_function.h"
#include "kv/split_map.h"

namespace stator::kv {

// Not thread-safe, but any number of threads may call const functions at once. Views of keys and
// pointers to values are valid until the key is put again or erased.
class OrderedEntries {
 public:
  OrderedEntries() = default;
  OrderedEntries(const OrderedEntries&) = delete;
  OrderedEntries& operator=(const OrderedEntries&) = delete;
  ~OrderedEntries();

  // Returns the value of `key`, or null if it is absent. Looks the key up in a hash table, not in
  // the tree.
  const std::string* Find(std::string_view key) const;
  void Put(std::string_view key, std::string value);
  void Erase(std::string_view key);
  // Erases the keys in [begin, end); an empty `end` means the end of the tablet.
  void EraseRange(std::string_view begin, std::string_view end);
  // Calls visit(key, value) for the keys in [begin, end) (an empty `end`: to the last), descending
  // Calls visit(key, value) for the keys in [begin, end) until it returns false, descending if
  // `reverse`. An empty `end` means the end of the tablet.
  void Scan(std::string_view begin, std::string_view end, bool reverse,
            FunctionRef<bool(std::string_view key, std::string_view value)> visit) const;

  void Swap(OrderedEntries* other);

  size_t size() const { return index_.size(); }
  // The total size of keys and values.
  uint64_t bytes() const { return bytes_; }

 private:
  // One key and its value. Its address does not change while the key exists. The bytes of the key
  // follow it in memory.
  struct Entry {
    std::string value;
    size_t key_bytes;
    std::string_view key() const { return {reinterpret_cast<const char*>(this + 1), key_bytes}; }
  };
  // The first bytes of a key as a number. Two keys whose heads differ sort like their heads.
  using Head = uint64_t;
  struct Slot {
    Head head;
    Entry* entry;
  };
  // The key of a lookup.
  struct Sought {
    Head head;
    std::string_view key;
  };
  struct Before {
    using is_transparent = void;
    bool operator()(const Slot& a, const Slot& b) const {
      return a.head != b.head ? a.head < b.head : a.entry->key() < b.entry->key();
    }
    bool operator()(const Slot& a, const Sought& b) const {
      return a.head != b.head ? a.head < b.head : a.entry->key() < b.key;
    }
    bool operator()(const Sought& a, const Slot& b) const {
      return a.head != b.head ? a.head < b.head : a.key < b.entry->key();
    }
    bool operator()(const Slot& a, Head b) const { return a.head < b; }
    bool operator()(Head a, const Slot& b) const { return a < b.head; }
  };
  using Tree = absl::btree_set<Slot, Before>;

  static Head HeadOf(std::string_view key);
  static Entry* MakeEntry(std::string_view key, std::string value);
  static void FreeEntry(Entry* entry);
  // Returns the first entry whose key is not less than `key`.
  Tree::const_iterator LowerBound(std::string_view key) const;
  template <typename Iterator, typename Outside>
  static void Walk(Iterator at, Iterator last, Outside outside,
                   FunctionRef<bool(std::string_view key, std::string_view value)> visit);

  Tree tree_;
  SplitMap<std::unordered_map<std::string_view, Entry*>> index_;
  uint64_t bytes_ = 0;
};

}  // namespace stator::kv
