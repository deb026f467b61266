// Plays recorded requests on the throughput model, to find what would have been throttled with the
// capacity that the tables had. It differs from a server: partitions are those of new tables of the
// same size and capacity, keys other than plain strings get another hash, and refused requests are
// not repeated. Bounded memory, deterministic. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "request_log/record.h"
#include "throughput/resource.h"

namespace stator::advise {

struct ReplaySummary {
  int64_t requests = 0;
  int64_t throttled = 0;
  std::map<std::string, int64_t> reasons;  // by reason code
  size_t partitions = 0;                   // at the end
  // The worst second of the limit that refused most requests.
  std::optional<throughput::Explanation> worst;
};

// One table with its global indexes.
class Replay {
 public:
  Replay(const request_log::TableDefinition& table, int64_t now_micros);

  // Times do not go back.
  void Define(const request_log::TableDefinition& table, int64_t now_micros);
  void Add(const request_log::Request& request, int64_t now_micros);
  // Returns a server's explanation of a hot key (in its recorded form): of the worst second in
  // which the key was refused, or else of the busiest second. nullopt: another key was hotter, or
  // no key was hot. An empty `index` means the table.
  std::optional<throughput::Explanation> Tell(const std::string& index, std::string_view key,
                                              throughput::Access access);
  // Returns how to spread a key for which Tell returns nothing.
  throughput::SpreadPlan Spread(const std::string& index, std::string_view key,
                                throughput::Access access, double units_per_second) const;
  ReplaySummary Finish();

 private:
  struct Part {
    std::unique_ptr<throughput::Resource> resource;
    throughput::ResourceDefinition definition;
    // For each access: the busiest second of any partition, if its demand came near the partition's
    // maximum.
    std::array<std::optional<throughput::Explanation>, throughput::kAccesses> busiest = {};
    double entry_units = 0;  // of an index that projects more than keys: of `entries` writes
    int64_t entries = 0;
    bool keys_only = false;
  };
  Part MakePart(throughput::ResourceDefinition definition, int64_t now_micros) const;
  void Follow(Part* part, throughput::ResourceDefinition definition, int64_t now_micros);
  void Advance(int64_t now_micros);
  void Count(const throughput::Verdict& verdict);
  void CloseSecond(Part* part);
  Part& PartOf(const std::string& index);

  Part table_;
  std::map<std::string, Part> indexes_;
  int64_t advanced_second_ = 0;
  ReplaySummary out_;
  int64_t now_micros_ = 0;
  // Requests refused by each limit.
  std::map<std::tuple<std::string, throughput::Access, throughput::Limit>, int64_t> refusals_;
};

}  // namespace stator::advise
