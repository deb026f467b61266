#include "identity/identity_store.h"

#include <charconv>
#include <map>
#include <string_view>

#include "access/identity.h"

namespace stator::identity {
namespace {

constexpr std::string_view kRecord = "record/";
constexpr std::string_view kRecordEnd = "record0";  // '0' follows '/'
constexpr std::string_view kVersion = "version";
constexpr std::string_view kCheck = "check";
constexpr int kMostRounds = 100;

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
  }
  return lower;
}

std::string KeyOf(std::string_view kind, std::string_view account, std::string_view name) {
  return std::string(kRecord).append(kind).append("/").append(account).append("/").append(name);
}

std::string ValueOf(std::string_view bytes) {
  return std::string(kv::kStampBytes, '\0').append(bytes);
}

// All records by their keys, encoded.
using Encoded = std::map<std::string, std::string, std::less<>>;

std::string EncodeResource(const ResourcePolicyRecord& record) {
  return std::string(1, '\1') + std::to_string(record.revision) + " " + record.text;
}

Status DecodeResource(std::string_view bytes, ResourcePolicyRecord* record) {
  if (!bytes.starts_with('\1')) {
    return Error(ErrorCode::kUnavailable,
                 "the store has resource policies that a newer version of Stator wrote");
  }
  const char* const end = bytes.data() + bytes.size();
  const auto [rest, error] = std::from_chars(bytes.data() + 1, end, record->revision);
  if (error != std::errc() || rest == end || *rest != ' ')
    return CorruptionError("a resource policy in the store is damaged");
  record->text.assign(rest + 1, end);
  return OkStatus();
}

Encoded Encode(std::string_view account, const Contents& contents) {
  const access::Records& records = contents.records;
  Encoded all;
  for (const auto& [id, record] : contents.resources)
    all[KeyOf("resource", account, id)] = EncodeResource(record);
  for (const auto& one : records.accounts) all[KeyOf("account", one.id, "")] = access::Encode(one);
  for (const auto& one : records.users)
    all[KeyOf("user", one.account, Lower(one.name))] = access::Encode(one);
  for (const auto& one : records.groups)
    all[KeyOf("group", one.account, Lower(one.name))] = access::Encode(one);
  for (const auto& one : records.roles)
    all[KeyOf("role", one.account, Lower(one.name))] = access::Encode(one);
  for (const auto& one : records.keys) all[KeyOf("key", one.account, one.id)] = access::Encode(one);
  for (const auto& one : records.policies)
    all[KeyOf("policy", one.account, Lower(one.name))] = access::Encode(one);
  for (const auto& one : records.providers)
    all[KeyOf("provider", one.account, one.url)] = access::Encode(one);
  return all;
}

template <typename T>
Status Take(std::string_view bytes, std::vector<T>* list) {
  return access::Decode(bytes, &list->emplace_back());
}

Status Decode(std::string_view key, std::string_view bytes, Contents* contents) {
  access::Records* const records = &contents->records;
  const std::string_view rest = key.substr(kRecord.size());
  const std::string_view kind = rest.substr(0, rest.find('/'));
  if (kind == "account") return Take(bytes, &records->accounts);
  if (kind == "user") return Take(bytes, &records->users);
  if (kind == "group") return Take(bytes, &records->groups);
  if (kind == "role") return Take(bytes, &records->roles);
  if (kind == "key") return Take(bytes, &records->keys);
  if (kind == "policy") return Take(bytes, &records->policies);
  if (kind == "provider") return Take(bytes, &records->providers);
  if (kind == "resource") {
    const std::string_view name = rest.substr(kind.size() + 1);
    const size_t slash = name.find('/');
    if (slash == std::string_view::npos)
      return CorruptionError("the name of a resource policy in the store is damaged");
    return DecodeResource(bytes, &contents->resources[std::string(name.substr(slash + 1))]);
  }
  return Error(ErrorCode::kUnavailable,
               "the store has records of access control that a newer "
               "version of Stator wrote: " +
                   std::string(kind));
}

struct Snapshot {
  uint64_t version = 0;
  Encoded records;
  std::string check;
};

Result<Snapshot> ReadSnapshot(kv::Engine& engine) {
  for (int round = 0; round < kMostRounds; ++round) {
    Snapshot snapshot;
    ASSIGN_OR_RETURN(snapshot.version, ReadVersion(engine));
    TRY(engine.Scan({kIdentityTablet, kRecord, kRecordEnd}, kv::Tier::kAny,
                    [&snapshot](std::string_view key, std::string_view value) {
                      snapshot.records.emplace(key, value.substr(kv::kStampBytes));
                      return true;
                    }));
    std::string check;
    ASSIGN_OR_RETURN(const bool has_check,
                     engine.Get(kIdentityTablet, kCheck, kv::Tier::kAny, &check));
    if (has_check) snapshot.check = check.substr(kv::kStampBytes);
    ASSIGN_OR_RETURN(const uint64_t after, ReadVersion(engine));
    if (after == snapshot.version) return snapshot;
  }
  return Error(ErrorCode::kUnavailable, "the records of access control change all the time");
}

Result<Contents> DecodeAll(const Encoded& encoded) {
  Contents contents;
  for (const auto& [key, bytes] : encoded) TRY(Decode(key, bytes, &contents));
  return contents;
}

}  // namespace

Result<uint64_t> ReadVersion(kv::Engine& engine) {
  std::string value;
  ASSIGN_OR_RETURN(const bool found, engine.Get(kIdentityTablet, kVersion, kv::Tier::kAny, &value));
  return found ? kv::StampOf(value) : 0;
}

Result<StoredContents> ReadContents(kv::Engine& engine) {
  ASSIGN_OR_RETURN(Snapshot snapshot, ReadSnapshot(engine));
  StoredContents stored;
  stored.version = snapshot.version;
  stored.check = std::move(snapshot.check);
  ASSIGN_OR_RETURN(stored.contents, DecodeAll(snapshot.records));
  return stored;
}

Status ChangeStored(kv::Engine& engine, std::string_view account, const std::string& check,
                    ChangeContents change) {
  for (int round = 0;; ++round) {
    ASSIGN_OR_RETURN(const Snapshot before, ReadSnapshot(engine));
    ASSIGN_OR_RETURN(Contents contents, DecodeAll(before.records));
    TRY(change(&contents));
    const Encoded after = Encode(account, contents);
    kv::Batch batch;
    batch.guards.push_back({kIdentityTablet, std::string(kVersion), before.version});
    for (const auto& [key, bytes] : before.records) {
      if (!after.contains(key)) batch.deletes.push_back({kIdentityTablet, key});
    }
    for (const auto& [key, bytes] : after) {
      const auto old = before.records.find(key);
      if (old != before.records.end() && old->second == bytes) continue;
      batch.puts.push_back({kIdentityTablet, key, ValueOf(bytes)});
    }
    if (batch.puts.empty() && batch.deletes.empty()) return OkStatus();
    if (before.check.empty() && !check.empty())
      batch.puts.push_back({kIdentityTablet, std::string(kCheck), ValueOf(check)});
    batch.puts.push_back({kIdentityTablet, std::string(kVersion), ValueOf("")});
    Result<uint64_t> applied = kv::ApplyAndWait(engine, std::move(batch));
    if (applied.ok()) return OkStatus();
    if (applied.error().code() != ErrorCode::kGuardFailed || round == kMostRounds)
      return std::move(applied).error();
  }
}

}  // namespace stator::identity
