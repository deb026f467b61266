#include "access/sigv4.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "base/ascii.h"
#include "base/percent_code.h"

namespace stator::access {
namespace {

bool IsUnreserved(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

bool IsBlank(char c) { return c == ' ' || c == '\t'; }

// The value of one line: trimmed, each run of blanks as one space.
void AppendCanonicalValue(std::string_view value, std::string* out) {
  while (!value.empty() && IsBlank(value.front())) value.remove_prefix(1);
  while (!value.empty() && IsBlank(value.back())) value.remove_suffix(1);
  const auto fold = [](char a, char b) { return IsBlank(a) && IsBlank(b); };
  if (std::adjacent_find(value.begin(), value.end(), fold) == value.end() &&
      value.find('\t') == std::string_view::npos) {
    out->append(value);
    return;
  }
  bool blank = false;
  for (const char c : value) {
    if (IsBlank(c)) {
      if (!blank) out->push_back(' ');
      blank = true;
    } else {
      out->push_back(c);
      blank = false;
    }
  }
}

// Headers that proxies or HTTP clients change after signing.
bool IsNeverSigned(std::string_view lower_name) {
  constexpr std::array<std::string_view, 10> kNames = {
      "authorization", "connection",        "expect",  "keep-alive", "te",
      "trailer",       "transfer-encoding", "upgrade", "user-agent", "x-amzn-trace-id"};
  return std::find(kNames.begin(), kNames.end(), lower_name) != kNames.end() ||
         lower_name.starts_with("proxy-");
}

std::string JoinNames(std::span<const std::string_view> names) {
  std::string out;
  for (const std::string_view name : names) {
    if (!out.empty()) out += ';';
    out += name;
  }
  return out;
}

// The common part of both forms of a signature, once their headers and parameters are set.
struct Draft {
  std::string time;
  std::string scope;
  std::vector<std::string> names;  // lower case, sorted, unique
  std::vector<std::string_view> name_views;
  std::string joined_names;
};

Draft MakeDraft(const SigningOptions& options, std::span<const OwnedHeader> headers) {
  Draft draft;
  draft.time = FormatSigningTime(options.now_micros);
  draft.scope = draft.time.substr(0, 8) + "/" + options.region + "/" + options.service + "/" +
                std::string(kSigV4Terminator);
  for (const OwnedHeader& header : headers) {
    std::string name = LowerAscii(header.name);
    if (!IsNeverSigned(name)) draft.names.push_back(std::move(name));
  }
  std::sort(draft.names.begin(), draft.names.end());
  draft.names.erase(std::unique(draft.names.begin(), draft.names.end()), draft.names.end());
  draft.name_views.assign(draft.names.begin(), draft.names.end());
  draft.joined_names = JoinNames(draft.name_views);
  return draft;
}

std::string Signature(const SigningKey& key, const SigningOptions& options, const Draft& draft,
                      std::string_view method, std::string_view target, std::string_view payload,
                      std::span<const OwnedHeader> headers) {
  std::vector<HeaderLine> lines;
  for (const OwnedHeader& header : headers) lines.push_back({header.name, header.value});
  const size_t question = std::min(target.find('?'), target.size());
  const std::vector<QueryParameter> parameters =
      ParseQuery(target.substr(std::min(question + 1, target.size())));
  std::string canonical(method);
  canonical += '\n';
  AppendCanonicalPath(target.substr(0, question), options.path, &canonical);
  canonical += '\n';
  AppendCanonicalQuery(parameters, {}, &canonical);
  canonical += '\n';
  // Every name comes from `headers`, so none can be missing.
  (void)AppendCanonicalHeaders(draft.name_views, lines, &canonical);
  canonical += '\n';
  canonical += draft.joined_names;
  canonical += '\n';
  canonical += payload;
  const Digest signing_key = DeriveSigningKey(key.secret, std::string_view(draft.time).substr(0, 8),
                                              options.region, options.service);
  return Hex(
      AsText(HmacSha256(AsText(signing_key), StringToSign(draft.time, draft.scope, canonical))));
}

}  // namespace

std::vector<QueryParameter> ParseQuery(std::string_view query) {
  std::vector<QueryParameter> parameters;
  while (!query.empty()) {
    const size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (pair.empty()) continue;
    const size_t equals = std::min(pair.find('='), pair.size());
    parameters.push_back(
        {PercentDecode(pair.substr(0, equals), PlusSign::kPlus),
         PercentDecode(pair.substr(std::min(equals + 1, pair.size())), PlusSign::kPlus)});
  }
  return parameters;
}

void AppendUriEncoded(std::string_view text, bool keep_slash, std::string* out) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  for (const char c : text) {
    if (IsUnreserved(c) || (keep_slash && c == '/')) {
      out->push_back(c);
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out->push_back('%');
      out->push_back(kDigits[byte >> 4]);
      out->push_back(kDigits[byte & 15]);
    }
  }
}

void AppendCanonicalPath(std::string_view path, PathStyle style, std::string* out) {
  if (path.empty() || path == "/") {
    out->push_back('/');
    return;
  }
  if (style == PathStyle::kVerbatim) {
    out->append(path);
    return;
  }
  std::vector<std::string_view> segments;
  bool ends_in_slash = false;
  std::string_view rest = path;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('/'), rest.size());
    const std::string_view segment = rest.substr(0, end);
    const bool slash = end < rest.size();
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (segment == "..") {
      if (!segments.empty()) segments.pop_back();
      ends_in_slash = true;
    } else if (segment.empty() || segment == ".") {
      ends_in_slash = true;
    } else {
      segments.push_back(segment);
      ends_in_slash = slash;
    }
  }
  for (const std::string_view segment : segments) {
    out->push_back('/');
    AppendUriEncoded(segment, /*keep_slash=*/true, out);
  }
  if (segments.empty() || ends_in_slash) out->push_back('/');
}

