// OpenID Connect providers.
#include <algorithm>

#include "iam/call.h"
#include "iam/provider_keys.h"

namespace stator::iam {
namespace {

using access::OidcProvider;
using access::Records;

constexpr size_t kMostProviders = 100;
constexpr size_t kMostClients = 100;
constexpr size_t kMostThumbprints = 5;
constexpr size_t kLongestClient = 255;
constexpr size_t kThumbprintDigits = 40;

Error Wrong(std::string message) { return Fault(400, "InvalidInput", std::move(message)); }

Error NotFound(std::string_view arn) {
  return NoSuchEntity(fmt::format("OpenIDConnect Provider not found for arn {}", arn));
}

std::string_view ArnIn(const Form& form) { return form.Get("OpenIDConnectProviderArn"); }

Status CheckClient(std::string_view id) {
  const bool plain = std::all_of(id.begin(), id.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
  });
  if (!id.empty() && id.size() <= kLongestClient && plain) return OkStatus();
  return InvalidInput(
      "1 validation error detected: Value at 'clientID' failed to satisfy constraint: Member must "
      "have length between 1 and 255, without control characters");
}

Result<std::vector<std::string>> ThumbprintsIn(const Form& form) {
  std::vector<std::string> list;
  for (const std::string_view one : form.List("ThumbprintList")) {
    if (one.size() != kThumbprintDigits ||
        one.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos)
      return Wrong("A thumbprint must have 40 hexadecimal digits.");
    list.emplace_back(one);
  }
  if (list.size() > kMostThumbprints)
    return Wrong("Thumbprint list must contain fewer than 5 entries.");
  return list;
}

void AppendTexts(std::string_view element, const std::vector<std::string>& texts, Xml* xml) {
  xml->Open(element);
  for (const std::string& text : texts) xml->Element("member", text);
  xml->Close(element);
}

Result<std::string> Create(Call& call) {
  OidcProvider made;
  made.account = call.account();
  made.url = call.form.Get("Url");
  made.created_micros = call.now();
  if (const Status url = CheckProviderUrl(made.url); !url.ok()) return Wrong(url.error().message());
  for (const std::string_view id : call.form.List("ClientIDList")) {
    TRY(CheckClient(id));
    if (std::find(made.client_ids.begin(), made.client_ids.end(), id) == made.client_ids.end())
      made.client_ids.emplace_back(id);
  }
  if (made.client_ids.size() > kMostClients) {
    return LimitExceeded(
        fmt::format("Cannot exceed quota for ClientIdsPerOpenIdConnectProvider: {}", kMostClients));
  }
  ASSIGN_OR_RETURN(made.thumbprints, ThumbprintsIn(call.form));
  made.tags = call.form.Tags();
  TRY(CheckTags(made.tags));
  const std::string arn = access::ArnOf(made);
  TRY(call.Change([&](Records* records) -> Status {
    for (const OidcProvider& other : records->providers) {
      if (SameName(access::ArnOf(other), arn))
        return EntityAlreadyExists(fmt::format("Provider with url {} already exists.", made.url));
    }
    if (records->providers.size() >= kMostProviders) {
      return LimitExceeded(fmt::format(
          "Cannot exceed quota for OpenIdConnectProvidersPerAccount: {}", kMostProviders));
    }
    records->providers.push_back(made);
    return OkStatus();
  }));
  Xml xml;
  xml.Element("OpenIDConnectProviderArn", arn);
  AppendTags(made.tags, &xml);
  return xml.Take();
}

Result<const OidcProvider*> FindNamed(Call& call) {
  const OidcProvider* found = FindProvider(call.records(), ArnIn(call.form));
  if (found == nullptr) return NotFound(ArnIn(call.form));
  return found;
}

template <typename Change>
Result<std::string> ChangeNamed(Call& call, Change change) {
  const std::string_view arn = ArnIn(call.form);
  TRY(call.Change([&](Records* records) -> Status {
    for (OidcProvider& provider : records->providers) {
      if (access::ArnOf(provider) == arn) return change(&provider);
    }
    return NotFound(arn);
  }));
  return std::string();
}

Result<std::string> Get(Call& call) {
  ASSIGN_OR_RETURN(const OidcProvider* found, FindNamed(call));
  const std::string arn = access::ArnOf(*found);
  Xml xml;
  // IAM shows it without the scheme.
  xml.Element("Url", std::string_view(found->url).substr(found->url.find("://") + 3));
  AppendTexts("ClientIDList", found->client_ids, &xml);
  AppendTexts("ThumbprintList", found->thumbprints, &xml);
  xml.Element("CreateDate", Time(found->created_micros));
  AppendTags(found->tags, &xml);
  return xml.Take();
}

Result<std::string> List(Call& call) {
  std::vector<std::string> arns;
  for (const OidcProvider& provider : call.records().providers)
    arns.push_back(access::ArnOf(provider));
  std::sort(arns.begin(), arns.end());
  Xml xml;
  xml.Open("OpenIDConnectProviderList");
  for (const std::string& arn : arns) xml.Open("member").Element("Arn", arn).Close("member");
  return xml.Close("OpenIDConnectProviderList").Take();
}

Result<std::string> Delete(Call& call) {
  // A provider that is gone already is no error, as in IAM.
  const std::string_view arn = ArnIn(call.form);
  TRY(call.Change([&](Records* records) -> Status {
    std::erase_if(records->providers,
                  [&](const OidcProvider& one) { return access::ArnOf(one) == arn; });
    return OkStatus();
  }));
  return std::string();
}

Result<std::string> AddClient(Call& call) {
  const std::string_view id = call.form.Get("ClientID");
  TRY(CheckClient(id));
  return ChangeNamed(call, [&](OidcProvider* provider) -> Status {
    std::vector<std::string>& list = provider->client_ids;
    if (std::find(list.begin(), list.end(), id) != list.end()) return OkStatus();
    if (list.size() >= kMostClients) {
      return LimitExceeded(fmt::format(
          "Cannot exceed quota for ClientIdsPerOpenIdConnectProvider: {}", kMostClients));
    }
    list.emplace_back(id);
    return OkStatus();
  });
}

Result<std::string> RemoveClient(Call& call) {
  const std::string_view id = call.form.Get("ClientID");
  return ChangeNamed(call, [&](OidcProvider* provider) -> Status {
    std::erase_if(provider->client_ids, [&](const std::string& one) { return one == id; });
    return OkStatus();
  });
}

Result<std::string> UpdateThumbprints(Call& call) {
  ASSIGN_OR_RETURN(const std::vector<std::string> thumbprints, ThumbprintsIn(call.form));
  if (thumbprints.empty()) return Wrong("Thumbprint list must contain at least one entry.");
  return ChangeNamed(call, [&](OidcProvider* provider) -> Status {
    provider->thumbprints = thumbprints;
    return OkStatus();
  });
}

Result<std::string> TagProvider(Call& call) {
  const std::vector<access::Tag> tags = call.form.Tags();
  return ChangeNamed(
      call, [&](OidcProvider* provider) -> Status { return MergeTags(tags, &provider->tags); });
}

Result<std::string> UntagProvider(Call& call) {
  const std::vector<std::string_view> keys = call.form.List("TagKeys");
  return ChangeNamed(call, [&](OidcProvider* provider) -> Status {
    std::erase_if(provider->tags, [&](const access::Tag& tag) {
      return std::any_of(keys.begin(), keys.end(),
                         [&](std::string_view key) { return SameName(key, tag.key); });
    });
    return OkStatus();
  });
}

Result<std::string> ListTags(Call& call) {
  ASSIGN_OR_RETURN(const OidcProvider* found, FindNamed(call));
  Xml xml;
  xml.Open("Tags");
  for (const access::Tag& tag : found->tags) {
    xml.Open("member").Element("Key", tag.key).Element("Value", tag.value).Close("member");
  }
  return xml.Close("Tags").Flag("IsTruncated", false).Take();
}

}  // namespace

const OidcProvider* FindProvider(const Records& records, std::string_view arn) {
  const auto found =
      std::find_if(records.providers.begin(), records.providers.end(),
                   [&](const OidcProvider& one) { return access::ArnOf(one) == arn; });
  return found == records.providers.end() ? nullptr : &*found;
}

std::vector<Row> ProviderRows() {
  return {
      {"CreateOpenIDConnectProvider", Create},
      {"GetOpenIDConnectProvider", Get},
      {"ListOpenIDConnectProviders", List},
      {"DeleteOpenIDConnectProvider", Delete},
      {"AddClientIDToOpenIDConnectProvider", AddClient},
      {"RemoveClientIDFromOpenIDConnectProvider", RemoveClient},
      {"UpdateOpenIDConnectProviderThumbprint", UpdateThumbprints},
      {"TagOpenIDConnectProvider", TagProvider},
      {"UntagOpenIDConnectProvider", UntagProvider},
      {"ListOpenIDConnectProviderTags", ListTags},
  };
}

}  // namespace stator::iam
