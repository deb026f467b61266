// Users and their access keys.
#include "iam/identity_calls.h"

namespace stator::iam {
namespace {

using access::AccessKey;
using access::Records;
using access::User;

// Returns the user that a call is about: UserName, or the caller. Empty: the root user.
Result<std::string> UserOf(Call& call) {
  if (call.form.Find("UserName")) return NameIn(call.form, "UserName", access::kMaxUserName);
  if (call.caller.kind == access::Principal::Kind::kRoot) return std::string();
  if (call.caller.kind == access::Principal::Kind::kUser)
    return call.caller.arn.substr(call.caller.arn.rfind('/') + 1);
  return InvalidInput("Must specify userName when calling with non-User credentials");
}

Result<std::string> CreateUser(Call& call) {
  ASSIGN_OR_RETURN(const User user, CreateNamed<UserKind>(call, {}));
  return Render(user, "User");
}

Result<std::string> GetUser(Call& call) {
  ASSIGN_OR_RETURN(const std::string name, UserOf(call));
  if (name.empty()) {
    return Xml()
        .Open("User")
        .Element("Path", "/")
        .Element("UserId", call.account())
        .Element("Arn", access::RootArn(call.account()))
        .Element("CreateDate", Time(0))
        .Close("User")
        .Take();
  }
  const User* user = call.directory->FindUser(name);
  if (user == nullptr) return NotFound<UserKind>(name);
  return Render(*user, "User");
}

Result<std::string> DeleteUser(Call& call) {
  return ChangeNamed<UserKind>(call, [&](User* user, Records* records) -> Status {
    for (const AccessKey& key : records->keys) {
      if (key.account == user->account && SameName(key.user, user->name))
        return DeleteConflict("Cannot delete entity, must delete access keys first.");
    }
    if (!user->groups.empty())
      return DeleteConflict("Cannot delete entity, must remove users from group first.");
    TRY(CheckWithoutPolicies(*user));
    records->users.erase(records->users.begin() + (user - records->users.data()));
    return OkStatus();
  });
}

Result<std::string> UpdateUser(Call& call) {
  std::optional<std::string> name;
  if (call.form.Find("NewUserName")) {
    ASSIGN_OR_RETURN(name, NameIn(call.form, "NewUserName", access::kMaxUserName));
  }
  const auto path = call.form.Find("NewPath");
  if (path && !access::IsPath(*path))
    return InvalidInput("The specified value for newPath is invalid.");
  return ChangeNamed<UserKind>(call, [&](User* user, Records* records) -> Status {
    if (name && !SameName(*name, user->name)) {
      if (FindIn(records->users, call.account(), *name) != nullptr || call.IsDeclaredUser(*name))
        return EntityAlreadyExists(fmt::format("User with name {} already exists.", *name));
      for (AccessKey& key : records->keys) {
        if (key.account == user->account && SameName(key.user, user->name)) key.user = *name;
      }
    }
    if (name) user->name = *name;
    if (path) user->path = *path;
    return OkStatus();
  });
}

// ---- access keys ----

Result<std::string> CreateAccessKey(Call& call) {
  ASSIGN_OR_RETURN(const std::string user, UserOf(call));
  TRY(CheckStored<UserKind>(call, user));
  access::SecureRandom& random = call.identities.random();
  AccessKey key;
  key.id = access::NewId("AKIA", 20, &random);
  key.account = call.account();
  key.created_micros = call.now();
  const std::string secret = access::NewSecret(&random);
  key.sealed_secret =
      call.identities.keyring().Seal(secret, access::SecretPurpose(key.id), &random);
  TRY(call.Change([&](Records* records) -> Status {
    key.user.clear();
    if (!user.empty()) {
      const User* found = FindIn(records->users, call.account(), user);
      if (found == nullptr) return NotFound<UserKind>(user);
      key.user = found->name;
    }
    size_t count = 0;
    for (const AccessKey& other : records->keys)
      count += other.account == key.account && SameName(other.user, key.user) ? 1 : 0;
    if (count >= access::kMaxKeysPerUser) {
      return LimitExceeded(
          fmt::format("Cannot exceed quota for AccessKeysPerUser: {}", access::kMaxKeysPerUser));
    }
    records->keys.push_back(key);
    return OkStatus();
  }));
  return Xml()
      .Open("AccessKey")
      .Element("UserName", key.user)
      .Element("AccessKeyId", key.id)
      .Element("Status", "Active")
      .Element("SecretAccessKey", secret)
      .Element("CreateDate", Time(key.created_micros))
      .Close("AccessKey")
      .Take();
}

// Changes the key AccessKeyId of the call's user.
template <typename Change>
Result<std::string> ChangeKey(Call& call, Change change) {
  ASSIGN_OR_RETURN(const std::string user, UserOf(call));
  const std::string id(call.form.Get("AccessKeyId"));
  const auto& keys = call.directory->records().keys;
  const bool own =
      std::any_of(keys.begin(), keys.end(), [&id](const AccessKey& key) { return key.id == id; });
  // A key of another account is answered as one that does not exist.
  if (own && call.identities.IsDeclaredKey(id)) {
    return Fault(400, "UnmodifiableEntity",
                 fmt::format("The Access Key {} is declared where the server was started.", id));
  }
  TRY(call.Change([&](Records* records) -> Status {
    const auto found =
        std::find_if(records->keys.begin(), records->keys.end(), [&](const AccessKey& key) {
          return key.id == id && key.account == call.account() && SameName(key.user, user);
        });
    if (found == records->keys.end())
      return NoSuchEntity(fmt::format("The Access Key with id {} cannot be found.", id));
    return change(found, records);
  }));
  return std::string();
}

Result<std::string> DeleteAccessKey(Call& call) {
  return ChangeKey(call, [](std::vector<AccessKey>::iterator key, Records* records) -> Status {
    records->keys.erase(key);
    return OkStatus();
  });
}

Result<std::string> UpdateAccessKey(Call& call) {
  const std::string_view status = call.form.Get("Status");
  if (status != "Active" && status != "Inactive") {
    return InvalidInput(fmt::format(
        "1 validation error detected: Value '{}' at 'status' failed to satisfy constraint: Member "
        "must satisfy enum value set: [Active, Inactive]",
        status));
  }
  return ChangeKey(call, [&](std::vector<AccessKey>::iterator key, Records*) -> Status {
    key->active = status == "Active";
    return OkStatus();
  });
}

Result<std::string> ListAccessKeys(Call& call) {
  ASSIGN_OR_RETURN(const std::string user, UserOf(call));
  if (!user.empty() && call.directory->FindUser(user) == nullptr) return NotFound<UserKind>(user);
  std::vector<const AccessKey*> list;
  for (const AccessKey& key : call.records().keys) {
    if (key.account == call.account() && SameName(key.user, user)) list.push_back(&key);
  }
  return RenderPage<AccessKey>(
      call.form, "AccessKeyMetadata", std::move(list), [](const AccessKey& key) { return key.id; },
      [](const AccessKey& key) {
        return Xml()
            .Open("member")
            .Element("UserName", key.user)
            .Element("AccessKeyId", key.id)
            .Element("Status", key.active ? "Active" : "Inactive")
            .Element("CreateDate", Time(key.created_micros))
            .Close("member")
            .Take();
      });
}

// The last use is not recorded: the answer is the one for a key that was never used.
Result<std::string> GetAccessKeyLastUsed(Call& call) {
  const std::string_view id = call.form.Get("AccessKeyId");
  for (const AccessKey& key : call.records().keys) {
    if (key.id != id) continue;
    return Xml()
        .Element("UserName", key.user)
        .Open("AccessKeyLastUsed")
        .Element("ServiceName", "N/A")
        .Element("Region", "N/A")
        .Close("AccessKeyLastUsed")
        .Take();
  }
  return NoSuchEntity(fmt::format("The Access Key with id {} cannot be found.", id));
}

Result<std::string> ListGroupsForUser(Call& call) {
  ASSIGN_OR_RETURN(const User* user, FindNamed<UserKind>(call));
  std::vector<const access::Group*> list;
  for (const std::string& name : user->groups) {
    const access::Group* group = call.directory->FindGroup(name);
    if (group != nullptr) list.push_back(group);
  }
  return RenderPage<access::Group>(
      call.form, "Groups", std::move(list), [](const access::Group& group) { return group.name; },
      [](const access::Group& group) { return Render(group, "member"); });
}

}  // namespace

std::vector<Row> UserRows() {
  return {
      {"CreateUser", CreateUser},
      {"GetUser", GetUser},
      {"ListUsers", ListNamed<UserKind>},
      {"DeleteUser", DeleteUser},
      {"UpdateUser", UpdateUser},
      {"CreateAccessKey", CreateAccessKey},
      {"DeleteAccessKey", DeleteAccessKey},
      {"UpdateAccessKey", UpdateAccessKey},
      {"ListAccessKeys", ListAccessKeys},
      {"GetAccessKeyLastUsed", GetAccessKeyLastUsed},
      {"PutUserPolicy", PutInline<UserKind>},
      {"GetUserPolicy", GetInline<UserKind>},
      {"DeleteUserPolicy", DeleteInline<UserKind>},
      {"ListUserPolicies", ListInline<UserKind>},
      {"AttachUserPolicy", Attach<UserKind>},
      {"DetachUserPolicy", Detach<UserKind>},
      {"ListAttachedUserPolicies", ListAttached<UserKind>},
      {"ListGroupsForUser", ListGroupsForUser},
      {"TagUser", TagNamed<UserKind>},
      {"UntagUser", UntagNamed<UserKind>},
      {"ListUserTags", ListTagsOf<UserKind>},
      {"PutUserPermissionsBoundary", PutBoundary<UserKind>},
      {"DeleteUserPermissionsBoundary", DeleteBoundary<UserKind>},
  };
}

}  // namespace stator::iam
