// A hash table that never moves many of its keys at once, so that it can be used under a lock. It
// consists of leaves; when it grows, one leaf at a time is divided.
#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace stator::kv {

// `Map`: a std::unordered_map with keys that are strings, or views of them. Const functions may be
// called by any number of threads at once. Pointers to values are valid until the key is erased.
template <typename Map>
class SplitMap {
 public:
  using Node = typename Map::node_type;
  using Value = typename Map::mapped_type;
  // About a millisecond to divide.
  static constexpr size_t kMostOfLeaf = 16'384;

  // Returns null if there is none.
  const Value* Find(std::string_view key) const {
    const Map& map = MapOf(key);
    const auto found = map.find(key);
    return found == map.end() ? nullptr : &found->second;
  }
  Value* Find(std::string_view key) { return const_cast<Value*>(std::as_const(*this).Find(key)); }
  bool Contains(std::string_view key) const { return Find(key) != nullptr; }
  // The key must not be there.
  template <typename Key>
  void Insert(Key&& key, Value value) {
    Map& map = MapOf(std::string_view(key));
    const std::string_view there =
        map.emplace(std::forward<Key>(key), std::move(value)).first->first;
    ++size_;
    if (map.size() > kMostOfLeaf) Divide(HashOf(there));
  }
  void Erase(std::string_view key) {
    Map& map = MapOf(key);
    const auto found = map.find(key);
    if (found == map.end()) return;
    map.erase(found);
    --size_;
  }
  // Takes any key out. There must be one.
  Node TakeAny() {
    Map* map = &only_;
    for (size_t tries = 0; map->empty() && tries < leaves_.size(); ++tries) {
      if (taken_ >= leaves_.size()) taken_ = 0;
      map = &leaves_[taken_]->map;
      if (map->empty()) ++taken_;
    }
    --size_;
    return map->extract(map->begin());
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  void Swap(SplitMap* other) {
    only_.swap(other->only_);
    leaves_.swap(other->leaves_);
    std::swap(size_, other->size_);
    std::swap(taken_, other->taken_);
  }

 private:
  // The hashes of all keys of a leaf have the same lowest `depth` bits.
  struct Leaf {
    Map map;
    size_t depth = 0;
  };
  static constexpr size_t kMostDepth = 20;

  static size_t HashOf(std::string_view key) {
    // Not the bits by which a leaf finds its buckets.
    const size_t hash = std::hash<std::string_view>()(key);
    return hash >> 40;
  }
  const Map& MapOf(std::string_view key) const {
    return leaves_.empty() ? only_ : leaves_[HashOf(key) & (leaves_.size() - 1)]->map;
  }
  Map& MapOf(std::string_view key) { return const_cast<Map&>(std::as_const(*this).MapOf(key)); }

  void Divide(size_t hash) {
    if (leaves_.empty()) {
      leaves_.push_back(std::make_shared<Leaf>());
      leaves_.front()->map.swap(only_);
    }
    const std::shared_ptr<Leaf> leaf = leaves_[hash & (leaves_.size() - 1)];
    if (leaf->depth == kMostDepth) return;
    if (size_t{1} << leaf->depth == leaves_.size()) {
      const size_t leaves = leaves_.size();
      leaves_.reserve(2 * leaves);
      for (size_t i = 0; i < leaves; ++i) leaves_.push_back(leaves_[i]);
    }
    const size_t bit = size_t{1} << leaf->depth;
    const auto other = std::make_shared<Leaf>();
    other->depth = ++leaf->depth;
    other->map.reserve(kMostOfLeaf);
    for (auto at = leaf->map.begin(); at != leaf->map.end();) {
      const auto next = std::next(at);
      if ((HashOf(at->first) & bit) != 0) other->map.insert(leaf->map.extract(at));
      at = next;
    }
    for (size_t i = hash & (bit - 1); i < leaves_.size(); i += bit) {
      if ((i & bit) != 0) leaves_[i] = other;
    }
  }

  Map only_;                                   // until there are leaves
  std::vector<std::shared_ptr<Leaf>> leaves_;  // by the lowest bits; a power of two of them
  size_t size_ = 0;
  size_t taken_ = 0;  // a leaf that may have keys for TakeAny
};

}  // namespace stator::kv
