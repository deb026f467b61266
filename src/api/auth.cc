#include "api/auth.h"

#include <algorithm>
#include <string>

#include "base/ascii.h"
#include "base/percent_code.h"

namespace stator::api {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";

// The parts of a signature, from either place.
struct Signature {
  std::string_view algorithm;
  std::string_view credential;
  std::string_view signed_headers;
  std::string_view signature;
  std::string_view date;
};

Error Incomplete(std::string message) {
  return Error(ErrorCode::kIncompleteSignature, std::move(message));
}
Error Invalid(std::string message) {
  return Error(ErrorCode::kInvalidSignature, std::move(message));
}

// The next word of a list separated by commas, spaces or both, taken off the front; empty at the
// end. (A plain loop: find_first_of searches its set anew for every character, which showed in
// profiles.)
std::string_view NextWord(std::string_view* text) {
  const auto separates = [](char c) { return c == ' ' || c == ',' || c == '\t'; };
  size_t start = 0;
  while (start < text->size() && separates((*text)[start])) ++start;
  size_t end = start;
  while (end < text->size() && !separates((*text)[end])) ++end;
  const std::string_view word = text->substr(start, end - start);
  text->remove_prefix(end);
  return word;
}

// "AWS4-HMAC-SHA256 Credential=..., SignedHeaders=..., Signature=..."
Signature ParseHeader(std::string_view header) {
  Signature parts;
  parts.algorithm = NextWord(&header);
  for (std::string_view pair = NextWord(&header); !pair.empty(); pair = NextWord(&header)) {
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view key = pair.substr(0, equals);
    const std::string_view value = pair.substr(equals + 1);
    if (key == "Credential") parts.credential = value;
    if (key == "SignedHeaders") parts.signed_headers = value;
    if (key == "Signature") parts.signature = value;
  }
  return parts;
}

// The raw value of a query parameter; `found` tells absent from empty.
std::string_view QueryParameter(std::string_view query, std::string_view name, bool* found) {
  *found = false;
  while (!query.empty()) {
    const size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    const size_t equals = std::min(pair.find('='), pair.size());
    if (pair.substr(0, equals) != name) continue;
    *found = true;
    return pair.substr(std::min(equals + 1, pair.size()));
  }
  return {};
}

// YYYYMMDDTHHMMSSZ
bool IsBasicIso8601(std::string_view date) {
  if (date.size() != 16 || date[8] != 'T' || date[15] != 'Z') return false;
  for (size_t i = 0; i < 15; ++i) {
    if (i != 8 && (date[i] < '0' || date[i] > '9')) return false;
  }
  return true;
}

// True if `wanted` (lower case) is an element of a list separated by semicolons, whatever its case.
bool ListsHeader(std::string_view list, std::string_view wanted) {
  while (true) {
    const size_t end = std::min(list.find(';'), list.size());
    const std::string_view element = list.substr(0, end);
    bool equal = element.size() == wanted.size();
    for (size_t i = 0; equal && i < wanted.size(); ++i) equal = (element[i] | 0x20) == wanted[i];
    if (equal) return true;
    if (end == list.size()) return false;
    list.remove_prefix(end + 1);
  }
}

// keyid/date/region/service/aws4_request
Status CheckCredential(const Signature& parts) {
  std::string_view elements[5];
  size_t count = 0;
  std::string_view rest = parts.credential;
  while (true) {
    const size_t end = std::min(rest.find('/'), rest.size());
    if (count < 5) elements[count] = rest.substr(0, end);
    ++count;
    if (end == rest.size()) break;
    rest.remove_prefix(end + 1);
  }
  if (count != 5) {
    return Incomplete(
        "Credential must have exactly 5 slash-delimited elements, e.g. "
        "keyid/date/region/service/term, got '" +
        std::string(parts.credential) + "'");
  }
  std::string faults;
  if (elements[4] != "aws4_request") {
    faults += "Credential should be scoped with a valid terminator: 'aws4_request', not '" +
              std::string(elements[4]) + "'. ";
  }
  if (elements[1] != parts.date.substr(0, 8)) {
    faults +=
        "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: "
        "'" +
        std::string(elements[1]) + "' != '" + std::string(parts.date.substr(0, 8)) + "', from '" +
        std::string(parts.date) + "'. ";
  }
  if (!faults.empty()) return Invalid(std::move(faults));
  return OkStatus();
}

// Checks 4 to 7, common to both forms.
Status CheckParts(const Signature& parts) {
  if (!IsBasicIso8601(parts.date)) {
    return Incomplete("Date must be in ISO-8601 'basic format'. Got '" + std::string(parts.date) +
                      "'. See http://en.wikipedia.org/wiki/ISO_8601");
  }
  if (!ListsHeader(parts.signed_headers, "host")) {
    return Invalid("'Host' must be a 'SignedHeader' in the AWS Authorization.");
  }
  if (parts.algorithm != kAlgorithm) {
    return Incomplete("Unsupported AWS 'algorithm': '" + std::string(parts.algorithm) +
                      "' (only AWS4-HMAC-SHA256 for now). ");
  }
  return CheckCredential(parts);
}

Status CheckHeader(const AuthRequest& request) {
  Signature parts = ParseHeader(request.authorization);
  parts.date = request.x_amz_date.empty() ? request.date : request.x_amz_date;
  if (parts.credential.empty() || parts.signature.empty() || parts.signed_headers.empty() ||
      parts.date.empty()) {
    std::string missing;
    if (parts.credential.empty())
      missing += "Authorization header requires 'Credential' parameter. ";
    if (parts.signature.empty()) missing += "Authorization header requires 'Signature' parameter. ";
    if (parts.signed_headers.empty())
      missing += "Authorization header requires 'SignedHeaders' parameter. ";
    if (parts.date.empty()) {
      missing +=
          "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. ";
    }
    return Incomplete(missing + "Authorization=" + std::string(request.authorization));
  }
  return CheckParts(parts);
}

Status CheckQuery(std::string_view query) {
  static constexpr std::string_view kNames[] = {"X-Amz-Algorithm", "X-Amz-Credential",
                                                "X-Amz-Signature", "X-Amz-SignedHeaders",
                                                "X-Amz-Date"};
  std::string values[5];
  std::string missing;
  for (size_t i = 0; i < 5; ++i) {
    bool found = false;
    values[i] = PercentDecode(QueryParameter(query, kNames[i], &found), PlusSign::kSpace);
    if (values[i].empty())
      missing += "AWS query-string parameters must include '" + std::string(kNames[i]) + "'. ";
  }
  if (!missing.empty()) return Incomplete(missing + "Re-examine the query-string parameters.");
  Signature parts;
  parts.algorithm = values[0];
  parts.credential = values[1];
  parts.signature = values[2];
  parts.signed_headers = values[3];
  parts.date = values[4];
  return CheckParts(parts);
}

AuthRequest AuthOf(const access::HttpRequestView& http) {
  const size_t question = http.target.find('?');
  return {
      HeaderOf(http, "Authorization"), HeaderOf(http, "X-Amz-Date"), HeaderOf(http, "Date"),
      question == std::string_view::npos ? std::string_view() : http.target.substr(question + 1)};
}

}  // namespace

