#include "table/definition_account.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <vector>

#include "table/table_name.h"

namespace stator::table {
namespace {

// Measured: 30,000 tables with a key, and 300 with 20 global indexes.
constexpr uint64_t kTableBytes = 10'000;
constexpr uint64_t kGlobalIndexBytes = 9'000;
constexpr uint64_t kLocalIndexBytes = 1'000;
constexpr uint64_t kTextBytes = 64;  // of each text, besides what stands in it
constexpr uint64_t kTargetBytes = 1'000;
// An enabled stream counts about as much as its description will take for a day after it is
// disabled.
constexpr uint64_t kStreamBytes = 2'800;

std::atomic<uint64_t> most_bytes = kMostDefinitionBytes;

uint64_t BytesOf(const std::map<std::string, std::string>& tags) {
  uint64_t bytes = 0;
  for (const auto& [key, value] : tags) bytes += 2 * kTextBytes + key.size() + value.size();
  return bytes;
}

uint64_t BytesOf(const AutoScalingRules& rules) {
  uint64_t bytes = 0;
  for (const std::optional<ScalableTarget>* target : {&rules.read_target, &rules.write_target}) {
    if (!*target) continue;
    bytes += kTargetBytes + (*target)->role_arn.size() + BytesOf((*target)->tags);
    if (const auto& policy = (*target)->policy) bytes += kTextBytes + policy->name.size();
  }
  return bytes;
}

// The end of a refusal: the part that no client can drop.
std::string OfStreams(uint64_t bytes) {
  if (bytes == 0) return {};
  return fmt::format(
      "; {} bytes describe disabled streams, which go 24 hours after they were disabled", bytes);
}

}  // namespace

void DefinitionAccount::SetMost(uint64_t bytes) { most_bytes = bytes; }

uint64_t DefinitionAccount::BytesOf(const TableDescriptor& table) {
  uint64_t bytes = kTableBytes + table.name.size() + table::BytesOf(table.tags) +
                   table::BytesOf(table.auto_scaling);
  for (const model::KeyAttribute& attribute : table.attribute_definitions)
    bytes += kTextBytes + attribute.name.size();
  for (const IndexDescriptor& index : table.indexes) {
    bytes += (index.is_global() ? kGlobalIndexBytes : kLocalIndexBytes) + index.name.size();
    bytes += table::BytesOf(index.auto_scaling);
    for (const std::string& name : index.non_key_attributes) bytes += kTextBytes + name.size();
  }
  if (table.stream_view_type) bytes += kStreamBytes;
  if (table.captures()) bytes += kStreamBytes;
  return bytes;
}

Status DefinitionAccount::Check(const TableDescriptor* before, const TableDescriptor& next) const {
  const uint64_t had = before == nullptr ? 0 : BytesOf(*before);
  const uint64_t has = BytesOf(next);
  if (has <= had) return OkStatus();
  const uint64_t most = most_bytes;
  const uint64_t all = table_bytes_ + streams_.bytes + (has - had);
  if (all > most) {
    return Error(ErrorCode::kLimitExceeded,
                 fmt::format("Subscriber limit exceeded: The definitions of all tables together "
                             "may have {} bytes, and would have {}: drop tables or indexes{}",
                             most, all, OfStreams(streams_.bytes)));
  }
  const std::string_view account = AccountIn(next.name);
  const auto mine = of_accounts_.find(account);
  const uint64_t own = (mine == of_accounts_.end() ? 0 : mine->second) + (has - had);
  const uint64_t accounts = of_accounts_.size() + (mine == of_accounts_.end() ? 1 : 0);
  const uint64_t share = most / 2 / accounts;
  const auto streams = streams_.of_accounts.find(account);
  if (accounts > 1 && all > most / 2 && own > share) {
    return Error(
        ErrorCode::kLimitExceeded,
        fmt::format("Subscriber limit exceeded: The definitions of all tables together "
                    "have more than half of the {} bytes that they may have, so those of "
                    "one account may have {} bytes, and would have {}: drop tables or "
                    "indexes{}",
                    most, share, own,
                    OfStreams(streams == streams_.of_accounts.end() ? 0 : streams->second)));
  }
  return OkStatus();
}

void DefinitionAccount::Add(const TableDescriptor& table) {
  const uint64_t bytes = BytesOf(table);
  table_bytes_ += bytes;
  AddTo(AccountIn(table.name), bytes);
}

void DefinitionAccount::Add(const DisabledStreams& streams) {
  streams_ = streams;
  for (const auto& [account, bytes] : streams_.of_accounts) AddTo(account, bytes);
}

void DefinitionAccount::AddTo(std::string_view account, uint64_t bytes) {
  const auto mine = of_accounts_.find(account);
  if (mine == of_accounts_.end())
    of_accounts_.emplace(account, bytes);
  else
    mine->second += bytes;
}

Status DefinitionBound::Check(const Held& held, const TableDescriptor* before,
                              const TableDescriptor& next) {
  const uint64_t had = before == nullptr ? 0 : DefinitionAccount::BytesOf(*before);
  const uint64_t has = DefinitionAccount::BytesOf(next);
  if (has <= had) return OkStatus();
  if (checks_left_ > 0 && most_held_ + held.stream_bytes + (has - had) <= most_bytes / 2) {
    --checks_left_;
    most_held_ += has - had;
    return OkStatus();
  }
  DefinitionAccount account;
  for (const TablePtr& table : held.tables()) account.Add(table->descriptor);
  account.Add(held.streams());
  TRY(account.Check(before, next));
  most_held_ = account.table_bytes() + (has - had);
  checks_left_ = kChecksPerCount;
  return OkStatus();
}

}  // namespace stator::table
