#include "access/web_token.h"

#include <fmt/format.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "access/json.h"
#include "base/base64.h"

namespace stator::access {
namespace {

constexpr JsonLimits kTokenJson{8, 2'000};
constexpr JsonLimits kKeysJson{8, 20'000};
constexpr size_t kMaxText = 255;  // of iss, sub, aud and azp
constexpr size_t kMaxList = 32;   // values of aud and amr
constexpr size_t kMaxKeyId = 255;
constexpr double kLastSecond = 253'402'300'799;  // of the year 9999
constexpr size_t kCoordinateBytes = 32;          // of P-256

Error NoToken() {
  return ValidationError(
      "The ID Token provided is not a valid JWT. (You may see this error if you sent an Access "
      "Token)");
}

// Appends the bytes of base64 with the URL's alphabet and without padding. False for other text.
[[nodiscard]] bool FromUrlSafe(std::string_view encoded, std::string* bytes) {
  std::string text(encoded);
  for (char& c : text) {
    if (c == '+' || c == '/' || c == '=') return false;
    c = c == '-' ? '+' : c == '_' ? '/' : c;
  }
  text.append((4 - text.size() % 4) % 4, '=');
  return DecodeBase64(text, bytes).ok();
}

// True for 1 to `longest` bytes without control characters.
bool IsPlain(std::string_view text, size_t longest) {
  return !text.empty() && text.size() <= longest &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; });
}

std::string_view TextOf(const JsonValue& object, std::string_view name) {
  const JsonValue* value = object.Find(name);
  return value != nullptr && value->is_string() ? std::string_view(value->text)
                                                : std::string_view();
}

Status TakeText(const JsonValue& claims, std::string_view name, std::string* out) {
  const JsonValue* value = claims.Find(name);
  if (value == nullptr) return ValidationError(fmt::format("Missing a required claim: {}", name));
  if (!value->is_string() || !IsPlain(value->text, kMaxText))
    return ValidationError(fmt::format("The claim {} of the token is not valid", name));
  *out = value->text;
  return OkStatus();
}

Status TakeTime(const JsonValue& claims, std::string_view name, bool required, int64_t* micros) {
  const JsonValue* value = claims.Find(name);
  if (value == nullptr) {
    if (!required) return OkStatus();
    return ValidationError(fmt::format("Missing a required claim: {}", name));
  }
  double seconds = -1;
  const char* const end = value->text.data() + value->text.size();
  if (value->kind == JsonValue::Kind::kNumber) {
    const auto [rest, error] = std::from_chars(value->text.data(), end, seconds);
    if (error != std::errc() || rest != end) seconds = -1;
  }
  if (!(seconds >= 0 && seconds <= kLastSecond))
    return ValidationError(fmt::format("The claim {} of the token is not a time", name));
  *micros = static_cast<int64_t>(seconds * 1e6);
  return OkStatus();
}

// Takes a text or a list of texts; leaves `list` empty if the claim is absent.
Status TakeTexts(const JsonValue& claims, std::string_view name, std::vector<std::string>* list) {
  const JsonValue* value = claims.Find(name);
  if (value == nullptr) return OkStatus();
  const auto bad = [name] {
    return ValidationError(fmt::format("The claim {} of the token is not valid", name));
  };
  const auto take = [&](const JsonValue& one) {
    if (!one.is_string() || !IsPlain(one.text, kMaxText)) return false;
    list->push_back(one.text);
    return true;
  };
  if (value->is_string()) return take(*value) ? OkStatus() : Status(bad());
  if (!value->is_array() || value->elements.size() > kMaxList) return bad();
  for (const JsonValue& one : value->elements)
    if (!take(one)) return bad();
  return OkStatus();
}

Status TakeAudience(const JsonValue& claims, std::string* audience) {
  std::vector<std::string> audiences;
  TRY(TakeTexts(claims, "aud", &audiences));
  if (audiences.empty()) return ValidationError("Missing a required claim: aud");
  if (claims.Find("azp") != nullptr) return TakeText(claims, "azp", audience);
  // A token for several audiences must name one of them in `azp`: otherwise each audience could use
  // a token that was issued to another one.
  if (audiences.size() > 1)
    return ValidationError("The token has several audiences and no claim azp");
  *audience = std::move(audiences[0]);
  return OkStatus();
}

Status TakeHeader(std::string_view encoded, WebToken* token) {
  std::string text;
  if (!FromUrlSafe(encoded, &text)) return NoToken();
  const Result<JsonValue> header = ReadJson(text, kTokenJson);
  if (!header.ok() || !header->is_object()) return NoToken();
  const std::string_view algorithm = TextOf(*header, "alg");
  if (algorithm == "RS256") {
    token->algorithm = TokenAlgorithm::kRs256;
  } else if (algorithm == "ES256") {
    token->algorithm = TokenAlgorithm::kEs256;
  } else {
    return ValidationError("The token must be signed with RS256 or ES256");
  }
  if (header->Find("crit") != nullptr)
    return ValidationError("The token has critical extensions, which are not supported");
  token->key_id = TextOf(*header, "kid");
  if (!IsPlain(token->key_id, kMaxKeyId))
    return ValidationError("The header of the token must name its key, as kid");
  return OkStatus();
}

Status TakeClaims(std::string_view encoded, WebToken* token) {
  std::string text;
  if (!FromUrlSafe(encoded, &text)) return NoToken();
  const Result<JsonValue> claims = ReadJson(text, kTokenJson);
  if (!claims.ok() || !claims->is_object()) return NoToken();
  for (const std::string_view name :
       {"https://aws.amazon.com/tags", "https://aws.amazon.com/source_identity"}) {
    if (claims->Find(name) != nullptr) {
      return ValidationError(
          fmt::format("The token has the claim {}, which is not supported", name));
    }
  }
  TRY(TakeText(*claims, "iss", &token->issuer));
  TRY(TakeText(*claims, "sub", &token->subject));
  TRY(TakeAudience(*claims, &token->audience));
  TRY(TakeTexts(*claims, "amr", &token->methods));
  TRY(TakeTime(*claims, "exp", true, &token->expires_micros));
  TRY(TakeTime(*claims, "iat", true, &token->issued_micros));
  return TakeTime(*claims, "nbf", false, &token->not_before_micros);
}

// ---- keys ----

struct FreeAll {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(EVP_PKEY_CTX* context) const { EVP_PKEY_CTX_free(context); }
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  void operator()(OSSL_PARAM_BLD* builder) const { OSSL_PARAM_BLD_free(builder); }
  void operator()(OSSL_PARAM* parameters) const { OSSL_PARAM_free(parameters); }
  void operator()(BIGNUM* number) const { BN_free(number); }
  void operator()(ECDSA_SIG* signature) const { ECDSA_SIG_free(signature); }
};
template <typename T>
using Owned = std::unique_ptr<T, FreeAll>;

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Owned<BIGNUM> NumberOf(std::string_view bytes) {
  return Owned<BIGNUM>(BN_bin2bn(Bytes(bytes), static_cast<int>(bytes.size()), nullptr));
}

Owned<EVP_PKEY> KeyOf(const char* kind, OSSL_PARAM_BLD* builder) {
  const Owned<OSSL_PARAM> parameters(OSSL_PARAM_BLD_to_param(builder));
  const Owned<EVP_PKEY_CTX> context(EVP_PKEY_CTX_new_from_name(nullptr, kind, nullptr));
  EVP_PKEY* made = nullptr;
  if (parameters == nullptr || context == nullptr || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &made, EVP_PKEY_PUBLIC_KEY, parameters.get()) != 1)
    return nullptr;
  return Owned<EVP_PKEY>(made);
}

Owned<EVP_PKEY> RsaKeyOf(const JsonValue& key) {
  std::string modulus, exponent;
  if (!FromUrlSafe(TextOf(key, "n"), &modulus) || !FromUrlSafe(TextOf(key, "e"), &exponent))
    return nullptr;
  // A long exponent would make each signature expensive to verify.
  if (modulus.size() > WebKeys::kMaxRsaBits / 8 + 1 || exponent.empty() || exponent.size() > 4)
    return nullptr;
  const Owned<BIGNUM> n = NumberOf(modulus), e = NumberOf(exponent);
  const Owned<OSSL_PARAM_BLD> builder(OSSL_PARAM_BLD_new());
  if (n == nullptr || e == nullptr || builder == nullptr ||
      BN_num_bits(n.get()) < WebKeys::kMinRsaBits || BN_num_bits(n.get()) > WebKeys::kMaxRsaBits ||
      BN_is_odd(n.get()) == 0 || BN_is_odd(e.get()) == 0 || BN_is_one(e.get()) != 0 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) != 1 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) != 1)
    return nullptr;
  return KeyOf("RSA", builder.get());
}

