#include "base/seal.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include <array>
#include <cstdlib>

#include "base/log.h"

namespace stator {
namespace {

struct FreeMac {
  void operator()(EVP_MAC* mac) const { EVP_MAC_free(mac); }
  void operator()(EVP_MAC_CTX* context) const { EVP_MAC_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_MAC_CTX, FreeMac>;

// OpenSSL refuses only for want of memory, or where its own files are broken. A token without a
// true seal must not leave the process.
[[noreturn]] void Abort(std::string_view step) {
  LogError("crypto_failed", {{"step", step}});
  std::abort();
}

}  // namespace

struct Seal::State {
  Context context;  // keyed; each seal is made on a copy
};

Seal::Seal() : Seal(DrawSecret()) {}

Seal::Seal(std::string_view secret) {
  const std::unique_ptr<EVP_MAC, FreeMac> mac(EVP_MAC_fetch(nullptr, "HMAC", nullptr));
  if (mac == nullptr) Abort("HMAC");
  auto state = std::make_shared<State>();
  state->context.reset(EVP_MAC_CTX_new(mac.get()));
  char digest[] = "SHA256";
  const std::array<OSSL_PARAM, 2> parameters = {
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
      OSSL_PARAM_construct_end()};
  if (state->context == nullptr ||
      EVP_MAC_init(state->context.get(), reinterpret_cast<const unsigned char*>(secret.data()),
                   secret.size(), parameters.data()) != 1) {
    Abort("key");
  }
  state_ = std::move(state);
}

std::string Seal::DrawSecret() {
  std::string secret(kSecretBytes, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(secret.data()), kSecretBytes) != 1)
    Abort("random");
  return secret;
}

std::string Seal::Of(std::string_view purpose, std::string_view bytes) const {
  const Context context(EVP_MAC_CTX_dup(state_->context.get()));
  const auto update = [&context](std::string_view part) {
    return EVP_MAC_update(context.get(), reinterpret_cast<const unsigned char*>(part.data()),
                          part.size()) == 1;
  };
  std::array<unsigned char, EVP_MAX_MD_SIZE> made;
  size_t size = 0;
  // The zero byte ends the purpose, which has none.
  if (context == nullptr || !update(purpose) || !update(std::string_view("", 1)) ||
      !update(bytes) || EVP_MAC_final(context.get(), made.data(), &size, made.size()) != 1 ||
      size < kBytes) {
    Abort("seal");
  }
  return std::string(reinterpret_cast<const char*>(made.data()), kBytes);
}

bool Seal::Holds(std::string_view purpose, std::string_view bytes, std::string_view seal) const {
  const std::string right = Of(purpose, bytes);
  return seal.size() == kBytes && CRYPTO_memcmp(right.data(), seal.data(), kBytes) == 0;
}

}  // namespace stator
