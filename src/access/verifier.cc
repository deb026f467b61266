#include "access/verifier.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/ascii.h"

namespace stator::access {
namespace {

constexpr size_t kMaxSignedHeaders = 128;

Error Incomplete(std::string message) {
  return Error(ErrorCode::kIncompleteSignature, std::move(message));
}
Error Invalid(std::string message) {
  return Error(ErrorCode::kInvalidSignature, std::move(message));
}

std::string Quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

// Takes the next word of a list separated by commas, blanks or both off the front; empty at the
// end.
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

// The value of a header; several lines are joined by commas in `joined`, so that none of them is
// passed over.
std::string_view HeaderValue(std::span<const HeaderLine> headers, std::string_view name,
                             std::string* joined, bool* found = nullptr) {
  const HeaderLine* first = nullptr;
  for (const HeaderLine& line : headers) {
    if (!EqualsIgnoringCase(line.name, name)) continue;
    if (first == nullptr) {
      first = &line;
    } else {
      if (joined->empty()) *joined = first->value;
      *joined += ',';
      *joined += line.value;
    }
  }
  if (found != nullptr) *found = first != nullptr;
  if (first == nullptr) return {};
  return joined->empty() ? Trim(first->value, " \t") : std::string_view(*joined);
}

std::string_view QueryOf(std::string_view target) {
  const size_t question = target.find('?');
  return question == std::string_view::npos ? std::string_view() : target.substr(question + 1);
}

bool IsRegionName(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

constexpr std::string_view kMismatch =
    "The request signature we calculated does not match the signature you provided. Check your AWS "
    "Secret Access Key and signing method. Consult the service documentation for details.";

constexpr std::string_view kTarget = "x-amz-target";

// Whether the header that names the operation, if there is one, is signed. A presigned request
// would serve for any operation without.
bool SignsTarget(std::span<const HeaderLine> headers, std::span<const std::string_view> names) {
  if (std::binary_search(names.begin(), names.end(), kTarget)) return true;
  return std::none_of(headers.begin(), headers.end(), [](const HeaderLine& line) {
    return EqualsIgnoringCase(line.name, kTarget);
  });
}

}  // namespace

// A signature taken apart. Views point into the request or into the strings below.
struct Verifier::Parts {
  SignatureForm form = SignatureForm::kNone;
  std::string_view algorithm;
  std::string_view credential;
  std::string_view signed_headers;
  std::string_view signature;
  std::string_view date;
  std::string_view token;
  std::string_view expires;  // kQuery only
  std::string_view content_sha256;
  bool has_content_sha256 = false;
  bool repeated = false;  // a part stands twice in the Authorization header

  // Set by CheckParts.
  int64_t time_micros = 0;
  std::array<std::string_view, 5> scope;  // key id, date, region, service, terminator
  std::vector<std::string_view> names;    // of signed headers: lower case, sorted
  std::string lower_names;

