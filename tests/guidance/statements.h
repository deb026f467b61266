// Shared by the files of this suite. Each test is named after the number that its statement has in
// README.md: TEST(Guidance, S07_...).
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "throughput/resource.h"

namespace stator::guidance {

inline constexpr int64_t kSecond = 1'000'000;
inline constexpr int64_t kGigabyte = int64_t{1} << 30;

// Read and write share of a partition -> how many partitions have it.
using Shares = std::map<std::pair<double, double>, int>;
inline Shares SharesOf(const throughput::Resource& table) {
  Shares shares;
  for (const throughput::PartitionView& p : table.Partitions())
    ++shares[{p.share.read, p.share.write}];
  return shares;
}

inline throughput::ResourceDefinition Provisioned(double read, double write) {
  return {.name = "table", .provisioned = {read, write}};
}
inline throughput::ResourceDefinition OnDemand() {
  return {.name = "table", .billing = throughput::Billing::kOnDemand};
}

inline throughput::Draw Write(uint64_t hash, std::string_view key = "key", int64_t units = 1) {
  return {.access = throughput::Access::kWrite, .halves = 2 * units, .point = {hash, {}, key}};
}
inline throughput::Draw Read(uint64_t hash, std::string_view key = "key", int64_t units = 1) {
  return {.access = throughput::Access::kRead, .halves = 2 * units, .point = {hash, {}, key}};
}

}  // namespace stator::guidance