void AppendCanonicalQuery(std::span<const QueryParameter> parameters, std::string_view except,
                          std::string* out) {
  if (parameters.empty()) return;
  std::vector<std::pair<std::string, std::string>> encoded;
  encoded.reserve(parameters.size());
  for (const QueryParameter& parameter : parameters) {
    if (!except.empty() && parameter.name == except) continue;
    auto& [name, value] = encoded.emplace_back();
    AppendUriEncoded(parameter.name, /*keep_slash=*/false, &name);
    AppendUriEncoded(parameter.value, /*keep_slash=*/false, &value);
  }
  std::sort(encoded.begin(), encoded.end());
  bool first = true;
  for (const auto& [name, value] : encoded) {
    if (!first) out->push_back('&');
    first = false;
    out->append(name);
    out->push_back('=');
    out->append(value);
  }
}

bool AppendCanonicalHeaders(std::span<const std::string_view> signed_names,
                            std::span<const HeaderLine> headers, std::string* out) {
  for (const std::string_view name : signed_names) {
    out->append(name);
    out->push_back(':');
    bool found = false;
    for (const HeaderLine& line : headers) {
      if (!EqualsIgnoringCase(line.name, name)) continue;
      if (found) out->push_back(',');
      found = true;
      AppendCanonicalValue(line.value, out);
    }
    if (!found) return false;
    out->push_back('\n');
  }
  return true;
}

Digest DeriveSigningKey(std::string_view secret, std::string_view date, std::string_view region,
                        std::string_view service) {
  std::string first = "AWS4";
  first += secret;
  const Digest day = HmacSha256(first, date);
  std::fill(first.begin(), first.end(), '\0');
  const Digest regional = HmacSha256(AsText(day), region);
  const Digest serving = HmacSha256(AsText(regional), service);
  return HmacSha256(AsText(serving), kSigV4Terminator);
}

std::string StringToSign(std::string_view time, std::string_view scope,
                         std::string_view canonical_request) {
  char digest[64];
  WriteHex(Sha256(canonical_request), digest);
  std::string text;
  text.reserve(kSigV4Algorithm.size() + time.size() + scope.size() + sizeof digest + 3);
  text += kSigV4Algorithm;
  text += '\n';
  text += time;
  text += '\n';
  text += scope;
  text += '\n';
  text.append(digest, sizeof digest);
  return text;
}

