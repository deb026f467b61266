#include "server/resource_policy_keeper.h"

#include <algorithm>
#include <vector>

#include "table/table_name.h"

namespace stator::server {
namespace {

// The policy of a table is stored before the table: it is young when its table is not there yet.
constexpr int64_t kForgetAfterMillis = 3'600'000;
constexpr int64_t kForgetEveryMillis = 600'000;
constexpr size_t kForgottenAtATime = 100;

}  // namespace

std::optional<ops::ResourcePolicies::Policy> ResourcePolicyKeeper::Find(std::string_view id) const {
  const auto policy = identities_.FindResource(id);
  if (policy == nullptr) return std::nullopt;
  return Policy{policy->record.revision, policy->record.text};
}

guard::AttachedPolicy ResourcePolicyKeeper::FindAttached(std::string_view id) const {
  const auto policy = identities_.FindResource(id);
  if (policy == nullptr || policy->record.text.empty()) return {};
  return {true, policy->compiled};
}

ResourcePolicyKeeper::Owners ResourcePolicyKeeper::AllOwners() const {
  Owners owners;
  for (const table::TablePtr& table : store_.List())
    owners.emplace(table->descriptor.table_id, table::AccountIn(table->descriptor.name));
  for (const stream::StreamPtr& stream : store_.ListStreams())
    owners.emplace(stream->table_id + "/" + stream->label, table::AccountIn(stream->table_name));
  return owners;
}

Status ResourcePolicyKeeper::ForgetGone() {
  const int64_t now = store_.clock().NowMicros() / 1000;
  const int64_t last = forgot_millis_.load();
  if (now >= last && now - last < kForgetEveryMillis) return OkStatus();
  std::vector<std::string> old = identities_.ResourcesBefore(now - kForgetAfterMillis);
  if (!old.empty()) {
    // Other processes may have made tables that this one does not know.
    TRY(store_.Refresh());
    const Owners owners = AllOwners();
    std::erase_if(old, [&owners](const std::string& id) { return owners.contains(id); });
  }
  const size_t count = std::min(old.size(), kForgottenAtATime);
  for (size_t i = 0; i < count; ++i) {
    TRY(identities_.ChangeResource(
        old[i],
        [](std::optional<identity::ResourcePolicyRecord>* record) {
          record->reset();
          return OkStatus();
        },
        [](const std::string&) { return std::string(); }));
  }
  if (count == old.size()) forgot_millis_.store(now);
  return OkStatus();
}

Status ResourcePolicyKeeper::Alter(const std::string& id, Change change) {
  TRY(ForgetGone());
  const auto alter = [&](std::optional<identity::ResourcePolicyRecord>* record) -> Status {
    std::optional<Policy> before;
    if (*record) before = Policy{(*record)->revision, (*record)->text};
    ASSIGN_OR_RETURN(std::optional<Policy> next, change(before));
    if (next) *record = identity::ResourcePolicyRecord{next->revision, std::move(next->text), ""};
    return OkStatus();
  };
  std::optional<Owners> owners;
  // A table that is about to be created has no known owner: its policy counts for the default
  // account.
  return identities_.ChangeResource(id, alter, [&](const std::string& resource) {
    if (!owners) owners = AllOwners();
    const auto found = owners->find(resource);
    return found == owners->end() ? std::string() : found->second;
  });
}

}  // namespace stator::server