Owned<EVP_PKEY> EcKeyOf(const JsonValue& key) {
  std::string x, y;
  if (TextOf(key, "crv") != "P-256" || !FromUrlSafe(TextOf(key, "x"), &x) ||
      !FromUrlSafe(TextOf(key, "y"), &y) || x.size() != kCoordinateBytes ||
      y.size() != kCoordinateBytes)
    return nullptr;
  const std::string point = "\x04" + x + y;
  const Owned<OSSL_PARAM_BLD> builder(OSSL_PARAM_BLD_new());
  if (builder == nullptr ||
      OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, "P-256", 0) != 1 ||
      OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                       point.size()) != 1)
    return nullptr;
  Owned<EVP_PKEY> made = KeyOf("EC", builder.get());
  if (made == nullptr) return nullptr;
  const Owned<EVP_PKEY_CTX> context(EVP_PKEY_CTX_new_from_pkey(nullptr, made.get(), nullptr));
  if (context == nullptr || EVP_PKEY_public_check(context.get()) != 1) return nullptr;
  return made;
}

// Whether a key is one that signs, by what it says of itself.
bool MaySign(const JsonValue& key, std::string_view algorithm) {
  if (const JsonValue* use = key.Find("use"); use != nullptr && use->text != "sig") return false;
  if (const JsonValue* alg = key.Find("alg"); alg != nullptr && alg->text != algorithm)
    return false;
  const JsonValue* operations = key.Find("key_ops");
  return operations == nullptr ||
         std::any_of(operations->elements.begin(), operations->elements.end(),
                     [](const JsonValue& one) { return one.text == "verify"; });
}

