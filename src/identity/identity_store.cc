#include "identity/identity_store.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>

#include "access/identity.h"
#include "base/ascii.h"

namespace stator::identity {
namespace {

constexpr std::string_view kRecord = "record/";
constexpr std::string_view kRecordEnd = "record0";  // '0' follows '/'
constexpr std::string_view kVersion = "version";
constexpr std::string_view kCheck = "check";
constexpr int kMostRounds = 100;
// The number of latest changes that the record "version" lists: 2.5 KB, or 8 KB if all of them are
// changes of resource policies.
constexpr size_t kNamedChanges = 64;
constexpr char kOneResource = '@';
constexpr std::string_view kResourceKind = "resource";
constexpr std::string_view kResourceRecords = "record/resource/";
constexpr std::string_view kResourceRecordsEnd = "record/resource0";
// The kinds of an account's records.
constexpr std::string_view kKinds[] = {"account", "user",   "group",   "role",
                                       "key",     "policy", "provider"};

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

Encoded Encode(const access::Records& records) {
  Encoded all;
  for (const auto& one : records.accounts) all[KeyOf("account", one.id, "")] = access::Encode(one);
  for (const auto& one : records.users)
    all[KeyOf("user", one.account, LowerAscii(one.name))] = access::Encode(one);
  for (const auto& one : records.groups)
    all[KeyOf("group", one.account, LowerAscii(one.name))] = access::Encode(one);
  for (const auto& one : records.roles)
    all[KeyOf("role", one.account, LowerAscii(one.name))] = access::Encode(one);
  for (const auto& one : records.keys) all[KeyOf("key", one.account, one.id)] = access::Encode(one);
  for (const auto& one : records.policies)
    all[KeyOf("policy", one.account, LowerAscii(one.name))] = access::Encode(one);
  for (const auto& one : records.providers)
    all[KeyOf("provider", one.account, one.url)] = access::Encode(one);
  return all;
}

template <typename T>
Status Take(std::string_view bytes, std::vector<T>* list) {
  return access::Decode(bytes, &list->emplace_back());
}

Status Decode(std::string_view key, std::string_view bytes, StoredContents* contents) {
  const std::string_view rest = key.substr(kRecord.size());
  const std::string_view kind = rest.substr(0, rest.find('/'));
  const std::string_view name = rest.substr(std::min(kind.size() + 1, rest.size()));
  const size_t slash = name.find('/');
  if (slash == std::string_view::npos)
    return CorruptionError("the name of a record of access control in the store is damaged");
  if (kind == kResourceKind) {
    ResourcePolicyRecord& record = contents->resources[std::string(name.substr(slash + 1))];
    record.account = name.substr(0, slash);
    return DecodeResource(bytes, &record);
  }
  access::Records& records = contents->accounts[std::string(name.substr(0, slash))];
  if (kind == "account") return Take(bytes, &records.accounts);
  if (kind == "user") return Take(bytes, &records.users);
  if (kind == "group") return Take(bytes, &records.groups);
  if (kind == "role") return Take(bytes, &records.roles);
  if (kind == "key") return Take(bytes, &records.keys);
  if (kind == "policy") return Take(bytes, &records.policies);
  if (kind == "provider") return Take(bytes, &records.providers);
  return Error(ErrorCode::kUnavailable,
               "the store has records of access control that a newer "
               "version of Stator wrote: " +
                   std::string(kind));
}

// The record "version" and the requested records, read from one state of the store.
struct Snapshot {
  uint64_t version = 0;
  std::string changes;
  Encoded records;
  std::string check;
};

Status ReadVersion(kv::Engine& engine, uint64_t* version, std::string* changes) {
  std::string value;
  ASSIGN_OR_RETURN(const bool found, engine.Get(kIdentityTablet, kVersion, kv::Tier::kAny, &value));
  *version = found ? kv::StampOf(value) : 0;
  changes->assign(value, std::min(value.size(), kv::kStampBytes));
  return OkStatus();
}

Status ScanRange(kv::Engine& engine, std::string_view begin, std::string_view end,
                 Encoded* records) {
  return engine.Scan({kIdentityTablet, std::string(begin), std::string(end)}, kv::Tier::kAny,
                     [records](std::string_view key, std::string_view value) {
                       records->emplace(key, value.substr(kv::kStampBytes));
                       return true;
                     });
}

Status ReadPart(kv::Engine& engine, std::string_view part, Encoded* records) {
  if (part == kResources) return ScanRange(engine, kResourceRecords, kResourceRecordsEnd, records);
  if (ResourceIn(part)) {
    std::string key = std::string(kResourceRecords).append(part.substr(1));
    std::string value;
    ASSIGN_OR_RETURN(const bool found, engine.Get(kIdentityTablet, key, kv::Tier::kAny, &value));
    if (found) records->insert_or_assign(std::move(key), value.substr(kv::kStampBytes));
    return OkStatus();
  }
  for (const std::string_view kind : kKinds) {
    const std::string begin = KeyOf(kind, part, "");
    std::string end = begin;
    ++end.back();
    TRY(ScanRange(engine, begin, end, records));
  }
  return OkStatus();
}

// Null `parts`: everything.
Result<Snapshot> ReadSnapshot(kv::Engine& engine, const Parts* parts) {
  for (int round = 0; round < kMostRounds; ++round) {
    Snapshot snapshot;
    TRY(ReadVersion(engine, &snapshot.version, &snapshot.changes));
    if (parts == nullptr) {
      TRY(ScanRange(engine, kRecord, kRecordEnd, &snapshot.records));
    } else {
      for (const std::string& part : *parts) TRY(ReadPart(engine, part, &snapshot.records));
    }
    std::string check;
    ASSIGN_OR_RETURN(const bool has_check,
                     engine.Get(kIdentityTablet, kCheck, kv::Tier::kAny, &check));
    if (has_check) snapshot.check = check.substr(kv::kStampBytes);
    uint64_t after = 0;
    std::string changes;
    TRY(ReadVersion(engine, &after, &changes));
    if (after == snapshot.version) return snapshot;
  }
  return Error(ErrorCode::kUnavailable, "the records of access control change all the time");
}

Result<StoredContents> DecodeAll(const Encoded& encoded) {
  StoredContents contents;
  for (const auto& [key, bytes] : encoded) TRY(Decode(key, bytes, &contents));
  return contents;
}

// One change of "version" as it stands there; nothing, and `rest` as it is, if it begins with none.
struct NamedChange {
  uint64_t before = 0;
  std::string_view part;
};
std::optional<NamedChange> TakeChange(std::string_view* rest) {
  const size_t end = rest->find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = rest->substr(0, end);
  NamedChange change;
  const auto [at, error] = std::from_chars(line.data(), line.data() + line.size(), change.before);
  if (error != std::errc() || at == line.data() + line.size() || *at != ' ') return std::nullopt;
  change.part = line.substr(static_cast<size_t>(at - line.data()) + 1);
  rest->remove_prefix(end + 1);
  return change;
}

bool IsOfOneResource(std::string_view line) {
  const size_t space = line.find(' ');
  return space + 1 < line.size() && line[space + 1] == kOneResource;
}

// Returns the list of changes with one more, without the oldest ones beyond kNamedChanges.
std::string WithChange(std::string_view changes, uint64_t before, std::string_view part) {
  const std::string version = std::to_string(before);
  std::string next(changes);
  if (ResourceIn(part)) {
    next.append(version).append(" ").append(part).append("\n");
    part = kResources;
  }
  next.append(version).append(" ").append(part).append("\n");
  size_t count = 0;
  for (size_t begin = 0; begin < next.size();) {
    const size_t end = next.find('\n', begin);
    if (!IsOfOneResource(std::string_view(next).substr(begin, end - begin))) ++count;
    if (end == std::string::npos) break;
    begin = end + 1;
  }
  while (count > kNamedChanges) {
    const size_t end = next.find('\n');
    if (!IsOfOneResource(std::string_view(next).substr(0, end))) --count;
    next.erase(0, end + 1);
  }
  return next;
}

// Changes the records of a part. `change` returns the new ones, and fills the batch.
using ChangePart = FunctionRef<Result<Encoded>(StoredContents* contents, kv::Batch* batch)>;
Result<Applied> ChangeStoredPart(kv::Engine& engine, std::string_view part,
                                 const std::string& check, ChangePart change) {
  const Parts parts{std::string(part)};
  for (int round = 0;; ++round) {
    ASSIGN_OR_RETURN(const Snapshot before, ReadSnapshot(engine, &parts));
    ASSIGN_OR_RETURN(StoredContents contents, DecodeAll(before.records));
    contents.version = before.version;
    kv::Batch batch;
    ASSIGN_OR_RETURN(const Encoded after, change(&contents, &batch));
    const size_t others = batch.puts.size() + batch.deletes.size();
    batch.guards.push_back({kIdentityTablet, std::string(kVersion), before.version});
    for (const auto& [key, bytes] : before.records) {
      if (!after.contains(key)) batch.deletes.push_back({kIdentityTablet, key});
    }
    for (const auto& [key, bytes] : after) {
      const auto old = before.records.find(key);
      if (old != before.records.end() && old->second == bytes) continue;
      batch.puts.push_back({kIdentityTablet, key, ValueOf(bytes)});
    }
    if (batch.puts.size() + batch.deletes.size() == others)
      return Applied{before.version, before.version};
    if (before.check.empty() && !check.empty())
      batch.puts.push_back({kIdentityTablet, std::string(kCheck), ValueOf(check)});
    batch.puts.push_back({kIdentityTablet, std::string(kVersion),
                          ValueOf(WithChange(before.changes, before.version, part))});
    Result<uint64_t> applied = kv::ApplyAndWait(engine, std::move(batch));
    if (applied.ok()) return Applied{before.version, *applied};
    if (applied.error().code() != ErrorCode::kGuardFailed || round == kMostRounds)
      return std::move(applied).error();
  }
}

}  // namespace

std::string ResourcePart(std::string_view account, std::string_view id) {
  return std::string(1, kOneResource).append(account).append("/").append(id);
}

std::optional<std::string_view> ResourceIn(std::string_view part) {
  const size_t slash = part.find('/');
  if (!part.starts_with(kOneResource) || slash == std::string_view::npos) return std::nullopt;
  return part.substr(slash + 1);
}

Result<Changes> ReadChanges(kv::Engine& engine, uint64_t since) {
  Changes changes;
  std::string named;
  TRY(ReadVersion(engine, &changes.version, &named));
  if (changes.version == since) return changes;
  changes.all = true;
  std::string_view rest = named;
  std::optional<NamedChange> one;  // the first line of a change of one resource
  while (const std::optional<NamedChange> change = TakeChange(&rest)) {
    if (ResourceIn(change->part)) {
      one = change;
      continue;
    }
    if (change->before == since) changes.all = false;
    const bool of_one = change->part == kResources && one && one->before == change->before;
    if (!changes.all) changes.parts.emplace(of_one ? one->part : change->part);
    one.reset();
  }
  if (!rest.empty()) changes.all = true;
  return changes;
}

Result<StoredContents> ReadContents(kv::Engine& engine, const Parts* parts) {
  ASSIGN_OR_RETURN(Snapshot snapshot, ReadSnapshot(engine, parts));
  ASSIGN_OR_RETURN(StoredContents stored, DecodeAll(snapshot.records));
  stored.version = snapshot.version;
  stored.check = std::move(snapshot.check);
  return stored;
}

Result<Applied> ChangeStored(kv::Engine& engine, std::string_view account, const std::string& check,
                             ChangeAccount change) {
  return ChangeStoredPart(engine, account, check,
                          [&](StoredContents* contents, kv::Batch* batch) -> Result<Encoded> {
                            access::Records& records = contents->accounts[std::string(account)];
                            TRY(change(&records, batch));
                            return Encode(records);
                          });
}

Result<Applied> ChangeStoredResource(kv::Engine& engine, std::string_view account,
                                     std::string_view id, const std::string& check,
                                     ChangeResource change) {
  return ChangeStoredPart(engine, ResourcePart(account, id), check,
                          [&](StoredContents* contents, kv::Batch*) -> Result<Encoded> {
                            std::optional<ResourcePolicyRecord> record;
                            if (const auto found = contents->resources.find(id);
                                found != contents->resources.end())
                              record = std::move(found->second);
                            TRY(change(&record));
                            Encoded after;
                            if (record)
                              after[KeyOf(kResourceKind, account, id)] = EncodeResource(*record);
                            return after;
                          });
}

}  // namespace stator::identity