  std::vector<QueryParameter> query;
  std::string joined_authorization;
  std::string joined_date;
  std::string joined_token;
  std::string joined_sha256;
};

SignatureForm FindSignature(const HttpRequestView& request) {
  for (const HeaderLine& line : request.headers) {
    if (EqualsIgnoringCase(line.name, "authorization")) return SignatureForm::kHeader;
  }
  for (const QueryParameter& parameter : ParseQuery(QueryOf(request.target))) {
    if (parameter.name == "X-Amz-Algorithm") return SignatureForm::kQuery;
  }
  return SignatureForm::kNone;
}

Status Verifier::ReadHeaderForm(const HttpRequestView& request, std::string_view authorization,
                                Parts* parts) const {
  parts->form = SignatureForm::kHeader;
  std::string_view rest = authorization;
  parts->algorithm = NextWord(&rest);
  for (std::string_view pair = NextWord(&rest); !pair.empty(); pair = NextWord(&rest)) {
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos) continue;
    const auto take = [&](std::string_view key, std::string_view* member) {
      if (pair.substr(0, equals) != key) return;
      if (!member->empty()) parts->repeated = true;
      *member = pair.substr(equals + 1);
    };
    take("Credential", &parts->credential);
    take("SignedHeaders", &parts->signed_headers);
    take("Signature", &parts->signature);
  }
  parts->date = HeaderValue(request.headers, "x-amz-date", &parts->joined_date);
  if (parts->date.empty()) {
    parts->joined_date.clear();
    parts->date = HeaderValue(request.headers, "date", &parts->joined_date);
  }
  std::string faults;
  if (parts->credential.empty()) faults += "Authorization header requires 'Credential' parameter. ";
  if (parts->signature.empty()) faults += "Authorization header requires 'Signature' parameter. ";
  if (parts->signed_headers.empty())
    faults += "Authorization header requires 'SignedHeaders' parameter. ";
  if (parts->date.empty()) {
    faults +=
        "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. ";
  }
  if (parts->repeated) faults += "Authorization header has a parameter more than once. ";
  if (!faults.empty()) return Incomplete(faults + "Authorization=" + std::string(authorization));
  parts->token = HeaderValue(request.headers, "x-amz-security-token", &parts->joined_token);
  return OkStatus();
}

Status Verifier::ReadQueryForm(const HttpRequestView& request, Parts* parts) const {
  (void)request;
  parts->form = SignatureForm::kQuery;
  std::string faults;
  std::string repeated;
  const auto take = [&](std::string_view name, std::string_view* member, bool required) {
    bool found = false;
    for (const QueryParameter& parameter : parts->query) {
      if (parameter.name != name) continue;
      if (found) {
        repeated += "AWS query-string parameters must include " + Quoted(name) + " only once. ";
        break;
      }
      found = true;
      *member = parameter.value;
    }
    if (required && member->empty())
      faults += "AWS query-string parameters must include " + Quoted(name) + ". ";
  };
  take("X-Amz-Algorithm", &parts->algorithm, true);
  take("X-Amz-Credential", &parts->credential, true);
  take("X-Amz-Signature", &parts->signature, true);
  take("X-Amz-SignedHeaders", &parts->signed_headers, true);
  take("X-Amz-Date", &parts->date, true);
  take("X-Amz-Security-Token", &parts->token, false);
  take("X-Amz-Expires", &parts->expires, false);
  faults += repeated;
  if (!faults.empty()) return Incomplete(faults + "Re-examine the query-string parameters.");
  return OkStatus();
}

Status Verifier::CheckWindow(const Parts& parts) const {
  const int64_t now = clock_.NowMicros();
  // A presigned request may shorten the window, never lengthen it: STS ignores longer ones too.
  int64_t window = kWindowMicros;
  std::string length = "15 min.";
  if (!parts.expires.empty()) {
    int64_t seconds = -1;
    const auto [end, code] =
        std::from_chars(parts.expires.data(), parts.expires.data() + parts.expires.size(), seconds);
    if (code != std::errc() || end != parts.expires.data() + parts.expires.size() || seconds < 1 ||
        seconds > 604'800) {
      return Incomplete("X-Amz-Expires must be a number of seconds from 1 to 604800. Got " +
                        Quoted(parts.expires) + ". Re-examine the query-string parameters.");
    }
    if (seconds * 1'000'000 < window) {
      window = seconds * 1'000'000;
      length = std::to_string(seconds) + " sec.";
    }
  }
  const auto text = [](int64_t micros) { return FormatSigningTime(micros); };
  if (parts.time_micros < now - window) {
    return Invalid("Signature expired: " + text(parts.time_micros) + " is now earlier than " +
                   text(now - window) + " (" + text(now) + " - " + length + ")");
  }
  if (parts.time_micros > now + kWindowMicros) {
    return Invalid("Signature not yet current: " + text(parts.time_micros) +
                   " is still later than " + text(now + kWindowMicros) + " (" + text(now) +
                   " + 15 min.)");
  }
  return OkStatus();
}

// Checks 4 to 7 of wire-protocol.md, common to both forms.
Status Verifier::CheckParts(const ExpectedScope& expected, Parts* parts) const {
  if (!ParseSigningTime(parts->date, &parts->time_micros)) {
    return Incomplete("Date must be in ISO-8601 'basic format'. Got " + Quoted(parts->date) +
                      ". See http://en.wikipedia.org/wiki/ISO_8601");
  }
  TRY(CheckWindow(*parts));

  parts->lower_names = LowerAscii(parts->signed_headers);
  std::string_view rest = parts->lower_names;
  while (parts->names.size() <= kMaxSignedHeaders) {
    const size_t end = std::min(rest.find(';'), rest.size());
    parts->names.push_back(rest.substr(0, end));
    if (end == rest.size()) break;
    rest.remove_prefix(end + 1);
  }
  std::sort(parts->names.begin(), parts->names.end());
  if (!std::binary_search(parts->names.begin(), parts->names.end(), std::string_view("host")) ||
      parts->names.size() > kMaxSignedHeaders)
    return Invalid("'Host' must be a 'SignedHeader' in the AWS Authorization.");

  if (parts->algorithm != kSigV4Algorithm) {
    return Incomplete("Unsupported AWS 'algorithm': " + Quoted(parts->algorithm) +
                      " (only AWS4-HMAC-SHA256 for now). ");
  }

  size_t count = 0;
  rest = parts->credential;
  while (true) {
    const size_t end = std::min(rest.find('/'), rest.size());
    if (count < 5) parts->scope[count] = rest.substr(0, end);
    ++count;
    if (end == rest.size()) break;
    rest.remove_prefix(end + 1);
  }
  if (count != 5 || parts->scope[0].empty()) {
    return Incomplete(
        "Credential must have exactly 5 slash-delimited elements, e.g. "
        "keyid/date/region/service/term, got " +
        Quoted(parts->credential));
  }
  const auto& [key_id, date, region, service, terminator] = parts->scope;
  std::string faults;
  const bool region_fits = expected.regions.empty()
                               ? IsRegionName(region)
                               : std::find(expected.regions.begin(), expected.regions.end(),
                                           region) != expected.regions.end();
  if (!region_fits) faults += "Credential should be scoped to a valid region. ";
  if (service != expected.service)
    faults += "Credential should be scoped to correct service: " + Quoted(expected.service) + ". ";
  if (terminator != kSigV4Terminator) {
    faults += "Credential should be scoped with a valid terminator: 'aws4_request', not " +
              Quoted(terminator) + ". ";
  }
  if (date != parts->date.substr(0, 8)) {
    faults +=
        "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from "
        "HTTP: " +
        Quoted(date) + " != " + Quoted(parts->date.substr(0, 8)) + ", from " + Quoted(parts->date) +
        ". ";
  }
  if (!faults.empty()) return Invalid(std::move(faults));
  return OkStatus();
}

bool Verifier::SignatureFits(const HttpRequestView& request, const Parts& parts,
                             const Digest& key) const {
  thread_local std::string canonical;
  canonical.clear();
  canonical += request.method;
  canonical += '\n';
  AppendCanonicalPath(request.target.substr(0, request.target.find('?')), PathStyle::kNormalized,
                      &canonical);
  canonical += '\n';
  AppendCanonicalQuery(parts.query,
                       parts.form == SignatureForm::kQuery ? "X-Amz-Signature" : std::string_view(),
                       &canonical);
  canonical += '\n';
  // Refuse targets such as "" and ".", which normalize to the same path as the signed one. A
  // missing signed header was removed on the way. In both cases the signature is computed
  // nevertheless, so that the time is the same.
  bool fits = request.target.starts_with('/');
  fits &= AppendCanonicalHeaders(parts.names, request.headers, &canonical);
  canonical += '\n';
  for (size_t i = 0; i < parts.names.size(); ++i) {
    if (i > 0) canonical += ';';
    canonical += parts.names[i];
  }
  canonical += '\n';
  char payload[64];
  WriteHex(Sha256(request.body), payload);
  if (parts.has_content_sha256) {
    // Whether signed or not: the value goes into the signature, so it must be that of the body.
    // UNSIGNED-PAYLOAD and STREAMING-* are no hash and never fit.
    fits &= EqualsIgnoringCase(parts.content_sha256, {payload, sizeof payload});
    canonical += parts.content_sha256;
  } else {
    canonical.append(payload, sizeof payload);
  }
  const std::string_view scope = parts.credential.substr(parts.scope[0].size() + 1);
  const Digest mac = HmacSha256(AsText(key), StringToSign(parts.date, scope, canonical));
  if (canonical.capacity() > 64 * 1024) std::string().swap(canonical);
  char expected[64];
  WriteHex(mac, expected);
  fits &= EqualInConstantTime({expected, sizeof expected}, parts.signature);
  return fits;
}

// botocore signs the host in lower case and sends it as the user wrote it.
bool Verifier::FitsWithLowerHost(const HttpRequestView& request, const Parts& parts,
                                 const Digest& key) const {
  std::vector<HeaderLine> headers(request.headers.begin(), request.headers.end());
  std::string host;
  for (HeaderLine& line : headers) {
    if (!EqualsIgnoringCase(line.name, "host")) continue;
    if (!host.empty()) return false;
    host = LowerAscii(line.value);
    if (host == line.value) return false;
    line.value = host;
  }
  if (host.empty()) return false;
  HttpRequestView lower = request;
  lower.headers = headers;
  return SignatureFits(lower, parts, key);
}

Result<VerifiedRequest> Verifier::Verify(const HttpRequestView& request,
                                         const ExpectedScope& expected) {
  Parts parts;
  const std::string_view query = QueryOf(request.target);
  if (!query.empty()) parts.query = ParseQuery(query);
  const bool has_query =
      std::any_of(parts.query.begin(), parts.query.end(),
                  [](const QueryParameter& p) { return p.name == "X-Amz-Algorithm"; });
  bool has_header = false;
  const std::string_view authorization =
      HeaderValue(request.headers, "authorization", &parts.joined_authorization, &has_header);
  if (has_header && has_query) {
    return Invalid(
        "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header.");
  }
  if (has_query) {
    TRY(ReadQueryForm(request, &parts));
  } else if (authorization.starts_with("AWS4-")) {
    TRY(ReadHeaderForm(request, authorization, &parts));
  } else {
    return Error(ErrorCode::kMissingAuthenticationToken, "Request is missing Authentication Token");
  }
  TRY(CheckParts(expected, &parts));
  parts.content_sha256 = HeaderValue(request.headers, "x-amz-content-sha256", &parts.joined_sha256,
                                     &parts.has_content_sha256);

  const KeyLookup found = keys_.Find(parts.scope[0], parts.token);
  const bool usable = found.key == KeyState::kActive && found.credential != nullptr;
  // "keyid/date/region/service", or, for the dummy, "/date/region/service".
  std::string_view cache_key =
      parts.credential.substr(0, parts.credential.size() - kSigV4Terminator.size() - 1);
  if (!usable) cache_key.remove_prefix(parts.scope[0].size());
  const uint64_t generation = usable ? found.credential->generation : 0;
  Digest key;
  DerivedKeys& cache = usable ? derived_ : dummies_;
  const bool cached = cache.Find(cache_key, generation, &key);
  if (!cached) {
    key = DeriveSigningKey(usable ? found.credential->secret : dummy_secret_, parts.scope[1],
                           parts.scope[2], parts.scope[3]);
  }
  bool fits = SignatureFits(request, parts, key);
  if (!fits) fits = FitsWithLowerHost(request, parts, key);
  if (!usable) {
    if (!cached) cache.Insert(cache_key, generation, key);
    return Error(ErrorCode::kUnrecognizedClient,
                 found.token == TokenState::kInvalid
                     ? "The security token included in the request is invalid"
                     : "The security token included in the request is invalid.");
  }
  if (!fits) return Invalid(std::string(kMismatch));
  if (!SignsTarget(request.headers, parts.names))
    return Invalid("'X-Amz-Target' must be a 'SignedHeader' in the AWS Authorization.");
  if (!cached) cache.Insert(cache_key, generation, key);
  if (found.token == TokenState::kInvalid) {
    return Error(ErrorCode::kUnrecognizedClient,
                 "The security token included in the request is invalid");
  }
  if (found.token == TokenState::kExpired) {
    return Error(ErrorCode::kExpiredToken, "The security token included in the request is expired");
  }
  return VerifiedRequest{found.credential, std::string(parts.scope[0]), parts.form};
}

}  // namespace stator::access
