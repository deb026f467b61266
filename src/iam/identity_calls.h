// The calls that users, groups and roles have in common. Internal to the room.
//
// A kind K has: T, the record; kWord, "User"; kParameter, "UserName"; kMaxName, kMaxInline, kMost
// (records of an account); kPrefix of ids; List(records).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "access/policy.h"
#include "iam/call.h"

namespace stator::iam {

struct UserKind {
  using T = access::User;
  static constexpr std::string_view kWord = "User", kLower = "user", kParameter = "UserName";
  static constexpr std::string_view kPrefix = "AIDA", kPlural = "Users";
  static constexpr size_t kMaxName = access::kMaxUserName;
  static constexpr size_t kMaxInline = access::kMaxInlineBytesOfUser;
  static constexpr size_t kMost = 5000;
  static std::vector<T>& List(access::Records& records) { return records.users; }
  static const T* Find(const access::Directory& directory, std::string_view name) {
    return directory.FindUser(name);
  }
};
struct GroupKind {
  using T = access::Group;
  static constexpr std::string_view kWord = "Group", kLower = "group", kParameter = "GroupName";
  static constexpr std::string_view kPrefix = "AGPA", kPlural = "Groups";
  static constexpr size_t kMaxName = access::kMaxGroupName;
  static constexpr size_t kMaxInline = access::kMaxInlineBytesOfGroup;
  static constexpr size_t kMost = 300;
  static std::vector<T>& List(access::Records& records) { return records.groups; }
  static const T* Find(const access::Directory& directory, std::string_view name) {
    return directory.FindGroup(name);
  }
};
struct RoleKind {
  using T = access::Role;
  static constexpr std::string_view kWord = "Role", kLower = "role", kParameter = "RoleName";
  static constexpr std::string_view kPrefix = "AROA", kPlural = "Roles";
  static constexpr size_t kMaxName = access::kMaxUserName;
  static constexpr size_t kMaxInline = access::kMaxInlineBytesOfRole;
  static constexpr size_t kMost = 1000;
  static std::vector<T>& List(access::Records& records) { return records.roles; }
  static const T* Find(const access::Directory& directory, std::string_view name) {
    return directory.FindRole(name);
  }
};

template <typename K>
Error NotFound(std::string_view name) {
  return NoSuchEntity(fmt::format("The {} with name {} cannot be found.", K::kLower, name));
}

// Returns the record that the call names; an error if there is none.
template <typename K>
Result<const typename K::T*> FindNamed(Call& call) {
  ASSIGN_OR_RETURN(const std::string name, NameIn(call.form, K::kParameter, K::kMaxName));
  const typename K::T* found = K::Find(*call.directory, name);
  if (found == nullptr) return NotFound<K>(name);
  return found;
}

// Refuses to change what stands in stator.toml.
template <typename K>
Status CheckStored(Call& call, std::string_view name) {
  if constexpr (std::is_same_v<K, UserKind>) {
    if (call.IsDeclaredUser(name)) {
      return Fault(400, "UnmodifiableEntity",
                   fmt::format("The user {} is declared in stator.toml and can be changed there "
                               "only.",
                               name));
    }
  }
  return OkStatus();
}

// Changes the stored record that the call names.
template <typename K, typename Change>
Result<std::string> ChangeNamed(Call& call, Change change) {
  ASSIGN_OR_RETURN(const std::string name, NameIn(call.form, K::kParameter, K::kMaxName));
  TRY(CheckStored<K>(call, name));
  TRY(call.Change([&](access::Records* records) -> Status {
    typename K::T* found = FindIn(K::List(*records), call.account(), name);
    if (found == nullptr) return NotFound<K>(name);
    return change(found, records);
  }));
  return std::string();
}

// Fills what all kinds have from the call's parameters, and adds the record.
template <typename K>
Result<typename K::T> CreateNamed(Call& call, typename K::T record) {
  ASSIGN_OR_RETURN(record.name, NameIn(call.form, K::kParameter, K::kMaxName));
  ASSIGN_OR_RETURN(record.path, PathIn(call.form));
  record.account = call.account();
  record.created_micros = call.now();
  record.id = access::NewId(K::kPrefix, 21, &call.identities.random());
  if constexpr (!std::is_same_v<K, GroupKind>) {
    record.tags = call.form.Tags();
    TRY(CheckTags(record.tags));
    record.boundary = call.form.Get("PermissionsBoundary");
    if (!record.boundary.empty() && DocumentOf(call.records(), record.boundary) == nullptr)
      return NoSuchEntity(
          fmt::format("Scope ARN: {} does not exist or is not attachable.", record.boundary));
  }
  const auto exists = [&] {
    return EntityAlreadyExists(
        fmt::format("{} with name {} already exists.", K::kWord, record.name));
  };
  if (K::Find(*call.directory, record.name) != nullptr) return exists();
  TRY(call.Change([&](access::Records* records) -> Status {
    std::vector<typename K::T>& list = K::List(*records);
    if (FindIn(list, call.account(), record.name) != nullptr) return exists();
    if (list.size() >= K::kMost) {
      return LimitExceeded(
          fmt::format("Cannot exceed quota for {}PerAccount: {}", K::kPlural, K::kMost));
    }
    list.push_back(record);
    return OkStatus();
  }));
  return record;
}

template <typename K>
Result<std::string> GetNamed(Call& call) {
  ASSIGN_OR_RETURN(const typename K::T* found, FindNamed<K>(call));
  return Render(*found, K::kWord);
}

template <typename K>
Result<std::string> ListNamed(Call& call) {
  const std::string_view prefix = call.form.Find("PathPrefix").value_or("/");
  std::vector<const typename K::T*> list;
  for (const auto& one : K::List(const_cast<access::Records&>(call.records()))) {
    if (std::string_view(one.path).starts_with(prefix)) list.push_back(&one);
  }
  return RenderPage<typename K::T>(
      call.form, K::kPlural, std::move(list), [](const typename K::T& one) { return one.name; },
      [](const typename K::T& one) { return Render(one, "member"); });
}

// ---- inline policies ----

template <typename K>
Result<std::string> PutInline(Call& call) {
  ASSIGN_OR_RETURN(const std::string policy,
                   NameIn(call.form, "PolicyName", access::kMaxGroupName));
  const std::string document(call.form.Get("PolicyDocument"));
  TRY(CheckDocument(document, access::PolicyKind::kIdentity));
  return ChangeNamed<K>(call, [&](typename K::T* record, access::Records*) -> Status {
    std::vector<access::InlinePolicy>& policies = record->inline_policies;
    std::erase_if(policies,
                  [&](const access::InlinePolicy& old) { return SameName(old.name, policy); });
    policies.push_back({policy, document});
    size_t bytes = 0;
    for (const access::InlinePolicy& one : policies)
      bytes += access::Policy::SizeWithoutSpace(one.document);
    if (bytes > K::kMaxInline) {
      return LimitExceeded(fmt::format("Maximum policy size of {} bytes exceeded for {} {}",
                                       K::kMaxInline, K::kLower, record->name));
    }
    return OkStatus();
  });
}

template <typename K>
Error NoInline(std::string_view policy) {
  return NoSuchEntity(
      fmt::format("The {} policy with name {} cannot be found.", K::kLower, policy));
}

template <typename K>
Result<std::string> GetInline(Call& call) {
  ASSIGN_OR_RETURN(const typename K::T* record, FindNamed<K>(call));
  ASSIGN_OR_RETURN(const std::string policy,
                   NameIn(call.form, "PolicyName", access::kMaxGroupName));
  for (const access::InlinePolicy& one : record->inline_policies) {
    if (!SameName(one.name, policy)) continue;
    return Xml()
        .Element(K::kParameter, record->name)
        .Element("PolicyName", one.name)
        .Element("PolicyDocument", EncodedDocument(one.document))
        .Take();
  }
  return NoInline<K>(policy);
}

template <typename K>
Result<std::string> DeleteInline(Call& call) {
  ASSIGN_OR_RETURN(const std::string policy,
                   NameIn(call.form, "PolicyName", access::kMaxGroupName));
  return ChangeNamed<K>(call, [&](typename K::T* record, access::Records*) -> Status {
    const size_t erased =
        std::erase_if(record->inline_policies,
                      [&](const access::InlinePolicy& old) { return SameName(old.name, policy); });
    return erased == 0 ? Status(NoInline<K>(policy)) : OkStatus();
  });
}

template <typename K>
Result<std::string> ListInline(Call& call) {
  ASSIGN_OR_RETURN(const typename K::T* record, FindNamed<K>(call));
  std::vector<const access::InlinePolicy*> list;
  for (const access::InlinePolicy& one : record->inline_policies) list.push_back(&one);
  return RenderPage<access::InlinePolicy>(
      call.form, "PolicyNames", std::move(list),
      [](const access::InlinePolicy& one) { return one.name; },
      [](const access::InlinePolicy& one) { return Xml().Element("member", one.name).Take(); });
}

// ---- attached policies ----

template <typename K>
Result<std::string> Attach(Call& call) {
  const std::string arn(call.form.Get("PolicyArn"));
  return ChangeNamed<K>(call, [&](typename K::T* record, access::Records* records) -> Status {
    if (DocumentOf(*records, arn) == nullptr)
      return NoSuchEntity(fmt::format("Policy {} does not exist or is not attachable.", arn));
    std::vector<std::string>& attached = record->attached_policies;
    if (std::find(attached.begin(), attached.end(), arn) != attached.end()) return OkStatus();
    if (attached.size() >= access::kMaxAttachedPolicies) {
      return LimitExceeded(fmt::format("Cannot exceed quota for PoliciesPer{}: {}", K::kWord,
                                       access::kMaxAttachedPolicies));
    }
    attached.push_back(arn);
    return OkStatus();
  });
}

template <typename K>
Result<std::string> Detach(Call& call) {
  const std::string arn(call.form.Get("PolicyArn"));
  return ChangeNamed<K>(call, [&](typename K::T* record, access::Records*) -> Status {
    if (std::erase(record->attached_policies, arn) == 0)
      return NoSuchEntity(fmt::format("Policy {} was not found.", arn));
    return OkStatus();
  });
}

template <typename K>
Result<std::string> ListAttached(Call& call) {
  ASSIGN_OR_RETURN(const typename K::T* record, FindNamed<K>(call));
  std::vector<const std::string*> list;
  for (const std::string& arn : record->attached_policies) list.push_back(&arn);
  return RenderPage<std::string>(
      call.form, "AttachedPolicies", std::move(list), [](const std::string& arn) { return arn; },
      [](const std::string& arn) {
        return Xml()
            .Open("member")
            .Element("PolicyName", std::string_view(arn).substr(arn.rfind('/') + 1))
            .Element("PolicyArn", arn)
            .Close("member")
            .Take();
      });
}

// ---- tags and boundaries: users and roles ----

template <typename K>
Result<std::string> TagNamed(Call& call) {
  const std::vector<access::Tag> tags = call.form.Tags();
  TRY(CheckTags(tags));
  return ChangeNamed<K>(call, [&](typename K::T* record, access::Records*) {
    return MergeTags(tags, &record->tags);
  });
}

template <typename K>
Result<std::string> UntagNamed(Call& call) {
  const std::vector<std::string_view> keys = call.form.List("TagKeys");
  return ChangeNamed<K>(call, [&](typename K::T* record, access::Records*) -> Status {
    for (const std::string_view key : keys)
      std::erase_if(record->tags, [key](const access::Tag& tag) { return SameName(tag.key, key); });
    return OkStatus();
  });
}

template <typename K>
Result<std::string> ListTagsOf(Call& call) {
  ASSIGN_OR_RETURN(const typename K::T* record, FindNamed<K>(call));
  std::vector<const access::Tag*> list;
  for (const access::Tag& tag : record->tags) list.push_back(&tag);
  return RenderPage<access::Tag>(
      call.form, "Tags", std::move(list), [](const access::Tag& tag) { return tag.key; },
      [](const access::Tag& tag) {
        return Xml()
            .Open("member")
            .Element("Key", tag.key)
            .Element("Value", tag.value)
            .Close("member")
            .Take();
      });
}

template <typename K>
Result<std::string> PutBoundary(Call& call) {
  const std::string arn(call.form.Get("PermissionsBoundary"));
  return ChangeNamed<K>(call, [&](typename K::T* record, access::Records* records) -> Status {
    if (DocumentOf(*records, arn) == nullptr)
      return NoSuchEntity(fmt::format("Policy {} does not exist or is not attachable.", arn));
    record->boundary = arn;
    return OkStatus();
  });
}

template <typename K>
Result<std::string> DeleteBoundary(Call& call) {
  return ChangeNamed<K>(call, [&](typename K::T* record, access::Records*) -> Status {
    if (record->boundary.empty())
      return NoSuchEntity(
          fmt::format("{} {} does not have a permissions boundary.", K::kWord, record->name));
    record->boundary.clear();
    return OkStatus();
  });
}

// Refuses to delete an identity that still has policies.
template <typename T>
Status CheckWithoutPolicies(const T& record) {
  if (!record.inline_policies.empty())
    return DeleteConflict("Cannot delete entity, must delete policies first.");
  if (!record.attached_policies.empty())
    return DeleteConflict("Cannot delete entity, must detach all policies first.");
  return OkStatus();
}

}  // namespace stator::iam
