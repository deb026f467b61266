// Tokens of OpenID Connect providers: JSON Web Tokens that RS256 or ES256 signs, and the keys that
// verify them. Reading a token does not verify it: the caller must check issuer, audience, times
// and signature.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

struct evp_pkey_st;  // OpenSSL's EVP_PKEY

namespace stator::access {

inline constexpr size_t kMaxWebTokenBytes = 20'000;
// How far the clock of a provider may go before the server's: for iat and nbf, not for exp.
inline constexpr int64_t kWebTokenLeewayMicros = 60'000'000;

// Others, `none` and those with a shared secret before all, are refused.
enum class TokenAlgorithm { kRs256, kEs256 };

struct WebToken {
  TokenAlgorithm algorithm = TokenAlgorithm::kRs256;
  std::string key_id;
  std::string issuer;
  std::string subject;
  std::string audience;              // azp if the token has it, else the only aud
  std::vector<std::string> methods;  // amr
  int64_t expires_micros = 0;
  int64_t issued_micros = 0;
  int64_t not_before_micros = 0;
  std::string signed_text;
  std::string signature;

  // Reads a token in the compact form. kValidation, with a sentence for people, for text that is
  // none, for another algorithm, for a missing or damaged claim, and for what Stator does not take:
  // critical extensions, several audiences without azp, and session tags or a source identity in
  // the token. The header's own keys and their places (jwk, jku, x5c, x5u) are never looked at.
  static Result<WebToken> Parse(std::string_view text);
  // OK at a time when the token is valid. kExpiredToken after it, kValidation before it.
  Status CheckTimes(int64_t now_micros) const;
};

// The public keys of a provider. Immutable; thread-safe.
class WebKeys {
 public:
  static constexpr size_t kMaxDocumentBytes = 256 << 10;
  static constexpr size_t kMaxKeys = 100;
  static constexpr int kMinRsaBits = 2048;
  static constexpr int kMaxRsaBits = 4096;  // verifying takes the square of it

  // Reads a JSON Web Key Set. Keys of other kinds, uses and sizes, keys without an id, and those
  // beyond kMaxKeys are passed over. kValidation if no key is left, kSerialization for other text.
  static Result<std::shared_ptr<const WebKeys>> Parse(std::string_view document);

  bool Has(TokenAlgorithm algorithm, std::string_view key_id) const;
  // Returns true if the key that the token names signed it. The key must be one for the token's
  // algorithm.
  [[nodiscard]] bool Verify(const WebToken& token) const;

 private:
  WebKeys() = default;

  std::map<std::pair<TokenAlgorithm, std::string>, std::shared_ptr<evp_pkey_st>> keys_;
};

}  // namespace stator::access
