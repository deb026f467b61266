// Groups and their members.
#include "iam/identity_calls.h"

namespace stator::iam {
namespace {

using access::Group;
using access::Records;
using access::User;

bool IsMember(const User& user, const Group& group) {
  return user.account == group.account &&
         std::any_of(user.groups.begin(), user.groups.end(),
                     [&group](const std::string& name) { return SameName(name, group.name); });
}

Result<std::string> CreateGroup(Call& call) {
  ASSIGN_OR_RETURN(const Group group, CreateNamed<GroupKind>(call, {}));
  return Render(group, "Group");
}

Result<std::string> GetGroup(Call& call) {
  ASSIGN_OR_RETURN(const Group* group, FindNamed<GroupKind>(call));
  std::vector<const User*> users;
  for (const User& user : call.records().users) {
    if (IsMember(user, *group)) users.push_back(&user);
  }
  ASSIGN_OR_RETURN(
      const std::string page,
      RenderPage<User>(
          call.form, "Users", std::move(users), [](const User& user) { return user.name; },
          [](const User& user) { return Render(user, "member"); }));
  return Render(*group, "Group") + page;
}

Result<std::string> DeleteGroup(Call& call) {
  return ChangeNamed<GroupKind>(call, [](Group* group, Records* records) -> Status {
    for (const User& user : records->users) {
      if (IsMember(user, *group))
        return DeleteConflict("Cannot delete entity, must remove users from group first.");
    }
    TRY(CheckWithoutPolicies(*group));
    records->groups.erase(records->groups.begin() + (group - records->groups.data()));
    return OkStatus();
  });
}

// Changes the membership of the user UserName in the group GroupName.
template <typename Change>
Result<std::string> ChangeMember(Call& call, Change change) {
  ASSIGN_OR_RETURN(const std::string group_name,
                   NameIn(call.form, "GroupName", access::kMaxGroupName));
  return ChangeNamed<UserKind>(call, [&](User* user, Records* records) -> Status {
    const Group* group = FindIn(records->groups, call.account(), group_name);
    if (group == nullptr) return NotFound<GroupKind>(group_name);
    return change(user, *group);
  });
}

Result<std::string> AddUserToGroup(Call& call) {
  return ChangeMember(call, [](User* user, const Group& group) -> Status {
    if (IsMember(*user, group)) return OkStatus();
    if (user->groups.size() >= access::kMaxGroupsPerUser) {
      return LimitExceeded(
          fmt::format("Cannot exceed quota for GroupsPerUser: {}", access::kMaxGroupsPerUser));
    }
    user->groups.push_back(group.name);
    return OkStatus();
  });
}

Result<std::string> RemoveUserFromGroup(Call& call) {
  return ChangeMember(call, [](User* user, const Group& group) -> Status {
    std::erase_if(user->groups,
                  [&group](const std::string& name) { return SameName(name, group.name); });
    return OkStatus();
  });
}

}  // namespace

std::vector<Row> GroupRows() {
  return {
      {"CreateGroup", CreateGroup},
      {"GetGroup", GetGroup},
      {"ListGroups", ListNamed<GroupKind>},
      {"DeleteGroup", DeleteGroup},
      {"AddUserToGroup", AddUserToGroup},
      {"RemoveUserFromGroup", RemoveUserFromGroup},
      {"PutGroupPolicy", PutInline<GroupKind>},
      {"GetGroupPolicy", GetInline<GroupKind>},
      {"DeleteGroupPolicy", DeleteInline<GroupKind>},
      {"ListGroupPolicies", ListInline<GroupKind>},
      {"AttachGroupPolicy", Attach<GroupKind>},
      {"DetachGroupPolicy", Detach<GroupKind>},
      {"ListAttachedGroupPolicies", ListAttached<GroupKind>},
  };
}

}  // namespace stator::iam
