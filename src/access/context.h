// Condition keys and the values that a request has for them. A context is flat: known keys are an
// array, tags and keys of foreign identity providers a short list.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stator::access {

// The condition keys that Stator knows. The comment names what it is in a policy.
enum class ContextKey : uint8_t {
  kCurrentTime,              // aws:CurrentTime
  kEpochTime,                // aws:EpochTime
  kSecureTransport,          // aws:SecureTransport
  kSourceIp,                 // aws:SourceIp
  kUserAgent,                // aws:UserAgent
  kReferer,                  // aws:Referer
  kRequestedRegion,          // aws:RequestedRegion
  kPrincipalArn,             // aws:PrincipalArn
  kPrincipalAccount,         // aws:PrincipalAccount
  kPrincipalType,            // aws:PrincipalType
  kUserId,                   // aws:userid
  kUsername,                 // aws:username
  kResourceAccount,          // aws:ResourceAccount
  kTagKeys,                  // aws:TagKeys, a list
  kTokenIssueTime,           // aws:TokenIssueTime
  kMultiFactorAuthPresent,   // aws:MultiFactorAuthPresent
  kMultiFactorAuthAge,       // aws:MultiFactorAuthAge
  kSourceIdentity,           // aws:SourceIdentity
  kFederatedProvider,        // aws:FederatedProvider
  kPrincipalIsAwsService,    // aws:PrincipalIsAWSService
  kViaAwsService,            // aws:ViaAWSService
  kSourceArn,                // aws:SourceArn
  kSourceAccount,            // aws:SourceAccount
  kPrincipalTag,             // aws:PrincipalTag/x, a family
  kResourceTag,              // aws:ResourceTag/x, a family
  kRequestTag,               // aws:RequestTag/x, a family
  kLeadingKeys,              // dynamodb:LeadingKeys, a list
  kAttributes,               // dynamodb:Attributes, a list
  kFirstPartitionKeyValues,  // dynamodb:FirstPartitionKeyValues, a list; so are the next three
  kSecondPartitionKeyValues,
  kThirdPartitionKeyValues,
  kFourthPartitionKeyValues,
  kEnclosingOperation,      // dynamodb:EnclosingOperation
  kReturnConsumedCapacity,  // dynamodb:ReturnConsumedCapacity
  kReturnValues,            // dynamodb:ReturnValues
  kSelect,                  // dynamodb:Select
  kFullTableScan,           // dynamodb:FullTableScan
  kExternalId,              // sts:ExternalId
  kRoleSessionName,         // sts:RoleSessionName
  kStsSourceIdentity,       // sts:SourceIdentity
  kTransitiveTagKeys,       // sts:TransitiveTagKeys, a list
  kPermissionsBoundary,     // iam:PermissionsBoundary
  kPolicyArn,               // iam:PolicyARN
  kScalableDimension,       // application-autoscaling:scalable-dimension
  kServiceNamespace,        // application-autoscaling:service-namespace
  kOther,                   // any other name, for example the claims of an identity provider
};
inline constexpr size_t kContextKeys = static_cast<size_t>(ContextKey::kOther) + 1;

// A set of keys; of a family all members together.
class KeySet {
 public:
  constexpr KeySet() = default;
  template <typename... Keys>
  static constexpr KeySet Of(Keys... keys) {
    KeySet set;
    (set.Add(keys), ...);
    return set;
  }
  constexpr void Add(ContextKey key) { bits_ |= uint64_t{1} << static_cast<int>(key); }
  constexpr void Add(KeySet other) { bits_ |= other.bits_; }
  constexpr bool Has(ContextKey key) const {
    return (bits_ >> static_cast<int>(key) & uint64_t{1}) != 0;
  }
  constexpr bool empty() const { return bits_ == 0; }
  friend constexpr bool operator==(KeySet, KeySet) = default;

 private:
  static_assert(kContextKeys <= 64);
  uint64_t bits_ = 0;
};

// The key that a condition or a variable names: a known key, a tag of a family, or another name.
struct KeyName {
  ContextKey key = ContextKey::kOther;
  std::string tag;  // of a family: what follows '/'. kOther: the whole name. Else empty
};

// Returns the key of a name such as "aws:PrincipalTag/team". The case of letters does not matter.
KeyName ResolveKey(std::string_view name);
// Returns the name as AWS writes it; a family without its '/' and tag; "" for kOther.
std::string_view ContextKeyName(ContextKey key);
// True if values of the key are lists, also lists of one.
bool IsListKey(ContextKey key);

// Values of a request. Holds views: the values must outlive it. Not thread-safe.
class RequestContext {
 public:
  // A key is absent, has one value, or has a list (which may be empty).
  struct Value {
    bool is_list = false;
    std::string_view text;
    std::span<const std::string_view> list;
  };

  // Sets the value of a known key that is not a list.
  void Set(ContextKey key, std::string_view text) { Put(key, {false, text, {}}); }
  // Sets the values of a list key. Absent and empty differ: an empty list is present.
  void SetList(ContextKey key, std::span<const std::string_view> list) {
    Put(key, {true, {}, list});
  }
  // Adds a tag of a family, or another key (kOther, `tag` being its name).
  void Add(ContextKey family, std::string_view tag, std::string_view text) {
    named_.push_back({family, tag, {false, text, {}}});
  }
  void AddList(ContextKey family, std::string_view tag, std::span<const std::string_view> list) {
    named_.push_back({family, tag, {true, {}, list}});
  }
  void Clear(ContextKey key) { present_[static_cast<size_t>(key)] = false; }

  // Returns the value of a key, or nullptr. Tags and other names are compared without regard to the
  // case of letters.
  const Value* Find(const KeyName& name) const;

 private:
  struct Named {
    ContextKey family;
    std::string_view tag;
    Value value;
  };
  void Put(ContextKey key, const Value& value) {
    values_[static_cast<size_t>(key)] = value;
    present_[static_cast<size_t>(key)] = true;
  }

  std::array<Value, kContextKeys> values_;
  std::array<bool, kContextKeys> present_{};
  std::vector<Named> named_;
};

}  // namespace stator::access
