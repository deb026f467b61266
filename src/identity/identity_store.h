// The records of access control in the store: tablet 7 of Space::kCatalog.
//
//   key := "record/" kind "/" account "/" name      value := stamp record   (access/identity.h)
//        | "version"                                value := stamp { change }
//        | "check"                                  value := stamp sealed
//   kind := "account" | "user" | "group" | "role" | "key" | "policy" | "provider" | "resource"
//   name := the name in lower case; of keys the id, of providers the URL, of accounts nothing, of
//           resources (policies of tables and streams) the table's UUID, of streams "/" label too
//   record of a resource := 01 revision " " text     revision: decimal; no text: the policy is gone
//   sealed := "stator", sealed with the master key (access/seal.h)
//   change := version " " part "\n"   version: the stamp of "version" before the change, decimal
//   part   := account | "@" account "/" name | "resources"
//
// "version" is written with every change and guards it, so changes of several processes come one
// after the other, and a process that knows the stamp of "version" knows all records. It names the
// latest changes, oldest first, each of one part: a process that knows the state before one of them
// reads the parts that it and those behind it name. A change of one resource has two lines, "@" and
// then "resources", so that versions of Stator that do not know the first read all resources.
// Versions that knew none of this write and read "version" without changes; then all is read.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "access/directory.h"
#include "base/result.h"
#include "base/unique_function.h"
#include "kv/engine.h"

namespace stator::identity {

inline constexpr kv::Tablet kIdentityTablet = {kv::Space::kCatalog, 7};

// The policy of a table or a stream, as it was sent.
struct ResourcePolicyRecord {
  int64_t revision = 0;  // milliseconds of the change, rising
  std::string text;      // empty: it was deleted
  std::string account;   // under which it stands in the store
  friend bool operator==(const ResourcePolicyRecord&, const ResourcePolicyRecord&) = default;
};
using ResourcePolicyRecords = std::map<std::string, ResourcePolicyRecord, std::less<>>;

// The unit of reads and changes: the records of an account, the policy of one resource, or those of
// all.
inline constexpr std::string_view kResources = "resources";  // no account's id
using Parts = std::set<std::string, std::less<>>;
std::string ResourcePart(std::string_view account, std::string_view id);
// Returns the resource's id if the part is one resource's policy; nullopt for other parts.
std::optional<std::string_view> ResourceIn(std::string_view part);

struct StoredContents {
  uint64_t version = 0;                                          // 0: there never was a change
  std::map<std::string, access::Records, std::less<>> accounts;  // those that have records
  ResourcePolicyRecords resources;
  std::string check;  // empty: no secret was ever sealed
};

// Returns all records, or those of some parts, of one state. kCorruption for a record that cannot
// be read; kUnavailable for one of a newer version. Blocks on the engine.
Result<StoredContents> ReadContents(kv::Engine& engine, const Parts* parts = nullptr);

struct Changes {
  uint64_t version = 0;
  bool all = false;  // everything may have changed
  Parts parts;       // those that have changed, unless `all`
};
// Returns the version, and what has changed since the version `since`.
Result<Changes> ReadChanges(kv::Engine& engine, uint64_t since);

// The store's versions before and after a change. They are equal if nothing was changed.
struct Applied {
  uint64_t before = 0;
  uint64_t after = 0;
};
// Replaces the records of an account by what `change` makes of them, in one batch, to which it may
// add what belongs to the change outside these records. `check` is stored with the first change,
// unless it is empty. `change` may run several times; its error changes nothing. Blocks on the
// engine.
using ChangeAccount = FunctionRef<Status(access::Records* records, kv::Batch* batch)>;
Result<Applied> ChangeStored(kv::Engine& engine, std::string_view account, const std::string& check,
                             ChangeAccount change);
// Does so with the policy of one resource, which stands under `account`; nullopt: there is none.
using ChangeResource = FunctionRef<Status(std::optional<ResourcePolicyRecord>* record)>;
Result<Applied> ChangeStoredResource(kv::Engine& engine, std::string_view account,
                                     std::string_view id, const std::string& check,
                                     ChangeResource change);

}  // namespace stator::identity
