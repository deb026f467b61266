// The records of access control in the store: tablet 7 of Space::kCatalog.
//
//   key := "record/" kind "/" account "/" name      value := stamp record   (access/identity.h)
//        | "version"                                value := stamp
//        | "check"                                  value := stamp sealed
//   kind := "account" | "user" | "group" | "role" | "key" | "policy" | "provider" | "resource"
//   name := the name in lower case; of keys the id, of providers the URL, of accounts nothing, of
//           resources (policies of tables and streams) the table's UUID, of streams "/" label too
//   record of a resource := 01 revision " " text     revision: decimal; no text: the policy is gone
//   sealed := "stator", sealed with the master key (access/seal.h)
//
// "version" is written with every change and guards it, so changes of several processes come one
// after the other, and a process that knows the stamp of "version" knows all records.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
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
  friend bool operator==(const ResourcePolicyRecord&, const ResourcePolicyRecord&) = default;
};
using ResourcePolicyRecords = std::map<std::string, ResourcePolicyRecord, std::less<>>;

struct Contents {
  access::Records records;
  ResourcePolicyRecords resources;
};

struct StoredContents {
  uint64_t version = 0;  // 0: there never was a change
  Contents contents;
  std::string check;  // empty: no secret was ever sealed
};

// Returns all records, of one state. kCorruption for a record that cannot be read; kUnavailable for
// one of a newer version. Blocks on the engine.
Result<StoredContents> ReadContents(kv::Engine& engine);
// Returns the version alone.
Result<uint64_t> ReadVersion(kv::Engine& engine);

// Replaces the contents by what `change` makes of them, in one batch. `check` is stored with the
// first change, unless it is empty. `change` may run several times; its error changes nothing.
// `account` is the one of the resources. Blocks on the engine.
using ChangeContents = FunctionRef<Status(Contents* contents)>;
Status ChangeStored(kv::Engine& engine, std::string_view account, const std::string& check,
                    ChangeContents change);

}  // namespace stator::identity
