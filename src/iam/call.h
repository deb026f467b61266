// One call of IAM or STS on its way through its handler. Internal to the room.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "access/caller.h"
#include "access/directory.h"
#include "base/result.h"
#include "guard/check.h"
#include "iam/form.h"
#include "iam/xml.h"
#include "identity/identities.h"

namespace stator::iam {

// An error of IAM or STS: its HTTP status and its code beside the message.
struct FaultPayload : ErrorPayload {
  FaultPayload(int status, std::string code) : status(status), code(std::move(code)) {}
  int status;
  std::string code;
};
Error Fault(int status, std::string code, std::string message);
inline Error NoSuchEntity(std::string message) {
  return Fault(404, "NoSuchEntity", std::move(message));
}
inline Error EntityAlreadyExists(std::string message) {
  return Fault(409, "EntityAlreadyExists", std::move(message));
}
inline Error DeleteConflict(std::string message) {
  return Fault(409, "DeleteConflict", std::move(message));
}
inline Error LimitExceeded(std::string message) {
  return Fault(409, "LimitExceeded", std::move(message));
}
inline Error InvalidInput(std::string message) {
  return Fault(400, "ValidationError", std::move(message));
}

struct Call {
  identity::Identities& identities;
  std::shared_ptr<const access::Directory> directory;  // of account()
  const Form& form;
  guard::Check& check;
  const access::Caller& caller;

  // The caller's account, in which the call acts; the default one for a caller that has none.
  const std::string& account() const {
    return caller.account.empty() ? identities.account() : caller.account;
  }
  int64_t now() const { return identities.clock().NowMicros(); }
  // The records of the account.
  const access::Records& records() const { return directory->records(); }
  // Changes the stored records of the account.
  using ChangeRecords = FunctionRef<Status(access::Records* records)>;
  Status Change(ChangeRecords change);
  // True for a user, or a user's key, of the account that the server was given.
  bool IsDeclaredUser(std::string_view name) const {
    return identities.IsDeclaredUser(account(), name);
  }
  // Returns the directory of an account, which lives as long as the call; null if there is none.
  const access::Directory* DirectoryOf(std::string_view name);

  std::vector<std::shared_ptr<const access::Directory>> others = {};  // that were asked for
};

// Returns the inside of the call's Result element.
using Handler = Result<std::string> (*)(Call& call);

// ---- parts of replies and requests ----

// "2026-01-31T12:00:00Z".
std::string Time(int64_t micros);
// Returns a document percent-encoded, as IAM returns documents.
std::string EncodedDocument(std::string_view document);
void AppendTags(const std::vector<access::Tag>& tags, Xml* xml);
void AppendBoundary(const std::string& boundary, Xml* xml);
std::string Render(const access::User& user, std::string_view element);
std::string Render(const access::Group& group, std::string_view element);
std::string Render(const access::Role& role, std::string_view element);

// Returns the parameter, which must be a name of at most `longest` characters.
Result<std::string> NameIn(const Form& form, std::string_view parameter, size_t longest);
// Returns the parameter Path, "/" if it is absent.
Result<std::string> PathIn(const Form& form);
Status CheckTags(const std::vector<access::Tag>& tags);
// kMalformedPolicyDocument of IAM for a document that cannot be read.
Status CheckDocument(std::string_view document, access::PolicyKind kind);
// Adds tags, in the place of those with equal keys.
Status MergeTags(const std::vector<access::Tag>& added, std::vector<access::Tag>* tags);
// Returns the document of a policy's version in force, built-in policies included; nullptr if there
// is none.
const std::string* DocumentOf(const access::Records& records, std::string_view arn);

// Returns the identity provider of an ARN; nullptr if there is none.
const access::OidcProvider* FindProvider(const access::Records& records, std::string_view arn);

// Whether names are equal as IAM compares them.
bool SameName(std::string_view a, std::string_view b);

// Returns the record of a name in a list; nullptr if there is none.
template <typename T>
T* FindIn(std::vector<T>& list, std::string_view account, std::string_view name) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const T& one) {
    return one.account == account && SameName(one.name, name);
  });
  return found == list.end() ? nullptr : &*found;
}

// Writes one page of a list: the elements behind Marker, at most MaxItems of them. `key_of` gives
// the text that orders them, `render` an element.
template <typename T>
Result<std::string> RenderPage(const Form& form, std::string_view element,
                               std::vector<const T*> list,
                               const std::function<std::string(const T&)>& key_of,
                               const std::function<std::string(const T&)>& render) {
  size_t most = 100;
  if (const auto given = form.Find("MaxItems")) {
    most = 0;
    for (const char c : *given)
      most = c >= '0' && c <= '9' && most < 10'000 ? most * 10 + (c - '0') : 10'001;
    if (given->empty() || most < 1 || most > 1000) {
      return InvalidInput("1 validation error detected: Value '" + std::string(*given) +
                          "' at 'maxItems' failed to satisfy constraint: Member must have value "
                          "between 1 and 1000");
    }
  }
  std::sort(list.begin(), list.end(),
            [&](const T* a, const T* b) { return key_of(*a) < key_of(*b); });
  const std::string_view marker = form.Get("Marker");
  Xml xml;
  xml.Open(element);
  size_t count = 0;
  std::string last;
  bool more = false;
  for (const T* one : list) {
    const std::string key = key_of(*one);
    if (!marker.empty() && key.compare(marker) <= 0) continue;
    if (count == most) {
      more = true;
      break;
    }
    xml.Append(render(*one));
    last = key;
    ++count;
  }
  xml.Close(element).Flag("IsTruncated", more);
  if (more) xml.Element("Marker", last);
  return xml.Take();
}

// ---- handlers ----

struct Row {
  std::string_view name;
  Handler handler;
};
// Each returns its table.
std::vector<Row> UserRows();
std::vector<Row> GroupRows();
std::vector<Row> RoleRows();
std::vector<Row> PolicyRows();
std::vector<Row> SimulationRows();
std::vector<Row> ProviderRows();
std::vector<Row> SessionRows();      // of STS
std::vector<Row> AccountRows();      // of Stator itself
std::vector<Row> WebIdentityRows();  // of STS, for calls that a token vouches for

}  // namespace stator::iam
