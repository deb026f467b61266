// AWS Signature Version 4: the canonical form of a request, and the signer. The verifier is
// access/verifier.h. Everything here is pure and thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "access/crypto.h"

namespace stator::access {

inline constexpr std::string_view kSigV4Algorithm = "AWS4-HMAC-SHA256";
inline constexpr std::string_view kSigV4Terminator = "aws4_request";

// One header line as received: the name in the sender's case. Lines of one name are kept apart and
// in order.
struct HeaderLine {
  std::string_view name;
  std::string_view value;
};

// A request as received or as it will be sent. The views must outlive the use of this struct.
struct HttpRequestView {
  std::string_view method;
  std::string_view target;  // raw: path, and query after '?'
  std::span<const HeaderLine> headers;
  std::string_view body;
};

// Returns the value of the first header with this name, in any case; empty if there is none.
std::string_view HeaderOf(const HttpRequestView& request, std::string_view name);

// How the path enters the canonical request.
enum class PathStyle {
  kNormalized,  // dot segments and repeated slashes removed, then each byte encoded: every service
                // but S3
  kVerbatim,    // as it is in the target, already encoded: S3
};

// A query parameter, percent-decoded. '+' stays '+'.
struct QueryParameter {
  std::string name;
  std::string value;
};
// Returns the parameters of what follows '?', in order. A '%' without two hex digits stays.
std::vector<QueryParameter> ParseQuery(std::string_view query);

// Appends `text` with every byte but letters, digits and "-._~" percent-encoded; `keep_slash` keeps
// '/' too.
void AppendUriEncoded(std::string_view text, bool keep_slash, std::string* out);

// Appends the path of the canonical request.
void AppendCanonicalPath(std::string_view path, PathStyle style, std::string* out);

// Appends the parameters, encoded and sorted; leaves out those named `except` unless it is empty.
void AppendCanonicalQuery(std::span<const QueryParameter> parameters, std::string_view except,
                          std::string* out);

// Appends "name:value" and a line feed for each name of `signed_names`, which must be lower case
// and sorted: the values of its lines, trimmed, inner blanks folded, joined by commas. False if a
// name has no line in `headers`.
[[nodiscard]] bool AppendCanonicalHeaders(std::span<const std::string_view> signed_names,
                                          std::span<const HeaderLine> headers, std::string* out);

// Returns the key that signs: a chain of HMACs over the scope.
Digest DeriveSigningKey(std::string_view secret, std::string_view date, std::string_view region,
                        std::string_view service);

// Returns the string to sign for a canonical request. `scope` is
// "date/region/service/aws4_request".
std::string StringToSign(std::string_view time, std::string_view scope,
                         std::string_view canonical_request);

// Returns "20150830T123600Z".
std::string FormatSigningTime(int64_t micros);
// Reads what FormatSigningTime writes; false for any other form and for dates that do not exist.
bool ParseSigningTime(std::string_view text, int64_t* micros);

// ---- signing ----

struct SigningKey {
  std::string key_id;
  std::string secret;
  std::string session_token;  // empty for a long-term key
};

struct SigningOptions {
  std::string region;
  std::string service;
  int64_t now_micros = 0;
  PathStyle path = PathStyle::kNormalized;
  bool add_content_sha256 = false;  // sends x-amz-content-sha256, which S3 demands
};

// A header line that the signer owns.
struct OwnedHeader {
  std::string name;
  std::string value;
};

// Adds x-amz-date, x-amz-security-token (if there is a token), x-amz-content-sha256 (if asked for)
// and authorization to `headers`. Signs all given headers but those that proxies may change;
// `headers` must hold Host, as it will be sent.
void SignRequest(const SigningKey& key, const SigningOptions& options, std::string_view method,
                 std::string_view target, std::string_view body, std::vector<OwnedHeader>* headers);

// Returns `target` with the parameters of a presigned request appended, valid for
// `expires_seconds`. Signs all given headers, at least Host.
std::string PresignTarget(const SigningKey& key, const SigningOptions& options,
                          std::string_view method, std::string_view target, std::string_view body,
                          std::span<const OwnedHeader> headers, int64_t expires_seconds);

}  // namespace stator::access
