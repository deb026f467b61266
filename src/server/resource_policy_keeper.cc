#include "server/resource_policy_keeper.h"

#include <set>
#include <string>

namespace stator::server {
namespace {

// The policy of a table is stored before the table: it is young when its table is not there yet.
constexpr int64_t kForgetAfterMillis = 3'600'000;

}  // namespace

std::optional<ops::ResourcePolicies::Policy> ResourcePolicyKeeper::Find(std::string_view id) const {
  const auto policies = identities_.resource_policies();
  if (policies == nullptr) return std::nullopt;
  const auto found = policies->find(id);
  if (found == policies->end()) return std::nullopt;
  return Policy{found->second.record.revision, found->second.record.text};
}

guard::AttachedPolicy ResourcePolicyKeeper::FindAttached(std::string_view id) const {
  const auto policies = identities_.resource_policies();
  if (policies == nullptr) return {};
  const auto found = policies->find(id);
  if (found == policies->end() || found->second.record.text.empty()) return {};
  return {true, found->second.compiled};
}

void ResourcePolicyKeeper::ForgetGone(identity::ResourcePolicyRecords* records) const {
  std::set<std::string, std::less<>> known;
  for (const table::TablePtr& table : store_.List()) known.insert(table->descriptor.table_id);
  for (const stream::StreamPtr& stream : store_.ListStreams())
    known.insert(stream->table_id + "/" + stream->label);
  const int64_t old = store_.clock().NowMicros() / 1000 - kForgetAfterMillis;
  std::erase_if(*records, [&](const auto& entry) {
    return !known.contains(entry.first) && entry.second.revision < old;
  });
}

Status ResourcePolicyKeeper::Alter(const std::string& id, Change change) {
  // Other processes may have made tables that this one does not know.
  TRY(store_.Refresh());
  return identities_.ChangeResources([&](identity::ResourcePolicyRecords* records) -> Status {
    ForgetGone(records);
    std::optional<Policy> old;
    if (const auto found = records->find(id); found != records->end())
      old = Policy{found->second.revision, found->second.text};
    ASSIGN_OR_RETURN(std::optional<Policy> next, change(old));
    if (next) (*records)[id] = {next->revision, std::move(next->text)};
    return OkStatus();
  });
}

}  // namespace stator::server
