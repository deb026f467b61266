// Digests of a table's items, in any order, in buckets by key: two tables are compared by them
// without holding their items.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stator::bulk {

// Equal for equal items: their encoding is canonical.
struct ItemDigest {
  uint64_t high = 0;
  uint64_t low = 0;
  bool operator==(const ItemDigest&) const = default;
};
ItemDigest DigestOf(std::string_view encoded);

// Not thread-safe.
class TableDigest {
 public:
  static constexpr size_t kBuckets = 16'384;

  TableDigest() : buckets_(kBuckets) {}
  // Returns the bucket of an encoded key.
  static size_t BucketOf(std::string_view key);
  void Add(std::string_view key, std::string_view item);
  // Adds all of another part of the table.
  void Add(const TableDigest& other);
  int64_t items() const;
  int64_t items(size_t bucket) const { return buckets_[bucket].items; }
  // Returns the buckets that differ.
  std::vector<size_t> Differ(const TableDigest& other) const;

 private:
  struct Bucket {
    int64_t items = 0;
    ItemDigest sum;  // each half modulo 2^64
  };
  std::vector<Bucket> buckets_;
};

}  // namespace stator::bulk
