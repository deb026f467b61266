// Plays recorded requests on the throughput model: what would have been throttled under the
// capacity that the tables had. Partitions are those of new tables of that size and capacity, keys
// are placed by a hash of their own, and refused requests are not tried again. Bounded memory,
// deterministic. Not thread-safe.
#pragma once

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
  // How to spread one key, as recorded; of an index, or of the table with an empty name.
  throughput::SpreadPlan Spread(const std::string& index, std::string_view key,
                                throughput::Access access, double units_per_second) const;
  ReplaySummary Finish();

 private:
  struct Part {
    std::unique_ptr<throughput::Resource> resource;
    throughput::ResourceDefinition definition;
  };
  Part MakePart(throughput::ResourceDefinition definition, int64_t now_micros) const;
  void Follow(Part* part, throughput::ResourceDefinition definition, int64_t now_micros);
  void Advance(int64_t now_micros);
  void Count(const throughput::Verdict& verdict);

  Part table_;
  std::map<std::string, Part> indexes_;
  int64_t advanced_second_ = 0;
  ReplaySummary out_;
  int64_t now_micros_ = 0;
  // Requests refused by each limit.
  std::map<std::tuple<std::string, throughput::Access, throughput::Limit>, int64_t> refusals_;
};

}  // namespace stator::advise
