#include "bulk/digest.h"

#include <cstring>

#include "access/crypto.h"

namespace stator::bulk {

ItemDigest DigestOf(std::string_view encoded) {
  const access::Digest hash = access::Sha256(encoded);
  ItemDigest digest;
  std::memcpy(&digest.high, hash.data(), sizeof digest.high);
  std::memcpy(&digest.low, hash.data() + sizeof digest.high, sizeof digest.low);
  return digest;
}

size_t TableDigest::BucketOf(std::string_view key) { return DigestOf(key).low % kBuckets; }

void TableDigest::Add(std::string_view key, std::string_view item) {
  const ItemDigest digest = DigestOf(item);
  Bucket& bucket = buckets_[BucketOf(key)];
  ++bucket.items;
  bucket.sum.high += digest.high;
  bucket.sum.low += digest.low;
}

void TableDigest::Add(const TableDigest& other) {
  for (size_t i = 0; i < kBuckets; ++i) {
    buckets_[i].items += other.buckets_[i].items;
    buckets_[i].sum.high += other.buckets_[i].sum.high;
    buckets_[i].sum.low += other.buckets_[i].sum.low;
  }
}

int64_t TableDigest::items() const {
  int64_t sum = 0;
  for (const Bucket& bucket : buckets_) sum += bucket.items;
  return sum;
}

std::vector<size_t> TableDigest::Differ(const TableDigest& other) const {
  std::vector<size_t> differ;
  for (size_t i = 0; i < kBuckets; ++i) {
    if (buckets_[i].items != other.buckets_[i].items || !(buckets_[i].sum == other.buckets_[i].sum))
      differ.push_back(i);
  }
  return differ;
}

}  // namespace stator::bulk
