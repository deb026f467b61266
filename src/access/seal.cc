#include "access/seal.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/base64.h"

namespace stator::access {
namespace {

constexpr char kVersion = 1;
constexpr size_t kKeyBytes = 32;
constexpr size_t kIdBytes = 8;
constexpr size_t kHeaderBytes = 1 + kIdBytes;

}  // namespace

Result<Keyring> Keyring::FromKeys(std::vector<std::string> keys) {
  Keyring ring;
  for (std::string& bytes : keys) {
    if (bytes.size() != kKeyBytes) {
      return ValidationError(
          fmt::format("A master key has {} bytes, not {}.", kKeyBytes, bytes.size()));
    }
    const Digest digest = Sha256("stator master key" + bytes);
    ring.keys_.push_back({std::string(AsText(digest).substr(0, kIdBytes)), std::move(bytes)});
  }
  if (ring.keys_.empty()) return ValidationError("There is no master key.");
  return ring;
}

Result<std::string> Keyring::ParseKey(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t first = std::min(text.find_first_not_of(kSpace), text.size());
  text = text.substr(first, text.find_last_not_of(kSpace) - first + 1);
  std::string key;
  if (text.size() == 2 * kKeyBytes && ParseHex(text, &key)) return key;
  if (text.size() == Base64Length(kKeyBytes) && DecodeBase64(text, &key).ok() &&
      key.size() == kKeyBytes)
    return key;
  return ValidationError(
      "A master key is 32 bytes, as 64 hexadecimal digits or in base64, for example of `openssl "
      "rand -hex 32`.");
}

std::string Keyring::Seal(std::string_view plain, std::string_view purpose,
                          SecureRandom* random) const {
  const Key& key = keys_.front();
  const std::string nonce = random->Bytes(kGcmNonceBytes);
  std::string out(1, kVersion);
  out += key.id;
  std::string associated = out;
  associated += purpose;
  out += nonce;
  EncryptGcm(key.bytes, nonce, associated, plain, &out);
  return out;
}

Result<std::string> Keyring::Unseal(std::string_view sealed, std::string_view purpose) const {
  if (sealed.size() < kHeaderBytes + kGcmNonceBytes + kGcmTagBytes || sealed[0] != kVersion)
    return CorruptionError(fmt::format("The sealed bytes of {} have an unknown form.", purpose));
  const std::string_view id = sealed.substr(1, kIdBytes);
  const auto key =
      std::find_if(keys_.begin(), keys_.end(), [id](const Key& k) { return k.id == id; });
  if (key == keys_.end()) {
    return ValidationError(fmt::format(
        "{} was sealed with the master key {}, which is not given. Add that key to the old ones.",
        purpose, Hex(id)));
  }
  std::string associated(sealed.substr(0, kHeaderBytes));
  associated += purpose;
  std::string plain;
  if (!DecryptGcm(key->bytes, sealed.substr(kHeaderBytes, kGcmNonceBytes), associated,
                  sealed.substr(kHeaderBytes + kGcmNonceBytes), &plain)) {
    return CorruptionError(
        fmt::format("The sealed bytes of {} are damaged, or belong elsewhere.", purpose));
  }
  return plain;
}

bool Keyring::IsOutdated(std::string_view sealed) const {
  return sealed.size() >= kHeaderBytes && sealed.substr(1, kIdBytes) != keys_.front().id;
}

}  // namespace stator::access