// r and s of ES256, in the form that OpenSSL reads.
std::optional<std::string> EcSignatureOf(std::string_view raw) {
  if (raw.size() != 2 * kCoordinateBytes) return std::nullopt;
  const Owned<ECDSA_SIG> signature(ECDSA_SIG_new());
  Owned<BIGNUM> r = NumberOf(raw.substr(0, kCoordinateBytes));
  Owned<BIGNUM> s = NumberOf(raw.substr(kCoordinateBytes));
  if (signature == nullptr || r == nullptr || s == nullptr ||
      ECDSA_SIG_set0(signature.get(), r.get(), s.get()) != 1)
    return std::nullopt;
  (void)r.release();  // the signature owns them now
  (void)s.release();
  unsigned char* bytes = nullptr;
  const int size = i2d_ECDSA_SIG(signature.get(), &bytes);
  if (size <= 0) return std::nullopt;
  std::string out(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
  OPENSSL_free(bytes);
  return out;
}

}  // namespace

Result<WebToken> WebToken::Parse(std::string_view text) {
  if (text.size() > kMaxWebTokenBytes) return NoToken();
  const size_t first = text.find('.');
  const size_t second = first == std::string_view::npos ? first : text.find('.', first + 1);
  if (second == std::string_view::npos || text.find('.', second + 1) != std::string_view::npos)
    return NoToken();
  WebToken token;
  TRY(TakeHeader(text.substr(0, first), &token));
  TRY(TakeClaims(text.substr(first + 1, second - first - 1), &token));
  token.signed_text = text.substr(0, second);
  if (!FromUrlSafe(text.substr(second + 1), &token.signature) || token.signature.empty())
    return NoToken();
  return token;
}