std::string_view HeaderOf(const HttpRequestView& request, std::string_view name) {
  for (const HeaderLine& line : request.headers) {
    if (EqualsIgnoringCase(line.name, name)) return line.value;
  }
  return {};
}

std::string FormatSigningTime(int64_t micros) {
  using namespace std::chrono;
  const sys_seconds time{floor<seconds>(microseconds(micros))};
  const sys_days day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(time - day);
  std::string text = "00000000T000000Z";
  const auto put = [&](size_t at, size_t digits, int64_t number) {
    for (size_t i = digits; i-- > 0; number /= 10)
      text[at + i] = static_cast<char>('0' + number % 10);
  };
  put(0, 4, static_cast<int>(date.year()));
  put(4, 2, static_cast<unsigned>(date.month()));
  put(6, 2, static_cast<unsigned>(date.day()));
  put(9, 2, clock.hours().count());
  put(11, 2, clock.minutes().count());
  put(13, 2, clock.seconds().count());
  return text;
}

bool ParseSigningTime(std::string_view text, int64_t* micros) {
  using namespace std::chrono;
  if (text.size() != 16 || text[8] != 'T' || text[15] != 'Z') return false;
  const auto number = [&](size_t at, size_t digits) {
    int value = 0;
    for (size_t i = at; i < at + digits; ++i) {
      if (text[i] < '0' || text[i] > '9') return -1;
      value = value * 10 + (text[i] - '0');
    }
    return value;
  };
  const int y = number(0, 4);
  const int mo = number(4, 2);
  const int d = number(6, 2);
  const int h = number(9, 2);
  const int mi = number(11, 2);
  const int s = number(13, 2);
  if (y < 0 || mo < 1 || d < 1 || h < 0 || mi < 0 || s < 0 || h > 23 || mi > 59 || s > 59)
    return false;
  const year_month_day date{year(y), month(static_cast<unsigned>(mo)),
                            day(static_cast<unsigned>(d))};
  if (!date.ok()) return false;
  const sys_seconds time = sys_days(date) + hours(h) + minutes(mi) + seconds(s);
  *micros = duration_cast<microseconds>(time.time_since_epoch()).count();
  return true;
}

void SignRequest(const SigningKey& key, const SigningOptions& options, std::string_view method,
                 std::string_view target, std::string_view body,
                 std::vector<OwnedHeader>* headers) {
  const std::string payload = Hex(AsText(Sha256(body)));
  headers->push_back({"x-amz-date", FormatSigningTime(options.now_micros)});
  if (!key.session_token.empty()) headers->push_back({"x-amz-security-token", key.session_token});
  if (options.add_content_sha256) headers->push_back({"x-amz-content-sha256", payload});
  const Draft draft = MakeDraft(options, *headers);
  const std::string signature = Signature(key, options, draft, method, target, payload, *headers);
  headers->push_back({"authorization", std::string(kSigV4Algorithm) + " Credential=" + key.key_id +
                                           "/" + draft.scope + ", SignedHeaders=" +
                                           draft.joined_names + ", Signature=" + signature});
}

std::string PresignTarget(const SigningKey& key, const SigningOptions& options,
                          std::string_view method, std::string_view target, std::string_view body,
                          std::span<const OwnedHeader> headers, int64_t expires_seconds) {
  const Draft draft = MakeDraft(options, headers);
  std::string full(target);
  full += target.find('?') == std::string_view::npos ? '?' : '&';
  const auto add = [&](std::string_view name, std::string_view value) {
    if (full.back() != '?' && full.back() != '&') full += '&';
    full += name;
    full += '=';
    AppendUriEncoded(value, /*keep_slash=*/false, &full);
  };
  add("X-Amz-Algorithm", kSigV4Algorithm);
  add("X-Amz-Credential", key.key_id + "/" + draft.scope);
  add("X-Amz-Date", draft.time);
  add("X-Amz-Expires", std::to_string(expires_seconds));
  if (!key.session_token.empty()) add("X-Amz-Security-Token", key.session_token);
  add("X-Amz-SignedHeaders", draft.joined_names);
  const std::string signature =
      Signature(key, options, draft, method, full, Hex(AsText(Sha256(body))), headers);
  add("X-Amz-Signature", signature);
  return full;
}

}  // namespace stator::access
