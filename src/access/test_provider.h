// A provider's key that signs tokens. For tests.
#pragma once

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "access/crypto.h"
#include "base/base64.h"

namespace stator::access {

inline std::string UrlSafe(std::string_view bytes) {
  std::string text(Base64Length(bytes.size()), '\0');
  EncodeBase64(bytes, text.data());
  while (text.ends_with('=')) text.pop_back();
  for (char& c : text) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return text;
}

class TestKey {
 public:
  static TestKey Rsa(unsigned bits = 2048) {
    return TestKey(EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", static_cast<size_t>(bits)), "RS256");
  }
  static TestKey Ec() {
    return TestKey(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"), "ES256");
  }

  const std::string& algorithm() const { return algorithm_; }

  // Returns the public key as a member of a key set. `more`: further members, each with a comma
  // before it.
  std::string Jwk(std::string_view id, std::string_view more = "") const {
    std::string jwk = R"({"kid":")" + std::string(id) + "\"";
    if (algorithm_ == "RS256") {
      jwk += R"(,"kty":"RSA","n":")" + UrlSafe(Number(OSSL_PKEY_PARAM_RSA_N)) + R"(","e":")" +
             UrlSafe(Number(OSSL_PKEY_PARAM_RSA_E)) + "\"";
    } else {
      jwk += R"(,"kty":"EC","crv":"P-256","x":")" + UrlSafe(Number(OSSL_PKEY_PARAM_EC_PUB_X)) +
             R"(","y":")" + UrlSafe(Number(OSSL_PKEY_PARAM_EC_PUB_Y)) + "\"";
    }
    return jwk + std::string(more) + "}";
  }

  // Returns the signature of a token's first two parts.
  std::string Sign(std::string_view text) const {
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                          &EVP_MD_CTX_free);
    EVP_DigestSignInit_ex(context.get(), nullptr, "SHA256", nullptr, nullptr, key_.get(), nullptr);
    const auto* const bytes = reinterpret_cast<const unsigned char*>(text.data());
    size_t size = 0;
    EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size());
    std::vector<unsigned char> signature(size);
    EVP_DigestSign(context.get(), signature.data(), &size, bytes, text.size());
    signature.resize(size);
    if (algorithm_ == "RS256") return {signature.begin(), signature.end()};
    const unsigned char* at = signature.data();
    const std::unique_ptr<ECDSA_SIG, decltype(&ECDSA_SIG_free)> pair(
        d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(size)), &ECDSA_SIG_free);
    std::string raw(64, '\0');
    auto* const out = reinterpret_cast<unsigned char*>(raw.data());
    BN_bn2binpad(ECDSA_SIG_get0_r(pair.get()), out, 32);
    BN_bn2binpad(ECDSA_SIG_get0_s(pair.get()), out + 32, 32);
    return raw;
  }
  std::string Token(std::string_view header, std::string_view claims) const {
    const std::string text = UrlSafe(header) + "." + UrlSafe(claims);
    return text + "." + UrlSafe(Sign(text));
  }
  // A token whose header names the key.
  std::string TokenOf(std::string_view id, std::string_view claims) const {
    return Token(R"({"alg":")" + algorithm_ + R"(","kid":")" + std::string(id) + "\"}", claims);
  }

 private:
  TestKey(EVP_PKEY* key, std::string algorithm)
      : key_(key, &EVP_PKEY_free), algorithm_(std::move(algorithm)) {}

  std::string Number(const char* name) const {
    BIGNUM* number = nullptr;
    EVP_PKEY_get_bn_param(key_.get(), name, &number);
    std::string bytes(static_cast<size_t>(BN_num_bytes(number)), '\0');
    const bool coordinate = algorithm_ == "ES256";
    if (coordinate) bytes.resize(32);
    BN_bn2binpad(number, reinterpret_cast<unsigned char*>(bytes.data()),
                 static_cast<int>(bytes.size()));
    BN_free(number);
    return bytes;
  }

  std::shared_ptr<EVP_PKEY> key_;
  std::string algorithm_;
};

}  // namespace stator::access