Status WebToken::CheckTimes(int64_t now_micros) const {
  if (now_micros >= expires_micros) {
    return Error(ErrorCode::kExpiredToken,
                 fmt::format("Token expired: current date/time {} must be before the expiration "
                             "date/time {}",
                             now_micros / 1'000'000, expires_micros / 1'000'000));
  }
  if (issued_micros > now_micros + kWebTokenLeewayMicros)
    return ValidationError("The token was issued in the future: iat");
  if (not_before_micros > now_micros + kWebTokenLeewayMicros)
    return ValidationError("The token is not valid yet: nbf");
  return OkStatus();
}

Result<std::shared_ptr<const WebKeys>> WebKeys::Parse(std::string_view document) {
  if (document.size() > kMaxDocumentBytes)
    return ValidationError("the key set is longer than 256 KB");
  ASSIGN_OR_RETURN(const JsonValue set, ReadJson(document, kKeysJson));
  const JsonValue* list = set.Find("keys");
  if (list == nullptr || !list->is_array())
    return ValidationError("the key set has no list of keys");
  std::shared_ptr<WebKeys> keys(new WebKeys());
  size_t looked_at = 0;
  for (const JsonValue& each : list->elements) {
    if (++looked_at > kMaxKeys) break;
    if (!each.is_object()) continue;
    const std::string id(TextOf(each, "kid"));
    if (!IsPlain(id, kMaxKeyId)) continue;
    const std::string_view kind = TextOf(each, "kty");
    // The first of two keys with one name stands.
    if (kind == "RSA" && MaySign(each, "RS256")) {
      if (Owned<EVP_PKEY> key = RsaKeyOf(each); key != nullptr)
        keys->keys_.emplace(std::pair(TokenAlgorithm::kRs256, id),
                            std::shared_ptr<EVP_PKEY>(std::move(key)));
    } else if (kind == "EC" && MaySign(each, "ES256")) {
      if (Owned<EVP_PKEY> key = EcKeyOf(each); key != nullptr)
        keys->keys_.emplace(std::pair(TokenAlgorithm::kEs256, id),
                            std::shared_ptr<EVP_PKEY>(std::move(key)));
    }
  }
  ERR_clear_error();
  if (keys->keys_.empty())
    return ValidationError("the key set has no key that RS256 or ES256 can use");
  return std::shared_ptr<const WebKeys>(std::move(keys));
}

bool WebKeys::Has(TokenAlgorithm algorithm, std::string_view key_id) const {
  return keys_.contains(std::pair(algorithm, std::string(key_id)));
}

bool WebKeys::Verify(const WebToken& token) const {
  const auto found = keys_.find(std::pair(token.algorithm, token.key_id));
  if (found == keys_.end()) return false;
  std::string signature = token.signature;
  if (token.algorithm == TokenAlgorithm::kEs256) {
    std::optional<std::string> encoded = EcSignatureOf(token.signature);
    if (!encoded) return false;
    signature = *std::move(encoded);
  }
  const Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
  // The padding of an RSA key is PKCS #1 v1.5, which RS256 is.
  const bool verified = context != nullptr &&
                        EVP_DigestVerifyInit_ex(context.get(), nullptr, "SHA256", nullptr, nullptr,
                                                found->second.get(), nullptr) == 1 &&
                        EVP_DigestVerify(context.get(), Bytes(signature), signature.size(),
                                         Bytes(token.signed_text), token.signed_text.size()) == 1;
  ERR_clear_error();
  return verified;
}

}  // namespace stator::access
