#include "bulk/seal.h"

#include "access/crypto.h"

namespace stator::bulk {
namespace {

// The subject that the encryption is bound to.
constexpr std::string_view kSealed = "start of a segment";

}  // namespace

std::string Seal(std::string_view text, std::string_view key) {
  access::SystemSecureRandom random;
  std::string sealed = random.Bytes(access::kGcmNonceBytes);
  const std::string nonce = sealed;
  access::EncryptGcm(key, nonce, kSealed, text, &sealed);
  return sealed;
}

bool Unseal(std::string_view sealed, std::string_view key, std::string* text) {
  if (sealed.size() < access::kGcmNonceBytes || key.empty()) return false;
  return access::DecryptGcm(key, sealed.substr(0, access::kGcmNonceBytes), kSealed,
                            sealed.substr(access::kGcmNonceBytes), text);
}

}  // namespace stator::bulk
