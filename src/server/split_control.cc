#include "server/split_control.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "server/report_json.h"
#include "simdjson.h"
#include "throughput/meter.h"

namespace stator::server {
namespace {

constexpr size_t kHashDigits = 16;

// Returns the number in `text` if it consists of digits of that base alone.
std::optional<uint64_t> WholeNumber(std::string_view text, int base) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

Result<uint64_t> PartitionOf(simdjson::dom::element json) {
  uint64_t value = 0;
  if (json.get(value) == simdjson::SUCCESS) return value;
  std::string_view text;
  if (json.get(text) == simdjson::SUCCESS) {
    if (const auto number = WholeNumber(text, 10)) return *number;
  }
  return ValidationError("\"partition\" must be the id of a partition, a whole number");
}

// Demands all 16 digits, so that a decimal number is not taken for a hash.
Result<uint64_t> HashOf(simdjson::dom::element json) {
  std::string_view text;
  if (json.get(text) == simdjson::SUCCESS) {
    std::string_view digits = text;
    if (digits.starts_with("0x")) digits.remove_prefix(2);
    const auto hash = WholeNumber(digits, 16);
    if (hash && digits.size() == kHashDigits) return *hash;
  }
  return ValidationError(
      R"("hash" must be a text of 16 hexadecimal digits, as GET .../partitions shows them, for example "4000000000000000")");
}

std::string Hex(uint64_t hash) { return fmt::format("{:016x}", hash); }

}  // namespace

Result<SplitRequest> ParseSplitRequest(std::string_view body) {
  SplitRequest request;
  if (body.empty()) return request;
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  if (parser.parse(body.data(), body.size()).get(object) != simdjson::SUCCESS) {
    return ValidationError(
        R"(The body must be a JSON object such as {"partition": 3} or {"hash": "4000000000000000"})");
  }
  for (const auto& [name, json] : object) {
    if (name == "partition") {
      ASSIGN_OR_RETURN(request.partition, PartitionOf(json));
    } else if (name == "hash") {
      ASSIGN_OR_RETURN(request.hash, HashOf(json));
    } else {
      return ValidationError("There is no member \"" + std::string(name) +
                             "\"; a split knows \"partition\" and \"hash\"");
    }
  }
  return request;
}

Result<std::optional<uint64_t>> ResolveSplit(const ops::Environment& environment,
                                             std::string_view table, const SplitRequest& request) {
  if (!request.partition) return request.hash;
  const std::vector<ops::Admission::Resource> resources = environment.admission.ResourcesOf(table);
  if (resources.empty())
    return Error(ErrorCode::kResourceNotFound, "There is no table " + std::string(table));
  const std::vector<throughput::PartitionView> partitions =
      resources.front().meter->resource().Partitions();
  const auto found = std::find_if(partitions.begin(), partitions.end(),
                                  [&](const auto& each) { return each.id == *request.partition; });
  if (found == partitions.end()) {
    return ValidationError(fmt::format(
        "Table {} has no partition with id {}; GET /_stator/tables/{}/partitions lists them", table,
        *request.partition, table));
  }
  const throughput::KeyRange& range = found->range;
  const uint64_t first = range.from.hash;
  // A bound with a sort key lies inside the collection of its hash, which belongs to both sides.
  const uint64_t last = range.to_end            ? UINT64_MAX
                        : range.to.sort.empty() ? range.to.hash - 1
                                                : range.to.hash;
  if (first == last) {
    return ValidationError(fmt::format(
        "Partition {} lies inside one item collection; a split on demand divides hashes only",
        found->id));
  }
  const uint64_t at = request.hash ? *request.hash : first + (last - first) / 2 + 1;
  if (at <= first || at > last) {
    return ValidationError(
        fmt::format("Hash {} does not divide partition {}; choose one from {} to {}", Hex(at),
                    found->id, Hex(first + 1), Hex(last)));
  }
  return std::optional(at);
}

std::string RenderSplit(const table::Table& table) {
  return fmt::format(R"({{"name":{},"partitions":{}}})", Quoted(table.descriptor.name),
                     Array(table.descriptor.partitions.starts(),
                           [](uint64_t start) { return Quoted(Hex(start)); }));
}

}  // namespace stator::server
