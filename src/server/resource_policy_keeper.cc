#include "server/resource_policy_keeper.h"

#include <map>
#include <string>

#include "table/table_name.h"

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

Status ResourcePolicyKeeper::Alter(const std::string& id, Change change) {
  // Other processes may have made tables that this one does not know.
  TRY(store_.Refresh());
  // The account of each table and stream that there is.
  std::map<std::string, std::string, std::less<>> owners;
  for (const table::TablePtr& table : store_.List())
    owners.emplace(table->descriptor.table_id, table::AccountIn(table->descriptor.name));
  for (const stream::StreamPtr& stream : store_.ListStreams())
    owners.emplace(stream->table_id + "/" + stream->label, table::AccountIn(stream->table_name));
  const int64_t old = store_.clock().NowMicros() / 1000 - kForgetAfterMillis;
  const auto alter = [&](identity::ResourcePolicyRecords* records) -> Status {
    std::erase_if(*records, [&](const auto& entry) {
      return !owners.contains(entry.first) && entry.second.revision < old;
    });
    std::optional<Policy> before;
    if (const auto found = records->find(id); found != records->end())
      before = Policy{found->second.revision, found->second.text};
    ASSIGN_OR_RETURN(std::optional<Policy> next, change(before));
    if (next) (*records)[id] = {next->revision, std::move(next->text)};
    return OkStatus();
  };
  // Of a table that is about to be made it is not known: it counts for the default account.
  return identities_.ChangeResources(alter, [&](const std::string& resource) {
    const auto found = owners.find(resource);
    return found == owners.end() ? std::string() : found->second;
  });
}

}  // namespace stator::server