Status ShapeAuthenticator::Authenticate(const AuthRequest& request) const {
  const bool has_header = !request.authorization.empty();
  bool has_query = false;
  if (!request.query.empty()) QueryParameter(request.query, "X-Amz-Algorithm", &has_query);
  if (has_header && has_query) {
    return Invalid(
        "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header.");
  }
  const bool signed_header = has_header && Trim(request.authorization, " \t").starts_with("AWS4-");
  if (signed_header) return CheckHeader(request);
  if (has_query) return CheckQuery(request.query);
  if (!require_auth_) return OkStatus();
  return Error(ErrorCode::kMissingAuthenticationToken, "Request is missing Authentication Token");
}

std::string ClaimedKeyId(const AuthRequest& request) {
  std::string credential;
  if (Trim(request.authorization, " \t").starts_with("AWS4-")) {
    credential = ParseHeader(request.authorization).credential;
  } else {
    bool found = false;
    credential =
        PercentDecode(QueryParameter(request.query, "X-Amz-Credential", &found), PlusSign::kSpace);
  }
  credential.resize(std::min(credential.find('/'), credential.size()));
  return credential;
}

std::string ClaimedKeyId(const access::HttpRequestView& http) { return ClaimedKeyId(AuthOf(http)); }

Status CheckShape(const access::HttpRequestView& http, bool require_auth) {
  return ShapeAuthenticator(require_auth).Authenticate(AuthOf(http));
}

}  // namespace stator::api
